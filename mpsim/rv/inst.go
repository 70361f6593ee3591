package rv

import "hindsight/tracefmt/event"

// Inst is a decoded instruction. Fields that the operation does not have are zero.
type Inst struct {
	Op                Op
	Rd, Rs1, Rs2, Rs3 uint8  // 0–31, in the register file that the operation specifies
	Len               uint8  // bytes: 2 or 4
	RM                uint8  // rounding mode field: 0–4, 7 dynamic, 5 and 6 reserved
	Aq, Rl            bool   // of AMO, LR and SC
	CSR               uint16 // of the CSR operations
	Imm               int32  // sign-extended; U-type already shifted; fence: fm, pred and succ bits; csrr?i: the 5 bits
}

// The link registers of the calling convention: ra, and t0 for millicode.
const (
	regRA = 1
	regT0 = 5
)

func links(r uint8) bool { return r == regRA || r == regT0 }

// End returns how the instruction ends a block, regardless of its neighbours. It returns
// EndFall if it does not end one (and for fence.i, which ends a block only because the code
// after it may be new). Acquire loads and release stores depend on their neighbours: see
// [Scan].
func (i Inst) End() event.End {
	switch i.Op {
	case OpBEQ, OpBNE, OpBLT, OpBGE, OpBLTU, OpBGEU:
		return event.EndBranch
	case OpJAL:
		if links(i.Rd) {
			return event.EndCall
		}
		return event.EndJump
	case OpJALR:
		switch {
		case links(i.Rd):
			return event.EndCallInd
		case i.Rd == 0 && links(i.Rs1):
			return event.EndReturn
		}
		return event.EndIndirect
	case OpECALL:
		return event.EndSyscall
	case OpEBREAK, OpInvalid, OpCBOZERO:
		return event.EndTrap
	}
	if i.Atomic() {
		return event.EndAtomic
	}
	return event.EndFall
}

// Target returns where a direct branch, jump or call at pc goes when taken.
func (i Inst) Target(pc uint64) (uint64, bool) {
	switch i.Op {
	case OpJAL, OpBEQ, OpBNE, OpBLT, OpBGE, OpBLTU, OpBGEU:
		return pc + uint64(int64(i.Imm)), true
	}
	return 0, false
}

// Atomic reports whether the instruction is an AMO, LR or SC.
func (i Inst) Atomic() bool { return i.Op >= OpLRW && i.Op <= OpAMOCASD }

// Compares reports whether the instruction is an AMO that writes only if memory contains
// the value of rd, which it therefore reads. Rs3 is then rd.
func (i Inst) Compares() bool { return i.Op == OpAMOCASW || i.Op == OpAMOCASD }

// StoresFloat reports whether the instruction stores a floating-point register.
func (i Inst) StoresFloat() bool { return i.Op == OpFSW || i.Op == OpFSD || i.Op == OpFSH }

// AtomicSize returns the number of bytes that an AMO, LR or SC accesses, or 0 for other
// instructions.
func (i Inst) AtomicSize() uint8 {
	if !i.Atomic() {
		return 0
	}
	return table[i.Op].load | table[i.Op].store
}

// Mem describes a plain load or store, including floating-point ones. ok is false for
// everything else, including AMO, LR and SC.
func (i Inst) Mem() (a event.Access, size uint8, ok bool) {
	if i.Op >= NumOps || i.Atomic() {
		return 0, 0, false
	}
	r := &table[i.Op]
	switch {
	case r.load != 0:
		return event.Read, r.load, true
	case r.store != 0:
		return event.Write, r.store, true
	}
	return 0, 0, false
}

// Bits of the predecessor and successor sets of a fence.
const (
	FenceW = 1 << iota
	FenceR
	FenceO
	FenceI
)

// Fence returns the predecessor and successor sets of a FENCE. For fence.tso it returns
// what it orders at least: rw,rw.
func (i Inst) Fence() (pred, succ uint8, ok bool) {
	if i.Op != OpFENCE {
		return 0, 0, false
	}
	return uint8(i.Imm>>4) & 15, uint8(i.Imm) & 15, true
}

// Register numbers in a [RegSet].
const (
	RegF    = 32 // f0; the integer registers are 0–31
	RegFCSR = 64
)

// RegSet is a set of registers: integer 0–31, floating-point 32–63, fcsr 64.
type RegSet struct {
	Regs uint64
	FCSR bool
}

// Has reports whether register r (0–64) is in the set.
func (s RegSet) Has(r int) bool {
	if r == RegFCSR {
		return s.FCSR
	}
	return r >= 0 && r < RegFCSR && s.Regs>>r&1 != 0
}

// Uses returns the set of registers that the instruction reads. It never contains x0.
func (i Inst) Uses() RegSet {
	var s RegSet
	if i.Op >= NumOps {
		return s
	}
	r := &table[i.Op]
	s.add(r, 1, i.Rs1)
	s.add(r, 2, i.Rs2)
	s.add(r, 3, i.Rs3)
	s.FCSR = r.rm && i.RM == DynamicRounding || r.imm >= immCSR && floatCSR(i.CSR)
	return s
}

// Defs returns the set of registers that the instruction writes. It never contains x0. Only
// CSR operations count as a definition of fcsr. If the exception flags that floating-point
// arithmetic accumulates counted, every arithmetic operation would depend on the previous
// one.
func (i Inst) Defs() RegSet {
	var s RegSet
	if i.Op >= NumOps {
		return s
	}
	r := &table[i.Op]
	s.add(r, 0, i.Rd)
	s.FCSR = r.imm >= immCSR && floatCSR(i.CSR) && i.writesCSR()
	return s
}

func (s *RegSet) add(r *row, operand int, reg uint8) {
	if operand >= len(r.regs) {
		return
	}
	switch r.regs[operand] {
	case 'x':
		s.Regs |= 1 << (reg & 31) &^ 1
	case 'f':
		s.Regs |= 1 << (RegF + reg&31)
	}
}

// floatCSR reports whether a CSR is fflags, frm or fcsr.
func floatCSR(csr uint16) bool { return csr >= 1 && csr <= 3 }

// writesCSR reports whether the instruction writes a CSR: csrrs and csrrc with x0 (or
// immediate 0) only read.
func (i Inst) writesCSR() bool {
	switch i.Op {
	case OpCSRRS, OpCSRRC:
		return i.Rs1 != 0
	case OpCSRRSI, OpCSRRCI:
		return i.Imm != 0
	}
	return true
}
