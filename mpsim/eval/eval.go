package eval

import (
	"hindsight/mpsim/rv"
)

// Operands holds the operands of an instruction. Fields that it does not use are ignored.
type Operands struct {
	PC uint64 // address of the instruction
	// Rs1, Rs2 and Rs3 are the whole 64-bit registers, integer or floating-point as the
	// instruction requires. x0 counts as 0 regardless of the field.
	Rs1, Rs2, Rs3 uint64
	// Mem is the content of memory at the address accessed: the bytes, little-endian, in
	// the low bits. Bits above the size of the access are ignored.
	Mem uint64
	// Mode is the rounding mode in fcsr (fpu.RNE … fpu.RMM), for instructions that do not
	// specify one.
	Mode uint8
}

// settle replaces the values of x0 by 0.
func (o *Operands) settle(i rv.Inst) {
	uses := i.Uses().Regs
	clear := func(v *uint64, r uint8) {
		if r == 0 && uses&(1<<rv.RegF) == 0 {
			*v = 0
		}
	}
	clear(&o.Rs1, i.Rs1)
	clear(&o.Rs2, i.Rs2)
}

// Result returns what the instruction writes to its destination register. ok is false if
// there is none (x0 does not count), if its rounding mode is reserved, and if the operands
// do not determine it: for a store-conditional, which depends on a reservation, for
// operations on control and status registers, and for an environment call.
func Result(i rv.Inst, o Operands) (v uint64, ok bool) {
	if i.Defs().Regs == 0 {
		return 0, false
	}
	v, ok = i.Static(o.PC)
	if ok {
		return v, true
	}
	o.settle(i)
	switch {
	case i.Op >= rv.OpFLW:
		return float(i, o)
	case i.Atomic():
		return i.Loaded(o.Mem), i.Op != rv.OpSCW && i.Op != rv.OpSCD
	}
	if a, _, access := i.Mem(); access && a == 0 {
		return i.Loaded(o.Mem), true
	}
	return integer(i, o)
}

// word sign-extends the low 32 bits.
func word(v uint64) uint64 { return uint64(int64(int32(v))) }
