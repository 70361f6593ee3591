package order

import (
	"slices"

	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// state says where the bytes of a mask are in Eraser's state machine.
type state struct {
	mask  uint8
	phase phase
	owner event.StrandID // exclusive
	locks []uint64
}

type phase uint8

const (
	exclusive phase = iota // one strand has touched it
	shared                 // others have read it since
	modified               // several have touched it and one has written
)

// lockset passes an access to bytes of the granule through the state machine. It returns
// the bytes that no lock protects.
func (g *granule) lockset(held []replay.Lock, s event.StrandID, mask uint8, write bool) (bare uint8) {
	left := mask
	for i := 0; i < len(g.states) && left != 0; i++ {
		common := g.states[i].mask & left
		if common == 0 {
			continue
		}
		left &^= common
		if rest := g.states[i].mask &^ common; rest != 0 {
			other := g.states[i]
			other.mask, other.locks = rest, slices.Clone(other.locks)
			g.states[i].mask = common
			g.states = append(g.states, other)
		}
		if g.states[i].step(held, s, write) {
			bare |= common
		}
	}
	if left != 0 {
		g.states = append(g.states, state{mask: left, owner: s})
	}
	return bare
}

// step takes an access; it says whether the bytes are shared and modified
// without a lock.
func (st *state) step(held []replay.Lock, s event.StrandID, write bool) bool {
	switch {
	case st.phase == exclusive && st.owner == s:
		return false
	case st.phase == exclusive:
		st.phase, st.locks = shared, locks(held, write)
		if write {
			st.phase = modified
		}
	default:
		if write {
			st.phase = modified
		}
		now := locks(held, write)
		st.locks = slices.DeleteFunc(st.locks, func(o uint64) bool { return !slices.Contains(now, o) })
	}
	return st.phase == modified && len(st.locks) == 0
}

// locks returns those that protect an access: for a write those held for writing.
func locks(held []replay.Lock, write bool) (all []uint64) {
	for _, h := range held {
		if h.Write || !write {
			all = append(all, h.Obj)
		}
	}
	return all
}
