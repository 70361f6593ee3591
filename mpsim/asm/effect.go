package asm

import (
	"hindsight/mpsim/eval"
	"hindsight/mpsim/rv"
)

// Address returns the first byte that a load, store, AMO, LR or SC accesses. ok is false
// for other instructions.
func Address(i rv.Inst, rs1 uint64) (addr uint64, ok bool) {
	_, _, access := i.Mem()
	if !access && !i.Atomic() {
		return 0, false
	}
	if i.Rs1 == 0 {
		rs1 = 0
	}
	return rs1 + uint64(int64(i.Imm)), true
}

// Stored returns what a store, an AMO or a successful store-conditional writes to memory,
// in the low bits. size is the number of bytes, or 0 for an instruction that stores
// nothing.
func Stored(i rv.Inst, o eval.Operands) (v uint64, size uint8) {
	if i.Rs2 == 0 && !i.StoresFloat() {
		o.Rs2 = 0
	}
	size = i.AtomicSize()
	switch i.Op {
	case rv.OpSB, rv.OpSH, rv.OpSW, rv.OpSD, rv.OpFSW, rv.OpFSD, rv.OpFSH:
		_, size, _ = i.Mem()
		v = o.Rs2
	case rv.OpSCW, rv.OpSCD:
		v = o.Rs2
	case rv.OpLRW, rv.OpLRD:
		return 0, 0
	case rv.OpAMOCASW, rv.OpAMOCASD:
		want := o.Rs3
		if i.Rs3 == 0 {
			want = 0
		}
		v = o.Mem
		if extended(i, v) == extended(i, want) {
			v = o.Rs2
		}
	default:
		if size == 0 {
			return 0, 0
		}
		v = combine(i.Op, extended(i, o.Mem), o.Rs2)
	}
	if size < 8 {
		v &= 1<<(8*size) - 1
	}
	return v, size
}

// extended returns what the load, LR or AMO i loads from memory that contains mem.
func extended(i rv.Inst, mem uint64) uint64 {
	i.Rd = 1 // x0 has no result
	v, _ := eval.Result(i, eval.Operands{Mem: mem})
	return v
}

// combine returns what an AMO computes from the value in memory, extended, and its operand.
func combine(op rv.Op, old, with uint64) uint64 {
	if op < rv.OpLRD {
		op += rv.OpLRD - rv.OpLRW // on words: the same on sign-extended values, which preserves both orders
		with = uint64(int64(int32(with)))
	}
	switch op {
	case rv.OpAMOADDD:
		return old + with
	case rv.OpAMOXORD:
		return old ^ with
	case rv.OpAMOANDD:
		return old & with
	case rv.OpAMOORD:
		return old | with
	case rv.OpAMOMIND:
		return uint64(min(int64(old), int64(with)))
	case rv.OpAMOMAXD:
		return uint64(max(int64(old), int64(with)))
	case rv.OpAMOMINUD:
		return min(old, with)
	case rv.OpAMOMAXUD:
		return max(old, with)
	}
	return with
}
