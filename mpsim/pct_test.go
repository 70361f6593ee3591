package mpsim

import (
	"testing"

	"hindsight/mpsim/image"
)

// runPCT runs img at depth d, with the number of steps counted by the run at depth 1.
func runPCT(t testing.TB, img *image.Space, seed uint64, d int, args ...string) *Result {
	t.Helper()
	cfg := Config{Image: img, Args: append([]string{"program"}, args...), Policy: PCT, Seed: seed, Depth: 1, MaxInsts: 1 << 30}
	res, _ := run(t, cfg)
	cfg.Depth, cfg.Steps = d, res.Steps
	res, _ = run(t, cfg)
	return res
}

// TestPCTFindsBugs checks that bugs of depth 2 and 3 are found whose threads have to run
// one after another for many quanta.
func TestPCTFindsBugs(t *testing.T) {
	img := load(t, compile(t, "testdata/pct/order.c", "-O1"))
	const seeds = 300
	for _, c := range []struct {
		depth string
		d     int
		least int // of seeds
	}{
		// The paper's argument and the lengths of the program's stretches lead one to
		// expect 1/8 and 1/40 of the runs.
		{"2", 2, seeds / 16}, {"3", 3, seeds / 80},
	} {
		var pct, random, shallow int
		for seed := range uint64(seeds) {
			pct += runPCT(t, img, seed, c.d, c.depth).Status
			shallow += runPCT(t, img, seed, c.d-1, c.depth).Status
			res, _ := run(t, Config{Image: img, Args: []string{"program", c.depth}, Policy: Random, Seed: seed, Quantum: 200})
			random += res.Status
		}
		t.Logf("bug of depth %s in %d runs: pct %d, pct of less depth %d, random %d", c.depth, seeds, pct, shallow, random)
		if pct < c.least || random*4 > pct || shallow*4 > pct {
			t.Errorf("bug of depth %s in %d runs: pct %d, pct of less depth %d, random %d", c.depth, seeds, pct, shallow, random)
		}
	}
}

// TestPCTStarvesNone checks that programs that spin end, and not much later than when
// threads take turns.
func TestPCTStarvesNone(t *testing.T) {
	for _, level := range []string{"-O0", "-O2"} {
		img := load(t, compile(t, "testdata/pct/spin.c", level))
		for seed := range uint64(3) {
			for _, d := range []int{2, 4} {
				if res := runPCT(t, img, seed, d); res.Status != 0 {
					t.Errorf("%s, seed %d, depth %d: %+v", level, seed, d, res)
				}
			}
		}
	}
}

// TestPCTRepeats checks that the same seed results in the same run.
func TestPCTRepeats(t *testing.T) {
	img := load(t, compile(t, "testdata/threads.c", "-O2"))
	seen := map[uint64]bool{}
	for seed := range uint64(8) {
		a, b := runPCT(t, img, seed, 3), runPCT(t, img, seed, 3)
		if a.Outcome != b.Outcome || a.Steps != b.Steps {
			t.Errorf("seed %d: %+v, then %+v", seed, a, b)
		}
		seen[a.Insts] = true
	}
	if len(seen) < 2 {
		t.Error("all seeds gave the same run")
	}
}
