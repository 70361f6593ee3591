package mpsim

import (
	"hindsight/mpsim/eval"
	"hindsight/mpsim/rv"
)

// rounding returns the rounding mode for a field of an instruction. It reports false for
// the reserved modes.
func (h *Hart) rounding(rm uint8) (uint8, bool) {
	return eval.Rounding(rm, uint8(h.FCSR>>frmShift&7))
}

// What [op.site] says about the registers of a floating-point operation: which of them are
// integer registers.
const (
	fromInteger   = 1 << iota // rs1
	toInteger                 // rd
	fromImmediate             // rs1 is the operand itself
)

// floatOperands returns op.site for a floating-point operation.
func floatOperands(i rv.Inst) (where uint8) {
	if r, _ := i.Source(1); r < rv.RegF { // 0 for x0
		where |= fromInteger
	}
	if i.Op == rv.OpFLIS || i.Op == rv.OpFLID {
		where = fromImmediate
	}
	if i.Defs().Regs < 1<<rv.RegF {
		where |= toInteger
	}
	return where
}

// float executes a floating-point operation that exec leaves to it; o.imm says which one.
// It reports false if the instruction is illegal because its rounding mode is reserved.
func (h *Hart) float(o *op) bool {
	rm, ok := h.rounding(o.rm)
	if !ok {
		return h.refuse()
	}
	a := h.F[o.rs1&31]
	switch {
	case o.site&fromInteger != 0:
		a = h.X[o.rs1&31]
	case o.site&fromImmediate != 0:
		a = uint64(o.rs1)
	}
	before := h.flags
	v, _ := eval.Float(rv.Op(o.imm), a, h.F[o.rs2&31], h.F[o.rs3&31], rm, &h.flags)
	if o.site&toInteger != 0 {
		h.X[o.rd&31] = v
	} else {
		h.F[o.rd&31] = v
	}
	if h.flags != before {
		h.setExact()
	}
	return true
}
