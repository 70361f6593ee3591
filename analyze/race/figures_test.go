package race

import (
	"context"
	"errors"
	"math"
	"testing"

	"hindsight/analyze/place"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

func analyze(t *testing.T, f *fake, opts Options) *Result {
	t.Helper()
	res, err := Analyze(context.Background(), f, opts)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestFigure6 is the execution of PPoPP 2003, figure 6: thread 2 writes X in
// its critical section, thread 1 reads X between its own two without holding
// the lock.
func TestFigure6(t *testing.T) {
	const x, l = 0x1000, 0x100
	f := newFake(3)
	f.do(0, event.MutexLock, l, 0)
	f.do(0, event.MutexUnlock, l, 0)
	f.do(1, event.MutexLock, l, 0)
	f.write(1, 0x20, x)
	f.do(1, event.MutexUnlock, l, 0)
	f.read(0, 0x10, x)
	f.do(2, event.MutexLock, l, 0)
	f.do(2, event.MutexUnlock, l, 0)
	f.do(0, event.MutexLock, l, 0)
	f.read(0, 0x14, x) // ordered after the write by the lock
	f.do(0, event.MutexUnlock, l, 0)

	res := analyze(t, f, Options{})
	if len(res.Races) != 1 || res.Races[0].Dynamic != 1 {
		t.Fatalf("%+v, want one race", res.Races)
	}
	i := res.Races[0].First
	if i.Later.PC != 0x10 || i.Later.Thread != 0 || len(i.Later.Locks) != 0 || i.Later.Segment != 2 {
		t.Errorf("read: %+v", i.Later)
	}
	if i.Earlier.PC != 0x20 || len(i.Earlier.Locks) != 1 || !i.Earlier.Locks[0].Write || i.Earlier.Segment != 1 {
		t.Errorf("write: %+v", i.Earlier)
	}
	if m := res.Mutexes; len(m) != 1 || m[0].Address != l || m[0].FirstLock != (EventRef{0, 0}) {
		t.Errorf("mutexes: %+v", m)
	}
}

// TestFigure7 is the program of figure 7: both the race on Subscript and the
// one on A[1] that follows from it are apparent races.
func TestFigure7(t *testing.T) {
	const subscript, a1 = 0x1000, 0x2008
	f := newFake(2)
	f.write(0, 0x10, subscript)
	f.write(0, 0x14, a1)
	f.read(1, 0x20, subscript)
	f.read(1, 0x24, a1)
	res := analyze(t, f, Options{})
	if len(res.Races) != 2 {
		t.Fatalf("%d races, want 2", len(res.Races))
	}
	for i, want := range []uint64{subscript, a1} {
		if got := res.Races[i].First.Address; got != want {
			t.Errorf("race %d is at %#x, want %#x", i, got, want)
		}
	}
}

// TestCountsWithoutEnumerating has 10^16 dynamic pairs in a handful of runs.
func TestCountsWithoutEnumerating(t *testing.T) {
	f := newFake(2)
	w := f.site(0x10, 8, event.Write)
	f.run(0, w, 0x1000, 0, 1e8)
	f.run(1, w, 0x1000, 0, 1e8)
	res := analyze(t, f, Options{})
	if len(res.Races) != 1 || res.Races[0].Dynamic != 1e16 {
		t.Fatalf("%+v", res.Races)
	}
	last := res.Races[0].Last
	if last.Later.Ordinal != 1e8-1 || last.Earlier.Ordinal != 1e8-1 {
		t.Errorf("last: %+v", last)
	}
	f.run(0, w, 0x1000, 0, math.MaxUint32)
	f.run(1, w, 0x1000, 0, math.MaxUint64/2)
	if n := analyze(t, f, Options{}).Dynamic(); n != math.MaxUint64 {
		t.Errorf("%d dynamic pairs, want saturation", n)
	}
}

// TestMemoryIsBounded makes threads take their own locks for a long time around accesses
// to common words. No thread ever sees the other, but epochs that cannot be distinguished
// are stored as one.
func TestMemoryIsBounded(t *testing.T) {
	const threads, rounds = 4, 3000
	f := newFake(threads)
	index := make([]uint64, threads)
	do := func(th event.ThreadID, k event.Kind, obj, arg uint64) {
		f.events = append(f.events, replay.Event{Event: event.Event{Kind: k, Obj: obj, Arg: arg}, Thread: th, Seq: uint64(len(f.events)), Index: index[th]})
		index[th]++
	}
	w := f.site(0x10, 8, event.Write)
	for i := range uint64(rounds) {
		for th := range event.ThreadID(threads) {
			do(th, event.MutexLock, 0x100+uint64(th), 0)
			f.segments[th] = append(f.segments[th], fakeSegment{index[th], []replay.Run{{Site: w, Base: 0x1000, Stride: 8, Count: 4, First: 4 * i}}})
			do(th, event.MutexUnlock, 0x100+uint64(th), 0)
		}
	}
	res := analyze(t, f, Options{SweepEvery: 100, batchItems: 16, staleAfter: 64, Workers: 1})
	if want := uint64(threads * (threads - 1) / 2 * rounds * rounds * 4); res.Dynamic() != want {
		t.Errorf("%d dynamic pairs, want %d", res.Dynamic(), want)
	}
	if res.Stats.Peak > 1000 {
		t.Errorf("%d records at once", res.Stats.Peak)
	}
}

// TestHeapChurnIsBounded allocates, uses and frees one block again and again while
// another thread is in one long segment.
func TestHeapChurnIsBounded(t *testing.T) {
	f := newFake(2)
	index := uint64(0)
	do := func(k event.Kind) {
		f.events = append(f.events, replay.Event{Event: event.Event{Kind: k, Obj: 0x1000, Arg: 64, PC: 0x30 + uint64(k)}, Seq: uint64(len(f.events)), Index: index})
		index++
	}
	w := f.site(0x10, 8, event.Write)
	const rounds = 20000
	for i := range uint64(rounds) {
		do(event.Alloc)
		f.segments[0] = append(f.segments[0], fakeSegment{index, []replay.Run{{Site: w, Base: 0x1000, Stride: 8, Count: 8, First: 8 * i}}})
		do(event.Free)
	}
	f.segments[1] = []fakeSegment{{0, []replay.Run{{Site: f.site(0x20, 8, event.Read), Base: 0x1008, Count: 1}}}}
	res := analyze(t, f, Options{SweepEvery: 1000})
	if res.Dynamic() != 2*rounds { // none of them is separated from the long segment
		t.Errorf("%d dynamic pairs, want %d", res.Dynamic(), 2*rounds)
	}
	if res.Stats.Peak > 10000 {
		t.Errorf("%d records at once", res.Stats.Peak)
	}
}

// program has user code below 0x8000 and user variables below 0x10000.
type program struct{}

func (program) User(pc uint64) bool         { return pc < 0x8000 }
func (program) UserObject(addr uint64) bool { return addr < 0x10000 }

func TestWhoseAccess(t *testing.T) {
	const user, lib = 0x10, 0x8010
	const stackLow, tp, block = 0x40000, 0x50000, 0x30000
	tests := []struct {
		name   string
		pc     uint64
		addr   uint64
		allocs uint64 // pc of the allocation
		want   bool
		kind   place.Kind
	}{
		{"user code, user variable", user, 0x9000, user, true, place.Unknown},
		{"user code, library variable", user, 0x20000, user, true, place.Unknown},
		{"library code, user variable", lib, 0x9000, user, true, place.Unknown},
		{"library code, library variable", lib, 0x20000, user, false, place.Unknown},
		{"library code, user's block", lib, block + 8, user, true, place.Heap},
		{"library code, library's block", lib, block + 8, lib, false, place.Heap},
		{"user code, library's block", user, block + 8, lib, true, place.Heap},
		{"library code, stack", lib, stackLow + 0x100, user, true, place.Stack},
		{"library code, thread descriptor", lib, tp - 0x100, user, false, place.Stack},
		{"library code, thread-local variable", lib, tp + 8, user, true, place.TLS},
		{"library code, behind thread-local variables", lib, tp + 0x40, user, false, place.Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(3)
			f.do(0, event.ThreadStart, 0, 0)
			f.event(0, event.Event{Kind: event.Alloc, Obj: block, Arg: 64, PC: tt.allocs})
			f.do(0, event.Create, 1, 0)
			f.do(1, event.ThreadStart, 0, tp)
			f.do(1, event.StackMap, stackLow, tp-stackLow)
			f.do(0, event.Create, 2, 0)
			f.do(2, event.ThreadStart, 0, 0)
			f.write(1, tt.pc, tt.addr)
			f.write(2, tt.pc+4, tt.addr)
			res := analyze(t, f, Options{Program: program{}, TLSSize: 0x20})
			if got := len(res.Races) == 1; got != tt.want {
				t.Fatalf("race found: %v, want %v", got, tt.want)
			}
			if tt.want && res.Races[0].Location.Kind != tt.kind {
				t.Errorf("location %+v, want kind %d", res.Races[0].Location, tt.kind)
			}
		})
	}
}

// TestWhoseRuns has a library copy from a block of the user's onward, through one of its
// own, to memory of unknown owner.
func TestWhoseRuns(t *testing.T) {
	const user, lib = 0x10, 0x8010
	f := newFake(2)
	f.event(0, event.Event{Kind: event.Alloc, Obj: 0x30000, Arg: 100, PC: user})
	f.event(0, event.Event{Kind: event.Alloc, Obj: 0x30068, Arg: 200, PC: lib})
	f.do(0, event.Create, 1, 0)
	f.run(0, f.site(lib, 8, event.Write), 0x30000, 8, 100)
	f.run(0, f.site(lib, 8, event.Write), 0x30000, -8, 3)
	f.do(1, event.ThreadStart, 0, 0)
	f.run(1, f.site(lib+4, 8, event.Read), 0x30000, 8, 100)
	if n := analyze(t, f, Options{Program: program{}}).Dynamic(); n != 14 {
		t.Errorf("%d dynamic pairs, want 13 and 1", n)
	}
}

func TestUseAfterFree(t *testing.T) {
	f := newFake(2)
	f.do(0, event.Alloc, 0x1000, 100000)
	f.do(0, event.Create, 1, 0)
	f.do(1, event.ThreadStart, 0, 0)
	f.read(1, 0x10, 0x5008)
	f.do(0, event.Free, 0x1000, 0) // the size is known from the allocation
	res := analyze(t, f, Options{})
	if len(res.Races) != 1 {
		t.Fatalf("%+v", res.Races)
	}
	i := res.Races[0].First
	if i.Earlier.Op != replay.Free || i.Earlier.Size != 100000 || i.Earlier.Address != 0x1000 || i.Address != 0x5008 {
		t.Errorf("%+v", i)
	}
	if loc := res.Races[0].Location; loc.Kind != place.Heap || loc.Block.Addr != 0x1000 {
		t.Errorf("location %+v", loc)
	}
}

func TestDamagedSources(t *testing.T) {
	bad := newFake(1)
	bad.segments[0] = []fakeSegment{{0, []replay.Run{{Site: 7, Base: 1, Count: 1}}}}
	wrong := newFake(1)
	wrong.do(0, event.Create, 1<<40, 0)
	stranger := newFake(1)
	stranger.do(5, event.Fence, 0, 0)
	wide := newFake(1)
	wide.sites = []replay.Site{{PC: 1, Size: 200}}
	for i, f := range []*fake{bad, wrong, stranger, wide} {
		if _, err := Analyze(context.Background(), f, Options{}); err == nil {
			t.Errorf("source %d was accepted", i)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Analyze(ctx, newFake(1), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
