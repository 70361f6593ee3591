// Package rv decodes RV64GC instructions: the base integer set with M, A, F, D and C, Zicsr
// and Zifencei, as defined in "The RISC-V Instruction Set Manual, Volume I" (20191213). It
// also decodes the extensions that compilers use for the profiles RVA22 and RVA23
// (20240411): Zba, Zbb, Zbc, Zbs, Zicond, Zfhmin, Zfa, Zacas without its 16-byte form,
// Zawrs, Zihintpause, Zicbom, Zicboz, Zicbop, Zimop, Zcmop and Zcb. For unsupported
// extensions, especially V, [Missing] returns the name. A compressed instruction is decoded
// to the base operation that it stands for, with Len 2.
//
// One table (see table.go) defines each instruction: bit pattern, operands and their
// register files, kind of immediate, and the access to memory. What a recorder needs (how
// the instruction ends a block, what it reads and writes) follows from its row.
//
// [Scan] divides code into blocks. Both the simulator and the static control-flow graph use
// it, so they agree on where every block ends.
//
// All functions are pure and may be called from any number of goroutines at once.
package rv
