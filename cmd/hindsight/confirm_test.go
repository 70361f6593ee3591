package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindsight/cmd/internal/cli"
	"hindsight/examples/cross"
	"hindsight/mpsim/confirm"
)

var labelled = regexp.MustCompile(`(?m)^CASE\((\w+), (\w+)\)`)

// confirmed is what of the JSON report of confirm the tests look at.
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

// buildVerdicts compiles examples/verdicts and returns the program and its source.
func buildVerdicts(t *testing.T) (program string, source []byte) {
	t.Helper()
	needTools(t, cross.Compiler)
	file := filepath.Join(sourceDir, "..", "..", "examples", "verdicts", "verdicts.c")
	program = filepath.Join(t.TempDir(), "verdicts")
	args := []string{"-std=gnu17", "-O1", "-g", "-static", "-pthread", "-o", program, file}
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

// severity lists verdicts from the mildest to the worst: a race is what its worst
// instance is.
var severity = []confirm.Verdict{confirm.Unknown, confirm.Infeasible, confirm.NoDifference, confirm.StateDiffers, confirm.Harmful}

// TestVerdicts holds confirm against the labels of examples/verdicts: the worst
// verdict on the races of a variable is its label. The commands of a verdict make
// the runs that it tells of.
func TestVerdicts(t *testing.T) {
	program, source := buildVerdicts(t)
	cases := labelled.FindAllSubmatch(source, -1)
	if len(cases) < 40 {
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
				if variable, _, _ := strings.Cut(r.Location.Name, "["); variable != name {
					continue
				}
				raced = true
				if v := confirm.Verdict(r.Verdict); slices.Index(severity, v) > slices.Index(severity, worst) {
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
