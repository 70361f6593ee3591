package predict

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Deadlock is a cycle of threads that another schedule of the same events reaches: each
// waits for a mutex that the next one holds (Tunç, Mathur, Pavlogiannis and Viswanathan,
// PLDI 2023). The run did not deadlock there.
type Deadlock struct {
	Waits    []Wait
	Reversed bool   // see Race.Reversed
	Witness  []Turn // after it each thread of Waits locks; may be nil as in Race
}

// Wait is a thread of a deadlock. The thread of the next Wait holds its mutex, and the
// first thread holds that of the last.
type Wait struct {
	Thread event.ThreadID
	Mutex  uint64 // the mutex that it waits for
	PC     uint64 // of the call
	Index  uint64 // of the MutexLock in the run, among the events of its thread
	// Held is the mutex that it holds, HeldPC the call that locked it, and HeldBy and
	// HeldIndex identify the event.
	Held, HeldPC uint64
	HeldBy       event.ThreadID
	HeldIndex    uint64
}

// acquireKey is what the instances of an abstract acquire have in common: a lane locks a
// mutex at a place, while it holds a set of mutexes (section 4.2).
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
	first int // index into at of the first instance to examine
}

// held is an instance of an acquire.
type held struct {
	node   nodeID
	thread event.ThreadID
	index  uint64
	since  []taken // where the mutexes that are held were locked, in the order of the locks
	locks  []uint64
}

// taken says where a mutex was locked.
type taken struct {
	pc     uint64
	thread event.ThreadID
	index  uint64
}

// Limits of the search for deadlocks.
const (
	maxInstances = 64   // of an abstract acquire, the first ones
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

// deadlocks returns the deadlocks among the run's abstract patterns that some instance
// reaches, one for each set of places.
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

// holds reports whether a mutex is held at an abstract acquire.
func (r *record) holds(a *acquire, mutex uint64) bool {
	return slices.Contains(r.locksOf[a.held], mutex)
}

// apart reports whether an acquire is in another lane than those of a cycle and holds no
// mutex in common with them. A common mutex (a gate) keeps them from meeting.
func (r *record) apart(cycle []*acquire, a *acquire) bool {
	return !slices.ContainsFunc(cycle, func(o *acquire) bool { return o.lane == a.lane || r.common(o.held, a.held) })
}

// first returns the acquire of a cycle whose first instance comes first. Each cycle is
// examined only from there.
func first(cycle []*acquire) *acquire {
	return slices.MinFunc(cycle, func(a, b *acquire) int { return cmp.Compare(a.at[0].node, b.at[0].node) })
}

// places identifies a cycle by its places in the code.
func places(cycle []*acquire) string {
	var pcs []uint64
	for _, a := range cycle {
		pcs = append(pcs, a.pc)
	}
	slices.Sort(pcs)
	return fmt.Sprint(pcs)
}

// deadlock looks for instances of a pattern that a correct reordering brings together. If
// what must come before the others includes an instance, later instances of the others
// include it too, so each step eliminates one instance (algorithm 3).
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

// enabled reports whether only the mutexes keep the nodes from being next, because
// everything else that they need was taken in.
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

// described returns the deadlock that reach has found.
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
