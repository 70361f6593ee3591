package eval

import (
	"math"

	"hindsight/mpsim/rv"
)

// The following functions implement the manual's pseudocode, bit by bit. They share nothing
// with the simulator, so that the two can be compared.

const xlen = 64

func bitOf(v uint64, i int) uint64 { return v >> i & 1 }

// bitwise computes the operations of Zba, Zbb, Zbc, Zbs and Zicond, and the
// may-be-operations, which write 0.
func bitwise(op rv.Op, a, b uint64) (uint64, bool) {
	low := a & math.MaxUint32
	switch op {
	case rv.OpADDUW:
		return b + low, true
	case rv.OpSLLIUW:
		return low << (b & 63), true
	case rv.OpSH1ADD:
		return b + a*2, true
	case rv.OpSH2ADD:
		return b + a*4, true
	case rv.OpSH3ADD:
		return b + a*8, true
	case rv.OpSH1ADDUW:
		return b + low*2, true
	case rv.OpSH2ADDUW:
		return b + low*4, true
	case rv.OpSH3ADDUW:
		return b + low*8, true
	case rv.OpANDN:
		return a & ^b, true
	case rv.OpORN:
		return a | ^b, true
	case rv.OpXNOR:
		return ^a ^ b, true
	case rv.OpMAX:
		return choose(int64(a) < int64(b), b, a), true
	case rv.OpMAXU:
		return choose(a < b, b, a), true
	case rv.OpMIN:
		return choose(int64(a) < int64(b), a, b), true
	case rv.OpMINU:
		return choose(a < b, a, b), true
	case rv.OpCZEROEQZ:
		return choose(b == 0, 0, a), true
	case rv.OpCZERONEZ:
		return choose(b != 0, 0, a), true
	case rv.OpBCLR, rv.OpBEXT, rv.OpBINV, rv.OpBSET:
		return singleBit(op, a, int(b&63)), true
	case rv.OpROL, rv.OpROR, rv.OpROLW, rv.OpRORW:
		return rotate(op, a, b), true
	case rv.OpCLMUL, rv.OpCLMULH, rv.OpCLMULR:
		return carryless(op, a, b), true
	case rv.OpMOPR, rv.OpMOPRR:
		return 0, true
	}
	return unary(op, a)
}

func choose(c bool, yes, no uint64) uint64 {
	if c {
		return yes
	}
	return no
}

func singleBit(op rv.Op, a uint64, i int) uint64 {
	switch op {
	case rv.OpBCLR:
		return a & ^(uint64(1) << i)
	case rv.OpBEXT:
		return bitOf(a, i)
	case rv.OpBINV:
		return a ^ uint64(1)<<i
	}
	return a | uint64(1)<<i
}

func rotate(op rv.Op, a, b uint64) uint64 {
	width, left := 64, op == rv.OpROL || op == rv.OpROLW
	if op == rv.OpROLW || op == rv.OpRORW {
		width = 32
	}
	by := int(b) & (width - 1)
	var r uint64
	for i := range width {
		to := i + width - by
		if left {
			to = i + by
		}
		r |= bitOf(a, i) << (to % width)
	}
	if width == 32 {
		return word(r)
	}
	return r
}

// carryless computes clmul and related operations, following their pseudocode.
func carryless(op rv.Op, a, b uint64) uint64 {
	var out uint64
	for i := range xlen {
		if bitOf(b, i) == 0 {
			continue
		}
		switch op {
		case rv.OpCLMUL:
			out ^= a << i
		case rv.OpCLMULH:
			if i > 0 {
				out ^= a >> (xlen - i)
			}
		case rv.OpCLMULR:
			out ^= a >> (xlen - i - 1)
		}
	}
	return out
}

// unary computes the operations on one register.
func unary(op rv.Op, a uint64) (uint64, bool) {
	switch op {
	case rv.OpCLZ, rv.OpCLZW:
		n := choose(op == rv.OpCLZ, 64, 32)
		i := int(n) - 1
		for i >= 0 && bitOf(a, i) == 0 {
			i--
		}
		return n - 1 - uint64(i), true
	case rv.OpCTZ, rv.OpCTZW:
		n := int(choose(op == rv.OpCTZ, 64, 32))
		i := 0
		for i < n && bitOf(a, i) == 0 {
			i++
		}
		return uint64(i), true
	case rv.OpCPOP, rv.OpCPOPW:
		count := uint64(0)
		for i := range int(choose(op == rv.OpCPOP, 64, 32)) {
			count += bitOf(a, i)
		}
		return count, true
	case rv.OpSEXTB:
		return uint64(int64(int8(a))), true
	case rv.OpSEXTH:
		return uint64(int64(int16(a))), true
	case rv.OpZEXTH:
		return a & 0xffff, true
	}
	return bytewise(op, a)
}

func bytewise(op rv.Op, a uint64) (out uint64, ok bool) {
	for i := 0; i < xlen; i += 8 {
		part := a >> i & 0xff
		switch op {
		case rv.OpORCB:
			out |= choose(part == 0, 0, 0xff) << i
		case rv.OpREV8:
			out |= part << (xlen - 8 - i)
		default:
			return 0, false
		}
	}
	return out, true
}
