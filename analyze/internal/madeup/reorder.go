package madeup

import (
	"fmt"

	"hindsight/tracefmt/event"
)

// Reorderings enumerates the reorderings of a run. A reordering is an order in which each
// thread does a prefix of what it did, nothing comes before what it must follow, no two
// threads hold a mutex at once, and each read reads from the same write as in the run.
type Reorderings struct {
	all     []Moment
	threads [][]int          // moments, by thread
	must    Relation         // what precedes what in every reordering
	from    []map[uint64]int // of each read, by byte: the write, or -1
	seen    map[string]bool
	visit   func(*Reordering)
	TooMany bool // not all reorderings were visited
}

// Reordering is a moment of a reordering: how far each thread has come, which write was
// the last to each byte, and which thread holds each mutex.
type Reordering struct {
	at     []int
	last   map[uint64]int
	holder map[uint64]int
}

const maxReorderings = 60_000

// NewReorderings returns the reorderings of a run in linear order that keep the order of
// must.
func NewReorderings(all []Moment, must Relation) *Reorderings {
	b := &Reorderings{all: all, must: must, seen: map[string]bool{}, from: make([]map[uint64]int, len(all))}
	last := map[uint64]int{}
	for i := range all {
		n := &all[i]
		for n.Thread >= len(b.threads) {
			b.threads = append(b.threads, nil)
		}
		b.threads[n.Thread] = append(b.threads[n.Thread], i)
		if n.IsEvent {
			continue
		}
		b.from[i] = map[uint64]int{}
		for at := n.Address; at < n.end(); at++ {
			if w, ok := last[at]; n.Site.Access == event.Read && ok {
				b.from[i][at] = w
			} else if n.Site.Access == event.Read {
				b.from[i][at] = -1
			} else {
				last[at] = i
			}
		}
	}
	return b
}

// Run calls visit at every moment of every reordering.
func (b *Reorderings) Run(visit func(*Reordering)) {
	b.visit = visit
	b.step(&Reordering{make([]int, len(b.threads)), map[uint64]int{}, map[uint64]int{}})
}

// Next returns the next moment of a thread, or -1 at its end.
func (b *Reorderings) Next(r *Reordering, t int) int {
	if t >= len(b.threads) || r.at[t] == len(b.threads[t]) {
		return -1
	}
	return b.threads[t][r.at[t]]
}

// done reports whether a moment of the run comes before the current one.
func (b *Reorderings) done(r *Reordering, i int) bool {
	n := b.Next(r, b.all[i].Thread)
	return n < 0 || i < n
}

// reads reports whether a read would read from the same write as in the run.
func (b *Reorderings) reads(r *Reordering, i int) bool {
	for at, w := range b.from[i] {
		if now, ok := r.last[at]; w >= 0 && (!ok || now != w) || w < 0 && ok {
			return false
		}
	}
	return true
}

// Can reports whether a moment of the run can come next, ignoring mutexes.
func (b *Reorderings) Can(r *Reordering, i int) bool {
	for k := range i {
		if b.must[k][i] && !b.done(r, k) {
			return false
		}
	}
	return true
}

func (b *Reorderings) step(r *Reordering) {
	key := fmt.Sprint(r.at, r.last)
	if b.seen[key] || b.TooMany {
		return
	}
	if len(b.seen) == maxReorderings {
		b.TooMany = true
		return
	}
	b.seen[key] = true
	b.visit(r)
	for t := range b.threads {
		i := b.Next(r, t)
		if i < 0 || !b.Can(r, i) || !b.reads(r, i) {
			continue
		}
		n := &b.all[i]
		if n.IsEvent && n.Event.Kind == event.MutexLock {
			if _, held := r.holder[n.Event.Obj]; held {
				continue
			}
		}
		after := &Reordering{append([]int(nil), r.at...), clone(r.last), clone(r.holder)}
		after.at[t]++
		switch {
		case n.IsEvent && n.Event.Kind == event.MutexLock:
			after.holder[n.Event.Obj] = t
		case n.IsEvent && n.Event.Kind == event.MutexUnlock:
			delete(after.holder, n.Event.Obj)
		case !n.IsEvent && n.Site.Access == event.Write:
			for at := n.Address; at < n.end(); at++ {
				after.last[at] = i
			}
		}
		b.step(after)
	}
}

func clone(m map[uint64]int) map[uint64]int {
	c := make(map[uint64]int, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

// Deadlocked reports whether threads wait for each other's mutexes.
func (b *Reorderings) Deadlocked(r *Reordering) bool {
	waits := make([]int, len(b.threads)) // for each thread, the one that it waits for, from 1
	for t := range b.threads {
		if i := b.Next(r, t); i >= 0 && b.all[i].IsEvent && b.all[i].Event.Kind == event.MutexLock && b.Can(r, i) {
			if u, held := r.holder[b.all[i].Event.Obj]; held && u != t {
				waits[t] = u + 1
			}
		}
	}
	for t := range waits {
		u := t
		for range waits {
			if waits[u] == 0 {
				break
			}
			if u = waits[u] - 1; u == t {
				return true
			}
		}
	}
	return false
}
