package eval

import "hindsight/mpsim/rv"

// Inst computes the result of an instruction from its operands. It reports false if the
// result is not a function of them. Whole execution traces need not store results that it
// can compute.
func Inst(i rv.Inst, pc, rs1, rs2, rs3 uint64) (uint64, bool) {
	return Result(i, Operands{PC: pc, Rs1: rs1, Rs2: rs2, Rs3: rs3})
}
