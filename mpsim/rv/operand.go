package rv

// Source returns the register of the instruction's nth operand, which is rs1, rs2 or rs3
// for n of 1, 2 or 3: integer 0–31, floating-point 32–63. ok is false if the instruction
// has no such operand, or if it is x0.
func (i Inst) Source(n int) (reg uint8, ok bool) {
	if i.Op >= NumOps || n < 1 || n > 3 || n >= len(table[i.Op].regs) {
		return 0, false
	}
	reg = [...]uint8{i.Rs1, i.Rs2, i.Rs3}[n-1] & 31
	switch table[i.Op].regs[n] {
	case 'x':
		return reg, reg != 0
	case 'f':
		return RegF + reg, true
	}
	return 0, false
}

// Dest returns the register that the instruction writes: integer 1–31, floating-point
// 32–63. ok is false if there is none; x0 does not count.
func (i Inst) Dest() (reg uint8, ok bool) {
	if i.Op >= NumOps || len(table[i.Op].regs) == 0 {
		return 0, false
	}
	switch table[i.Op].regs[0] {
	case 'x':
		return i.Rd & 31, i.Rd&31 != 0
	case 'f':
		return RegF + i.Rd&31, true
	}
	return 0, false
}
