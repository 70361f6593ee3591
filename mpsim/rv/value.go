package rv

import "hindsight/tracefmt/event"

// Static returns the result of an instruction at pc that depends on nothing else: LUI,
// AUIPC, a constant (ADDI from x0) and the link of a jump. ok is false for others, and for
// those that write x0.
func (i Inst) Static(pc uint64) (v uint64, ok bool) {
	if i.Rd == 0 {
		return 0, false
	}
	switch i.Op {
	case OpLUI:
		return uint64(int64(i.Imm)), true
	case OpAUIPC:
		return pc + uint64(int64(i.Imm)), true
	case OpADDI:
		return uint64(int64(i.Imm)), i.Rs1 == 0
	case OpJAL, OpJALR:
		return pc + uint64(i.Len), true
	}
	return 0, false
}

// Valued reports whether an instruction in the middle of a block has an entry in
// event.Batch.Values: it writes a register, and not always the same value.
func (i Inst) Valued() bool {
	if i.Defs().Regs == 0 {
		return false
	}
	_, static := i.Static(0)
	return !static
}

// Told says which entries an instruction has in event.Batch.Values, in this order: the
// address that it accesses, and what it writes to its register or, for a store-conditional,
// whether it stored. atomic says that the instruction is the atomic access at the end of a
// block.
func (i Inst) Told(atomic bool) (addr, result bool) {
	conditional := i.Op == OpSCW || i.Op == OpSCD
	return atomic, i.Valued() || atomic && conditional // even if no register receives it
}

// Values returns the number of entries in event.Batch.Values of a block with these
// instructions and this end.
func Values(insts []Inst, end event.End) int {
	n := 0
	for k, i := range insts {
		addr, result := i.Told(k == len(insts)-1 && end == event.EndAtomic)
		if addr {
			n++
		}
		if result {
			n++
		}
	}
	return n
}

// The control registers that hold the rounding mode, and its position in fcsr.
const (
	csrFRM      = 2
	csrFCSR     = 3
	roundBits   = 7
	roundInFCSR = 5
)

// Rounds reports whether an instruction may change the rounding mode.
func (i Inst) Rounds() bool {
	return (i.CSR == csrFRM || i.CSR == csrFCSR) && i.Defs().FCSR
}

// Rounding returns the rounding mode after an instruction that may change it
// ([Inst.Rounds]). mode is the previous mode, rs1 the content of register rs1.
func (i Inst) Rounding(mode uint8, rs1 uint64) uint8 {
	switch i.Op {
	case OpCSRRWI, OpCSRRSI, OpCSRRCI:
		rs1 = uint64(i.Imm)
	}
	if i.CSR == csrFCSR {
		rs1 >>= roundInFCSR
	}
	operand := uint8(rs1 & roundBits)
	switch i.Op {
	case OpCSRRW, OpCSRRWI:
		return operand
	case OpCSRRS, OpCSRRSI:
		return mode | operand
	case OpCSRRC, OpCSRRCI:
		return mode &^ operand
	}
	return mode
}

// DynamicRounding is the rounding mode field of an instruction that rounds as fcsr says.
const DynamicRounding = 7

// Loaded returns what a load, an LR or an AMO writes to its destination register. mem
// contains the bytes of memory in its low bits; the other bits are ignored. A
// floating-point number of less than 64 bits is boxed.
func (i Inst) Loaded(mem uint64) uint64 {
	switch i.Op {
	case OpLB:
		return uint64(int64(int8(mem)))
	case OpLBU:
		return mem & 0xff
	case OpLH:
		return uint64(int64(int16(mem)))
	case OpLHU:
		return mem & 0xffff
	case OpLW:
		return uint64(int64(int32(mem)))
	case OpLWU:
		return mem & 0xffffffff
	case OpFLH:
		return 0xffffffffffff<<16 | mem&0xffff
	case OpFLW:
		return 0xffffffff<<32 | mem&0xffffffff
	}
	if i.AtomicSize() == 4 {
		return uint64(int64(int32(mem)))
	}
	return mem
}
