package rangecode

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// TestTables checks that the tables, which are computed with floating point, are those of
// the formats on every machine.
func TestTables(t *testing.T) {
	m := NewMixer(false)
	h := crc32.NewIEEE()
	for i := range m.stretch {
		h.Write([]byte{byte(m.stretch[i]), byte(m.stretch[i] >> 8), byte(m.squash[i]), byte(m.squash[i] >> 8)})
	}
	for _, r := range m.rate {
		h.Write([]byte{byte(r), byte(r >> 8)})
	}
	if got := h.Sum32(); got != 0x386c934a {
		t.Errorf("checksum of the tables %#x", got)
	}
}

// TestChances checks that the coder takes about as much space for a decision as its
// probability is worth.
func TestChances(t *testing.T) {
	for _, c := range []struct {
		one  float64 // probability
		most float64 // largest number of bits per decision
	}{{0.5, 1.02}, {0.1, 0.50}, {0.01, 0.095}, {0, 0.002}} {
		m := NewMixer(false)
		m.Begin(nil, nil)
		var ctx [4]Chance
		rnd := rand.New(rand.NewPCG(1, 2))
		const n = 100000
		for range n {
			y := 0
			if rnd.Float64() < c.one {
				y = 1
			}
			m.Decide(0, &ctx[0], &ctx[1], &ctx[2], &ctx[3], y)
		}
		if got := float64(len(m.End())*8) / n; got > c.most {
			t.Errorf("probability %v: %.4f bits a decision, want at most %v", c.one, got, c.most)
		}
	}
}
