package slice_test

import (
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"hindsight/analyze/slice/slicetest"
	"hindsight/mpsim"
	"hindsight/mpsim/asm"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/tracefmt/event"
)

// shape is a random program and how it is run.
type shape struct {
	seed    uint64
	opts    asm.RandomOptions
	quantum int
}

// randomShape chooses a program by its seed.
func randomShape(seed uint64) shape {
	rng := rand.New(rand.NewPCG(seed, 11))
	return shape{seed, asm.RandomOptions{
		Threads: rng.IntN(4), Functions: 1 + rng.IntN(6), Statements: 4 + rng.IntN(16),
	}, 5 + rng.IntN(200)}
}

// run simulates a program with observers.
func run(t testing.TB, img *image.Space, s shape, stdout io.Writer, observers ...event.Observer) *mpsim.Result {
	t.Helper()
	cfg := mpsim.Config{Image: img, Stdout: stdout, Stdin: strings.NewReader(strings.Repeat("input ", 50)), Policy: mpsim.Random, Seed: s.seed,
		Quantum: s.quantum, MaxInsts: 1 << 18, Observer: event.Tee(observers...)}
	cfg.Hooks, cfg.HookAt = hook.New(img)
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

func build(t testing.TB, s shape) *image.Space {
	t.Helper()
	data, err := asm.Random(s.seed, s.opts)
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// logged runs a random program and logs it.
func logged(t testing.TB, s shape) (*slicetest.Log, *image.Space) {
	t.Helper()
	img := build(t, s)
	l := slicetest.New(img, linux.CallArgs)
	if res := run(t, img, s, nil, l); res.Fault != nil {
		t.Fatalf("seed %d: %+v", s.seed, res)
	}
	return l, img
}
