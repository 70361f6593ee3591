package wet

// setRounding follows what the statements of a path do to the rounding mode in fcsr.
// Results of floating-point instructions can only be computed from their operands while
// the mode is to nearest, which is 0. setRounding is called before the thread's registers
// are updated for the path.
func (t *thread) setRounding(p *template, values []uint64) {
	for s := range p.Stmts {
		in := p.Stmts[s].Inst
		if in.Rounds() {
			t.rounding = in.Rounding(t.rounding, t.operandValue(p, s, values))
		}
	}
}

// operandValue returns the value of rs1 for statement s.
func (t *thread) operandValue(p *template, s int, values []uint64) uint64 {
	if len(p.info[s].uses) == 0 {
		return 0
	}
	u := p.info[s].uses[0]
	if _, comesIn := u.from.slot(); comesIn {
		return t.regs[u.reg].value
	}
	if i := p.info[u.from].val; i != none {
		return values[i]
	}
	v, _ := p.Stmts[u.from].Inst.Static(p.Stmts[u.from].PC)
	return v
}
