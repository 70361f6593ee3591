package mpsim

import (
	"strconv"
	"strings"
	"testing"
)

// TestHang checks that a run in which nothing will ever happen is stopped and says who
// waits for what, and that one that is only slow is not stopped, however small the limit.
func TestHang(t *testing.T) {
	img := load(t, compile(t, "testdata/hang/hang.c", "-O1"))
	for which, hangs := range []bool{true, true, false, false, false, false, true} {
		for _, policy := range []Policy{RoundRobin, Random, PCT} {
			cfg := Config{Image: img.Anew(), Args: []string{"hang", strconv.Itoa(which)}, Policy: policy, Seed: 3, HangInsts: 10_000, MaxInsts: 200_000_000}
			res, out := run(t, cfg)
			if res.Hung != hangs {
				t.Errorf("program %d, policy %v: hung %v after %d instructions, want %v", which, policy, res.Hung, res.Insts, hangs)
			}
			if !hangs {
				if out.stdout != "done\n" {
					t.Errorf("program %d, policy %v: %q, %s", which, policy, out.stdout, res.Message)
				}
				continue
			}
			polls := 0
			for _, w := range res.Stood {
				if w.For == "" {
					t.Errorf("program %d, policy %v: thread T%d waits for nothing", which, policy, w.Thread)
				}
				if strings.Contains(w.For, "which it polls") || strings.Contains(w.For, "without an end") {
					polls++
				}
			}
			if polls == 0 { // their number depends on who holds the lock
				t.Errorf("program %d, policy %v: no thread polls", which, policy)
			}
		}
	}
}
