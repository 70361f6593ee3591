package cdr

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"hindsight/cdr/recorder"
)

// TestUnwound records runs that report, after returns, jumps and hooked calls, which
// frames are gone and which were added. Every stack must agree with the reports.
func TestUnwound(t *testing.T) {
	for seed := range uint64(30) {
		for _, budget := range []uint64{0, 40 << 10} {
			t.Run(fmt.Sprintf("seed=%d/budget=%d", seed, budget), func(t *testing.T) {
				s := newSynthetic(seed, 1+int(seed%4))
				s.unwinds = true
				s.run(4000)
				batches := s.batches
				if seed%2 == 1 {
					batches = rechop(rand.New(rand.NewPCG(seed, 3)), batches, s.siteCount)
				}
				tr, err := openBytes(s.record(t, recorder.Options{Budget: budget}, batches))
				if err != nil {
					t.Fatal(err)
				}
				s.compare(t, tr, nil)
			})
		}
	}
}
