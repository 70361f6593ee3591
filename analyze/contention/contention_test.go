package contention_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hindsight/analyze/contention"
	"hindsight/analyze/internal/recorded"
	"hindsight/cdr"
	"hindsight/tracefmt/event"
)

func build(t *testing.T, trace *cdr.Trace) *contention.Report {
	t.Helper()
	img, err := trace.Space()
	if err != nil {
		t.Fatal(err)
	}
	meta := trace.Info()
	info := contention.Info{File: "t.hst", Program: meta.Program, Seed: meta.Seed, Threads: len(trace.Threads())}
	r, err := contention.Build(t.Context(), trace, img, info, contention.Options{Top: -1, TLSSize: img.TLSSize()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBank checks that the tellers contend for their lock and that the auditor has one
// for itself, and that the counts add up and agree with S_synch.
func TestBank(t *testing.T) {
	trace := recorded.Example(t, "bank", 1)
	r := build(t, trace)
	taken := map[uint64]uint64{}
	for ev, err := range trace.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == event.MutexLock {
			taken[ev.Obj]++
		}
	}
	if len(r.Objects) != 1 || r.Free != 1 || r.Objects[0].Name != "teller_lock" {
		t.Fatalf("objects %+v, %d without waits; want teller_lock and one", r.Objects, r.Free)
	}
	o := &r.Objects[0]
	if o.Taken != taken[o.Address] || o.Waited == 0 || o.Waited > o.Taken || o.Longest > o.Time {
		t.Errorf("counts %+v, obtained %d times", o, taken[o.Address])
	}
	var pairs, sites, waited uint64
	for _, p := range o.Pairs {
		pairs += p.Time
		if p.By == int(p.Thread) || p.By == contention.Nobody {
			t.Errorf("T%d waited for %d", p.Thread, p.By)
		}
	}
	for _, s := range o.Sites {
		sites, waited = sites+s.Time, waited+s.Times
		if s.Function != "transfer" || s.File != "bank.c" {
			t.Errorf("waited at %+v", s)
		}
	}
	if pairs != o.Time || sites != o.Time || waited != o.Waited {
		t.Errorf("pairs sum up to %d, places to %d and %d times; want %d and %d", pairs, sites, waited, o.Time, o.Waited)
	}
}

// TestWaits checks that waits for objects of other kinds are counted.
func TestWaits(t *testing.T) {
	for name, kind := range map[string]string{"norace_cond_flag": "condition", "norace_missing_barrier": "barrier"} {
		found := false
		for seed := uint64(1); seed <= 5 && !found; seed++ {
			for _, o := range build(t, recorded.Example(t, name, seed)).Objects {
				found = found || o.Kind == kind
			}
		}
		if !found {
			t.Errorf("%s: nobody waited for a %s under five seeds", name, kind)
		}
	}
}

// TestForms checks the JSON form against its schema, and that the text says what the unit
// of time is.
func TestForms(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../docs/contention.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	r := build(t, recorded.Example(t, "bank", 2))
	var out bytes.Buffer
	if err := r.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(&out)
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Error(err)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"'teller_lock'", "simulated time", "depend on the schedule", "transfer bank.c:"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, &text)
		}
	}
}
