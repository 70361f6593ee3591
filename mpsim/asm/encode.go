package asm

import "hindsight/mpsim/rv"

// Encode returns the 32-bit form of an instruction. rv.Decode decodes the result to i with
// Len 4, provided that i's operands are valid for the operation and its immediate fits.
// Bits that do not fit are lost.
func Encode(i rv.Inst) uint32 {
	match, mask := i.Op.Encoding()
	w := uint32(i.Rd)<<7 | uint32(i.Rs1)<<15 | uint32(i.Rs2)<<20 | uint32(i.Rs3)<<27 | uint32(i.RM)<<12
	w |= immediate(i)
	if i.Atomic() {
		w |= bit(i.Aq)<<26 | bit(i.Rl)<<25
	}
	return w&^mask | match
}

// immediate distributes the immediate over the instruction, by format.
func immediate(i rv.Inst) uint32 {
	v := uint32(i.Imm)
	access, _, plain := i.Mem()
	switch {
	case i.Op == rv.OpLUI || i.Op == rv.OpAUIPC:
		return v &^ 0xfff
	case i.Op == rv.OpJAL:
		return v>>20&1<<31 | v>>1&1023<<21 | v>>11&1<<20 | v>>12&255<<12
	case i.Op >= rv.OpBEQ && i.Op <= rv.OpBGEU:
		return v>>12&1<<31 | v>>5&63<<25 | v>>1&15<<8 | v>>11&1<<7
	case plain && access != 0:
		return v>>5&127<<25 | v&31<<7
	case i.Op >= rv.OpCSRRW && i.Op <= rv.OpCSRRC:
		return uint32(i.CSR) << 20
	case i.Op >= rv.OpCSRRWI && i.Op <= rv.OpCSRRCI:
		return uint32(i.CSR)<<20 | v&31<<15
	case plain, i.Op == rv.OpJALR, i.Op == rv.OpFENCE, i.Op >= rv.OpADDI && i.Op <= rv.OpANDI, i.Op == rv.OpADDIW:
		return v << 20
	case i.Op == rv.OpFLIS || i.Op == rv.OpFLID:
		return v & 31 << 15
	case i.Op >= rv.OpSLLIUW && i.Op <= rv.OpBSETI:
		return v & 63 << 20
	case i.Op >= rv.OpSLLI && i.Op <= rv.OpSRAI, i.Op >= rv.OpSLLIW && i.Op <= rv.OpSRAIW:
		return v & 63 << 20
	}
	return 0
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
