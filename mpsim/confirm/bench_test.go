package confirm

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"hindsight/analyze"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/session"
)

// prepared returns a Confirmer that has prepared the races of an example, and their first
// instances, except those that are made by calls.
func prepared(tb testing.TB, name string) (*Confirmer, []Pair) {
	tb.Helper()
	dir, err := os.MkdirTemp(tb.TempDir(), "")
	if err != nil {
		tb.Fatal(err)
	}
	img, file := cross.Image(tb, name), filepath.Join(dir, "run.hst")
	var args []string
	for _, p := range examples.Programs() {
		if p.Name == name {
			args = p.Args
		}
	}
	r := &session.Run{Image: img, Program: name, Args: args, Policy: mpsim.Random, Seed: 1, Out: file}
	if _, err := r.Record(tb.Context(), session.Streams{Out: io.Discard, Err: io.Discard}); err != nil {
		tb.Fatal(err)
	}
	trace, err := analyze.Open(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer trace.Close()
	rep, err := trace.Races(tb.Context(), analyze.RaceOptions{Artifacts: analyze.ArtifactsOff})
	if err != nil {
		tb.Fatal(err)
	}
	var pairs []Pair
	for i := range rep.Races {
		x := &rep.Races[i].Accesses
		if x[0].Op.Plain() && x[1].Op.Plain() {
			pairs = append(pairs, Pair{Access{Thread: x[1].Thread, PC: x[1].PC, Ordinal: x[1].Ordinal, Address: x[1].Address, Size: x[1].Size},
				Access{Thread: x[0].Thread, PC: x[0].PC, Ordinal: x[0].Ordinal, Address: x[0].Address, Size: x[0].Size}})
		}
	}
	r.Trail = true
	res, err := r.Simulate(tb.Context(), session.Streams{Out: io.Discard, Err: io.Discard}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	c := New(Options{Config: r.Config(img, session.Streams{}), Image: img, Hooks: r.Hooks, Schedule: res.Schedule, Insts: res.Insts})
	if err := c.Prepare(tb.Context(), pairs); err != nil {
		tb.Fatal(err)
	}
	return c, pairs
}

// TestOrderOfPairs examines pairs in another order and more than once. A finding must not
// depend on what was examined before.
func TestOrderOfPairs(t *testing.T) {
	for _, name := range []string{"bank", "race_publish", "race_ring_buffer"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, pairs := prepared(t, name)
			defer c.Close()
			if len(pairs) == 0 {
				t.Fatal("no races")
			}
			var first []*Finding
			for _, p := range pairs {
				f, err := c.Pair(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				first = append(first, f)
			}
			for i := len(pairs) - 1; i >= 0; i-- {
				alone, _ := prepared(t, name)
				for _, by := range []*Confirmer{c, alone} {
					f, err := by.Pair(t.Context(), pairs[i])
					if err != nil {
						t.Fatal(err)
					}
					if f.Verdict != first[i].Verdict || f.What != first[i].What || f.Tries != first[i].Tries {
						t.Errorf("pair %d: %q %q after %d tries; before: %q %q after %d", i, f.Verdict, f.What, f.Tries, first[i].Verdict, first[i].What, first[i].Tries)
					}
				}
				if err := alone.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// BenchmarkCheckpoints counts the instructions that confirm simulates, and those that the
// same runs would have from the beginning (docs/replay.md).
func BenchmarkCheckpoints(b *testing.B) {
	for _, name := range []string{"bank", "race_ring_buffer", "lu_nobarrier", "mp3d_nolock"} {
		b.Run("program="+name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(0, "ns/op")
				c, pairs := prepared(b, name)
				for _, p := range pairs {
					if _, err := c.Pair(b.Context(), p); err != nil {
						b.Fatal(err)
					}
				}
				fmt.Printf("\n%s: %d races in a run of %d instructions: %d simulated, %d from the beginning\n", name, len(pairs), c.opts.Insts, c.course.ran, c.course.whole)
				b.ReportMetric(float64(c.course.whole)/float64(c.course.ran), "fewer/x")
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
