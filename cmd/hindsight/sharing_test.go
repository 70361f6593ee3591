package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/analyze"
	"hindsight/analyze/sharing"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/cmd/internal/cli"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/arch"
	"hindsight/mpsim/session"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// modelled records an example on modelled caches and opens the trace.
func modelled(t *testing.T, name string, seed uint64, args ...string) *analyze.Trace {
	t.Helper()
	img := cross.Image(t, name)
	r := &session.Run{
		Image: img, Program: name, Args: args, Seed: seed, Policy: mpsim.Random, Quantum: session.ModelQuantum,
		Mode: "cdr", Keep: "all", Alphabet: "path", Arch: &arch.Config{},
	}
	var trace bytes.Buffer
	if _, err := r.RecordTo(t.Context(), session.Streams{Out: io.Discard, Err: io.Discard}, &trace); err != nil {
		t.Fatal(err)
	}
	tr, err := openScratch(trace.Bytes(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

// TestSharingOfExamples runs the pair about false sharing under ten seeds. The threads
// are so short that they overlap in few schedules. If they do, they share the array, in
// the way that its title says.
func TestSharingOfExamples(t *testing.T) {
	for _, c := range []struct{ name, variable string }{{"norace_false_sharing", "sum"}, {"race_false_sharing", "data"}} {
		falsely := 0
		for seed := range uint64(10) {
			tr := modelled(t, c.name, seed+1)
			rep, err := tr.Sharing(t.Context(), analyze.SharingOptions{Top: -1})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range rep.Variables {
				if v.Counts.FalseSharing == 0 {
					continue
				}
				falsely++
				if v.Location.Name != c.variable {
					t.Errorf("%s, seed %d: false sharing of %s %q", c.name, seed+1, v.Location.Kind, v.Location.Name)
				}
			}
			if err := tr.Recorded().VerifyArch(); err != nil {
				t.Errorf("%s, seed %d: %v", c.name, seed+1, err)
			}
		}
		t.Logf("%s: false sharing under %d of 10 seeds", c.name, falsely)
		if falsely == 0 && c.name == "norace_false_sharing" {
			t.Errorf("%s: no false sharing under any seed", c.name)
		}
	}
}

// TestSharingOfBank checks the names of what several threads really share.
func TestSharingOfBank(t *testing.T) {
	p, ok := examples.Lookup("bank")
	if !ok {
		t.Fatal("no example bank")
	}
	tr := modelled(t, p.Name, 1, p.Args...)
	if err := tr.Recorded().VerifyArch(); err != nil {
		t.Error(err)
	}
	rep, err := tr.Sharing(t.Context(), analyze.SharingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Variables) == 0 || rep.Variables[0].Location.Name != "balance" || rep.Variables[0].Verdict != sharing.True {
		t.Fatalf("the balances are not the hottest variable, or not truly shared: %+v", rep.Variables)
	}
	for _, s := range rep.Variables[0].Sites[:1] {
		if s.File != "bank.c" || s.Line == 0 {
			t.Errorf("hottest site %+v", s)
		}
	}
}

// TestHostileArchBlocks replaces the model's blocks by damaged payloads.
func TestHostileArchBlocks(t *testing.T) {
	for name, payload := range map[string][]byte{
		"empty": {}, "form": {9}, "cut": {1, 64}, "numbers": bytes.Repeat([]byte{0xff}, 400),
	} {
		file := filepath.Join(t.TempDir(), "bad.hst")
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := recorder.New(f, recorder.Options{Extra: func(end bool) []format.Extra {
			return []format.Extra{{Kind: tracefmt.KindArchSummary, Payload: payload}}
		}})
		if err == nil {
			err = rec.Finish(event.Outcome{})
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		if status := run([]string{"sharing", file}, cli.Streams{In: nil, Out: &out, Err: &errs}); status != exitError || !strings.Contains(errs.String(), "malformed") {
			t.Errorf("%s: status %d, %s", name, status, &errs)
		}
	}
}

// TestSharingOfPartOfATrace records in many epochs and cuts the file. What is left must
// have the summary of some epoch, or none yet, and sound history.
func TestSharingOfPartOfATrace(t *testing.T) {
	img := cross.Image(t, "bank")
	r := &session.Run{Image: img, Program: "bank", Seed: 1, Policy: mpsim.Random, Quantum: session.ModelQuantum,
		Mode: "cdr", Keep: "all", Alphabet: "path", Arch: &arch.Config{}, Budget: 1 << 14}
	var file bytes.Buffer
	if _, err := r.RecordTo(t.Context(), session.Streams{}, &file); err != nil {
		t.Fatal(err)
	}
	reports := 0
	for n := range 21 {
		part := file.Bytes()[:file.Len()*(20-n)/20]
		tr, err := openScratch(part, "bank")
		if err != nil {
			if n == 0 {
				t.Fatal(err)
			}
			continue
		}
		defer tr.Close()
		if n == 0 && tr.Recorded().Info().Epochs < 10 {
			t.Fatalf("%d epochs", tr.Recorded().Info().Epochs)
		}
		if err := tr.Recorded().VerifyArch(); err != nil {
			t.Errorf("%d/20: %v", 20-n, err)
		}
		if rep, err := tr.Sharing(t.Context(), analyze.SharingOptions{}); err == nil {
			reports++
			if n == 0 && rep.Variables[0].Location.Name != "balance" {
				t.Errorf("hottest variable %+v", rep.Variables[0].Location)
			}
		} else if n == 0 {
			t.Error(err)
		}
	}
	if reports < 5 {
		t.Errorf("%d parts of 21 have a report", reports)
	}
}
