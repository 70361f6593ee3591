package witness_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hindsight/analyze"
	"hindsight/analyze/report"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
	"hindsight/mpsim/witness"
)

// corpus is a program of named races with correct twins.
type corpus struct {
	img   *image.Space
	names []string
}

// build compiles a source file and finds the names of its races by a pattern.
func build(t testing.TB, source, pattern string, flags ...string) corpus {
	t.Helper()
	if _, err := exec.LookPath(cross.Compiler); err != nil {
		if os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") != "" {
			t.Fatal(err)
		}
		t.Skipf("%s is not installed", cross.Compiler)
	}
	out := filepath.Join(t.TempDir(), "program")
	msg, err := exec.CommandContext(t.Context(), cross.Compiler, append([]string{"-std=gnu17", "-O1", "-g", "-static", "-pthread", "-o", out, source}, flags...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	return found(t, out, source, pattern)
}

// buildGo compiles a Go program.
func buildGo(t testing.TB, source, pattern string) corpus {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", out, source)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=riscv64", "CGO_ENABLED=0", "GOFLAGS=")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	return found(t, out, source, pattern)
}

// found returns a program with the names that the pattern finds in its source.
func found(t testing.TB, program, source, pattern string) corpus {
	t.Helper()
	img, err := image.Load(program)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	c := corpus{img: img}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
		c.names = append(c.names, m[1])
	}
	return c
}

const (
	rarePattern = `(?m)^RARE\((\w+),`
	pairPattern = `(?m)^PAIR\((\w+),`
)

// look records a run and returns its report, on request with the predicted races.
func look(t testing.TB, img *image.Space, twin string, policy mpsim.Policy, seed uint64, predict bool) *report.Report {
	t.Helper()
	r := session.Run{Image: img, Program: "program", Args: []string{twin}, Policy: policy, Depth: 3, Seed: seed, MaxInsts: 200_000_000,
		Out: filepath.Join(t.TempDir(), "run.hst"), Scratch: true}
	if _, err := r.Record(context.Background(), session.Streams{}); err != nil {
		t.Fatal(err)
	}
	tr, err := analyze.Open(r.Out)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	opts := analyze.RaceOptions{Artifacts: analyze.ArtifactsOff}
	if predict {
		opts.Witnesses = &witness.Runner{Rerun: &session.Rerun{}}
	}
	rep, err := tr.Races(context.Background(), opts)
	if err != nil {
		t.Fatalf("%s seed %d: %v", twin, seed, err)
	}
	return rep
}

// TestRare checks that what the first run of each rare race predicts is shown by its
// witness, except for one race that does not involve mutexes. Nothing may be reported for
// correct twins.
func TestRare(t *testing.T) {
	c := build(t, "testdata/rare.c", rarePattern)
	if len(c.names) < 8 {
		t.Fatalf("%d races", len(c.names))
	}
	for _, name := range c.names {
		rep := look(t, c.img, "race_"+name, mpsim.Random, 2, true)
		if want := name != "counted"; (len(rep.Races) > 0) != want {
			t.Errorf("race_%s: %d races, %d only predicted", name, len(rep.Races), len(rep.Unshown))
		}
		for _, r := range rep.Races {
			if !strings.HasPrefix(r.Location.Words(), name) && name != "freed" {
				t.Errorf("race_%s: a race on %s", name, r.Location.Words())
			}
		}
		if rep := look(t, c.img, "norace_"+name, mpsim.Random, 2, true); len(rep.Races) > 0 {
			t.Errorf("norace_%s: a race on %s", name, rep.Races[0].Location.Words())
		}
	}
}

// TestStrands checks that races of tasks and goroutines that a run hides are shown,
// whichever threads they ran on. Nothing may be reported or predicted for correct ones.
func TestStrands(t *testing.T) {
	for _, c := range []corpus{
		build(t, "testdata/tasks.c", `(?m)^TASKS\((\w+)\)`, "-fopenmp"), buildGo(t, "testdata/goroutines/main.go", `(?m)^// (n?o?race_\w+)`),
	} {
		if len(c.names) < 5 {
			t.Fatalf("%d programs", len(c.names))
		}
		for _, name := range c.names {
			for seed := uint64(1); seed <= 3; seed++ {
				rep := look(t, c.img, name, mpsim.Random, seed, true)
				if want := strings.HasPrefix(name, "race_"); (len(rep.Races) > 0) != want {
					t.Errorf("%s seed %d: %d races, %d only predicted", name, seed, len(rep.Races), len(rep.Unshown))
				}
				if strings.HasPrefix(name, "norace_") && len(rep.Unshown) > 0 {
					t.Errorf("%s seed %d: predicts %s: %s", name, seed, rep.Unshown[0].Location.Words(), rep.Unshown[0].Prediction.Diverged)
				}
			}
		}
	}
}

// TestDeadlocks checks that a first run predicts the deadlocks of programs that can
// deadlock, and that the runs of the witnesses end in them. For programs that cannot
// deadlock, nothing may be reported.
func TestDeadlocks(t *testing.T) {
	c := build(t, "testdata/deadlocks.c", `(?m)^TWO\((\w+),`)
	if len(c.names) < 8 {
		t.Fatalf("%d programs", len(c.names))
	}
	for _, name := range c.names {
		can, shown := strings.HasPrefix(name, "dead_"), 0
		for seed := uint64(1); seed <= 3; seed++ { // for dead_often, two seeds deadlock themselves
			rep := look(t, c.img, name, mpsim.Random, seed, true)
			shown += len(rep.Deadlocks)
			if !can && len(rep.Deadlocks) > 0 || len(rep.Races) > 0 {
				t.Errorf("%s seed %d: %d deadlocks, %d only predicted, %d races", name, seed, len(rep.Deadlocks), len(rep.UnshownDeadlocks), len(rep.Races))
			}
			for i := range rep.Deadlocks {
				if n := len(rep.Deadlocks[i].Waits); (n == 3) != (name == "dead_circle") {
					t.Errorf("%s seed %d: a deadlock of %d threads", name, seed, n)
				}
			}
		}
		if can && shown == 0 {
			t.Errorf("%s: no deadlock is shown", name)
		}
	}
}

// mostRuns bounds the runs that BenchmarkPredict makes for a race with each method.
const mostRuns = 20

// BenchmarkPredict measures how many runs it takes to show a race: with random schedules,
// with pct, and with prediction from each random run. docs/replay.md has the table.
func BenchmarkPredict(b *testing.B) {
	methods := []struct {
		name    string
		policy  mpsim.Policy
		predict bool
	}{{"random", mpsim.Random, false}, {"pct-3", mpsim.PCT, false}, {"random, predict", mpsim.Random, true}}
	sources := []struct{ file, pattern string }{
		{"testdata/rare.c", rarePattern}, {"../../examples/schedules/locks.c", pairPattern}, {"../../examples/schedules/flags.c", pairPattern},
	}
	for b.Loop() {
		b.ReportMetric(0, "ns/op")
		var table strings.Builder
		fmt.Fprintf(&table, "| race | random | pct-3 | random, predict | runs of witnesses |\n| --- | --- | --- | --- | --- |\n")
		found, sum := [3]int{}, [3]int{}
		for _, src := range sources {
			c := build(b, src.file, src.pattern)
			for _, name := range c.names {
				var first [3]int
				witnesses := 0
				for k, by := range methods {
					for seed := uint64(1); seed <= mostRuns && first[k] == 0; seed++ {
						rep := look(b, c.img, "race_"+name, by.policy, seed, by.predict)
						if len(rep.Races) > 0 {
							first[k] = int(seed)
							found[k]++
						}
						witnesses += len(rep.Unshown)
						for _, r := range rep.Races {
							if r.Prediction != nil {
								witnesses++
							}
						}
					}
					sum[k] += first[k]
					if first[k] == 0 {
						sum[k] += mostRuns
					}
				}
				row := fmt.Sprintf("| %s |", name)
				for _, n := range first {
					if n == 0 {
						row += fmt.Sprintf(" > %d |", mostRuns)
					} else {
						row += fmt.Sprintf(" %d |", n)
					}
				}
				fmt.Fprintf(&table, "%s %d |\n", row, witnesses)
			}
		}
		fmt.Fprintf(&table, "| found | %d | %d | %d | |\n| runs | %d | %d | %d | |\n", found[0], found[1], found[2], sum[0], sum[1], sum[2])
		fmt.Printf("\n%s\n", table.String()) // the log of a benchmark is truncated
	}
}
