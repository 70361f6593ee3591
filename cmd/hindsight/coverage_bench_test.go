package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/session"
	"hindsight/mpsim/survey"
)

// BenchmarkCoverage measures how many runs it takes to show a rare race under each
// schedule, in four explorations with different first seeds and at most 100 runs each.
// The table in docs/exploring.md is its result.
func BenchmarkCoverage(b *testing.B) {
	needTools(b, cross.Compiler)
	const most = 100
	source, prog := filepath.Join(sourceDir, "../../mpsim/witness/testdata/rare.c"), filepath.Join(b.TempDir(), "rare")
	if text, err := exec.CommandContext(b.Context(), cross.Compiler, "-g", "-O1", "-static", "-pthread", "-o", prog, source).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, text)
	}
	for _, name := range []string{"handed", "inside", "twice", "many", "wrong", "nested", "reader", "counted", "freed", "chain"} {
		for _, by := range []schedulePolicy{
			{name: "random", policy: mpsim.Random}, {name: "pct --depth 2", policy: mpsim.PCT, depth: 2}, {name: "coverage", policy: mpsim.Coverage},
		} {
			b.Run("race="+name+"/policy="+by.name, func(b *testing.B) {
				var needed []string
				sum := 0
				for b.Loop() {
					needed, sum = nil, 0
					for first := uint64(1); first < 4000; first += 1000 {
						n := runsUntilRace(b, prog, "race_"+name, by, first, most)
						sum += n
						needed = append(needed, fmt.Sprint(n))
					}
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(sum)/4, "runs")
				b.Log(strings.Join(needed, ", "))
			})
		}
	}
}

// runsUntilRace returns the number of the first run that shows a race, or most+1 if none
// does.
func runsUntilRace(b *testing.B, prog, twin string, by schedulePolicy, first uint64, most int) int {
	b.Helper()
	r, err := session.Load(prog, "")
	if err != nil {
		b.Fatal(err)
	}
	r.Args, r.Policy, r.Depth, r.MaxInsts = []string{twin}, by.policy, by.depth, 200_000_000
	e, err := session.OpenExploration(b.Context(), session.ExploreOptions{
		Run: *r, Dir: b.TempDir(), First: first, Runs: most, Until: true, Races: briefly(&survey.Analysis{Program: r.Image}),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	if err := e.Explore(b.Context()); err != nil {
		b.Fatal(err)
	}
	runs := e.InOrder()
	if last := runs[len(runs)-1]; len(last.Races) > 0 {
		return int(last.Seed-first) + 1
	}
	return most + 1
}
