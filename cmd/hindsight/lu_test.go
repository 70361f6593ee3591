package main

import (
	"bytes"
	"fmt"
	"testing"

	"hindsight/analyze"
	"hindsight/analyze/replay"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/session"
)

// TestRacesOfLU compares the dynamic counts of LU without its barrier with the formula in
// docs/lu-races.md, under different schedules.
func TestRacesOfLU(t *testing.T) {
	img := cross.Image(t, "lu_nobarrier")
	for seed, n := range []int{32, 64, 128} {
		updates := 0 // that race with solving the block they read
		for m := range n / 16 {
			updates += m * ((m + 1) / 2)
		}
		var trace bytes.Buffer
		r := &session.Run{
			Image: img, Program: "lu_nobarrier", Args: []string{"-p", "2", "-n", fmt.Sprint(n)},
			Policy: mpsim.Random, Seed: uint64(seed), Mode: "cdr", Keep: "all", Alphabet: "path",
		}
		if _, err := r.RecordTo(t.Context(), session.Streams{}, &trace); err != nil {
			t.Fatal(err)
		}
		tr, err := openScratch(trace.Bytes(), "lu_nobarrier")
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		rep, err := tr.Races(t.Context(), analyze.RaceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		byLine := map[int]uint64{}
		for _, r := range rep.Races {
			for _, a := range r.Accesses {
				if a.Op == replay.Write {
					byLine[a.Top.Line] += r.Dynamic
				}
			}
		}
		for line, writes := range map[int]uint64{72: 256, 75: 1920} {
			if want := uint64(updates) * writes; byLine[line] != want {
				t.Errorf("n=%d: %d races with the write of line %d, want %d", n, byLine[line], line, want)
			}
		}
		if len(byLine) != 2 {
			t.Errorf("n=%d: races with the writes of lines %v", n, byLine)
		}
	}
}
