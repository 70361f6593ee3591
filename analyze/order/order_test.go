package order

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/analyze/internal/madeup"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/examples/cross"
	"hindsight/tracefmt/event"
)

// found returns the orders that report each pair.
func found(t *testing.T, src Source, opts Options) map[key]Set {
	t.Helper()
	pairs, err := Find(context.Background(), src, opts)
	if err != nil {
		t.Fatal(err)
	}
	out := map[key]Set{}
	for _, p := range pairs {
		a, b := p.Places()
		out[key{a, b}] = p.Orders
	}
	return out
}

func pairOf(pc1 uint64, op1 replay.Op, pc2 uint64, op2 replay.Op) key {
	return keyOf(race.Place{PC: pc1, Op: op1}, race.Place{PC: pc2, Op: op2})
}

func set(orders ...Order) (s Set) {
	for _, o := range orders {
		s.add(o)
	}
	return s
}

// TestHiddenByAccidentalLockOrder checks that the order of two critical sections hides a
// race from happens-before, unless they conflict.
func TestHiddenByAccidentalLockOrder(t *testing.T) {
	const x, y, l = 0x1000, 0x2000, 0x100
	for _, conflict := range []bool{false, true} {
		m := madeup.New(2)
		m.Write(0, 0x10, y)
		m.Do(0, event.MutexLock, l)
		m.Write(0, 0x14, x)
		m.Do(0, event.MutexUnlock, l)
		m.Do(1, event.MutexLock, l)
		if conflict {
			m.Read(1, 0x20, x)
		} else {
			m.Read(1, 0x20, x+8)
		}
		m.Do(1, event.MutexUnlock, l)
		m.Read(1, 0x24, y)
		got := found(t, m, Options{})
		want := set(WCP, Lockset)
		if conflict {
			want = set() // the reads only share y: no lock, but see below
		}
		k := pairOf(0x10, replay.Write, 0x24, replay.Read)
		if got[k]&^set(Lockset) != want&^set(Lockset) {
			t.Errorf("conflict %v: %v, want %v", conflict, got[k].Names(), want.Names())
		}
	}
}

// TestSecondRaceIsNotSchedulable publishes data by a flag without synchronisation. The
// race on the flag is schedulable, and the one on the data is not once the flag has been
// read.
func TestSecondRaceIsNotSchedulable(t *testing.T) {
	const data, flag = 0x1000, 0x2000
	m := madeup.New(2)
	m.Write(0, 0x10, data)
	m.Write(0, 0x14, flag)
	m.Read(1, 0x20, flag)
	m.Read(1, 0x24, data)
	got := found(t, m, Options{})
	if s := got[pairOf(0x14, replay.Write, 0x20, replay.Read)]; !s.Has(SHB) || !s.Has(HB) || !s.Has(WCP) {
		t.Errorf("flag: %v", s.Names())
	}
	if s := got[pairOf(0x10, replay.Write, 0x24, replay.Read)]; s.Has(SHB) || !s.Has(HB) {
		t.Errorf("data: %v", s.Names())
	}
}

func TestEraser(t *testing.T) {
	const x, l, k = 0x1000, 0x100, 0x200
	m := madeup.New(2)
	locked := func(t int, lock, pc uint64) {
		m.Do(t, event.MutexLock, lock)
		m.Write(t, pc, x)
		m.Do(t, event.MutexUnlock, lock)
	}
	m.Write(0, 0x10, x) // exclusive still
	locked(0, l, 0x14)
	locked(1, l, 0x20)
	if got := found(t, m, Options{}); got[pairOf(0x14, replay.Write, 0x20, replay.Write)].Has(Lockset) {
		t.Errorf("one lock: %v", got)
	}
	locked(0, k, 0x18) // another lock: none is held always
	if got := found(t, m, Options{}); !got[pairOf(0x18, replay.Write, 0x20, replay.Write)].Has(Lockset) {
		t.Errorf("two locks: %v", got)
	}
}

func TestAgreesWithDefinitions(t *testing.T) {
	n := 8000
	if !cross.Long() {
		n = 2000
	}
	reported := [NumOrders]int{}
	for seed := range uint64(n) {
		m := madeup.Program(rand.New(rand.NewPCG(seed, 7)).IntN, 20+int(seed%60))
		for _, s := range agrees(t, m) {
			for o := range NumOrders {
				if s.Has(o) {
					reported[o]++
				}
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Log(reported)
	for o, n := range reported {
		if n == 0 {
			t.Errorf("%v reports nothing", Order(o))
		}
	}
}

// FuzzOrders compares what the orders report in programs that the fuzzer chooses with the
// papers' definitions, spelled out.
func FuzzOrders(f *testing.F) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 1))
		text := make([]byte, 300)
		for i := range text {
			text[i] = byte(rng.Uint32())
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		agrees(t, madeup.Program(madeup.Bytes(text), min(len(text)/2, 50)))
	})
}

// agrees compares the orders that report each pair with those that do by
// definition.
func agrees(t *testing.T, m *madeup.Run) map[key]Set {
	t.Helper()
	got, want := found(t, m, Options{}), byDefinition(m)
	for k, s := range got {
		if s != want[k] {
			t.Errorf("%v is reported by %v, want %v\n%v", k, s.Names(), want[k].Names(), m)
		}
	}
	for k, s := range want {
		if got[k] == 0 && s != 0 {
			t.Errorf("%v is not reported, want %v\n%v", k, s.Names(), m)
		}
	}
	return want
}

// TestLooksAtWhatMatters compares what is found in the memory that can matter with what
// is found in all memory, to the last count and instance.
func TestLooksAtWhatMatters(t *testing.T) {
	n := 3000
	if !cross.Long() {
		n = 600
	}
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 11))
		m := madeup.Anything(rng, 150)
		if seed%2 == 0 {
			m = madeup.Program(rng.IntN, 150)
		}
		for _, opts := range []Options{{}, {states: 1}, {NoLockset: true}, {Atomics: race.Strict}} {
			sameInAll(t, m, opts)
			sameSchedulable(t, m, m, opts)
			if t.Failed() {
				t.Fatalf("seed %d: %+v\n%v", seed, opts, m)
			}
		}
	}
}

// sameInAll compares what is found with what is found in all memory.
func sameInAll(t *testing.T, src Source, opts Options) {
	t.Helper()
	got, err := Find(t.Context(), src, opts)
	if err != nil {
		t.Fatal(err)
	}
	opts.Everything = true
	want, err := Find(t.Context(), src, opts)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(got, want, func(p, q *Pair) bool { return *p == *q }) {
		t.Errorf("%d pairs, %d in all memory", len(got), len(want))
	}
}

// sameSchedulable compares the races by schedulable happens-before that are found in
// the memory with races by happens-before alone with those that all orders together
// find.
func sameSchedulable(t *testing.T, src Source, run replay.Source, opts Options) {
	t.Helper()
	var suspects []span
	_, err := race.Analyze(t.Context(), run, race.Options{Atomics: opts.Atomics, Program: opts.Program, TLSSize: opts.TLSSize,
		Suspect: func(lo, hi uint64) { suspects = append(suspects, span{lo, hi}) }})
	if err != nil {
		t.Fatal(err)
	}
	got, err := findSchedulable(t.Context(), src, opts, suspects)
	if err != nil {
		t.Fatal(err)
	}
	opts.NoLockset = true
	want, err := Find(t.Context(), src, opts)
	if err != nil {
		t.Fatal(err)
	}
	schedulable := func(all []*Pair) (kept []Pair) {
		for _, p := range all {
			if p.Orders.Has(SHB) {
				q := *p
				q.Orders.add(WCP) // but in runs that make no sense it reports what happens-before does
				q.First[WCP], q.At[WCP], q.Count[WCP] = [2]Access{}, 0, 0
				kept = append(kept, q)
			}
		}
		return kept
	}
	if g, w := schedulable(got), schedulable(want); !slices.Equal(g, w) {
		t.Errorf("%d schedulable pairs, with the other orders %d, or not the same", len(g), len(w))
	}
}

// TestGuardedMemory compares the same in runs whose mutexes each protect memory
// of their own, which is not walked access by access: by weak causal precedence
// its accesses order what is done without a mutex.
func TestGuardedMemory(t *testing.T) {
	guarded, mixed := 0, 0
	for seed := range uint64(2000) {
		m := guardedRun(rand.New(rand.NewPCG(seed, 12)))
		sameInAll(t, m, Options{})
		if t.Failed() {
			t.Fatalf("seed %d:\n%v", seed, m)
		}
		w := &walker{src: m}
		if err := w.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if w.guarded != nil {
			guarded++
			mixed += min(1, len(w.guarded.mixed))
		}
	}
	if guarded < 500 || mixed < 200 {
		t.Errorf("%d runs have guarded memory, %d mixed segments", guarded, mixed)
	}
}

// guardedRun returns a random run of the kind: each of some mutexes protects two words,
// and there are words that none protects.
func guardedRun(rng *rand.Rand) *madeup.Run {
	threads := 2 + rng.IntN(3)
	m := madeup.New(threads)
	holder, holds := map[int]int{}, make([][]int, threads)
	for range 40 + rng.IntN(80) {
		th := rng.IntN(threads)
		access := func(pc, addr uint64) {
			if rng.IntN(2) == 0 {
				m.Read(th, pc, addr)
			} else {
				m.Write(th, pc+4, addr)
			}
		}
		switch k := rng.IntN(8); {
		case k < 2 && len(holds[th]) < 2:
			lock := rng.IntN(3)
			if _, held := holder[lock]; !held {
				holder[lock] = th
				holds[th] = append(holds[th], lock)
				m.Do(th, event.MutexLock, 0x100+8*uint64(lock))
			}
		case k < 4 && len(holds[th]) > 0:
			i := rng.IntN(len(holds[th]))
			lock := holds[th][i]
			holds[th] = append(holds[th][:i:i], holds[th][i+1:]...)
			delete(holder, lock)
			m.Do(th, event.MutexUnlock, 0x100+8*uint64(lock))
		case k < 7 && len(holds[th]) > 0:
			lock := uint64(holds[th][rng.IntN(len(holds[th]))])
			access(0x1000+0x10*lock, 0x4000+0x10*lock+8*uint64(rng.IntN(2))+uint64(rng.IntN(4)))
		case k == 7:
			access(0x2000, 0x5000+8*uint64(rng.IntN(3)))
		}
	}
	return m
}
