package order

import (
	"context"
	"slices"
	"testing"

	"hindsight/analyze/internal/recorded"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/tracefmt/event"
)

// TestProgramsAgreeWithRace compares what happens-before reports here, access
// by access, with what package race finds in the compressed trace.
func TestProgramsAgreeWithRace(t *testing.T) {
	for i, p := range examples.Programs() {
		if !cross.Long() && i%3 != 0 {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			trace, opts := exampleTrace(t, p)
			res, err := race.Analyze(context.Background(), replay.FromTrace(trace), opts)
			if err != nil {
				t.Fatal(err)
			}
			sameKept(t, trace, opts)
			sameSchedulable(t, trace, replay.FromTrace(trace), Options{Program: opts.Program, TLSSize: opts.TLSSize})
			for _, without := range []bool{false, true} {
				sameInAll(t, trace, Options{Program: opts.Program, TLSSize: opts.TLSSize, NoLockset: without})
			}
			got := found(t, trace, Options{Program: opts.Program, TLSSize: opts.TLSSize})
			for i := range res.Races {
				k := keyOf(res.Races[i].First.Later.Place, res.Races[i].First.Earlier.Place)
				if !got[k].Has(HB) {
					t.Errorf("%v is missing", k)
				}
				got[k] &^= 1 << HB
			}
			for k, s := range got {
				if s.Has(HB) {
					t.Errorf("%v is no race", k)
				}
			}
		})
	}
}

// sameKept compares what is found from footprints that the race analysis kept with what
// is found without.
func sameKept(t *testing.T, trace *cdr.Trace, opts race.Options) {
	t.Helper()
	var kept replay.Footprints
	if _, err := race.Analyze(t.Context(), replay.Keeping(trace, &kept), opts); err != nil {
		t.Fatal(err)
	}
	for th := range trace.Threads() {
		if kept.Segments(event.ThreadID(th)) == nil {
			t.Errorf("nothing was kept of thread %d", th)
		}
	}
	find := Options{Program: opts.Program, TLSSize: opts.TLSSize}
	got, err := findKept(t.Context(), trace, find, &kept)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Find(t.Context(), trace, find)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(got, want, func(p, q *Pair) bool { return *p == *q }) {
		t.Errorf("%d pairs with kept footprints, %d without, or not the same", len(got), len(want))
	}
}

func exampleTrace(t *testing.T, p examples.Program) (*cdr.Trace, race.Options) {
	t.Helper()
	elf, err := examples.ELF(p.Name)
	if err != nil {
		t.Fatal(err)
	}
	return recordedELF(t, p.Name, elf, p.Args...)
}

func recordedELF(t testing.TB, name string, elf []byte, args ...string) (*cdr.Trace, race.Options) {
	t.Helper()
	trace, img := recorded.Run(t, elf, append([]string{name}, args...), 1)
	return trace, race.Options{Program: img, TLSSize: img.TLSSize()}
}
