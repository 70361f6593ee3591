package eval

import (
	"math"
	"math/bits"

	"hindsight/mpsim/rv"
)

// integer computes the operations on integer registers.
func integer(i rv.Inst, o Operands) (uint64, bool) {
	if op, immediate := registerForm(i.Op); immediate {
		return compute(op, o.Rs1, uint64(int64(i.Imm)))
	}
	return compute(i.Op, o.Rs1, o.Rs2)
}

// registerForm returns the operation on two registers that corresponds to op, which uses a
// register and an immediate. It reports false if op is no such operation.
func registerForm(op rv.Op) (rv.Op, bool) {
	switch op {
	case rv.OpADDI:
		return rv.OpADD, true
	case rv.OpSLTI:
		return rv.OpSLT, true
	case rv.OpSLTIU:
		return rv.OpSLTU, true
	case rv.OpXORI:
		return rv.OpXOR, true
	case rv.OpORI:
		return rv.OpOR, true
	case rv.OpANDI:
		return rv.OpAND, true
	case rv.OpSLLI:
		return rv.OpSLL, true
	case rv.OpSRLI:
		return rv.OpSRL, true
	case rv.OpSRAI:
		return rv.OpSRA, true
	case rv.OpADDIW:
		return rv.OpADDW, true
	case rv.OpSLLIW:
		return rv.OpSLLW, true
	case rv.OpSRLIW:
		return rv.OpSRLW, true
	case rv.OpSRAIW:
		return rv.OpSRAW, true
	case rv.OpRORI:
		return rv.OpROR, true
	case rv.OpRORIW:
		return rv.OpRORW, true
	case rv.OpBCLRI:
		return rv.OpBCLR, true
	case rv.OpBEXTI:
		return rv.OpBEXT, true
	case rv.OpBINVI:
		return rv.OpBINV, true
	case rv.OpBSETI:
		return rv.OpBSET, true
	case rv.OpSLLIUW:
		return rv.OpSLLIUW, true
	}
	return op, false
}

func compute(op rv.Op, a, b uint64) (uint64, bool) {
	switch op {
	case rv.OpADD:
		return a + b, true
	case rv.OpSUB:
		return a - b, true
	case rv.OpSLL:
		return a << (b & 63), true
	case rv.OpSLT:
		return truth(int64(a) < int64(b)), true
	case rv.OpSLTU:
		return truth(a < b), true
	case rv.OpXOR:
		return a ^ b, true
	case rv.OpSRL:
		return a >> (b & 63), true
	case rv.OpSRA:
		return uint64(int64(a) >> (b & 63)), true
	case rv.OpOR:
		return a | b, true
	case rv.OpAND:
		return a & b, true
	case rv.OpADDW:
		return word(a + b), true
	case rv.OpSUBW:
		return word(a - b), true
	case rv.OpSLLW:
		return word(a << (b & 31)), true
	case rv.OpSRLW:
		return word(a & math.MaxUint32 >> (b & 31)), true
	case rv.OpSRAW:
		return uint64(int64(int32(a)) >> (b & 31)), true
	}
	if v, ok := multiply(op, a, b); ok {
		return v, true
	}
	return bitwise(op, a, b)
}

// multiply computes the operations of extension M.
func multiply(op rv.Op, a, b uint64) (uint64, bool) {
	switch op {
	case rv.OpMUL:
		return a * b, true
	case rv.OpMULW:
		return word(a * b), true
	case rv.OpMULHU:
		high, _ := bits.Mul64(a, b)
		return high, true
	case rv.OpMULHSU:
		// A negative a is a - 2^64 as an unsigned number.
		high, _ := bits.Mul64(a, b)
		if int64(a) < 0 {
			high -= b
		}
		return high, true
	case rv.OpMULH:
		high, _ := bits.Mul64(a, b)
		if int64(a) < 0 {
			high -= b
		}
		if int64(b) < 0 {
			high -= a
		}
		return high, true
	case rv.OpDIV, rv.OpREM:
		return pick(op == rv.OpREM, divide(int64(a), int64(b))), true
	case rv.OpDIVW, rv.OpREMW:
		// With extended operands, -2^31 / -1 is 2^31, whose low word is the required
		// result.
		return word(pick(op == rv.OpREMW, divide(int64(int32(a)), int64(int32(b))))), true
	case rv.OpDIVU, rv.OpREMU:
		return pick(op == rv.OpREMU, divideUnsigned(a, b)), true
	case rv.OpDIVUW, rv.OpREMUW:
		return word(pick(op == rv.OpREMUW, divideUnsigned(a&math.MaxUint32, b&math.MaxUint32))), true
	}
	return 0, false
}

// quotient is the quotient and the remainder of a division.
type quotient struct{ quotient, rest uint64 }

func pick(rest bool, q quotient) uint64 {
	if rest {
		return q.rest
	}
	return q.quotient
}

// divide rounds towards zero. Division by zero returns all ones and the dividend as
// remainder. The only overflow returns the dividend and the remainder 0.
func divide(a, b int64) quotient {
	switch {
	case b == 0:
		return quotient{math.MaxUint64, uint64(a)}
	case a == math.MinInt64 && b == -1:
		return quotient{uint64(a), 0}
	}
	return quotient{uint64(a / b), uint64(a % b)}
}

func divideUnsigned(a, b uint64) quotient {
	if b == 0 {
		return quotient{math.MaxUint64, a}
	}
	return quotient{a / b, a % b}
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
