package intent

import (
	"math"
	"math/bits"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Compilers read a bit-field by loading the whole word around it and extracting the bits
// from the register. (gcc does so for RISC-V at every optimisation level.) The source does
// not access the neighbouring members, which other threads may write in the meantime: in
// C11, 3.14, a member that is not a bit-field is a memory location of its own. What the
// code does with the value shows which bytes the source can have read.

// Limits of the search for one load.
const (
	maxUsed  = 256 // instructions
	maxParts = 8   // registers with parts of the value, one after another
)

// Masks of bits of a register.
const (
	allBits = math.MaxUint64
	low32   = math.MaxUint32
	sign64  = 1 << 63
	sign32  = 1 << 31
)

// Registers of the calling convention.
const (
	regA0, regA1, regA7 = 10, 11, 17
	regT0               = 5
)

// Used returns which of the size bytes read by the load at pc can matter to the code after
// it: how many to skip, and how many follow. It returns all of them if the instruction is
// not a load of an integer, or if the code does not show it.
func (c *Code) Used(pc uint64, size uint8) (skip, width uint8) {
	i, ok := c.at(pc)
	if !ok || size < 2 || size > 8 || i.Atomic() {
		return 0, size
	}
	rd, ok := i.Dest()
	if a, n, isMem := i.Mem(); !ok || !isMem || a != event.Read || n != size || rd >= rv.RegF {
		return 0, size
	}
	d := demand{code: c, known: map[value]uint64{}, left: maxUsed}
	mask := d.of(value{rd, pc + uint64(i.Len)})
	top := uint64(1) << (8*size - 1)
	if mask > top<<1-1 && size < 8 {
		mask = mask&(top<<1-1) | top // copies of the sign, or zeros
	}
	if mask == 0 {
		return 0, size
	}
	first, last := uint8(bits.TrailingZeros64(mask)/8), uint8((63-bits.LeadingZeros64(mask))/8)
	return first, last - first + 1
}

// value is the content of a register before an instruction.
type value struct {
	reg uint8
	pc  uint64
}

// demand determines the bits of values that later instructions use.
type demand struct {
	code  *Code
	known map[value]uint64 // all bits while it is being determined
	left  int              // number of instructions that may still be examined
}

// of returns the bits of a value that matter, along every path from it.
func (d *demand) of(v value) (mask uint64) {
	if m, ok := d.known[v]; ok {
		return m
	}
	if len(d.known) == maxParts {
		return allBits
	}
	d.known[v] = allBits
	seen := map[uint64]bool{}
	for todo := []uint64{v.pc}; len(todo) > 0; {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		i, ok := d.code.at(pc)
		if d.left--; !ok || d.left < 0 {
			return allBits
		}
		if i.Uses().Has(int(v.reg)) {
			mask |= d.by(i, v, pc)
		}
		next, lost := after(i, pc, v.reg)
		if lost || mask == allBits {
			return allBits
		}
		if !i.Defs().Has(int(v.reg)) {
			todo = append(todo, next...)
		}
	}
	d.known[v] = mask
	return mask
}

// after returns the addresses of the instructions after i at which a register may still
// hold the value. lost says that unknown code may use it.
func after(i rv.Inst, pc uint64, reg uint8) (next []uint64, lost bool) {
	behind := pc + uint64(i.Len)
	argument := reg >= regA0 && reg <= regA7
	saved := reg == 8 || reg == 9 || reg >= 18 && reg <= 27 || reg >= 2 && reg <= 4
	target, direct := i.Target(pc)
	switch i.End() {
	case event.EndBranch:
		return []uint64{behind, target}, false
	case event.EndJump:
		return []uint64{target}, !direct
	case event.EndCall, event.EndCallInd:
		if i.Rd == regT0 || argument { // code that saves registers for the caller
			return nil, true
		}
		if !saved {
			return nil, false
		}
		return []uint64{behind}, false
	case event.EndReturn:
		return nil, saved || reg == regA0 || reg == regA1
	case event.EndSyscall:
		return []uint64{behind}, argument
	case event.EndIndirect, event.EndTrap:
		return nil, true
	}
	return []uint64{behind}, false
}

// by returns the bits of a value that are used by the instruction at pc, or through its
// result.
func (d *demand) by(i rv.Inst, v value, pc uint64) uint64 {
	reg := v.reg
	if i.Op == rv.OpSB || i.Op == rv.OpSH || i.Op == rv.OpSW {
		_, size, _ := i.Mem()
		if i.Rs1 == reg {
			return allBits
		}
		return 1<<(8*size) - 1
	}
	if (i.Op == rv.OpBLT || i.Op == rv.OpBGE) && i.Rs1 == reg && i.Rs2 == 0 {
		return sign64
	}
	rd, ok := i.Dest()
	if _, _, isMem := i.Mem(); !ok || rd >= rv.RegF || isMem || i.Atomic() {
		return allBits
	}
	if !passes(i.Op) {
		return allBits
	}
	used := source(i, d.of(value{rd, pc + uint64(i.Len)}))
	if i.Op == rv.OpAND {
		if mask, known := d.constant(v.pc, pc, i.Rs1^i.Rs2^reg); known {
			used &= mask
		}
	}
	return used
}

// constant returns the content of a register at address to, if the instructions since
// address from, which contain no jump, determine it.
func (d *demand) constant(from, to uint64, reg uint8) (x uint64, known bool) {
	for pc := from; pc < to; {
		i, ok := d.code.at(pc)
		if !ok || i.End() != event.EndFall {
			return 0, false
		}
		pc += uint64(i.Len)
		if !i.Defs().Has(int(reg)) {
			continue
		}
		of, imm := x, uint64(int64(i.Imm))
		if i.Rs1 == 0 {
			of = 0
		}
		usual := i.Rs1 == 0 || i.Rs1 == reg && known
		switch known = usual; i.Op {
		case rv.OpLUI:
			x, known = imm, true
		case rv.OpADDI:
			x = of + imm
		case rv.OpADDIW:
			x = uint64(int64(int32(of + imm)))
		case rv.OpSLLI:
			x = of << (imm & 63)
		case rv.OpSRLI:
			x = of >> (imm & 63)
		default:
			known = false
		}
	}
	return x, known
}

// passes reports whether [source] supports the operation.
func passes(op rv.Op) bool {
	switch op {
	case rv.OpANDI, rv.OpSRLI, rv.OpSLLI, rv.OpSRAI, rv.OpSLLIW, rv.OpSRLIW, rv.OpSRAIW, rv.OpADDIW, rv.OpADDI, rv.OpORI, rv.OpXORI,
		rv.OpADD, rv.OpSUB, rv.OpADDW, rv.OpSUBW, rv.OpAND, rv.OpOR, rv.OpXOR, rv.OpBEXTI, rv.OpSEXTB, rv.OpSEXTH, rv.OpZEXTH:
		return true
	}
	return false
}

// source returns the bits of an operand that determine the bits m of the result.
func source(i rv.Inst, m uint64) uint64 {
	k := uint(i.Imm) & 63
	low := m & low32 // of a 32-bit result, whose other bits are copies of the sign
	if m > sign32-1 {
		low |= sign32
	}
	switch i.Op {
	case rv.OpANDI:
		return m & uint64(int64(i.Imm))
	case rv.OpSRLI:
		return m << k
	case rv.OpSLLI:
		return m >> k
	case rv.OpSRAI:
		return extended(m<<k, m > allBits>>k, sign64)
	case rv.OpSLLIW:
		return low >> k
	case rv.OpSRLIW:
		return low << k & low32
	case rv.OpSRAIW:
		return extended(low<<k&low32, low > low32>>k, sign32)
	case rv.OpADDI, rv.OpADD, rv.OpSUB:
		if i.Op == rv.OpADDI && i.Imm == 0 {
			return m
		}
		return below(m)
	case rv.OpADDIW, rv.OpADDW, rv.OpSUBW:
		if i.Op == rv.OpADDIW && i.Imm == 0 {
			return low
		}
		return below(low)
	case rv.OpBEXTI:
		return m & 1 << k
	case rv.OpSEXTB:
		return extended(m&0xff, m > 0xff, 1<<7)
	case rv.OpSEXTH:
		return extended(m&0xffff, m > 0xffff, 1<<15)
	case rv.OpZEXTH:
		return m & 0xffff
	}
	return m // bit by bit
}

// extended adds the sign to the bits of an operand if copies of it are used.
func extended(m uint64, copies bool, sign uint64) uint64 {
	if copies {
		return m | sign
	}
	return m
}

// below returns the bits of an operand that determine the bits m of a sum: carries come
// from lower bits.
func below(m uint64) uint64 { return 1<<bits.Len64(m) - 1 }
