package wet

// setRounding follows what the statements of a path do to fcsr's rounding mode.
// Results of floating-point instructions can be computed from their operands only
// while it is to nearest, which is 0. setRounding is called before the thread's
// registers are updated for the path.
func (t *thread) setRounding(p *template, values []uint64) {
	for s := range p.Stmts {
		in := p.Stmts[s].Inst
		if in.Rounds() {
			t.rounding = in.Rounding(t.rounding, t.operandValue(p, s, values))
		}
	}
}

// operandValue is what statement s finds in rs1.
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
