package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hindsight/cmd/internal/cli"
	"hindsight/examples/cross"
	"hindsight/mpsim/confirm"
)

var labelled = regexp.MustCompile(`(?m)^\s*(?:// )?CASE\((\w+), (\w+)\)`)

// confirmed is the part of confirm's JSON report that the tests use.
type confirmed struct {
	Races []struct {
		ID       string
		Verdict  string
		Location struct{ Name string }
		Evidence struct {
			What    string
			AsWas   *struct{ Schedule, Outcome string } `json:"as_was"`
			Tries   int
			Swapped *struct{ Schedule, Outcome string } `json:"swapped"`
		}
	}
}

// buildVerdicts compiles a program of examples/verdicts and returns it and its source.
func buildVerdicts(t *testing.T, name string, flags ...string) (program string, source []byte) {
	t.Helper()
	needTools(t, cross.Compiler)
	file := filepath.Join(sourceDir, "..", "..", "examples", "verdicts", name)
	program = filepath.Join(t.TempDir(), strings.TrimSuffix(name, ".c"))
	args := append([]string{"-std=gnu17", "-O1", "-g", "-static", "-pthread", "-o", program, file}, flags...)
	if msg, err := exec.CommandContext(t.Context(), cross.Compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return program, source
}

// invoke runs the program with arguments and returns its status and outputs.
func invoke(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	root := newRoot(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	root.SetArgs(args)
	var code cli.ExitStatus
	if err := root.Execute(); errors.As(err, &code) {
		status = int(code)
	} else if err != nil {
		status = exitError
	}
	return status, out.String(), errs.String()
}

// TestVerdicts compares confirm with the labels of examples/verdicts: the worst verdict
// on the races of a variable is its label. The commands in a verdict must produce the
// runs that it describes.
func TestVerdicts(t *testing.T) {
	t.Run("threads", func(t *testing.T) {
		program, source := buildVerdicts(t, "verdicts.c")
		testVerdicts(t, program, source, 50)
	})
	t.Run("openmp", func(t *testing.T) {
		program, source := buildVerdicts(t, "openmp.c", "-fopenmp")
		testVerdicts(t, program, source, 6)
	})
	t.Run("go", func(t *testing.T) {
		file := filepath.Join(sourceDir, "testdata", "golang", "verdicts", "main.go")
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		testVerdicts(t, goProgram(t, file), source, 8)
	})
}

// testVerdicts runs each labelled case of a program, of which there are at least so many,
// until its race shows.
func testVerdicts(t *testing.T, program string, source []byte, least int) {
	cases := labelled.FindAllSubmatch(source, -1)
	if len(cases) < least {
		t.Fatalf("%d cases", len(cases))
	}
	dir := t.TempDir()
	trace := filepath.Join(dir, "v.hst")
	for _, m := range cases {
		name, want := string(m[1]), confirm.Verdict(strings.ReplaceAll(string(m[2]), "_", "-"))
		worst, raced := confirm.Unknown, false
		for _, seed := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"} {
			invoke("run", "--seed", seed, "-o", trace, program, name)
			status, out, errs := invoke("confirm", "--format", "json", trace)
			if name == "lost_update" {
				checkSchema(t, out)
			}
			var got confirmed
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatalf("%s: status %d: %v\n%s", name, status, err, errs)
			}
			for _, r := range got.Races {
				if variable, _, _ := strings.Cut(strings.TrimPrefix(r.Location.Name, "main."), "["); variable != name {
					continue
				}
				raced = true
				if v := confirm.Verdict(r.Verdict); v.Worse(worst) {
					worst = v
				}
				if e := r.Evidence; e.AsWas != nil && want == confirm.Harmful {
					_, first, _ := invoke("run", "--record", "none", "--max-instructions", "3000000", "--seed", seed, "--schedule", e.AsWas.Schedule, program, name)
					_, second, errs := invoke("run", "--record", "none", "--max-instructions", "3000000", "--seed", seed, "--schedule", e.Swapped.Schedule, program, name)
					if strings.Contains(errs, "cannot follow") || first == second && strings.HasPrefix(e.What, "output") {
						t.Errorf("%s: %s: the schedules do not show it: %q and %q\n%s", name, e.What, first, second, errs)
					}
				}
			}
			if raced {
				break
			}
		}
		if !raced || worst != want {
			t.Errorf("%s: verdict %q, raced %v; want %s", name, worst, raced, want)
		}
	}
}

// TestBaseline checks for each race of a program that confirm --baseline says of the
// corrected program what its label says.
func TestBaseline(t *testing.T) {
	dir := t.TempDir()
	racy, source := buildVerdicts(t, "repaired.c")
	repaired, _ := buildVerdicts(t, "repaired.c", "-DREPAIRED")
	labels := map[string]string{}
	for _, m := range labelled.FindAllSubmatch(source, -1) {
		labels[string(m[1])] = strings.ReplaceAll(string(m[2]), "_", "-")
	}
	if len(labels) < 10 {
		t.Fatalf("%d cases", len(labels))
	}
	old, before, after := filepath.Join(dir, "old.json"), filepath.Join(dir, "old.hst"), filepath.Join(dir, "new.hst")
	invoke("run", "--seed", "2", "-o", before, racy)
	invoke("run", "--seed", "2", "-o", after, repaired)
	invoke("races", "--format", "json", "-o", old, before)
	_, out, errs := invoke("confirm", "--race", "R1", "--baseline", old, "--format", "json", after)
	checkSchema(t, out)
	var got struct {
		Races         []struct{ Verdict string }
		BaselineRaces []struct{ ID, Location, Now, What, Release, Acquire string } `json:"baseline_races"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	seen := map[string]bool{}
	for _, r := range got.BaselineRaces {
		name := strings.TrimSuffix(r.Location, "[]")
		if strings.HasPrefix(name, "block") {
			name = "block"
		}
		seen[name] = true
		if r.Now != labels[name] {
			t.Errorf("%s %s: %s (%s), want %s", r.ID, name, r.Now, r.What, labels[name])
		}
		if known := r.Release != "" && r.Acquire != ""; known != (r.Now == "ordered") {
			t.Errorf("%s %s: ordered by %q and %q", r.ID, name, r.Release, r.Acquire)
		}
	}
	for name := range labels {
		if !seen[name] {
			t.Errorf("the program has no race on %s", name)
		}
	}
	if _, out, _ = invoke("confirm", "--race", "R1", "--baseline", old, after); !strings.Contains(out, "released: unlock of guard at locked_a repaired.c:") {
		t.Errorf("the report does not say what orders a race:\n%s", out)
	}
}

// TestInstances checks that for a race with many instances, confirm tries the first few
// until one does harm, and that the report says which.
func TestInstances(t *testing.T) {
	program, _ := buildVerdicts(t, "verdicts.c")
	trace := filepath.Join(t.TempDir(), "v.hst")
	for _, name := range []string{"statistics", "lost_loop"} {
		invoke("run", "--seed", "2", "-o", trace, program, name)
		_, out, errs := invoke("confirm", "--instances", "4", "--format", "json", trace)
		checkSchema(t, out)
		var got struct {
			Races []struct {
				Verdict  string
				Dynamic  int
				Evidence struct{ Instance, Instances int }
			}
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Races) == 0 {
			t.Fatalf("%s: %v\n%s", name, err, errs)
		}
		for _, r := range got.Races {
			e, all := r.Evidence, min(r.Dynamic, 4)
			if r.Verdict != "harmful" && all > 1 && e.Instances < all || e.Instances > 5 || e.Instance > e.Instances {
				t.Errorf("%s: %s, instance %d of %d, %d in all", name, r.Verdict, e.Instance, e.Instances, r.Dynamic)
			}
		}
	}
}
