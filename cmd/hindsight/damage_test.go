package main

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"hindsight/analyze"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/session"
)

// damageLimit limits the memory that a damaged trace may use, in bytes.
const damageLimit = 512 << 20

// TestDamagedTraces cuts a trace at every 1/50th of its length and flips random bits in
// it. Opening, verifying and analysing it must return an error, or a partial answer that
// is marked as one, and must not use much memory.
func TestDamagedTraces(t *testing.T) {
	trace := recordExample(t, "race_ring_buffer")
	for i := range 50 {
		cut := trace[:len(trace)*i/50]
		complete, err := readDamaged(t, cut)
		if err == nil && complete {
			t.Errorf("cut to %d of %d bytes, it counts as complete", len(cut), len(trace))
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		damaged := bytes.Clone(trace)
		for range 1 + rng.IntN(8) {
			damaged[rng.IntN(len(damaged))] ^= byte(1 + rng.IntN(255))
		}
		// Every byte is under a checksum, so every flip must be noticed.
		if complete, err := readDamaged(t, damaged); err == nil && complete {
			t.Errorf("flipped bytes were not noticed")
		}
	}
}

// readDamaged does all that the commands do with a trace.
func readDamaged(t *testing.T, data []byte) (complete bool, err error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	defer func() {
		runtime.ReadMemStats(&after)
		// All memory that was ever allocated is an upper bound of what was in use at any
		// moment.
		if n := after.TotalAlloc - before.TotalAlloc; n > damageLimit {
			t.Errorf("a damaged trace cost %d bytes", n)
		}
	}()
	trace, err := openScratch(data, "damaged")
	if err != nil {
		return false, err
	}
	defer trace.Close()
	_, _ = trace.Info()
	_, racesErr := trace.Races(context.Background(), analyze.RaceOptions{})
	tr := trace.Recorded()
	if err := tr.Verify(); err != nil {
		return tr.Info().Complete, err
	}
	return tr.Info().Complete, racesErr
}

// openScratch opens a trace that reports call name. Close removes its file.
func openScratch(data []byte, name string) (*analyze.Trace, error) {
	f, err := os.CreateTemp("", "hindsight-test-*.hst")
	if err != nil {
		return nil, err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		var t *analyze.Trace
		if t, err = analyze.OpenScratch(f.Name(), name); err == nil {
			return t, nil
		}
	}
	return nil, errors.Join(err, os.Remove(f.Name()))
}

// recordExample returns the trace of an example under a random schedule.
func recordExample(t testing.TB, name string) []byte {
	t.Helper()
	p, ok := examples.Lookup(name)
	if !ok {
		t.Fatalf("no example %s", name)
	}
	img := cross.Image(t, name)
	r := &session.Run{Image: img, Program: name, Args: p.Args, Policy: mpsim.Random, Seed: 1, Mode: "cdr", Keep: "all", Alphabet: "path"}
	var trace bytes.Buffer
	if _, err := r.RecordTo(t.Context(), session.Streams{}, &trace); err != nil {
		t.Fatal(err)
	}
	return trace.Bytes()
}
