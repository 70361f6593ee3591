package mpsim

import (
	"math/bits"

	"hindsight/mpsim/rv"
)

// bitmanip computes the operations of Zba, Zbb, Zbc, Zbs and Zicond ("The RISC-V
// Instruction Set Manual, Volume I", 20240411, chapters 10 and 28). b is the second
// register or the immediate. Operations on one register ignore it.
func bitmanip(code rv.Op, a, b uint64) uint64 {
	switch code {
	case rv.OpADDUW:
		return a&0xffffffff + b
	case rv.OpSH1ADD:
		return a<<1 + b
	case rv.OpSH2ADD:
		return a<<2 + b
	case rv.OpSH3ADD:
		return a<<3 + b
	case rv.OpSH1ADDUW:
		return a&0xffffffff<<1 + b
	case rv.OpSH2ADDUW:
		return a&0xffffffff<<2 + b
	case rv.OpSH3ADDUW:
		return a&0xffffffff<<3 + b
	case rv.OpSLLIUW:
		return a & 0xffffffff << (b & 63)
	case rv.OpANDN:
		return a &^ b
	case rv.OpORN:
		return a | ^b
	case rv.OpXNOR:
		return ^(a ^ b)
	case rv.OpMAX:
		return uint64(max(int64(a), int64(b)))
	case rv.OpMAXU:
		return max(a, b)
	case rv.OpMIN:
		return uint64(min(int64(a), int64(b)))
	case rv.OpMINU:
		return min(a, b)
	case rv.OpCZEROEQZ:
		if b == 0 {
			return 0
		}
		return a
	case rv.OpCZERONEZ:
		if b != 0 {
			return 0
		}
		return a
	case rv.OpBCLR, rv.OpBCLRI:
		return a &^ (1 << (b & 63))
	case rv.OpBEXT, rv.OpBEXTI:
		return a >> (b & 63) & 1
	case rv.OpBINV, rv.OpBINVI:
		return a ^ 1<<(b&63)
	case rv.OpBSET, rv.OpBSETI:
		return a | 1<<(b&63)
	case rv.OpROL:
		return bits.RotateLeft64(a, int(b&63))
	case rv.OpROR, rv.OpRORI:
		return bits.RotateLeft64(a, -int(b&63))
	case rv.OpROLW:
		return uint64(int64(int32(bits.RotateLeft32(uint32(a), int(b&31)))))
	case rv.OpRORW, rv.OpRORIW:
		return uint64(int64(int32(bits.RotateLeft32(uint32(a), -int(b&31)))))
	case rv.OpCLMUL:
		_, low := carryless(a, b)
		return low
	case rv.OpCLMULH:
		high, _ := carryless(a, b)
		return high
	case rv.OpCLMULR:
		high, low := carryless(a, b)
		return high<<1 | low>>63
	}
	return bitCount(code, a)
}

// bitCount computes the operations on one register.
func bitCount(code rv.Op, a uint64) uint64 {
	switch code {
	case rv.OpCLZ:
		return uint64(bits.LeadingZeros64(a))
	case rv.OpCTZ:
		return uint64(bits.TrailingZeros64(a))
	case rv.OpCPOP:
		return uint64(bits.OnesCount64(a))
	case rv.OpCLZW:
		return uint64(bits.LeadingZeros32(uint32(a)))
	case rv.OpCTZW:
		return uint64(bits.TrailingZeros32(uint32(a)))
	case rv.OpCPOPW:
		return uint64(bits.OnesCount32(uint32(a)))
	case rv.OpSEXTB:
		return uint64(int64(int8(a)))
	case rv.OpSEXTH:
		return uint64(int64(int16(a)))
	case rv.OpZEXTH:
		return a & 0xffff
	case rv.OpREV8:
		return bits.ReverseBytes64(a)
	case rv.OpORCB:
		a |= a >> 4 & 0x0f0f0f0f0f0f0f0f
		a |= a >> 2 & 0x3333333333333333
		a |= a >> 1 & 0x5555555555555555
		return a & 0x0101010101010101 * 0xff
	}
	return 0 // may-be-operations (Zimop)
}

// carryless returns the product of two polynomials over GF(2).
func carryless(a, b uint64) (high, low uint64) {
	for ; b != 0; b &= b - 1 {
		n := bits.TrailingZeros64(b)
		low ^= a << n
		high ^= a >> 1 >> (63 - n)
	}
	return high, low
}
