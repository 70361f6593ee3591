package eval_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"hindsight/mpsim/eval"
	"hindsight/mpsim/rv"
)

// TestLink checks that a jump through a register reads the register before it writes the
// link to it.
func TestLink(t *testing.T) {
	if v, ok := eval.Result(rv.Inst{Op: rv.OpJALR, Rd: 1, Rs1: 1, Imm: 5, Len: 2}, eval.Operands{PC: 100}); v != 102 || !ok {
		t.Errorf("jalr links %d", v)
	}
}

// TestMultiply compares extension M with arbitrary-precision numbers.
func TestMultiply(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	signed := func(v uint64) *big.Int { return big.NewInt(int64(v)) }
	unsigned := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
	result := func(op rv.Op, a, b uint64) uint64 {
		v, ok := eval.Result(rv.Inst{Op: op, Rd: 3, Rs1: 1, Rs2: 2, Len: 4}, eval.Operands{Rs1: a, Rs2: b})
		if !ok {
			t.Fatalf("%v has no result", op)
		}
		return v
	}
	high := func(p *big.Int) uint64 {
		p.Rsh(p, 64) // rounds down, as two's complement requires
		return new(big.Int).And(p, unsigned(1<<64-1)).Uint64()
	}
	for range 20000 {
		a, b := value(rng), value(rng)
		for op, want := range map[rv.Op]uint64{
			rv.OpMULHU:  high(new(big.Int).Mul(unsigned(a), unsigned(b))),
			rv.OpMULH:   high(new(big.Int).Mul(signed(a), signed(b))),
			rv.OpMULHSU: high(new(big.Int).Mul(signed(a), unsigned(b))),
			rv.OpMUL:    a * b,
			// The manual's identity: dividend = divisor × quotient + remainder, always.
			rv.OpREM:  a - b*result(rv.OpDIV, a, b),
			rv.OpREMU: a - b*result(rv.OpDIVU, a, b),
		} {
			if got := result(op, a, b); got != want {
				t.Errorf("%v of %#x and %#x: %#x, want %#x", op, a, b, got, want)
			}
		}
	}
}
