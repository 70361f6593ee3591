package main

import (
	"context"
	"slices"
	"testing"

	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/session"
	"hindsight/mpsim/survey"
)

// TestClassesOfRuns: the races of a run that is not analysed, because an earlier one was
// of its class, are those that its trace shows.
func TestClassesOfRuns(t *testing.T) {
	names := []string{"bank", "race_list", "race_trylock", "race_early_free", "race_publish", "race_double_checked", "norace_counter"}
	runs := 12
	if cross.Long() {
		names, runs = nil, 30
		for _, p := range examples.Programs() {
			if p.Group != examples.Kernel && p.Group != examples.Workload {
				names = append(names, p.Name)
			}
		}
	}
	known := 0
	for _, name := range names {
		prog := exampleFile(t, name)
		for _, policy := range []mpsim.Policy{mpsim.Random, mpsim.PCT} {
			explored := func(all bool) []*session.ExploredRun {
				t.Helper()
				r, err := session.Load(prog, "")
				if err != nil {
					t.Fatal(err)
				}
				r.Policy, r.Depth, r.MaxInsts = policy, mpsim.DefaultDepth, 20_000_000
				analysis := &survey.Analysis{Program: r.Image}
				e, err := session.OpenExploration(t.Context(), session.ExploreOptions{
					Run: *r, Dir: t.TempDir(), First: 1, Runs: runs, Jobs: 2, WriteAll: all,
					Races: func(ctx context.Context, trace string) ([]string, error) {
						rep, err := analysis.Brief(ctx, trace)
						if err != nil {
							return nil, err
						}
						return survey.Fingerprints(rep), nil
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				if err := e.Explore(t.Context()); err != nil {
					t.Fatal(err)
				}
				return e.InOrder()
			}
			classes := map[string]bool{}
			each := explored(true)
			for i, r := range explored(false) {
				if classes[r.Class] {
					known++
				}
				classes[r.Class] = true
				if want := each[i]; !slices.Equal(r.Races, want.Races) || r.Output != want.Output || r.Ended() != want.Ended() {
					t.Errorf("%s, %v, seed %d: %+v, and by itself %+v", name, policy, r.Seed, r, want)
				}
			}
		}
	}
	if known == 0 {
		t.Error("no two runs were of one class")
	}
	t.Logf("%d runs were of a known class", known)
}
