package wet

import "hindsight/mpsim/rv"

// The control registers that hold the rounding mode.
const (
	csrFRM  = 2
	csrFCSR = 3
)

// setRounding follows what the statements of a path do to fcsr's rounding
// mode: results of floating-point instructions can be computed from their
// operands only while it is to nearest, which is 0. It is called before the
// path's registers are taken over.
func (t *thread) setRounding(p *template, values []uint64) {
	for s := range p.Stmts {
		in := p.Stmts[s].Inst
		if in.CSR != csrFRM && in.CSR != csrFCSR || !in.Defs().FCSR {
			continue
		}
		var v uint64
		switch in.Op {
		case rv.OpCSRRWI, rv.OpCSRRSI, rv.OpCSRRCI:
			v = uint64(in.Imm)
		default:
			v = t.operandValue(p, s, values)
		}
		if in.CSR == csrFCSR {
			v >>= 5
		}
		mode := uint8(v & 7)
		switch in.Op {
		case rv.OpCSRRW, rv.OpCSRRWI:
			t.rounding = mode
		case rv.OpCSRRS, rv.OpCSRRSI:
			t.rounding |= mode
		case rv.OpCSRRC, rv.OpCSRRCI:
			t.rounding &^= mode
		}
	}
}

// operandValue is what statement s finds in rs1.
func (t *thread) operandValue(p *template, s int, values []uint64) uint64 {
	if len(p.info[s].uses) == 0 {
		return 0
	}
	u := p.info[s].uses[0]
	if u.from < 0 {
		return t.regs[u.reg].value
	}
	if i := p.info[u.from].val; i != none {
		return values[i]
	}
	v, _ := p.Stmts[u.from].Inst.Static(p.Stmts[u.from].PC)
	return v
}
