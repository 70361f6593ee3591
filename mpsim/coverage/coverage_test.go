package coverage_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/mpsim/coverage"
	"hindsight/tracefmt/event"
)

// step is a batch of one thread: an access at an address by block 0 (a read) or 1 (a
// write), or an event.
type step struct {
	thread event.ThreadID
	block  event.BlockID
	addr   uint64
	event  event.Event
}

func read(t event.ThreadID, addr uint64) step  { return step{thread: t, addr: addr} }
func write(t event.ThreadID, addr uint64) step { return step{thread: t, block: 1, addr: addr} }
func do(t event.ThreadID, kind event.Kind, obj, arg uint64) step {
	return step{thread: t, event: event.Event{Kind: kind, PC: 0x500, Obj: obj, Arg: arg}}
}

// observe passes a run to the observer. All threads exist.
func observe(t *testing.T, o *coverage.Observer, run []step) (coverage.Class, []coverage.Pair) {
	t.Helper()
	o.Reset()
	err := o.Define([]event.Block{
		{ID: 0, PC: 0x100, Bytes: 4, Insts: 1, Sites: []event.Site{{PC: 0x100, Size: 8, Access: event.Read}}},
		{ID: 1, PC: 0x200, Bytes: 4, Insts: 1, Sites: []event.Site{{PC: 0x200, Size: 8, Access: event.Write}}},
	})
	for thread := range event.ThreadID(3) {
		if err == nil {
			err = o.Batch(&event.Batch{Thread: thread})
		}
	}
	for _, s := range run {
		b := &event.Batch{Thread: s.thread}
		if s.event.Kind != event.None {
			b.Events = []event.Event{s.event}
		} else {
			b.Blocks, b.Addrs = []event.BlockID{s.block}, []uint64{s.addr}
		}
		if err == nil {
			err = o.Batch(b)
		}
	}
	if err == nil {
		err = o.Finish(event.Outcome{Threads: 3})
	}
	if err != nil {
		t.Fatal(err)
	}
	return o.Class(), o.Pairs()
}

// TestClass checks that runs are in the same class if they differ only in the order of what
// happens-before leaves unordered.
func TestClass(t *testing.T) {
	const lock, x = 0x9000, 0xa000
	section := func(th event.ThreadID) []step {
		return []step{do(th, event.MutexLock, lock, 0), write(th, x), do(th, event.MutexUnlock, lock, 0)}
	}
	for _, tt := range []struct {
		name string
		a, b []step
		same bool
	}{
		{"accesses in either order", []step{read(1, x), write(2, x)}, []step{write(2, x), read(1, x)}, true},
		{"other addresses", []step{read(1, x)}, []step{read(1, x+8)}, false},
		{"sections in either order", slices.Concat(section(1), section(2)), slices.Concat(section(2), section(1)), false},
		{"another thread", section(1), section(2), false},
		{"sections of two locks", []step{do(1, event.MutexLock, lock, 0), do(2, event.MutexLock, lock+64, 0)},
			[]step{do(2, event.MutexLock, lock+64, 0), do(1, event.MutexLock, lock, 0)}, true},
		{"arrivals at a barrier", []step{do(1, event.BarrierEnter, lock, 0), do(2, event.BarrierEnter, lock, 0), do(1, event.BarrierLeave, lock, 0)},
			[]step{do(2, event.BarrierEnter, lock, 0), do(1, event.BarrierEnter, lock, 0), do(1, event.BarrierLeave, lock, 0)}, true},
		{"a load before or after a store", []step{do(1, event.AtomicLoad, x, 0), do(2, event.AtomicStore, x, 0)},
			[]step{do(2, event.AtomicStore, x, 0), do(1, event.AtomicLoad, x, 0)}, false},
		{"first lives of memory", []step{do(1, event.Alloc, 0x10000, 64), do(2, event.Alloc, 0x20000, 64)},
			[]step{do(2, event.Alloc, 0x20000, 64), do(1, event.Alloc, 0x10000, 64)}, true},
		{"an access to an earlier or a later life", []step{do(1, event.Alloc, 0x10000, 64), write(2, 0x10000), do(1, event.Alloc, 0x10000, 64)},
			[]step{do(1, event.Alloc, 0x10000, 64), do(1, event.Alloc, 0x10000, 64), write(2, 0x10000)}, false},
	} {
		o := coverage.New()
		a, _ := observe(t, o, tt.a)
		b, _ := observe(t, o, tt.b)
		again, _ := observe(t, coverage.New(), tt.b)
		if (a == b) != tt.same || b != again {
			t.Errorf("%s: classes %x, %x and %x", tt.name, a, b, again)
		}
	}
}

// TestPairs checks the conflicts between threads, in their order.
func TestPairs(t *testing.T) {
	o := coverage.New()
	for _, tt := range []struct {
		name string
		run  []step
		want []coverage.Pair
	}{
		{"a read after a write", []step{write(1, 0xa000), read(2, 0xa000)}, []coverage.Pair{{From: 0x200, To: 0x100}}},
		{"a write after a read", []step{read(1, 0xa000), write(2, 0xa000)}, []coverage.Pair{{From: 0x100, To: 0x200}}},
		{"of one thread", []step{write(1, 0xa000), read(1, 0xa000)}, []coverage.Pair{}},
		{"two reads", []step{read(1, 0xa000), read(2, 0xa000)}, []coverage.Pair{}},
		{"of other memory", []step{write(1, 0xa000), do(2, event.Alloc, 0xa000, 64), read(2, 0xa000)}, []coverage.Pair{}},
	} {
		if _, got := observe(t, o, tt.run); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %x, want %x", tt.name, got, tt.want)
		}
	}
}

func TestPairsAsText(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		pairs := make([]coverage.Pair, rng.IntN(20))
		for i := range pairs {
			pairs[i] = coverage.Pair{From: rng.Uint64() >> rng.IntN(64), To: rng.Uint64() >> rng.IntN(64)}
		}
		slices.SortFunc(pairs, coverage.Pair.Compare)
		got, err := coverage.DecodePairs(coverage.EncodePairs(pairs))
		if err != nil || !slices.Equal(got, pairs) {
			t.Fatalf("%x: %x, %v", pairs, got, err)
		}
	}
	for _, bad := range []string{"?", "gA", "AIA"} {
		if _, err := coverage.DecodePairs(bad); err == nil {
			t.Errorf("%q is taken for pairs", bad)
		}
	}
}
