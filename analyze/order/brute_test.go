package order

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"hindsight/analyze/internal/madeup"
	"hindsight/analyze/race"
	"hindsight/tracefmt/event"
)

// brute looks through the reorderings of a run: all orders in which each thread
// does a prefix of what it did, nothing comes before what it must follow, no two
// threads hold a mutex at once, and each read reads from the write that it read
// from in the run.
type brute struct {
	all     []node
	threads [][]int          // nodes, by thread
	must    relation         // what precedes what in every reordering
	from    []map[uint64]int // of each read, by byte: the write, -1 for none
	seen    map[string]bool
	visit   func(*reordering)
	tooMany bool
}

// reordering is a moment of one: how far each thread has come, who wrote each
// byte last, who holds each mutex.
type reordering struct {
	at     []int
	last   map[uint64]int
	holder map[uint64]int
}

const maxReorderings = 60_000

func newBrute(all []node, must relation) *brute {
	b := &brute{all: all, must: must, seen: map[string]bool{}, from: make([]map[uint64]int, len(all))}
	last := map[uint64]int{}
	for i := range all {
		n := &all[i]
		for n.thread >= len(b.threads) {
			b.threads = append(b.threads, nil)
		}
		b.threads[n.thread] = append(b.threads[n.thread], i)
		if n.isEvent {
			continue
		}
		b.from[i] = map[uint64]int{}
		for at := n.lo; at < n.lo+n.size; at++ {
			if w, ok := last[at]; n.place.Op == race.Read && ok {
				b.from[i][at] = w
			} else if n.place.Op == race.Read {
				b.from[i][at] = -1
			} else {
				last[at] = i
			}
		}
	}
	return b
}

// run calls visit at every moment of every reordering.
func (b *brute) run(visit func(*reordering)) {
	b.visit = visit
	b.step(&reordering{make([]int, len(b.threads)), map[uint64]int{}, map[uint64]int{}})
}

// next is what a thread does next, -1 at its end.
func (b *brute) next(r *reordering, t int) int {
	if r.at[t] == len(b.threads[t]) {
		return -1
	}
	return b.threads[t][r.at[t]]
}

// done says whether a node is before the moment.
func (b *brute) done(r *reordering, i int) bool {
	n := b.next(r, b.all[i].thread)
	return n < 0 || i < n
}

// reads says whether a read would read from the write that it did.
func (b *brute) reads(r *reordering, i int) bool {
	for at, w := range b.from[i] {
		if now, ok := r.last[at]; w >= 0 && (!ok || now != w) || w < 0 && ok {
			return false
		}
	}
	return true
}

// can says whether a node can come next, mutexes aside.
func (b *brute) can(r *reordering, i int) bool {
	for k := range i {
		if b.must[k][i] && !b.done(r, k) {
			return false
		}
	}
	return true
}

func (b *brute) step(r *reordering) {
	key := fmt.Sprint(r.at, r.last)
	if b.seen[key] || b.tooMany {
		return
	}
	if len(b.seen) == maxReorderings {
		b.tooMany = true
		return
	}
	b.seen[key] = true
	b.visit(r)
	for t := range b.threads {
		i := b.next(r, t)
		if i < 0 || !b.can(r, i) || !b.reads(r, i) {
			continue
		}
		n := &b.all[i]
		if n.isEvent && n.ev.Kind == event.MutexLock {
			if _, held := r.holder[n.ev.Obj]; held {
				continue
			}
		}
		after := &reordering{append([]int(nil), r.at...), clone(r.last), clone(r.holder)}
		after.at[t]++
		switch {
		case n.isEvent && n.ev.Kind == event.MutexLock:
			after.holder[n.ev.Obj] = t
		case n.isEvent && n.ev.Kind == event.MutexUnlock:
			delete(after.holder, n.ev.Obj)
		case !n.isEvent && n.place.Op == race.Write:
			for at := n.lo; at < n.lo+n.size; at++ {
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

// deadlocked says whether threads wait for each other's mutexes.
func (b *brute) deadlocked(r *reordering) bool {
	waits := make([]int, len(b.threads)) // for which thread, from 1
	for t := range b.threads {
		if i := b.next(r, t); i >= 0 && b.all[i].isEvent && b.all[i].ev.Kind == event.MutexLock && b.can(r, i) {
			if u, held := r.holder[b.all[i].ev.Obj]; held && u != t {
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

// TestSchedulableAgainstReorderings: the pairs that the definition of schedulable
// happens-before reports, with which the analysis agrees, are those that are next
// to each other in some reordering that respects happens-before, not less and
// not more.
func TestSchedulableAgainstReorderings(t *testing.T) {
	n := 1500
	if testing.Short() {
		n = 300
	}
	races, others, looked := 0, 0, 0
	for seed := range uint64(n) {
		m := madeup.Program(rand.New(rand.NewPCG(seed, 31)).IntN, 12+int(seed%18))
		all := linear(m)
		_, hb, shb := orders(all)
		b := newBrute(all, hb)
		shown := map[[2]int]bool{}
		b.run(func(r *reordering) {
			for t := range b.threads {
				for u := range t {
					i, j := b.next(r, t), b.next(r, u)
					if i < 0 || j < 0 || !all[i].conflicts(&all[j]) || !b.can(r, i) || !b.can(r, j) {
						continue
					}
					// Each may read something else: nothing comes after it.
					shown[[2]int{min(i, j), max(i, j)}] = true
				}
			}
		})
		if b.tooMany {
			continue
		}
		looked++
		for j := range all {
			for i := range j {
				if !all[i].conflicts(&all[j]) {
					continue
				}
				reported := schedulable(all, shb, i, j)
				if reported {
					races++
				} else {
					others++
				}
				if reported != shown[[2]int{i, j}] {
					t.Fatalf("seed %d: accesses %d and %d are reported: %v, and shown by a reordering: %v\n%v", seed, i, j, reported, !reported, m)
				}
			}
		}
		if agrees(t, m); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d runs, %d races, %d other pairs", looked, races, others)
	if looked < n/2 || races < n/10 || others < n/10 {
		t.Errorf("only %d runs of %d, %d races and %d other pairs", looked, n, races, others)
	}
}

// manySections makes up a run of threads that take turns: each accesses a few
// variables before, in and after a critical section or two nested ones, so that
// happens-before orders most accesses and the order of the sections is chance.
func manySections(rnd *rand.Rand) *madeup.Run {
	threads := 2 + rnd.IntN(2)
	m := madeup.New(threads)
	access := func(t int) {
		m.Access(t, 0x10+uint64(rnd.IntN(8)*4+t*0x100), 0x1000+8*uint64(rnd.IntN(4)), 8, event.Access(rnd.IntN(2)))
	}
	some := func(t, n int) {
		for range rnd.IntN(n) {
			access(t)
		}
	}
	for turn := range 2 + rnd.IntN(3) {
		t := (turn + rnd.IntN(2)) % threads
		if rnd.IntN(2) == 0 && turn == 0 {
			access(t)
		}
		locks := []uint64{0x100, 0x108}
		rnd.Shuffle(2, func(i, j int) { locks[i], locks[j] = locks[j], locks[i] })
		locks = locks[:1+rnd.IntN(4)/3]
		for _, l := range locks {
			m.Do(t, event.MutexLock, l)
			some(t, 2)
		}
		for i := range locks {
			m.Do(t, event.MutexUnlock, locks[len(locks)-1-i])
		}
		some(t, 2)
	}
	return m
}

// TestWeakAgainstReorderings: where weak causal precedence reports a pair and
// happens-before none, some correct reordering shows a race or a deadlock; and it
// reports whatever happens-before does.
func TestWeakAgainstReorderings(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 300
	}
	racy := 0
	for seed := range uint64(n) {
		m := manySections(rand.New(rand.NewPCG(seed, 32)))
		var weak, hb bool
		for k, s := range found(t, m, Options{NoLockset: true}) {
			weak, hb = weak || s.Has(WCP), hb || s.Has(HB)
			if s.Has(HB) && !s.Has(WCP) {
				t.Fatalf("seed %d: %v is reported by happens-before alone\n%v", seed, k, m)
			}
		}
		if !weak || hb {
			continue // of happens-before the other test tells
		}
		all := linear(m)
		hard, _, _ := orders(all)
		b := newBrute(all, hard)
		shown := false
		b.run(func(r *reordering) {
			shown = shown || b.deadlocked(r)
			for t := range b.threads {
				for u := range t {
					i, j := b.next(r, t), b.next(r, u)
					shown = shown || i >= 0 && j >= 0 && all[i].conflicts(&all[j]) && b.can(r, i) && b.can(r, j)
				}
			}
		})
		if b.tooMany && !shown {
			continue
		}
		racy++
		if !shown {
			t.Fatalf("seed %d: no reordering shows a race or a deadlock\n%v", seed, m)
		}
	}
	t.Logf("%d runs with races that happens-before does not see", racy)
	if racy < n/100 {
		t.Errorf("only %d runs with races that happens-before does not see", racy)
	}
}

// TestNoSchedule: of a run that does not tell in which order accesses were
// executed, nothing is said to be schedulable, and happens-before is the same.
func TestNoSchedule(t *testing.T) {
	m := madeup.New(2)
	m.Write(0, 0x10, 0x1000)
	m.Read(1, 0x20, 0x1000)
	m.Write(0, 0x14, 0x2000)
	for _, without := range []bool{false, true} {
		m.NoSchedule = without
		s := found(t, m, Options{})[pairOf(0x10, race.Write, 0x20, race.Read)]
		if !s.Has(HB) || !s.Has(WCP) || s.Has(SHB) == without {
			t.Errorf("without a schedule %v: %v", without, s.Names())
		}
	}
}
