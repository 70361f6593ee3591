package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hindsight/examples/cross"
)

// predictedReport is the part of the report that the tests use.
type predictedReport struct {
	Races []struct {
		Location   struct{ Name string }
		Prediction *struct{ State, Diverged, Schedule, Command string }
	}
	Unshown []struct {
		Location   struct{ Name string }
		Prediction *struct{ State, Diverged string }
	} `json:"predicted_unshown"`
}

// buildTwins compiles one of the files of examples/schedules.
func buildTwins(t *testing.T, name string) string {
	t.Helper()
	needTools(t, cross.Compiler)
	source, out := filepath.Join(sourceDir, "..", "..", "examples", "schedules", name+".c"), filepath.Join(t.TempDir(), name)
	msg, err := exec.CommandContext(t.Context(), cross.Compiler, "-std=gnu17", "-O1", "-g", "-static", "-pthread", "-o", out, source).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	return out
}

// predictions records a run and returns the report of races --predict.
func predictions(t *testing.T, trace, program string, args ...string) *predictedReport {
	t.Helper()
	invoke(append([]string{"run", "--seed", "1", "-o", trace, program}, args...)...)
	status, out, errs := invoke("races", "--predict", "--format", "json", "--artifacts", "off", trace)
	if status == exitError {
		t.Fatalf("%v: %s", args, errs)
	}
	checkSchema(t, out)
	var rep predictedReport
	if err := json.Unmarshal([]byte(out), &rep); err != nil {
		t.Fatal(err)
	}
	return &rep
}

var seedFlag = regexp.MustCompile(`--seed (\d+)`)

// TestPredict checks that witnesses show races that the first run of a program does not
// have, that their schedules can be rerun, and that correct twins stay clean, including
// ones with predictions.
func TestPredict(t *testing.T) {
	program, trace := buildTwins(t, "locks"), filepath.Join(t.TempDir(), "t.hst")
	for _, name := range []string{"handover_early", "child_first", "child_slow", "sleep", "sleep_turns"} {
		shown := 0
		for _, r := range predictions(t, trace, program, "race_"+name).Races {
			p := r.Prediction
			if p == nil {
				t.Errorf("%s: the run itself has the race", name)
				continue
			}
			shown++
			if p.State != "shown" || !strings.Contains(p.Command, p.Schedule) || seedFlag.FindString(p.Command) != "--seed 1" {
				t.Errorf("%s: %+v", name, p)
			}
			witness := filepath.Join(t.TempDir(), "w.hst")
			_, _, errs := invoke("run", "--seed", "1", "--schedule", p.Schedule, "-o", witness, program, "race_"+name)
			status, out, _ := invoke("races", "--brief", witness)
			if status != exitRaces || strings.Contains(errs, "cannot follow") || !strings.Contains(out, r.Location.Name) {
				t.Errorf("%s: the run under the witness: status %d, %s\n%s", name, status, out, errs)
			}
		}
		if shown == 0 {
			t.Errorf("%s: no race is shown", name)
		}
	}
	for _, name := range []string{"handover_early", "child_first", "sleep_turns", "trylock", "gate", "barrier"} {
		if rep := predictions(t, trace, program, "norace_"+name); len(rep.Races) > 0 {
			t.Errorf("norace_%s: %+v", name, rep.Races)
		}
	}
}

// TestPredictFlags checks which flags exclude each other.
func TestPredictFlags(t *testing.T) {
	for _, args := range [][]string{{"--predict", "--order", "osr"}, {"--schedules", "x"}} {
		if status, _, errs := invoke(append(append([]string{"races"}, args...), "testdata/none.hst")...); status == 0 {
			t.Errorf("%v: %s", args, errs)
		}
	}
}

// TestPredictedDeadlocks checks that an exploration says once which of its runs predict a
// deadlock, that suppressions cover it, and that a baseline recognises it.
func TestPredictedDeadlocks(t *testing.T) {
	needTools(t, cross.Compiler)
	dir := t.TempDir()
	t.Chdir(dir)
	program := filepath.Join(dir, "deadlocks")
	source := filepath.Join(sourceDir, "..", "..", "mpsim", "witness", "testdata", "deadlocks.c")
	if out, err := exec.CommandContext(t.Context(), cross.Compiler, "-std=gnu17", "-O1", "-g", "-static", "-pthread", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	explore := func(dir string, more ...string) (int, string) {
		args := append(append([]string{"explore", "--predict", "--runs", "3", "-o", dir}, more...), program, "dead_opposite")
		status, out, errs := invoke(args...)
		if status != 0 && status != exitRaces {
			t.Fatalf("status %d\n%s", status, errs)
		}
		return status, out
	}
	status, text := explore("text")
	if status != exitRaces || strings.Count(text, "deadlock in another schedule (D") != 1 || !strings.Contains(text, "of 3 runs); shown as in text/seed") {
		t.Errorf("status %d:\n%s", status, text)
	}
	_, data := explore("json", "--format", "json")
	checkSchema(t, data)
	var got struct {
		Deadlocks []struct {
			Fingerprint, Trace string
			Seeds              []uint64
		}
	}
	if err := json.Unmarshal([]byte(data), &got); err != nil || len(got.Deadlocks) != 1 || len(got.Deadlocks[0].Seeds) == 0 {
		t.Fatalf("%v: %+v", err, got.Deadlocks)
	}
	rules := filepath.Join(dir, "rules")
	if err := os.WriteFile(rules, []byte("deadlock:^both$\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, text := explore("ruled", "--suppressions", rules); status != 0 {
		t.Errorf("status %d with a suppression:\n%s", status, text)
	}
	trace, old := got.Deadlocks[0].Trace, filepath.Join(dir, "old.json")
	if status, _, errs := invoke("races", "--predict", "--format", "json", "-o", old, trace); status != exitRaces {
		t.Fatalf("status %d\n%s", status, errs)
	}
	if status, out, errs := invoke("races", "--predict", "--baseline", old, trace); status != 0 || strings.Contains(out, "deadlock in another schedule") {
		t.Errorf("status %d with a baseline:\n%s%s", status, out, errs)
	}
}
