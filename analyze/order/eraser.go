package order

import (
	"slices"
	"sort"

	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// eraser is Eraser's state machine for the granules of pages. Granules in the same state
// are processed together.
type eraser struct {
	sets  [][]uint64 // lock sets by number; 0 is the empty one
	ids   map[string]int32
	ones  map[uint64]int32 // of sets with one lock
	meets map[[2]int32]int32
}

func newEraser() *eraser {
	e := &eraser{ids: map[string]int32{}, ones: map[uint64]int32{}, meets: map[[2]int32]int32{}}
	e.id(nil)
	return e
}

// anyLocks is the lock set that has all locks.
const anyLocks = -1

// maxMeets limits the intersections that are cached.
const maxMeets = 1 << 18

// contestState is the granules of a page in a state. Segments are looked at whole
// and may overlap, so that it is not known which of two strands came first. An
// owner's accesses therefore count for the locks too, unless it was the only
// strand alive.
type contestState struct {
	stage
	cut uint64 // 1-based place in S_synch of the end of this life; 0: it goes on
	in  granules
}

// stage says where granules are in the state machine.
type stage struct {
	phase phase
	wrote bool           // exclusive: when others were alive
	owner event.StrandID // exclusive
	locks int32          // number of a set, or anyLocks
}

// own reports whether an access by strand s says nothing about locks, because no other
// strand has touched the granules or is there to do so.
func (st stage) own(s event.StrandID, alone bool) bool {
	return alone && st.phase == exclusive && st.owner == s
}

// after returns the stage after an access by strand s with locks met with those held.
func (e *eraser) after(st stage, s event.StrandID, write bool, locks int32) stage {
	switch {
	case st.phase == exclusive && st.owner == s:
		st.wrote = st.wrote || write
	case st.phase == exclusive:
		st.phase = shared
		if write || st.wrote {
			st.phase = modified
		}
		st.owner, st.wrote = 0, false
	case write:
		st.phase = modified
	}
	st.locks = e.meet(st.locks, locks)
	return st
}

// held returns the number of the set of those among the locks that a strand holds that
// pass.
func (e *eraser) held(held []replay.Lock, pass func(*replay.Lock) bool) int32 {
	n, one := 0, uint64(0)
	for i := range held {
		if pass(&held[i]) {
			n, one = n+1, held[i].Obj
		}
	}
	switch n {
	case 0:
		return 0
	case 1:
		id, ok := e.ones[one]
		if !ok {
			id = e.id([]uint64{one})
			e.ones[one] = id
		}
		return id
	}
	var all []uint64
	for i := range held {
		if pass(&held[i]) {
			all = append(all, held[i].Obj)
		}
	}
	return e.id(all)
}

// What protects what: see [locks].
func isMutexLock(l *replay.Lock) bool { return !l.RW }
func anyLock(*replay.Lock) bool       { return true }
func forWriting(l *replay.Lock) bool  { return l.Write }

// id returns the number of a lock set.
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

// meet returns the number of what two lock sets have in common.
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
func (e *eraser) touch(p *contestPage, in granules, u *contestUnit, alone bool) {
	write := u.access.Write
	locks := u.locks[0]
	if write {
		locks = u.locks[1]
	}
	var bare, part granules
	n := len(p.states)
	for i := 0; i < n; i++ {
		st := p.states[i]
		if st.cut != 0 && st.cut <= u.start || !part.common(&st.in, &in) {
			continue
		}
		if st.cut == 0 { // each is in one state of the present life
			in.without(&part)
		}
		if st.own(u.own, alone) {
			continue
		}
		next := e.after(st.stage, u.own, write, locks)
		if next.phase == modified && next.locks == 0 {
			bare.with(&part)
			continue
		}
		if next == st.stage {
			continue
		}
		p.states[i].in.without(&part)
		p.addState(contestState{next, st.cut, part})
	}
	if in.any() {
		st := stage{phase: exclusive, owner: u.own, locks: anyLocks}
		if !alone {
			st.locks, st.wrote = locks, write
		}
		p.addState(contestState{st, 0, in})
	}
	p.states = slices.DeleteFunc(p.states, func(st contestState) bool { return !st.in.any() })
	if bare.any() {
		p.bare.with(&bare)
		p.clearStates(&bare)
	}
}

func (p *contestPage) addState(st contestState) {
	for i := range p.states {
		if o := &p.states[i]; o.stage == st.stage && o.cut == st.cut {
			o.in.with(&st.in)
			return
		}
	}
	p.states = append(p.states, st)
}

// manyStates is how many states a page has before there is a look at which of
// them are needed, if the options do not say.
const manyStates = 16

// cutStates ends the life of granules at place at of S_synch.
func (p *contestPage) cutStates(in *granules, at uint64, run *replay.Walk, states int) {
	var ended granules
	for i := range len(p.states) {
		if st := p.states[i]; st.cut == 0 && ended.common(&st.in, in) {
			p.states[i].in.without(in)
			p.addState(contestState{st.stage, at, ended})
		}
	}
	p.states = slices.DeleteFunc(p.states, func(st contestState) bool { return !st.in.any() })
	if len(p.states) > max(p.many, states) {
		p.joinLives(slices.Sorted(run.Open))
		p.many = 2 * len(p.states)
	}
}

// joinLives makes few states of many. starts are where the open segments begin,
// ascending. What ended before all of them began is forgotten. If no open segment began
// between the ends of two lives, each segment is to meet both or none of them, so that
// they are taken for one.
func (p *contestPage) joinLives(starts []uint64) {
	last := make([]uint64, len(starts)+1) // end of a life that so many open segments began before
	before := func(cut uint64) int { return sort.Search(len(starts), func(i int) bool { return starts[i] >= cut }) }
	for _, st := range p.states {
		i := before(st.cut)
		last[i] = max(last[i], st.cut)
	}
	all := p.states
	p.states = nil
	for _, st := range all {
		if st.cut != 0 {
			i := before(st.cut)
			if i == 0 {
				continue
			}
			st.cut = last[i]
		}
		p.addState(st)
	}
}

// clearStates removes the states of granules.
func (p *contestPage) clearStates(in *granules) {
	kept := p.states[:0]
	for _, st := range p.states {
		if st.in.without(in); st.in.any() {
			kept = append(kept, st)
		}
	}
	p.states = kept
}
