package rangecode

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// plain is the coder with a number of any length in place of the carry. Its code is the
// low bound at the end.
type plain struct {
	low    big.Int
	width  uint32
	shifts int
}

func (p *plain) encode(bound uint32, below bool) {
	if below {
		p.width = bound
	} else {
		p.low.Add(&p.low, big.NewInt(int64(bound)))
		p.width -= bound
	}
	for p.width < 1<<24 {
		p.width *= 256
		p.low.Mul(&p.low, big.NewInt(256))
		p.shifts++
	}
}

func (p *plain) finish() []byte { return p.low.FillBytes(make([]byte, p.shifts+4)) }

func FuzzCoder(f *testing.F) {
	f.Add(uint64(1), uint32(3), uint16(100))
	f.Add(uint64(2), uint32(1<<31), uint16(3000))
	f.Add(uint64(3), uint32(math.MaxUint32), uint16(3000))
	f.Add(uint64(4), uint32(0), uint16(0))
	f.Fuzz(func(t *testing.T, seed uint64, chance uint32, n uint16) {
		rng := rand.New(rand.NewPCG(seed, 0))
		below := make([]bool, n)
		bound := func(rng *rand.Rand, width uint32) uint32 {
			// Often close to 0 or to the width, where carries occur.
			switch rng.IntN(4) {
			case 0:
				return 1
			case 1:
				return width - 1
			}
			return 1 + rng.Uint32N(width-1)
		}
		var e Encoder
		e.Reset()
		p := plain{width: 1<<32 - 1}
		for i := range below {
			b := bound(rng, e.Width())
			below[i] = rng.Uint32() < chance
			e.Encode(b, below[i])
			p.encode(b, below[i])
		}
		code := e.Finish()
		if want := p.finish(); !bytes.Equal(code, want) {
			t.Fatalf("code % x, want % x", code, want)
		}
		rng = rand.New(rand.NewPCG(seed, 0))
		var d Decoder
		d.Reset(code)
		for i := range below {
			got := d.Decode(bound(rng, d.Width()))
			if rng.Uint32(); got != below[i] {
				t.Fatalf("decision %d differs", i)
			}
		}
		if d.Overrun() || d.Rest() != 0 {
			t.Errorf("overrun %v, %d bytes are left", d.Overrun(), d.Rest())
		}
	})
}

// TestEntropy codes the source of "Arithmetic Program Paths", section 3.1. One of two
// symbols has the probability 1/1000, so no code with whole bits per symbol can compress
// it.
func TestEntropy(t *testing.T) {
	const n = 1_000_000
	rng := rand.New(rand.NewPCG(1, 2))
	var e Encoder
	e.Reset()
	rare := 0
	for range n {
		y := rng.IntN(1000) == 0
		if y {
			rare++
		}
		e.Encode(e.Width()/1000, y)
	}
	ideal := (float64(rare)*math.Log2(1000) + float64(n-rare)*math.Log2(1000./999)) / 8
	if got := float64(len(e.Finish())); got > ideal*1.001+4 {
		t.Errorf("%v bytes, the source has %.1f", got, ideal)
	}
}
