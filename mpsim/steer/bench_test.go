package steer

import (
	"context"
	"fmt"
	"io"
	"testing"

	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/minimize"
	"hindsight/mpsim/schedule"
	"hindsight/mpsim/session"
)

// searched looks for the shortest schedule with the output of a run of an example.
func searched(tb testing.TB, name string, most int) (*minimization, *minimize.Result, int) {
	tb.Helper()
	img := cross.Image(tb, name)
	var args []string
	for _, p := range examples.Programs() {
		if p.Name == name {
			args = p.Args
		}
	}
	run := session.Run{Image: img, Program: name, Args: args, Policy: mpsim.Random, Seed: 1, Trail: true}
	res, err := run.Simulate(tb.Context(), session.Streams{Out: io.Discard, Err: io.Discard}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	m := &minimization{run: run, name: name, every: mpsim.EveryOf(res.Insts)}
	first, err := m.once(tb.Context(), res.Schedule, mpsim.Random)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { m.tries.m.Close() })
	if err := m.choose(&Failure{Status: -1, SameOutput: true}, first); err != nil {
		tb.Fatal(err)
	}
	m.tries.take(first)
	m.best, m.limit = first, max(patience*first.res.Insts, leastPatience)
	found, err := minimize.Search(first.res.Schedule, most, func(s *schedule.Schedule) (*schedule.Schedule, error) {
		return m.try(tb.Context(), s)
	})
	if err != nil {
		tb.Fatal(err)
	}
	return m, found, len(minimize.Preemptions(minimize.Turns(first.res.Schedule)))
}

// TestMinimizeFromCheckpoints follows the schedules that a search has found from the
// beginning. They must end in the same way, and be followed to the end.
func TestMinimizeFromCheckpoints(t *testing.T) {
	for _, name := range []string{"bank", "race_ring_buffer", "race_publish", "mp3d_nolock"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, found, before := searched(t, name, 40)
			if found.Preemptions > before {
				t.Errorf("%d preemptions, %d before", found.Preemptions, before)
			}
			again := &minimization{run: m.run, name: name, every: m.every, limit: m.limit}
			a, err := again.once(context.Background(), found.Schedule, mpsim.RoundRobin)
			if err != nil {
				t.Fatal(err)
			}
			defer again.tries.m.Close()
			if d := a.res.Diverged; d != nil || !m.fails(a) {
				t.Errorf("the schedule shows %q, status %d (%v); the search saw %q, status %d", a.output, a.res.Status, d, m.best.output, m.best.res.Status)
			}
			if m.tries.ran > m.tries.whole {
				t.Errorf("%d instructions simulated, %d from the beginning", m.tries.ran, m.tries.whole)
			}
		})
	}
}

// BenchmarkCheckpoints counts the instructions that minimize simulates, and those that the
// same runs would have from the beginning (docs/replay.md).
func BenchmarkCheckpoints(b *testing.B) {
	for _, name := range []string{"bank", "race_ring_buffer", "lu_nobarrier", "mp3d_nolock"} {
		b.Run("program="+name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(0, "ns/op")
				m, found, before := searched(b, name, 200)
				fmt.Printf("\n%s: %d of %d preemptions after %d runs of %d instructions: %d simulated, %d from the beginning\n",
					name, found.Preemptions, before, found.Runs, m.best.res.Insts, m.tries.ran, m.tries.whole)
				b.ReportMetric(float64(m.tries.whole)/float64(m.tries.ran), "fewer/x")
			}
		})
	}
}
