package wet

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFlowCode checks that a string of nodes is decoded correctly, and that damage leads
// to an error or to another string.
func TestFlowCode(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 9))
		nodes := 1 + rng.IntN(60)
		flow := make([]uint32, rng.IntN(4000))
		for i := range flow {
			switch {
			case i > 8 && rng.IntN(8) > 0:
				flow[i] = flow[i-1-rng.IntN(8)]
			default:
				flow[i] = uint32(rng.IntN(nodes))
			}
		}
		code := encodeFlow(flow, nodes)
		var got []uint32
		collect := func(x uint32) bool { got = append(got, x); return true }
		if err := decodeFlow(code, nodes, uint64(len(flow)), collect); err != nil || !slices.Equal(got, flow) {
			t.Fatalf("seed %d: %d nodes come back as %d: %v", seed, len(flow), len(got), err)
		}
		for range 20 {
			bad := slices.Clone(code[:rng.IntN(len(code)+1)])
			if len(bad) > 0 {
				bad[rng.IntN(len(bad))] ^= byte(1 + rng.IntN(255))
			}
			_ = decodeFlow(bad, nodes, uint64(len(flow)), func(x uint32) bool { return int(x) < nodes })
		}
	}
}
