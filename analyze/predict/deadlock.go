package predict

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Deadlock is a cycle of threads that another schedule of the same events reaches, in
// which each waits for a mutex that the next holds (Tunç, Mathur, Pavlogiannis and
// Viswanathan, PLDI 2023). The run did not deadlock there.
type Deadlock struct {
	Waits    []Wait
	Reversed bool   // see Race
	Witness  []Turn // after it each thread of Waits locks; nil as in Race
}

// Wait is a thread of a deadlock. Its mutex is held by the thread of the next one, and
// that of the last by the first.
type Wait struct {
	Thread event.ThreadID
	Mutex  uint64 // that it waits for
	PC     uint64 // of the call
	Index  uint64 // of the MutexLock in the run, among the events of its thread
	// Held is the mutex that it holds, HeldPC the call that locked it, HeldBy and
	// HeldIndex the event.
	Held, HeldPC uint64
	HeldBy       event.ThreadID
	HeldIndex    uint64
}

// acquireKey is what an abstract acquire has in common: a lane locks a mutex while it
// holds a set (section 4.2), at a place.
type acquireKey struct {
	lane  laneID
	mutex uint64
	held  int32
	pc    uint64
}

// acquire is an abstract acquire with its instances.
type acquire struct {
	acquireKey
	at    []held
	first int // of at, that is examined
}

// held is an instance of an acquire.
type held struct {
	node   nodeID
	thread event.ThreadID
	index  uint64
	since  []taken // of the mutexes that are held, in the order of locks
	locks  []uint64
}

// taken is where a mutex was locked.
type taken struct {
	pc     uint64
	thread event.ThreadID
	index  uint64
}

// Bounds of the search for deadlocks.
const (
	maxInstances = 64   // of an abstract acquire, the first
	maxCycle     = 4    // threads
	maxPatterns  = 4096 // cycles of abstract acquires
)

// acquire notes that a lane locks a mutex while it holds others.
func (r *record) acquire(ev *format.Event, l laneID, id nodeID) {
	st := &r.states[l]
	if len(st.held) == 0 || slices.Contains(st.held, ev.Obj) {
		return
	}
	k := acquireKey{l, ev.Obj, st.locks, ev.PC}
	a := r.kinds[k]
	if a == nil {
		a = &acquire{acquireKey: k}
		r.kinds[k] = a
		r.acquires = append(r.acquires, a)
	}
	if len(a.at) < maxInstances {
		a.at = append(a.at, held{id, ev.Thread, ev.Index, slices.Clone(st.at), slices.Clone(st.held)})
	}
}

// deadlocks are those of the run's abstract patterns that some instance of reaches,
// one for each set of places.
func (s *search) deadlocks(ctx context.Context) (all []Deadlock) {
	seen := map[string]bool{}
	patterns := 0
	var cycle []*acquire
	var extend func()
	extend = func() {
		last := cycle[len(cycle)-1]
		for _, a := range s.r.acquires {
			if ctx.Err() != nil || patterns > maxPatterns || s.visited > budget {
				return
			}
			if !s.r.holds(a, last.mutex) || !s.r.apart(cycle, a) {
				continue
			}
			cycle = append(cycle, a)
			if s.r.holds(cycle[0], a.mutex) && cycle[0] == first(cycle) {
				patterns++
				if k := places(cycle); !seen[k] {
					if d, ok := s.deadlock(cycle); ok {
						seen[k] = true
						all = append(all, d)
					}
				}
			} else if len(cycle) < maxCycle {
				extend()
			}
			cycle = cycle[:len(cycle)-1]
		}
	}
	for _, a := range s.r.acquires {
		cycle = append(cycle[:0], a)
		extend()
	}
	return all
}

// holds tells whether a mutex is held at an abstract acquire.
func (r *record) holds(a *acquire, mutex uint64) bool {
	return slices.Contains(r.locksOf[a.held], mutex)
}

// apart tells whether an acquire is of another lane than those of a cycle, and with no
// mutex held in common: such a one (a gate) keeps them from meeting.
func (r *record) apart(cycle []*acquire, a *acquire) bool {
	return !slices.ContainsFunc(cycle, func(o *acquire) bool { return o.lane == a.lane || r.common(o.held, a.held) })
}

// first is the acquire of a cycle whose first instance comes first: each cycle is
// examined from there alone.
func first(cycle []*acquire) *acquire {
	return slices.MinFunc(cycle, func(a, b *acquire) int { return cmp.Compare(a.at[0].node, b.at[0].node) })
}

// places names a cycle by its places in the code.
func places(cycle []*acquire) string {
	var pcs []uint64
	for _, a := range cycle {
		pcs = append(pcs, a.pc)
	}
	slices.Sort(pcs)
	return fmt.Sprint(pcs)
}

// deadlock looks for instances of a pattern that a correct reordering brings together.
// An instance that what comes before the others needs cannot be met by later ones of
// them either, so that each step leaves one instance behind (algorithm 3).
func (s *search) deadlock(cycle []*acquire) (Deadlock, bool) {
	for _, a := range cycle {
		a.first = 0
	}
	nodes := make([]nodeID, len(cycle))
	for {
		for i, a := range cycle {
			if a.first == len(a.at) {
				return Deadlock{}, false
			}
			nodes[i] = a.at[a.first].node
		}
		if s.reach(nodes) && s.enabled(nodes) {
			return s.described(cycle, nodes), true
		}
		behind := slices.IndexFunc(cycle, func(a *acquire) bool { return a.lane == s.blocked })
		if behind < 0 {
			behind = slices.Index(nodes, slices.Min(nodes))
		}
		cycle[behind].first++
	}
}

// enabled tells whether nothing but the mutexes keeps nodes from being next: what they
// need has been taken in.
func (s *search) enabled(nodes []nodeID) bool {
	for _, id := range nodes {
		hard, _ := s.r.needed(id)
		for _, b := range hard {
			if m := &s.r.nodes[b]; s.in[m.lane] <= m.pos {
				return false
			}
		}
	}
	return true
}

// described is the deadlock that reach has found.
func (s *search) described(cycle []*acquire, nodes []nodeID) Deadlock {
	d := Deadlock{Reversed: s.order != nil}
	for i, a := range cycle {
		h := &a.at[a.first]
		w := Wait{Thread: h.thread, Mutex: a.mutex, PC: a.pc, Index: h.index}
		before := cycle[(i+len(cycle)-1)%len(cycle)] // waits for this one
		w.Held = before.mutex
		at := h.since[slices.Index(h.locks, w.Held)]
		w.HeldPC, w.HeldBy, w.HeldIndex = at.pc, at.thread, at.index
		d.Waits = append(d.Waits, w)
	}
	d.Witness = s.schedule(s.reordering())
	for _, id := range nodes {
		n := &s.r.nodes[id]
		if d.Witness != nil {
			d.Witness = run(d.Witness, Turn{n.thread, n.events - 1, n.count})
		}
	}
	return d
}
