package cdr

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"hindsight/cdr/recorder"
)

// TestExecutions compares the counts with those of a walk block by block.
func TestExecutions(t *testing.T) {
	for seed := range uint64(8) {
		for _, budget := range []uint64{0, 40 << 10} {
			t.Run(fmt.Sprintf("seed=%d/budget=%d", seed, budget), func(t *testing.T) {
				s := newSynthetic(seed, 1+int(seed%3))
				s.run(3000)
				tr, err := openBytes(s.record(t, recorder.Options{Budget: budget}, s.batches))
				if err != nil {
					t.Fatal(err)
				}
				for th, h := range s.histories() {
					want, got := map[uint64]uint64{}, map[uint64]uint64{}
					for _, b := range h.blocks {
						want[s.static[b.id].PC]++
					}
					for b, err := range tr.Executions(th) {
						if err != nil {
							t.Fatal(err)
						}
						got[b.PC] += b.Times
					}
					if !maps.Equal(got, want) {
						t.Errorf("thread %d: %v, want %v", th, got, want)
					}
				}
				for _, err := range tr.Executions(99) {
					if !errors.Is(err, ErrNoSuch) {
						t.Errorf("of no thread: %v", err)
					}
				}
			})
		}
	}
}
