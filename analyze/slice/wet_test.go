package slice_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"hindsight/analyze/slice"
	"hindsight/analyze/slice/slicetest"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim/eval"
	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt"
	"hindsight/wet"
	"hindsight/wpp/cfg"
)

var _ slice.Slotted = (*wet.Graph)(nil)

func evaluate(i rv.Inst, pc, rs1, rs2, rs3 uint64) (uint64, bool) {
	return eval.Result(i, eval.Operands{PC: pc, Rs1: rs1, Rs2: rs2, Rs3: rs3})
}

// recording is a graph that is being written to a file in memory.
type recording struct {
	*wet.Builder
	w    *tracefmt.Writer
	file bytes.Buffer
}

// newRecording begins a graph with epochs of about budget bytes (0: the usual).
func newRecording(t testing.TB, img *image.Space, budget uint64) *recording {
	t.Helper()
	r := &recording{}
	var err error
	if r.w, err = tracefmt.NewWriter(&r.file); err != nil {
		t.Fatal(err)
	}
	r.Builder, err = wet.NewBuilder(r.w, wet.Options{Program: cfg.New(img), Code: img.Code, Budget: budget, Evaluate: evaluate, CallArgs: linux.CallArgs})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *recording) open(t testing.TB, opts wet.OpenOptions) *wet.Graph {
	t.Helper()
	if err := r.w.Close(); err != nil {
		t.Fatal(err)
	}
	opts.Evaluate = evaluate
	g, err := wet.OpenReaderAt(bytes.NewReader(r.file.Bytes()), int64(r.file.Len()), opts)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// compareSlices compares slices of a graph with the plain walk over the log, by slots and
// by instances, from random criteria.
func compareSlices(t testing.TB, a *slicetest.Aligned, rng *rand.Rand, times int) {
	t.Helper()
	l := a.Log
	of := func(n int) wet.Instance { return a.Of[n] }
	for range times {
		o := randomOptions(rng, l)
		from := []int{rng.IntN(len(l.Statements()))}
		criterion := []wet.Instance{a.Of[from[0]]}
		if rng.IntN(4) == 0 {
			from = append(from, rng.IntN(len(l.Statements())))
			criterion = append(criterion, a.Of[from[1]])
		}
		s, err := slice.Compute(context.Background(), a.Graph, criterion, o)
		if err != nil {
			t.Fatal(err)
		}
		got := map[int]bool{}
		for i := range s.Instances() {
			n, ok := a.Index[i]
			if !ok || got[n] {
				t.Fatalf("%+v is no instance, or listed twice", i)
			}
			got[n] = true
		}
		if err := same(got, visible(plain(l, from, o, of, a.Graph), o, from, of, a.Graph)); err != nil {
			t.Fatalf("from %v, %+v: %v (slice, then plain walk)", from, o, err)
		}
		if o.Depth != 0 {
			continue
		}
		if o.Direction == slice.Forward {
			over, err := slice.Compute(context.Background(), a.Graph, criterion, slice.Impatient(o))
			if err != nil {
				t.Fatal(err)
			}
			if err := sameSlices(over, s); err != nil {
				t.Fatalf("from %v, %+v: %v (in a pass, then by readers)", from, o, err)
			}
		}
		// The same graph without its slots.
		plainly, err := slice.Compute(context.Background(), struct{ slice.Graph }{a.Graph}, criterion, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := sameSlices(s, plainly); err != nil {
			t.Fatalf("from %v, %+v: %v (by slots, then by instances)", from, o, err)
		}
	}
}

// graphOf records a random program and logs it.
func graphOf(t testing.TB, s shape, budget uint64, opts wet.OpenOptions) *slicetest.Aligned {
	t.Helper()
	img := build(t, s)
	l, r := slicetest.New(img, linux.CallArgs), newRecording(t, img, budget)
	run(t, img, s, nil, l, r)
	a, err := slicetest.Align(r.open(t, opts), l)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestWetSlices compares slices of the compressed graph with those of a plain walk over
// an uncompressed log, in both directions, through threads or not, for all epochs and
// tiers.
func TestWetSlices(t *testing.T) {
	seeds := uint64(50)
	if !cross.Long() {
		seeds = 9
	}
	for seed := range seeds {
		a := graphOf(t, randomShape(seed), []uint64{0, 1, 4000}[seed%3], wet.OpenOptions{Tier1: seed%2 == 1, Cache: 1 << (8 + seed%12)})
		compareSlices(t, a, rand.New(rand.NewPCG(seed, 18)), 12)
	}
}

// FuzzSlices is TestWetSlices with programs and criteria that the fuzzer chooses.
func FuzzSlices(f *testing.F) {
	f.Add(uint64(1), uint64(1), byte(2), byte(4), byte(10), byte(30))
	f.Add(uint64(7), uint64(3), byte(0), byte(1), byte(30), byte(200))
	f.Add(uint64(9), uint64(5), byte(3), byte(6), byte(6), byte(5))
	f.Fuzz(func(t *testing.T, seed, criteria uint64, threads, functions, statements, quantum byte) {
		s := shape{seed: seed, quantum: 1 + int(quantum)}
		s.opts.Threads, s.opts.Functions, s.opts.Statements = int(threads%4), 1+int(functions%7), 1+int(statements%24)
		a := graphOf(t, s, criteria%5000, wet.OpenOptions{Cache: 1 << (8 + seed%12)})
		if len(a.Of) > 50000 {
			return
		}
		compareSlices(t, a, rand.New(rand.NewPCG(criteria, 19)), 4)
	})
}

// TestExamples is the same for C programs with the library's start-up code, hooked
// functions, OpenMP or C++ in them.
func TestExamples(t *testing.T) {
	for _, name := range []string{"race_index", "race_counter", "race_list", "norace_semaphore", "norace_loop_variable", "fig6"} {
		t.Run(name, func(t *testing.T) {
			p, ok := examples.Lookup(name)
			if !ok {
				t.Fatal("no such example")
			}
			img := cross.Image(t, name)
			l, r := slicetest.New(img, linux.CallArgs), newRecording(t, img, 20000)
			res := run(t, img, shape{seed: 5, quantum: 300}, nil, l, r)
			a, err := slicetest.Align(r.open(t, wet.OpenOptions{}), l)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Check(); err != nil {
				t.Fatal(err)
			}
			compareSlices(t, a, rand.New(rand.NewPCG(21, 21)), 6)
			t.Logf("%s: %d statements, %d threads, status %d", p.File, len(l.Statements()), len(l.Threads()), res.Status)
		})
	}
}
