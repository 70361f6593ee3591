// Package cfg recovers the static control flow of a program's machine code: basic blocks
// and the edges between them, dominators and post-dominators, control dependence, and a
// numbering of acyclic paths.
//
// # Blocks
//
// A [Program] divides executable memory into functions, by the symbol table. A function's
// blocks are found by the rules of package rv, which the simulator uses too: an
// instruction begins a block when it is the first of its function, the target of a jump
// or branch in it, the target of a recognised jump table, or if it follows an instruction
// that ends a block. The simulator also ends blocks at rv.MaxBlock instructions; the
// instruction after such a cut, counted from any beginning of a block, begins a block
// here as well. A block of the simulator that starts at the beginning of a static block
// therefore consists of whole static blocks in a row.
//
// # Paths
//
// Paths are numbered as by T. Ball and J. R. Larus, "Efficient Path Profiling" (MICRO
// 1996, section 3), generalised so that a path may begin at any block and end after any
// block, as whole program paths need it (J. R. Larus, "Whole Program Paths", PLDI 1999,
// section 3.1). See [Number].
//
// A [Program] is safe for use by several goroutines at once. Functions are analysed on
// demand, and the results are kept.
package cfg
