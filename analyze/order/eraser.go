package order

import (
	"slices"

	"hindsight/tracefmt/event"
)

// eraser is Eraser's state machine for the granules of pages, those in the same
// state together.
type eraser struct {
	sets  [][]uint64 // lock sets by number; 0 is the empty one
	ids   map[string]int32
	meets map[[2]int32]int32
}

func newEraser() *eraser {
	e := &eraser{ids: map[string]int32{}, meets: map[[2]int32]int32{}}
	e.id(nil)
	return e
}

// anyLocks is the lock set that has all locks.
const anyLocks = -1

// maxMeets bounds the intersections that are remembered.
const maxMeets = 1 << 18

// contestState is the granules of a page in a state. Segments are looked at whole
// and may overlap, so that it is not known which of two strands came first. An
// owner's accesses therefore count for the locks too, unless it was the only
// strand alive.
type contestState struct {
	phase phase
	wrote bool           // exclusive: when others were alive
	owner event.StrandID // exclusive
	locks int32          // number of a set, or anyLocks
	in    granules
}

// id gives the number of a lock set.
func (e *eraser) id(locks []uint64) int32 {
	locks = slices.Compact(slices.Sorted(slices.Values(locks)))
	key := make([]byte, 0, 64)
	for _, o := range locks {
		for ; o > 0; o >>= 7 {
			key = append(key, byte(o)|0x80)
		}
		key = append(key, 0)
	}
	id, ok := e.ids[string(key)]
	if !ok {
		id = int32(len(e.sets))
		e.sets = append(e.sets, locks)
		e.ids[string(key)] = id
	}
	return id
}

// meet gives the number of what two lock sets have in common.
func (e *eraser) meet(a, b int32) int32 {
	if a == anyLocks || b == anyLocks {
		return max(a, b)
	}
	if a == b || a == 0 || b == 0 {
		return min(a, b)
	}
	key := [2]int32{min(a, b), max(a, b)}
	id, ok := e.meets[key]
	if !ok {
		if len(e.meets) > maxMeets {
			clear(e.meets)
		}
		id = e.id(slices.DeleteFunc(slices.Clone(e.sets[a]), func(o uint64) bool { return !slices.Contains(e.sets[b], o) }))
		e.meets[key] = id
	}
	return id
}

// touch takes an access to granules of a page through the state machine. Those
// that no lock protects are let through.
// alone says that no other strand is alive.
func (e *eraser) touch(p *contestPage, in granules, u *contestUnit, write, alone bool) {
	locks := u.locks[0]
	if write {
		locks = u.locks[1]
	}
	var bare, part granules
	n := len(p.states)
	for i := 0; i < n && in.any(); i++ {
		st := p.states[i]
		if !part.common(&st.in, &in) {
			continue
		}
		in.without(&part)
		next := st
		switch {
		case st.phase == exclusive && st.owner == u.own:
			if !alone {
				next.locks, next.wrote = e.meet(st.locks, locks), st.wrote || write
			}
		case st.phase == exclusive:
			next.phase, next.owner, next.wrote, next.locks = shared, 0, false, e.meet(st.locks, locks)
			if write || st.wrote {
				next.phase = modified
			}
		default:
			next.locks = e.meet(st.locks, locks)
			if write {
				next.phase = modified
			}
		}
		if next.phase == modified && next.locks == 0 {
			bare.with(&part)
			continue
		}
		if next.phase == st.phase && next.locks == st.locks && next.wrote == st.wrote {
			continue
		}
		p.states[i].in.without(&part)
		next.in = part
		p.addState(next)
	}
	if in.any() {
		st := contestState{phase: exclusive, owner: u.own, locks: anyLocks, in: in}
		if !alone {
			st.locks, st.wrote = locks, write
		}
		p.addState(st)
	}
	p.states = slices.DeleteFunc(p.states, func(st contestState) bool { return !st.in.any() })
	if bare.any() {
		p.contend(&bare)
	}
}

func (p *contestPage) addState(st contestState) {
	for i := range p.states {
		o := &p.states[i]
		if o.phase == st.phase && o.owner == st.owner && o.locks == st.locks && o.wrote == st.wrote {
			o.in.with(&st.in)
			return
		}
	}
	p.states = append(p.states, st)
}

// clearStates forgets the states of granules.
func (p *contestPage) clearStates(in *granules) {
	kept := p.states[:0]
	for _, st := range p.states {
		if st.in.without(in); st.in.any() {
			kept = append(kept, st)
		}
	}
	p.states = kept
}
