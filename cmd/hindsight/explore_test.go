package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hindsight/cmd/internal/cli"
	"hindsight/examples"
	"hindsight/mpsim/session"
)

// command runs hindsight in this process and returns its standard output.
func command(ctx context.Context, t testing.TB, args ...string) (stdout string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	root := newRoot(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var code cli.ExitStatus
	switch {
	case errors.As(err, &code):
		status = int(code)
	case err != nil:
		t.Fatalf("%v: %v\n%s", args, err, &errs)
	}
	return out.String(), status
}

// exampleFile writes the executable of an example and returns its path.
func exampleFile(t testing.TB, name string) string {
	t.Helper()
	elf, err := examples.ELF(name)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, elf, 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// stateLines counts the runs that an exploration has recorded in its state.
func stateLines(dir string) int {
	data, _ := os.ReadFile(filepath.Join(dir, session.StateName))
	return max(bytes.Count(data, []byte("\n"))-1, 0)
}

// TestExploreInterrupted checks that explorations that are cancelled, or killed at random
// moments, or whose state is damaged, lead to the same report as an uninterrupted one
// when they are continued.
func TestExploreInterrupted(t *testing.T) {
	prog := exampleFile(t, "bank")
	args := func(dir string, more ...string) []string {
		return append(append([]string{"explore", "--runs", "12", "--sched", "pct", "--format", "json", "-o", dir}, more...), prog)
	}
	here := t.TempDir()
	t.Chdir(here)
	want, status := command(t.Context(), t, args("whole")...)
	if status != exitRaces {
		t.Fatalf("status %d\n%s", status, want)
	}
	checkSchema(t, want)
	same := func(t *testing.T, dir string) {
		t.Helper()
		got, _ := command(t.Context(), t, args(dir, "--resume")...)
		if got := strings.ReplaceAll(got, dir+"/", "whole/"); strings.ReplaceAll(got, `"`+dir+`"`, `"whole"`) != want {
			t.Errorf("gone on with in %s:\n%s\nnot interrupted:\n%s", dir, got, want)
		}
		if parts, _ := filepath.Glob(dir + "/*.part"); len(parts) > 0 {
			t.Errorf("left behind: %v", parts)
		}
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for stateLines("cancelled") < 3 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		part, status := command(ctx, t, args("cancelled", "--jobs", "1")...)
		if status != exitRaces {
			t.Errorf("status %d", status)
		}
		checkSchema(t, part)
		same(t, "cancelled")
	})
	t.Run("killed", func(t *testing.T) {
		for n := range 3 {
			cmd := exec.Command(os.Args[0], args("killed", "--resume")...)
			cmd.Env = append(os.Environ(), benchExec+"=1")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(20 * time.Second); stateLines("killed") < 3*n+1 && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
		}
		same(t, "killed")
	})
	t.Run("torn", func(t *testing.T) {
		if err := os.CopyFS("torn", os.DirFS("killed")); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("torn", session.StateName)
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data[:len(data)-20], 0o666); err != nil {
			t.Fatal(err)
		}
		traces, _ := filepath.Glob("torn/seed*.hst")
		for _, trace := range traces {
			if err := os.Remove(trace); err != nil {
				t.Fatal(err)
			}
		}
		same(t, "torn")
	})
}

// checkSchema checks a report against docs/races.schema.json.
func checkSchema(t testing.TB, text string) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(sourceDir, "../../docs/races.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestExploreOutcomes checks that runs that end in different ways are distinguished, with
// the seeds of each, and that the first deadlock and the first fault can be examined
// again.
func TestExploreOutcomes(t *testing.T) {
	prog := compileC(t, "outcomes.c")
	t.Chdir(t.TempDir())
	text, status := command(t.Context(), t, "explore", "--runs", "60", "--max-instructions", "3000000", "-o", "dir", prog)
	for _, want := range []string{"exit status 0", "exit status 3", "deadlock: thread T0 waits for", "SIGSEGV", "stopped after", "different outputs"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing of %q (status %d):\n%s", want, status, text)
		}
	}
	traces, _ := filepath.Glob("dir/seed*.hst")
	if len(traces) < 3 {
		t.Errorf("kept %v", traces)
	}
	data, _ := command(t.Context(), t, "explore", "--runs", "60", "--max-instructions", "3000000", "-o", "dir", "--format", "json", "--resume", prog)
	checkSchema(t, data)
}

// TestExploreMinimize checks that each way to fail has its shortest schedule, which ends
// in the same way when it is rerun, and that each race has one too.
func TestExploreMinimize(t *testing.T) {
	prog := compileC(t, "outcomes.c")
	t.Chdir(t.TempDir())
	data, _ := command(t.Context(), t, "explore", "--runs", "20", "--minimize", "--minimize-runs", "20", "--max-instructions", "300000", "--format", "json", "-o", "dir", prog)
	checkSchema(t, data)
	var got struct {
		Exploration struct {
			Minimal []struct {
				Outcome, Schedule, Command, Failed string
				Before                             int `json:"preemptions_before"`
				Preemptions                        int
				Story                              []string
				Seed                               uint64
			}
		}
	}
	if err := json.Unmarshal([]byte(data), &got); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range got.Exploration.Minimal {
		if m.Failed != "" {
			continue
		}
		if m.Preemptions > 3 || m.Preemptions >= m.Before || len(m.Story) < 6 {
			t.Errorf("%s: %d of %d preemptions, %d turns", m.Outcome, m.Preemptions, m.Before, len(m.Story))
		}
		status, _, errs := invoke("run", "--record", "none", "--seed", fmt.Sprint(m.Seed), "--schedule", m.Schedule, prog)
		if strings.Contains(errs, "cannot follow") {
			t.Errorf("%s: %s", m.Outcome, errs)
		}
		kind, _, _ := strings.Cut(m.Outcome, ":")
		seen[kind] = true
		want := map[string]int{"exit status 3": 3, "deadlock": 137, "another output": 0}
		if w, known := want[kind]; known && status != w || !known && status != 139 {
			t.Errorf("%s: rerun with status %d\n%s", m.Outcome, status, errs)
		}
	}
	if len(seen) != 4 {
		t.Errorf("outcomes %v, want an exit status, a deadlock, a crash and another output", seen)
	}

	prog = compileC(t, "share.c", "-fopenmp")
	text, _ := command(t.Context(), t, "explore", "--runs", "1", "--env", "OMP_NUM_THREADS=16", "--minimize", "--minimize-runs", "5", "-o", "races", prog)
	if !strings.Contains(text, "hindsight: race R1 (seed 1) with ") || !strings.Contains(text, "schedule: races/seed1.R1.minimal.txt") {
		t.Errorf("no schedule of the race:\n%s", text)
	}
}

// TestExploreThreads finds a race inside one thread's share of a loop, which only shows
// with many threads. The report must say with how many, whatever the number of jobs, and
// after an interruption.
func TestExploreThreads(t *testing.T) {
	prog := compileC(t, "share.c", "-fopenmp")
	t.Chdir(t.TempDir())
	explore := func(dir string, more ...string) (string, int) {
		return command(t.Context(), t, append(append([]string{"explore", "--runs", "4", "-o", dir}, more...), prog)...)
	}
	if text, status := explore("default", "--env", "OMP_NUM_THREADS=2"); status != 0 {
		t.Errorf("status %d with two threads:\n%s", status, text)
	}
	text, status := explore("dir", "--threads", "2,16", "--jobs", "3")
	if status != exitRaces {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{
		"Seen with seeds 2, 4 (2 of 4 runs), with OMP_NUM_THREADS=16; shown as in dir/seed2.hst",
		"4 runs from seed 1 on (random; OMP_NUM_THREADS=2,16 in turn)", "--env OMP_NUM_THREADS=T",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing of %q:\n%s", want, text)
		}
	}
	if again, _ := explore("dir", "--threads", "2,16", "--resume"); again != text {
		t.Errorf("gone on with:\n%s\nat once:\n%s", again, text)
	}
	data, _ := explore("dir", "--threads", "2,16", "--resume", "--format", "json")
	checkSchema(t, data)
	if !strings.Contains(strings.Join(strings.Fields(data), ""), `"thread_counts":[16]`) {
		t.Errorf("no thread counts:\n%s", data)
	}
}
