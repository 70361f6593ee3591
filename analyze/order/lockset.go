package order

import (
	"slices"

	"hindsight/tracefmt/event"
)

// lockset is the locks that strands hold.
type lockset struct {
	held map[event.StrandID][]hold
}

type hold struct {
	obj   uint64
	write bool
}

func (l *lockset) event(s event.StrandID, e *event.Event) {
	if l.held == nil {
		l.held = map[event.StrandID][]hold{}
	}
	switch e.Kind {
	case event.MutexLock, event.WriteLock, event.ReadLock:
		l.held[s] = append(l.held[s], hold{e.Obj, e.Kind != event.ReadLock})
	case event.MutexUnlock, event.WriteUnlock, event.ReadUnlock:
		held := l.held[s]
		for i := len(held) - 1; i >= 0; i-- {
			if held[i].obj == e.Obj {
				l.held[s] = slices.Delete(held, i, i+1)
				break
			}
		}
	}
}

// state is where the bytes of a mask are in Eraser's state machine.
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

// lockset takes an access to bytes of the granule through the state machine.
// It gives the bytes that no lock protects.
func (g *granule) lockset(l *lockset, s event.StrandID, mask uint8, write bool) (bare uint8) {
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
		if g.states[i].step(l.held[s], s, write) {
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
func (st *state) step(held []hold, s event.StrandID, write bool) bool {
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

// locks are those that protect an access: for a write those held for writing.
func locks(held []hold, write bool) (all []uint64) {
	for _, h := range held {
		if h.write || !write {
			all = append(all, h.obj)
		}
	}
	return all
}
