package session_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"hindsight/analyze"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/mem"
	"hindsight/mpsim/session"
)

// recordedAll returns the trace of a run of an example, with all accesses.
func recordedAll(t testing.TB, name string) *analyze.Trace {
	t.Helper()
	img := cross.Image(t, name)
	file := filepath.Join(t.TempDir(), "run.hst")
	r := &session.Run{Image: img, Program: name, Policy: mpsim.Random, Seed: 4, Mode: "cdr", Keep: "all", Alphabet: "path", Out: file}
	if _, err := r.Record(t.Context(), session.Streams{Out: new(bytes.Buffer), Err: new(bytes.Buffer)}); err != nil {
		t.Fatal(err)
	}
	trace, err := analyze.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { trace.Close(); os.Remove(file) })
	return trace
}

// TestLastWrite compares the last write according to the trace with the one found by
// running the stretch before it, for the program's variables at many times.
func TestLastWrite(t *testing.T) {
	for _, name := range []string{"bank", "race_ring_buffer", "race_counter"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trace := recordedAll(t, name)
			past, err := new(session.Rerun).Past(t.Context(), trace.Recorded(), nil)
			if err != nil {
				t.Fatal(err)
			}
			img := past.Journal.Image()
			r := mpsim.NewReplay(past.Journal, mpsim.ReplayOptions{Every: 50_000})
			rng := rand.New(rand.NewPCG(7, 7))
			compared := 0
			for _, s := range img.Main.Objects() {
				if s.Size == 0 || s.Size > 4096 || !img.UserObject(s.Addr) {
					continue
				}
				for range 6 {
					size := min(s.Size, 8)
					addr := s.Addr + rng.Uint64N(s.Size/size)*size
					before := 1 + rng.Uint64N(r.End())
					got, ok, err := past.LastWrite(t.Context(), r, addr, size, before)
					if err != nil {
						t.Fatal(err)
					}
					hit, found, err := r.Last(t.Context(), 0, before, &mpsim.Probe{Watches: []mpsim.Watched{{Addr: addr, Size: size, Access: mem.Write}}})
					if err != nil {
						t.Fatal(err)
					}
					if found && img.Library(hit.PC) {
						continue // a lock or similar object, written by code that is not recorded
					}
					if ok != found || ok && (got.Time != hit.Time || got.PC != hit.PC || got.Thread != hit.Thread) {
						t.Errorf("%s at %#x before %d: %+v (%v), by running %+v (%v)", s.Name, addr, before, got, ok, hit, found)
					}
					if ok {
						compared++
					}
				}
			}
			if compared == 0 {
				t.Error("nothing was compared")
			}
		})
	}
}

// TestPastRaces goes to both accesses of each race and checks that they are those of the
// report.
func TestPastRaces(t *testing.T) {
	for _, name := range []string{"bank", "race_memcpy", "race_publish", "race_early_free"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trace := recordedAll(t, name)
			past, err := new(session.Rerun).Past(t.Context(), trace.Recorded(), nil)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := trace.Races(t.Context(), analyze.RaceOptions{Artifacts: analyze.ArtifactsOff})
			if err != nil {
				t.Fatal(err)
			}
			if len(rep.Races) == 0 {
				t.Fatal("no races")
			}
			r := mpsim.NewReplay(past.Journal, mpsim.ReplayOptions{})
			for i := range rep.Races {
				for side := range 2 {
					a := &rep.Races[i].Accesses[side]
					var at uint64
					if a.Op.Plain() {
						at, err = past.Access(t.Context(), r, a.Thread, a.Site, a.Ordinal)
					} else {
						at, err = past.Event(t.Context(), r, a.Thread, a.Segment, a.PC)
					}
					if err != nil {
						t.Fatalf("%s: %v", rep.Races[i].ID, err)
					}
					if err := r.Seek(t.Context(), at); err != nil {
						t.Fatal(err)
					}
					next, _ := past.Journal.Runs(at)
					h := r.Thread(a.Thread)
					addr, size, plain := h.Accesses()
					if next != a.Thread || h.PC != a.PC || a.Op.Plain() && (!plain || addr != a.Address || size != a.Size) {
						t.Errorf("%s side %d: T%d at %#x accesses %#x (%d bytes); want T%d, %#x, %#x (%d)", rep.Races[i].ID, side, next, h.PC, addr, size, a.Thread, a.PC, a.Address, a.Size)
					}
				}
			}
		})
	}
}
