// Package eval computes single RV64GC instructions from the values of their operands: what
// an instruction writes to its destination register, which memory it accesses, what it
// stores and where it jumps.
//
// It has no state. The simulator does not use it, because its own loop works in place on
// the registers of a hart. It is for clients that have recorded operands and need the
// result again, for example to check whether a slice is sufficient for the value at its
// end.
//
// The operations follow "The RISC-V Instruction Set Manual, Volume I"
// (20191213): chapters 2 and 5 for integers, 7 for multiplication and division,
// 8 for atomic accesses, 11 and 12 for floating-point, using package fpu. All
// functions are pure and may be called from several goroutines at once.
package eval
