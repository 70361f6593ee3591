package wet_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"hindsight/analyze/slice/slicetest"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/examples/golang"
	"hindsight/mpsim"
	"hindsight/mpsim/asm"
	"hindsight/mpsim/eval"
	"hindsight/mpsim/gorun"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
	"hindsight/wet"
	"hindsight/wpp/cfg"
)

func evaluate(i rv.Inst, pc, rs1, rs2, rs3 uint64) (uint64, bool) {
	return eval.Result(i, eval.Operands{PC: pc, Rs1: rs1, Rs2: rs2, Rs3: rs3})
}

// simulate runs a program.
func simulate(t testing.TB, img *image.Space, cfg mpsim.Config, observers ...event.Observer) *mpsim.Result {
	t.Helper()
	cfg.Image, cfg.Observer = img, event.Tee(observers...)
	cfg.Stdin = strings.NewReader(strings.Repeat("input ", 50))
	if cfg.Stdout == nil {
		cfg.Stdout = io.Discard
	}
	if img.Main.Go() != "" {
		cfg.Hooks, cfg.HookAt = gorun.New(img.Main)
	} else {
		cfg.Hooks, cfg.HookAt = hook.New(img)
	}
	m, err := mpsim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// recording is a graph that is being written to a file in memory.
type recording struct {
	*wet.Builder
	w    *tracefmt.Writer
	file bytes.Buffer
}

func record(t testing.TB, img *image.Space, budget uint64, ev wet.Evaluator) *recording {
	t.Helper()
	r := &recording{}
	var err error
	if r.w, err = tracefmt.NewWriter(&r.file); err != nil {
		t.Fatal(err)
	}
	r.Builder, err = wet.NewBuilder(r.w, wet.Options{Program: cfg.New(img), Code: img.Code, Budget: budget, Evaluate: ev, CallArgs: linux.CallArgs})
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
	g, err := wet.OpenReaderAt(bytes.NewReader(r.file.Bytes()), int64(r.file.Len()), opts)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func randomProgram(t testing.TB, seed uint64) (*image.Space, mpsim.Config) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 11))
	data, err := asm.Random(seed, asm.RandomOptions{Threads: rng.IntN(4), Functions: 1 + rng.IntN(6), Statements: 4 + rng.IntN(16)})
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return img, mpsim.Config{Policy: mpsim.Random, Seed: seed, Quantum: 5 + rng.IntN(200), MaxInsts: 1 << 18}
}

// TestAgreesWithLog checks that what the graph says about every instance of random
// programs agrees with an uncompressed log: with epochs of any size, with and without an
// evaluator, after either tier, and read by cursors.
func TestAgreesWithLog(t *testing.T) {
	seeds := uint64(12)
	if !cross.Long() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			img, config := randomProgram(t, seed)
			l := slicetest.New(img, linux.CallArgs)
			ev := wet.Evaluator(evaluate)
			if seed%3 == 2 {
				ev = nil
			}
			recs := []*recording{record(t, img, 0, ev), record(t, img, 1, ev), record(t, img, 1<<15, ev)}
			wet.LimitPaths(recs[2].Builder, 60)
			simulate(t, img, config, l, recs[0], recs[1], recs[2])
			for n, r := range recs {
				t.Log("recording", n)
				check(t, r.open(t, wet.OpenOptions{Evaluate: ev, Tier1: seed%2 == 1, Cache: 1 << (10 + seed)}), l)
				if n != int(seed%3) && !cross.Long() {
					continue
				}
				g, err := wet.OpenReaderAt(bytes.NewReader(r.file.Bytes()), int64(r.file.Len()), wet.OpenOptions{Evaluate: ev, Cache: 1 << (10 + seed)})
				if err != nil {
					t.Fatal(err)
				}
				wet.StepShort(g)
				check(t, g, l)
			}
		})
	}
}

// TestExamplesAgreeWithLog is the same for compiled programs that are long enough for
// every way of storing values.
func TestExamplesAgreeWithLog(t *testing.T) {
	if !cross.Long() {
		t.Skip("long: set HINDSIGHT_LONG=1")
	}
	for _, p := range []struct {
		name string
		args []string
		max  uint64
	}{
		{"compiler", []string{"-n", "1"}, 400_000},
		{"sort", []string{"-n", "60"}, 400_000},
		{"structures", []string{"hash", "-n", "300"}, 300_000},
		{"structures", []string{"keys", "-n", "400"}, 300_000},
		{"lu", []string{"-n", "32", "-p", "2"}, 300_000},
		{"water", []string{"-n", "8", "-s", "1", "-p", "2"}, 300_000},
	} {
		t.Run(p.name+p.args[0], func(t *testing.T) {
			data, err := examples.ELF(p.name)
			if err != nil {
				t.Fatal(err)
			}
			img, err := image.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			l := slicetest.New(img, linux.CallArgs)
			recs := []*recording{record(t, img, 0, evaluate), record(t, img, 1<<20, evaluate)}
			simulate(t, img, mpsim.Config{Args: append([]string{p.name}, p.args...), MaxInsts: p.max}, l, recs[0], recs[1])
			for n, r := range recs {
				t.Log("recording", n)
				check(t, r.open(t, wet.OpenOptions{Evaluate: evaluate}), l)
			}
		})
	}
}

// TestAllExamplesAgreeWithLog is the same for the beginning of every example, with
// everything that libraries do: locks, conditions, OpenMP, exceptions.
func TestAllExamplesAgreeWithLog(t *testing.T) {
	if !cross.Long() {
		t.Skip("long: set HINDSIGHT_LONG=1")
	}
	for p, err := range examples.Executables() {
		if err != nil {
			t.Fatal(err)
		}
		t.Run(p.Name, func(t *testing.T) {
			img, err := image.Parse(p.ELF)
			if err != nil {
				t.Fatal(err)
			}
			l, r := slicetest.New(img, linux.CallArgs), record(t, img, 1<<18, evaluate)
			simulate(t, img, mpsim.Config{Args: []string{p.Name}, MaxInsts: 60000, Policy: mpsim.Random, Quantum: 500, Seed: 3}, l, r)
			check(t, r.open(t, wet.OpenOptions{Evaluate: evaluate}), l)
		})
	}
}

// TestGoAgreesWithLog is the same for Go programs, whose runtime copies values and
// switches between goroutines without being recorded.
func TestGoAgreesWithLog(t *testing.T) {
	elf, err := golang.ELF()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"norace_go_table", "race_go_append"}
	if cross.Long() {
		names = append(names, "norace_go_syncmap", "norace_go_captured", "race_go_maps")
	}
	for seed, name := range names {
		t.Run(name, func(t *testing.T) {
			img, err := image.Parse(elf)
			if err != nil {
				t.Fatal(err)
			}
			l := slicetest.New(img, linux.CallArgs)
			recs := []*recording{record(t, img, 0, evaluate), record(t, img, 1<<16, evaluate)}
			simulate(t, img, mpsim.Config{Args: []string{name}, Policy: mpsim.Random, Seed: uint64(seed)}, l, recs[0], recs[1])
			for n, r := range recs {
				t.Log("recording", n)
				check(t, r.open(t, wet.OpenOptions{Evaluate: evaluate}), l)
			}
		})
	}
}

// check compares everything that a graph says with the log.
func check(t *testing.T, g *wet.Graph, l *slicetest.Log) {
	t.Helper()
	a, err := slicetest.Align(g, l)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Check(); err != nil {
		t.Fatal(err)
	}
	for _, th := range g.Threads() {
		if th.Times > 0 {
			if err := a.Backward(th, th.Times/2); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// FuzzAgreesWithLog is [TestAgreesWithLog] with programs, budgets and caches that the
// fuzzer chooses.
func FuzzAgreesWithLog(f *testing.F) {
	for seed := range uint64(6) {
		f.Add(seed, uint16(1)<<(2*seed), uint8(seed), seed%2 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, budget uint16, paths uint8, computed bool) {
		img, config := randomProgram(t, seed)
		ev := wet.Evaluator(nil)
		if computed {
			ev = evaluate
		}
		l, r := slicetest.New(img, linux.CallArgs), record(t, img, 1+uint64(budget)<<4, ev)
		if paths > 0 {
			wet.LimitPaths(r.Builder, int(paths)*8)
		}
		simulate(t, img, config, l, r)
		check(t, r.open(t, wet.OpenOptions{Evaluate: ev, Cache: 1 + uint64(budget)<<6}), l)
	})
}
