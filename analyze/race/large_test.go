package race

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"hindsight/analyze/replay"
	"hindsight/examples/cross"
	"hindsight/tracefmt/event"
)

// manyRandom returns n accesses of threads at random places. On average every hundredth
// time, one of the threads takes a lock.
func manyRandom(n, threads int) *fake {
	f := newFake(threads)
	rnd := rand.New(rand.NewPCG(1, 2))
	index, owner := make([]uint64, threads), 0
	do := func(k event.Kind) {
		f.events = append(f.events, replay.Event{Event: event.Event{Kind: k, Obj: 0x100}, Thread: event.ThreadID(owner), Seq: uint64(len(f.events)), Index: index[owner]})
		index[owner]++
	}
	var sites []replay.SiteID
	for i := range uint64(8) {
		sites = append(sites, f.site(0x10+4*i, 1<<(i%4), event.Access(i/4)))
	}
	for i := range n {
		if i%100 == 0 {
			owner = rnd.IntN(threads)
			do(event.MutexLock)
			do(event.MutexUnlock)
		}
		th := event.ThreadID(rnd.IntN(threads))
		segs := f.segments[th]
		if k := len(segs); k == 0 || segs[k-1].place != index[th] {
			segs = append(segs, fakeSegment{place: index[th]})
		}
		site := sites[rnd.IntN(len(sites))]
		key := [2]uint64{uint64(th), uint64(site)}
		s := &segs[len(segs)-1]
		s.runs = append(s.runs, replay.Run{Site: site, Base: 0x10000 + rnd.Uint64N(1<<22), Count: 1, First: f.ordinals[key]})
		f.ordinals[key]++
		f.segments[th] = segs
	}
	return f
}

// TestManyRandomAccesses analyses a million accesses of 16 threads at random places, with
// all variants of the analysis.
func TestManyRandomAccesses(t *testing.T) {
	n := 1_000_000
	if !cross.Long() {
		n = 100_000
	}
	f := manyRandom(n, 16)
	var want *Result
	for i, opts := range []Options{{Workers: 1}, {Workers: 2}, {Workers: 3}, {Workers: 8}, {noSieve: true, Workers: 1}} {
		res := analyze(t, f, opts)
		if i == 0 {
			if want = res; want.Dynamic() == 0 {
				t.Fatal("no races")
			}
			continue
		}
		if len(res.Races) != len(want.Races) || res.Dynamic() != want.Dynamic() {
			t.Fatalf("options %d: %d races, %d dynamic; want %d, %d", i, len(res.Races), res.Dynamic(), len(want.Races), want.Dynamic())
		}
		for j := range res.Races {
			x, y := &res.Races[j], &want.Races[j]
			if !reflect.DeepEqual(x, y) {
				t.Fatalf("options %d: race %d is %+v, want %+v", i, j, x, y)
			}
		}
	}
}

// TestWorkers analyses racing kernels with any number of workers, and with every run of
// every segment processed.
func TestWorkers(t *testing.T) {
	for _, args := range [][]string{
		{"lu_nobarrier", "-p", "4", "-x", "-n", "64"},
		{"mp3d_nolock", "-p", "16", "-x", "-m", "700", "-s", "2"},
	} {
		trace, opts := exampleTrace(t, args[0], args[1:]...)
		var want *Result
		for i, o := range []Options{{Workers: 1}, {Workers: 2}, {Workers: 3}, {Workers: 7}, {noSieve: true}, {plainRuns: true, batchItems: 5, SweepEvery: 100}} {
			o.Program, o.TLSSize = opts.Program, opts.TLSSize
			res, err := Analyze(context.Background(), replay.FromTrace(trace), o)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = res
			}
			if len(res.Races) == 0 || !reflect.DeepEqual(res.Races, want.Races) {
				t.Errorf("%s, options %d: %d races, %d pairs; want %d, %d", args[0], i, len(res.Races), res.Dynamic(), len(want.Races), want.Dynamic())
			}
		}
	}
}

// TestTooLarge has runs that cannot be walked. They are analysed if they touch little
// memory, and rejected if not.
func TestTooLarge(t *testing.T) {
	for _, tt := range []struct {
		stride int64
		count  uint64
		racy   bool
		fails  bool
	}{
		{0, 1 << 55, true, false},
		{8, 1 << 40, false, true},
		{1 << 20, 1 << 50, true, true},
		{-24, 1 << 60, true, true},
	} {
		f := newFake(2)
		w := f.site(0x10, 8, event.Write)
		f.run(0, w, 0x1000, tt.stride, tt.count)
		if tt.racy {
			f.run(1, w, 0x1000, tt.stride, tt.count)
		}
		res, err := Analyze(context.Background(), f, Options{})
		if errors.Is(err, ErrLimit) != tt.fails || err != nil && !tt.fails {
			t.Errorf("%+v: %v", tt, err)
		}
		if err == nil && tt.racy && res.Dynamic() == 0 {
			t.Errorf("%+v: no race", tt)
		}
	}
}

// TestThreadThatNeverRan has a run that ended between the creation of a thread and its
// first action, so the trace does not have the thread.
func TestThreadThatNeverRan(t *testing.T) {
	const threads = 3
	f := newFake(threads)
	f.do(0, event.Create, threads, 0)
	for i := range uint64(4000) {
		th := event.ThreadID(i % threads)
		f.write(th, 0x10, 0x1000+8*(i%64))
		f.do(th, event.MutexLock, 0x100, 0)
		f.do(th, event.MutexUnlock, 0x100, 0)
	}
	if res := analyze(t, f, Options{}); len(res.Races) != 0 {
		t.Errorf("%d races between writes that the lock orders", len(res.Races))
	}
}
