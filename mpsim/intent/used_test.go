package intent

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"hindsight/mpsim/eval"
	"hindsight/mpsim/rv"
)

// TestSource checks, with package eval, that the bits of an operand that are said not to
// matter do not affect the wanted bits of the result.
func TestSource(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tried := map[rv.Op]int{}
	for op := range rv.NumOps {
		if !passes(op) {
			continue
		}
		for range 3000 {
			i := rv.Inst{Op: op, Rd: 10, Rs1: 11, Rs2: 12, Len: 4, Imm: immediate(op, r)}
			x, y, m := r.Uint64()>>r.IntN(64), r.Uint64()>>r.IntN(64), r.Uint64()>>r.IntN(64)&(r.Uint64()<<r.IntN(64))
			decided := source(i, m)
			if decided == allBits {
				continue
			}
			free := ^decided & (r.Uint64() | 1<<uint(r.IntN(64)))
			tried[op] += bits.OnesCount64(free)
			if a, b := result(t, i, x, y), result(t, i, x^free, y); (a^b)&m != 0 {
				t.Fatalf("%v of %#x and %#x: %#x with the bits %#x of the operand, %#x with others; wanted are %#x", i, x^free, y, a, decided, b, m)
			}
		}
		if tried[op] == 0 {
			t.Errorf("%v: nothing was tried", op)
		}
	}
}

// immediate returns a valid immediate for the operation.
func immediate(op rv.Op, r *rand.Rand) int32 {
	switch op {
	case rv.OpSRLI, rv.OpSLLI, rv.OpSRAI, rv.OpBEXTI:
		return r.Int32N(64)
	case rv.OpSLLIW, rv.OpSRLIW, rv.OpSRAIW:
		return r.Int32N(32)
	}
	return r.Int32N(4096) - 2048
}

func result(t *testing.T, i rv.Inst, x, y uint64) uint64 {
	t.Helper()
	v, ok := eval.Result(i, eval.Operands{Rs1: x, Rs2: y})
	if !ok {
		t.Fatalf("%v: no result", i.Op)
	}
	return v
}
