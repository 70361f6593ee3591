// Package eval computes single RV64GC instructions: what an instruction leaves
// in its destination register, where it goes in memory, what it stores and
// where it jumps, each from the values of its operands alone.
//
// It has no state. The simulator does not use it (its own loop works in place
// on the registers of a hart); it serves those who hold recorded operands and
// ask for a result again: whether a slice suffices for the value that it ends
// in, for one.
//
// The operations follow "The RISC-V Instruction Set Manual, Volume I"
// (20191213): chapters 2 and 5 for integers, 7 for multiplication and division,
// 8 for atomic accesses, 11 and 12 for floating-point, by way of package fpu.
// All functions are pure and may be called from several goroutines at once.
package eval
