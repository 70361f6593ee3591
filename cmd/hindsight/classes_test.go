package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/session"
	"hindsight/mpsim/survey"
)

// TestClassesOfRuns checks that a run that is not analysed, because an earlier run was of
// its class, has the races that its trace shows.
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
	progs := map[string][]string{}
	for _, name := range names {
		progs[name] = []string{exampleFile(t, name)}
	}
	if haveTool(t, cross.Compiler) {
		for _, source := range []string{"share", "flags"} {
			prog := filepath.Join(t.TempDir(), source)
			file := filepath.Join(sourceDir, "../../examples/schedules", source+".c")
			if text, err := exec.CommandContext(t.Context(), cross.Compiler, "-std=gnu17", "-g", "-O1", "-static", "-pthread", "-fopenmp", "-o", prog, file).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			for _, twin := range map[string][]string{"share": {"race_sections", "race_single", "norace_chunk"}, "flags": {"race_gate", "race_sleep"}}[source] {
				progs[twin] = []string{prog, twin}
			}
		}
	}
	known := 0
	for name, prog := range progs {
		for _, policy := range []mpsim.Policy{mpsim.Random, mpsim.PCT} {
			explored := func(all bool) []*session.ExploredRun {
				t.Helper()
				r, err := session.Load(prog[0], "")
				if err != nil {
					t.Fatal(err)
				}
				r.Args = prog[1:]
				r.Policy, r.Depth, r.MaxInsts = policy, mpsim.DefaultDepth, 20_000_000
				e, err := session.OpenExploration(t.Context(), session.ExploreOptions{
					Run: *r, Dir: t.TempDir(), First: 1, Runs: runs, Jobs: 2, WriteAll: all,
					Races: briefly(&survey.Analysis{Program: r.Image}),
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
