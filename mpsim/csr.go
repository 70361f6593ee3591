package mpsim

import "hindsight/mpsim/rv"

// CSRs that user code can access.
const (
	csrFFlags  = 0x001
	csrFRM     = 0x002
	csrFCSR    = 0x003
	csrCycle   = 0xc00
	csrTime    = 0xc01
	csrInstret = 0xc02
)

// Fields of fcsr.
const (
	fflagsMask = 0x1f
	flagNX     = 0x01
	frmShift   = 5
	frmMask    = 7 << frmShift
	fcsrMask   = fflagsMask | frmMask
)

// settle adds to FCSR the exceptions that arithmetic has raised.
func (h *Hart) settle() {
	h.FCSR |= uint32(h.flags)
	h.flags = 0
}

// setExact recomputes exactRM after a change of FCSR or flags.
func (h *Hart) setExact() {
	h.exactRM = 0
	if (h.FCSR|uint32(h.flags))&flagNX != 0 {
		h.exactRM = 1
		if h.FCSR&frmMask == 0 {
			h.exactRM |= 1 << 7
		}
	}
}

// exact reports whether the host's arithmetic is sufficient for an operation with rounding
// mode field rm, provided that its result is ordinary. It is if rounding is to nearest even
// and the inexact flag, the only one that such an operation may raise, is already set.
func (h *Hart) exact(rm uint8) bool { return h.exactRM>>(rm&7)&1 != 0 }

// ordinary reports whether a double (as bits) is finite, normal, and not next to the
// subnormal range, where a flag might have to be raised.
func ordinary(v uint64) bool {
	const low, high = 0x0010000000000001, 0x7ff0000000000000
	return v&^signBit-low < high-low
}

// csr executes the CSR operation b.ops[i]. It reports false if the instruction is illegal.
func (h *Hart) csr(b *block, i int) bool {
	in := &b.code.Insts[b.ord[i]]
	operand := h.X[in.Rs1&31]
	if in.Op >= rv.OpCSRRWI {
		operand = uint64(in.Imm)
	}
	write, set, clear := false, false, false
	switch in.Op {
	case rv.OpCSRRW, rv.OpCSRRWI:
		write = true
	case rv.OpCSRRS:
		set = in.Rs1 != 0
	case rv.OpCSRRSI:
		set = in.Imm != 0
	case rv.OpCSRRC:
		clear = in.Rs1 != 0
	case rv.OpCSRRCI:
		clear = in.Imm != 0
	}
	old, ok := h.readCSR(in.CSR, b, i)
	if !ok {
		return h.refuse()
	}
	if write || set || clear {
		v := operand
		if set {
			v = old | operand
		} else if clear {
			v = old &^ operand
		}
		if !h.writeCSR(in.CSR, uint32(v)) {
			return h.refuse()
		}
	}
	h.X[in.Rd&31] = old
	return true
}

func (h *Hart) readCSR(csr uint16, b *block, i int) (uint64, bool) {
	h.settle()
	switch csr {
	case csrFFlags:
		return uint64(h.FCSR & fflagsMask), true
	case csrFRM:
		return uint64(h.FCSR & frmMask >> frmShift), true
	case csrFCSR:
		return uint64(h.FCSR & fcsrMask), true
	case csrCycle, csrInstret:
		return h.Insts() - uint64(b.insts) + uint64(b.ord[i]), true
	case csrTime:
		return h.m.now() + uint64(h.granted-h.left-h.ticked) - uint64(b.insts) + uint64(b.ord[i]), true
	}
	return 0, false
}

func (h *Hart) writeCSR(csr uint16, v uint32) bool {
	switch csr {
	case csrFFlags:
		h.FCSR = h.FCSR&^fflagsMask | v&fflagsMask
	case csrFRM:
		h.FCSR = h.FCSR&^frmMask | v<<frmShift&frmMask
	case csrFCSR:
		h.FCSR = v & fcsrMask
	default:
		return false
	}
	h.setExact()
	return true
}
