package rv

import "hindsight/tracefmt/event"

// Static gives the result of an instruction at pc that depends on nothing else:
// of LUI, AUIPC, a constant (ADDI from x0) and the link of a jump. ok is false
// for others, and for those that write x0.
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

// Valued tells whether an instruction in the middle of a block has an entry in
// event.Batch.Values: it writes a register, and not always the same.
func (i Inst) Valued() bool {
	if i.Defs().Regs == 0 {
		return false
	}
	_, static := i.Static(0)
	return !static
}

// Values counts the entries that a block with these instructions and this end
// has in event.Batch.Values.
func Values(insts []Inst, end event.End) int {
	n := 0
	for k, i := range insts {
		if k == len(insts)-1 && end == event.EndAtomic {
			n++ // the address
			if i.conditional() {
				n++
				break
			}
		}
		if i.Valued() {
			n++
		}
	}
	return n
}

// conditional tells a store-conditional, whose result is told even if no
// register takes it.
func (i Inst) conditional() bool { return i.Op == OpSCW || i.Op == OpSCD }
