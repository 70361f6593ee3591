package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hindsight/cdr/recorder"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
	"hindsight/wpp/cfg"
)

// The races of examples/schedules depend on the schedule: most runs order the two
// accesses, or do not reach one of them. They show how many races a policy finds.

// scheduled is a pair of twins of examples/schedules, built.
type scheduled struct {
	syncPair
	img    *image.Space
	flow   *cfg.Program
	packed recorder.PackedImage
}

// schedulePolicy determines the schedules of the runs 1, 2, 3 ….
type schedulePolicy struct {
	name    string
	policy  mpsim.Policy
	quantum int
	depth   int
	teams   []int // values of OMP_NUM_THREADS, in turn
}

var schedulePolicies = []schedulePolicy{
	{name: "rr", policy: mpsim.RoundRobin},
	{name: "random-10000", policy: mpsim.Random, quantum: 10_000},
	{name: "random-50", policy: mpsim.Random, quantum: 50},
	{name: "random", policy: mpsim.Random},
	{name: "pct-2", policy: mpsim.PCT, depth: 2},
	{name: "pct-3", policy: mpsim.PCT, depth: 3},
	{name: "explore-threads", policy: mpsim.Random, teams: []int{2, 4, 16, 64}},
}

// quickPairs are the pairs that TestSchedules runs under the default policy, and the
// number of them whose race it has to find within 1, 3 and 10 runs. Seeds are fixed, so a
// smaller number means that the schedules got worse.
var (
	quickPairs = []string{"sections", "single", "chunk", "rare", "names", "testlock", "handover", "child_first",
		"sleep", "trylock", "ring", "gate", "early", "once", "busy", "spinlock"}
	quickRecall = map[int]int{1: 6, 3: 8, 10: 12}
)

// buildSchedules compiles examples/schedules and returns its pairs.
func buildSchedules(t testing.TB) []scheduled {
	t.Helper()
	needTools(t, cross.Compiler)
	var pairs []scheduled
	dir := filepath.Join(sourceDir, "..", "..", "examples", "schedules")
	for _, name := range []string{"share", "locks", "flags"} {
		source, out := filepath.Join(dir, name+".c"), filepath.Join(t.TempDir(), name)
		args := []string{"-std=gnu17", "-O1", "-g", "-static", "-pthread", "-fopenmp", "-o", out, source}
		if msg, err := exec.CommandContext(t.Context(), cross.Compiler, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", source, err, msg)
		}
		img, err := image.Load(out)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := recorder.PackImage(img.Main.Data)
		if err != nil {
			t.Fatal(err)
		}
		flow := cfg.New(img)
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pairLine.FindAllStringSubmatch(string(text), -1) {
			pairs = append(pairs, scheduled{syncPair{m[1], m[2]}, img, flow, packed})
		}
	}
	return pairs
}

// run executes run n of a twin, and reports whether it shows the race.
func (s *scheduled) run(ctx context.Context, by schedulePolicy, n int, broken bool) (bool, error) {
	twin := "norace_" + s.Name
	if broken {
		twin = "race_" + s.Name
	}
	r := &session.Run{
		Image: s.img, Flow: s.flow, Packed: s.packed, Program: s.Name, Args: []string{twin}, Seed: uint64(n),
		Policy: by.policy, Quantum: by.quantum, Depth: by.depth,
		Mode: "cdr", Keep: "all", Alphabet: "path", MaxInsts: 200_000_000,
	}
	if len(by.teams) > 0 {
		r.Env = []string{fmt.Sprintf("%s=%d", session.TeamVariable, by.teams[(n-1)%len(by.teams)])}
	}
	rep, _, err := runTwin(ctx, r)
	if err != nil {
		return false, fmt.Errorf("%s, %s, seed %d: %w", twin, by.name, n, err)
	}
	found := map[string]bool{}
	if err := judgeTwin(rep, s.syncPair, broken, found); err != nil {
		return false, fmt.Errorf("%s, %s, seed %d: %w", twin, by.name, n, err)
	}
	return len(found) > 0, nil
}

// needed returns for each pair the first run that shows its race, or 0 if none does.
func needed(t testing.TB, pairs []scheduled, by schedulePolicy, runs int) []int {
	t.Helper()
	first := make([]int, len(pairs))
	var all sync.WaitGroup
	for i := range pairs {
		all.Go(func() {
			for n := 1; n <= runs && first[i] == 0; n++ {
				found, err := pairs[i].run(t.Context(), by, n, true)
				if err != nil {
					t.Error(err)
					return
				}
				if found {
					first[i] = n
				}
			}
		})
	}
	all.Wait()
	return first
}

// foundIn counts the pairs that were found within n runs.
func foundIn(first []int, runs int) int {
	n := 0
	for _, f := range first {
		if f != 0 && f <= runs {
			n++
		}
	}
	return n
}

// TestSchedules checks that the default policy finds as many of a few schedule-dependent
// races as it did before, and no others, and that the correct twins are clean.
func TestSchedules(t *testing.T) {
	if !cross.Long() {
		t.Skip("runs several hundred small programs: set HINDSIGHT_LONG=1")
	}
	all := buildSchedules(t)
	pairs := slices.DeleteFunc(slices.Clone(all), func(s scheduled) bool { return !slices.Contains(quickPairs, s.Name) })
	if len(pairs) != len(quickPairs) {
		t.Fatalf("%d of %d pairs are there", len(pairs), len(quickPairs))
	}
	by := schedulePolicies[slices.IndexFunc(schedulePolicies, func(p schedulePolicy) bool { return p.name == "random" })]
	first := needed(t, pairs, by, 10)
	for _, runs := range []int{1, 3, 10} {
		if got := foundIn(first, runs); got < quickRecall[runs] {
			t.Errorf("%d of %d races are found in %d runs; it was %d", got, len(pairs), runs, quickRecall[runs])
		}
	}
	for i := range pairs {
		t.Logf("%s: run %d", pairs[i].Name, first[i])
	}
	for i := range all {
		if _, err := all[i].run(t.Context(), by, 1+i%10, false); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkSchedules measures for each policy how many of the races of examples/schedules
// it finds within 1, 3 and 10 runs, and which run finds each. The table in
// docs/exploring.md is its result.
func BenchmarkSchedules(b *testing.B) {
	pairs := buildSchedules(b)
	for _, by := range schedulePolicies {
		b.Run("policy="+by.name, func(b *testing.B) {
			var first []int
			for b.Loop() {
				first = needed(b, pairs, by, 10)
			}
			b.ReportMetric(0, "ns/op")
			for _, runs := range []int{1, 3, 10} {
				b.ReportMetric(float64(foundIn(first, runs)), fmt.Sprintf("found-in-%d", runs))
			}
			b.ReportMetric(float64(len(pairs)), "races")
			var text []string
			for i := range pairs {
				text = append(text, fmt.Sprintf("%s %d", pairs[i].Name, first[i]))
			}
			b.Log(strings.Join(text, ", "))
		})
	}
}
