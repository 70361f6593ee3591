package slice_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/analyze/slice"
	"hindsight/mpsim/asm"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// TestWrites compares the writes to any bytes with those of the log, in its order.
func TestWrites(t *testing.T) {
	found, valued := 0, 0
	for seed := range uint64(30) {
		l, img := logged(t, randomShape(seed))
		shared, ok := img.Lookup("shared")
		if !ok {
			t.Fatal("no shared memory")
		}
		rng := rand.New(rand.NewPCG(seed, 15))
		for range 5 {
			addr, size := shared.Addr+rng.Uint64N(64), 1+rng.Uint64N(16)
			var want []int
			for n, s := range l.Statements() {
				if s.Stores && s.Addr < addr+size && addr < s.Addr+uint64(s.Size) {
					want = append(want, n)
				}
			}
			var got []int
			for w, err := range slice.WritesTo(l, addr, size) {
				if err != nil {
					t.Fatal(err)
				}
				n, err := l.Find(w.Instance)
				if err != nil {
					t.Fatal(err)
				}
				s := &l.Statements()[n]
				if w.PC != s.PC || w.Addr != s.Addr || w.Size != s.Size {
					t.Errorf("%+v is %+v", w, s)
				}
				if w.HasValue {
					valued++
				}
				got = append(got, n)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d: writes to %d bytes at %#x: %v, want %v", seed, size, addr, got, want)
			}
			found += len(got)
		}
	}
	if found < 200 || valued < found/2 {
		t.Errorf("%d writes, %d with values", found, valued)
	}
}

// TestWrittenValues checks that what a write stored is what the next load of the same
// bytes reads, if that depends on nothing else.
func TestWrittenValues(t *testing.T) {
	compared := 0
	for seed := range uint64(30) {
		l, _ := logged(t, randomShape(seed))
		values := map[int]slice.Write{}
		for w, err := range slice.WritesTo(l, asm.DataBase, 1<<20) {
			if err != nil {
				t.Fatal(err)
			}
			n, _ := l.Find(w.Instance)
			values[n] = w
		}
		for _, s := range l.Statements() {
			access, _, plain := s.Inst.Mem()
			if !plain || access != event.Read {
				continue
			}
			var from []int
			for _, d := range s.Deps {
				if d.Kind == wet.DepMemory {
					from = append(from, d.From)
				}
			}
			if len(from) != 1 {
				continue
			}
			if w, ok := values[from[0]]; ok && w.HasValue && w.Addr == s.Addr && w.Size >= s.Size {
				compared++
				if (w.Value^s.Value)<<(64-8*s.Size) != 0 {
					t.Errorf("seed %d: %v at %#x loaded %#x, %#x was stored at %#x", seed, s.Inst.Op, s.PC, s.Value, w.Value, w.PC)
				}
			}
		}
	}
	if compared < 50 {
		t.Errorf("%d compared only", compared)
	}
}

// TestSites compares the values and addresses of an instruction with those of the log, in
// its order, for all threads and for one.
func TestSites(t *testing.T) {
	for seed := range uint64(20) {
		l, _ := logged(t, randomShape(seed))
		rng := rand.New(rand.NewPCG(seed, 16))
		stmts := l.Statements()
		for range 20 {
			pc, thread := stmts[rng.IntN(len(stmts))].PC, slice.AllThreads
			if rng.IntN(2) == 0 {
				thread = int(stmts[rng.IntN(len(stmts))].Thread)
			}
			var wantValues, wantAddrs, values, addrs []uint64
			for _, s := range stmts {
				if s.PC != pc || thread != slice.AllThreads && int(s.Thread) != thread {
					continue
				}
				if s.HasValue {
					wantValues = append(wantValues, s.Value)
				}
				if s.Size > 0 {
					wantAddrs = append(wantAddrs, s.Addr)
				}
			}
			for v, err := range slice.ValuesAt(l, []uint64{pc}, thread) {
				if err != nil || v.PC != pc {
					t.Fatal(err, v.PC)
				}
				values = append(values, v.Value)
			}
			for a, err := range slice.AddrsAt(l, []uint64{pc}, thread) {
				if err != nil {
					t.Fatal(err)
				}
				addrs = append(addrs, a.Addr)
			}
			if !slices.Equal(values, wantValues) || !slices.Equal(addrs, wantAddrs) {
				t.Errorf("seed %d, %#x, thread %d: values %x, want %x; addresses %x, want %x", seed, pc, thread, values, wantValues, addrs, wantAddrs)
			}
		}
	}
}

// TestInstances checks executions of an instruction by ordinal, first and last.
func TestInstances(t *testing.T) {
	l, _ := logged(t, randomShape(3))
	of := map[uint64][]int{}
	for n, s := range l.Statements() {
		of[s.PC] = append(of[s.PC], n)
	}
	for pc, want := range of {
		if pc == 0 || l.Statements()[want[0]].Kind != wet.NodePath {
			continue
		}
		target := &slice.Target{Text: "here", PCs: []uint64{pc}}
		for which, n := range map[slice.Which]int{slice.First: want[0], slice.Last: want[len(want)-1], slice.Which(len(want) / 2): want[len(want)/2]} {
			got, err := slice.Instances(l, target, slice.AllThreads, which)
			if err != nil || len(got) != 1 || got[0] != l.Instance(n) {
				t.Fatalf("%#x, %d: %v %v, want %v", pc, which, got, err, l.Instance(n))
			}
		}
		if all, err := slice.Instances(l, target, slice.AllThreads, slice.All); err != nil || len(all) != len(want) {
			t.Errorf("%#x: %d of %d, %v", pc, len(all), len(want), err)
		}
		if _, err := slice.Instances(l, target, slice.AllThreads, slice.Which(len(want))); !errors.Is(err, slice.ErrNoInstance) {
			t.Errorf("one too many: %v", err)
		}
		last := l.Statements()[want[len(want)-1]]
		nth := uint64(0)
		for _, n := range want[:len(want)-1] {
			if l.Statements()[n].Thread == last.Thread {
				nth++
			}
		}
		if i, err := slice.Nth(l, last.Thread, pc, nth); err != nil || i != l.Instance(want[len(want)-1]) {
			t.Errorf("execution %d of %#x in thread %d: %v %v", nth, pc, last.Thread, i, err)
		}
	}
}
