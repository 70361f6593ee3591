package main

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hindsight/analyze"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/analyze/report"
	"hindsight/cdr"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/session"
)

// exampleSeeds is the number of schedules under which each example runs.
const exampleSeeds = 10

// TestExamples runs every example under ten seeds, records and analyses it. The outcome
// must be the expected one, the corrected programs must be clean, and in the broken ones
// the marked lines and no others must be reported.
func TestExamples(t *testing.T) {
	seeds := exampleSeeds
	if !cross.Long() {
		seeds = 2
	}
	for _, p := range examples.Programs() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			img := cross.Image(t, p.Name)
			n := seeds
			if p.Group == examples.Kernel {
				n = min(n, 3)
			}
			for seed := range n {
				r := &session.Run{
					Image: img, Program: p.Name, Args: p.Args, Seed: uint64(seed + 1),
					Policy: mpsim.Random, Quantum: []int{0, 100, 1000}[seed%3],
					Mode: "cdr", Keep: []string{"all", "shared"}[seed%2], Alphabet: []string{"path", "block"}[seed/2%2],
				}
				if err := checkExample(t.Context(), p, r); err != nil {
					t.Errorf("seed %d, keep %s, alphabet %s: %v", r.Seed, r.Keep, r.Alphabet, err)
				}
			}
		})
	}
}

// TestKeepFindsTheSame checks that what is missing in a trace of shared memory alone
// takes part in no race. The reports must equal those of a trace of everything, including
// counts and instances.
func TestKeepFindsTheSame(t *testing.T) {
	for _, p := range examples.Programs() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			img := cross.Image(t, p.Name)
			var races [2][]race.Race
			for i, keep := range []string{"all", "shared"} {
				r := &session.Run{
					Image: img, Program: p.Name, Args: p.Args, Seed: 21, Policy: mpsim.Random,
					Mode: "cdr", Keep: keep, Alphabet: "path",
				}
				var trace bytes.Buffer
				if _, err := r.RecordTo(t.Context(), session.Streams{}, &trace); err != nil {
					t.Fatal(err)
				}
				tr, err := cdr.OpenReaderAt(bytes.NewReader(trace.Bytes()), int64(trace.Len()))
				if err != nil {
					t.Fatal(err)
				}
				res, err := race.Analyze(t.Context(), replay.FromTrace(tr), race.Options{})
				if err != nil {
					t.Fatal(err)
				}
				races[i] = res.Races
			}
			if !reflect.DeepEqual(races[0], races[1]) {
				t.Errorf("%d races in all accesses, %d in those to shared memory:\n%+v\n%+v", len(races[0]), len(races[1]), races[0], races[1])
			}
		})
	}
}

// checkExample runs an example and compares the run with what the manifest expects.
func checkExample(ctx context.Context, p examples.Program, r *session.Run) error {
	var out, trace bytes.Buffer
	done, err := r.RecordTo(ctx, session.Streams{Out: &out, Err: &out}, &trace)
	if err != nil {
		return err
	}
	if p.Status != examples.AnyStatus && done.Status != p.Status {
		return fmt.Errorf("status %d, want %d: %s\n%s", done.Status, p.Status, done.Message, &out)
	}
	if p.Stdout != "" && out.String() != p.Stdout {
		return fmt.Errorf("output %q, want %q", &out, p.Stdout)
	}
	tr, err := openScratch(trace.Bytes(), p.Name)
	if err != nil {
		return err
	}
	defer tr.Close()
	if err := tr.Recorded().Verify(); err != nil {
		return err
	}
	rep, err := tr.Races(ctx, analyze.RaceOptions{})
	if err != nil {
		return err
	}
	return compareRaces(p, rep)
}

// compareRaces compares a report with the marks in the example's source.
func compareRaces(p examples.Program, rep *report.Report) error {
	var text bytes.Buffer
	if err := rep.WriteText(&text, report.TextOptions{}); err != nil {
		return err
	}
	if !p.Races {
		if len(rep.Races) > 0 {
			return fmt.Errorf("reported though correct:\n%s", &text)
		}
		return nil
	}
	found := false
	for _, r := range rep.Races {
		a, b := r.Accesses[0].Top.Line, r.Accesses[1].Top.Line
		known := false
		for _, want := range p.Expect {
			if lines := want.Lines(); slices.Contains(lines, a) && slices.Contains(lines, b) && names(r.Location, want) {
				known = true
				if err := compareArtifact(p, &r, want); err != nil {
					return fmt.Errorf("%w:\n%s", err, &text)
				}
				found = found || slices.Contains(want.Sure, a) && slices.Contains(want.Sure, b)
			}
		}
		if !known {
			return fmt.Errorf("lines %d and %d on %s %q are not marked in the source:\n%s", a, b, r.Location.Kind, r.Location.Name, &text)
		}
	}
	if !found {
		return fmt.Errorf("no pair of the lines marked as sure is reported:\n%s", &text)
	}
	return nil
}

// mixed are the programs with races that are marked as independent and that are
// consequences of another race in some schedules. Correcting the pointer, the index or
// the count that comes first orders the rest.
var mixed = []string{"race_singleton", "race_early_free", "race_double_checked", "race_ring_buffer", "race_refcount", "race_spin_lock", "mp3d_nolock"}

// compareArtifact compares what a report says about the cause of a race with the mark.
func compareArtifact(p examples.Program, r *report.Race, want examples.Race) error {
	a, b := r.Accesses[0].Top.Line, r.Accesses[1].Top.Line
	switch {
	case want.Artifact && r.Artifact == nil && r.Unexplained == "":
		return fmt.Errorf("the race of lines %d and %d is no artifact", a, b)
	case !want.Artifact && r.Artifact != nil && !slices.Contains(mixed, p.Name):
		return fmt.Errorf("the race of lines %d and %d is an artifact", a, b)
	}
	return nil
}

// names reports whether a location can be the expected one. The compiler names a static
// local NAME.NUMBER. A heap block has no name.
func names(l report.Location, want examples.Race) bool {
	if l.Kind != string(want.Storage) {
		return false
	}
	if want.Storage != examples.Global {
		return true
	}
	symbol, _, _ := strings.Cut(l.Symbol, ".")
	return symbol == want.Variable
}
