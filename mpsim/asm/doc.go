// Package asm assembles small RV64GC programs from Go, for tests that should run where no
// RISC-V toolchain is installed. It encodes instructions, resolves labels and writes a
// static ELF file with a symbol table. It is the inverse of rv.Decode for the 32-bit forms.
// [Random] assembles random programs, and [Address] and [Stored] return what an instruction
// does to memory.
//
// It is for tests only.
package asm
