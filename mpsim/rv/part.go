package rv

import mathbits "math/bits"

// Part says how code finds the byte or half-word that an atomic instruction on a four-byte
// word actually accesses. RISC-V has no narrower atomic instructions, so compilers mask and
// shift. The registers are read when the instruction runs. The zero value means that the
// access is to the whole word.
type Part struct {
	// Masks are registers that LR/SC code combines with the loaded word and does not
	// change. One of them holds the mask of the part, or its complement.
	Masks []uint8
	// Shifted says that an AMO's operand was shifted to its place in the word. Shift is the
	// register that holds the number of bits, or 0 if it may hold something else when the
	// AMO runs. In that case only the operand shows the place.
	Shifted bool
	Shift   uint8
	half    bool // the operand was truncated to 16 bits before it was shifted
}

// maxPart bounds the number of instructions examined between an LR and its SC.
const maxPart = 24

// maxFunction bounds the number of instructions of a function that are examined to find the
// origin of an AMO's operands.
const maxFunction = 1 << 13

// PartAt looks for the part that the AMO or LR at pc accesses. The function that contains
// pc starts at start.
//
// For an AMO, the address must come from an ANDI with -4 and the operand from a shift, in
// the code at lower addresses: compilers move both out of loops. For an LR, the code up to
// its SC counts.
// of loops. Of an LR, what counts is the code up to its SC.
func PartAt(start, pc uint64, code Code) Part {
	i, ok := fetch(code, pc)
	if !ok {
		return Part{}
	}
	switch i.Op {
	case OpLRW:
		return Part{Masks: masks(pc, i, code)}
	case OpAMOORW, OpAMOANDW, OpAMOXORW:
		return shifted(start, pc, i, code)
	}
	return Part{}
}

// masks returns the registers that instructions between the LR i at pc and its SC combine
// by AND, and that nothing there changes.
func masks(pc uint64, lr Inst, code Code) []uint8 {
	var combined []uint8
	changed := uint32(1)<<lr.Rd | 1
	for range maxPart {
		i, ok := fetch(code, pc)
		if !ok {
			return nil
		}
		switch i.Op {
		case OpSCW:
			if i.Rs1 != lr.Rs1 {
				return nil
			}
			var kept []uint8
			for _, r := range combined {
				if changed&(1<<r) == 0 {
					kept = append(kept, r)
				}
			}
			return kept
		case OpAND:
			combined = append(combined, i.Rs1, i.Rs2)
		}
		if i.Atomic() && i.Op != OpLRW {
			return nil
		}
		if r, ok := i.Dest(); ok && r < RegF {
			changed |= 1 << r
		}
		pc += uint64(i.Len)
	}
	return nil
}

// shifted looks for the instructions that computed the operands of the AMO amo.
func shifted(start, pc uint64, amo Inst, code Code) Part {
	var last [32]Inst // the last one that wrote each register
	var when [32]int  // its number, from 1; 0: none
	half := false     // the operand's shift used a value that was truncated to 16 bits
	at := start
	for n := 1; at < pc && n < maxFunction; n++ {
		i, ok := fetch(code, at)
		if !ok {
			return Part{}
		}
		if r, ok := i.Dest(); ok && r < RegF {
			if r == amo.Rs2 {
				half = last[i.Rs1].Op == OpSRLI && last[i.Rs1].Imm == 48
			}
			last[r], when[r] = i, n
		}
		at += uint64(i.Len)
	}
	base, operand := last[amo.Rs1], last[amo.Rs2]
	if at != pc || when[amo.Rs1] == 0 || base.Op != OpANDI || base.Imm != -4 ||
		when[amo.Rs2] == 0 || operand.Op != OpSLLW && operand.Op != OpSLL {
		return Part{}
	}
	p := Part{Shifted: true, half: half}
	if by := operand.Rs2; when[by] < when[amo.Rs2] {
		p.Shift = by
	}
	return p
}

// Bytes returns the part, as its offset in the word and its size, for an instruction with
// the given operand (of an AMO) that runs with the integer registers x. A size of 4 means
// the whole word.
func (p *Part) Bytes(op Op, operand uint32, x *[32]uint64) (offset, size uint32) {
	for _, r := range p.Masks {
		m := uint32(x[r])
		for _, mask := range [2]uint32{m, ^m} {
			shift := uint32(mathbits.TrailingZeros32(mask))
			switch mask >> (shift & 31) {
			case 0xff:
				if shift%8 == 0 {
					return shift / 8, 1
				}
			case 0xffff:
				if shift%16 == 0 {
					return shift / 8, 2
				}
			}
		}
	}
	if !p.Shifted {
		return 0, 4
	}
	size = 1
	if p.half {
		size = 2
	}
	if p.Shift != 0 {
		return uint32(x[p.Shift]) & 31 / 8 &^ (size - 1), size
	}
	if op == OpAMOANDW {
		operand = ^operand
	}
	if operand == 0 {
		return 0, 4
	}
	return uint32(mathbits.TrailingZeros32(operand)) / 8 &^ (size - 1), size
}
