package fpu

import (
	"math/rand/v2"
	"testing"

	"hindsight/examples/cross"
)

// TestFastAgainstSoft checks that the exported functions have the results and the flags of
// the soft path, whatever has been accrued before.
func TestFastAgainstSoft(t *testing.T) {
	tries := 100_000
	if !cross.Long() {
		tries = 10_000
	}
	for _, o := range operations() {
		if o.soft == nil {
			continue
		}
		t.Run(o.asm, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			for range tries {
				v := o.operands(r)
				o.compare(t, v, r)
			}
		})
	}
}

func (o *operation) compare(t *testing.T, v [3]uint64, r *rand.Rand) {
	t.Helper()
	rm := uint8(0)
	if r.IntN(2) == 0 {
		rm = uint8(r.IntN(5))
	}
	for _, before := range []uint8{0, NX, uint8(r.IntN(32))} {
		fast, soft := before, before
		x, y := o.fast(v[0], v[1], v[2], rm, &fast), o.soft(v[0], v[1], v[2], rm, &soft)
		if x != y || fast != soft {
			t.Fatalf("%x rm %d flags %x: fast %#x flags %x, soft %#x flags %x", v, rm, before, x, fast, y, soft)
		}
	}
}

func FuzzFast(f *testing.F) {
	f.Add(uint8(0), uint64(1), uint64(0x3ff0000000000000), uint64(0x8000000000000000), uint8(0))
	f.Add(uint8(11), Box32(0x00800000), Box32(0x3f7fffff), Box32(0x80000001), uint8(1))
	f.Add(uint8(20), uint64(0x41dfffffffe00000), uint64(0), uint64(0), uint8(4))
	var ops []operation
	for _, o := range operations() {
		if o.soft != nil {
			ops = append(ops, o)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, a, b, c uint64, mode uint8) {
		o := ops[int(which)%len(ops)]
		for _, before := range []uint8{0, NX} {
			fast, soft := before, before
			x, y := o.fast(a, b, c, mode%5, &fast), o.soft(a, b, c, mode%5, &soft)
			if x != y || fast != soft {
				t.Fatalf("%s %x %x %x rm %d flags %x: fast %#x flags %x, soft %#x flags %x", o.asm, a, b, c, mode%5, before, x, fast, y, soft)
			}
		}
	})
}
