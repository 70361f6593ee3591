// Package app compresses the control flow of one thread as Arithmetic Program Paths: M.
// Renieris, S. Ramaprasad and S. P. Reiss, "Arithmetic Program Paths" (ESEC/FSE 2005).
//
// The package records the directions that conditional branches take. Each direction is
// coded arithmetically (package rangecode) with the probability that an alloyed branch
// predictor assigns to it. Replayed through the program's control flow, a [Shell]
// supplied by the caller, the directions reproduce the exact sequence of basic blocks.
//
// # Model
//
// A conditional has a number, in order of first execution. The low Options.Table bits of
// the number, its last Options.Local directions and the last Options.Global directions of
// any conditional select a pair of counters, which count how often each direction was
// taken in that context (section 5.2). Counters begin at 1, and histories begin with all
// directions taken. When the sum of a pair exceeds Options.Limit, both are halved,
// rounded up. With Options.Intraprocedural the global history belongs to the function's
// activation: it is saved at a call and restored at the return (section 7.4).
//
// The paper's predictor cannot predict the end of a loop that iterates more often than
// its histories are long, and loses to grammars there (section 7.2, art and equake).
// Options.Loops, which is not in the paper, adds two bits to the context: whether the
// conditional has gone the same way as often as the last time, and as often as if the
// difference between the last two times continued, as it does in a triangular nest of
// loops. Options.Repeats, which is not in the paper either, finds long stretches that
// repeat, as Sequitur does. If a conditional was reached before by the same 128
// directions, or else by the same 16 or more, its context is the direction that it took
// then, and how many have agreed so far, instead of the histories.
//
// # Indirect jumps
//
// In the [Symmetric] scheme (section 5.3) an indirect jump is a cascade of conditionals:
// first a binary search among the targets that the shell knows, then comparisons with
// those that only the run has shown. They have numbers and histories like any
// conditional. In the [Asymmetric] scheme the target is identified by its place in the
// list of all targets so far; the bits of that number are coded with counters of that
// jump. In the symmetric scheme a jump with only one known target costs nothing.
//
// # Exceptions
//
// Calls of unrecorded functions, long jumps, signals and code that the shell does not
// know move control where the shell says it cannot go. Such an exception is listed with
// its place and target. From then on the block that it left has one more possible target,
// and a conditional for whether control follows the shell. Control flow without
// exceptions pays nothing for this. The first block of a stream is always an exception.
//
// # Chosen functions
//
// With Options.Functions only blocks of these functions are recorded and returned. Blocks
// that the shell does not know belong to no function. A call of another function leads to
// the instruction after the call, and a jump to one returns.
//
// # Format
//
//	stream  header chunk… end
//	header  "happ" version:1 flags:1 local:1 global:1 table:1 step:1 limit:v
//	        functions:v (delta of the function's identifier:v)… crc32:4
//	chunk   1 length:v body crc32:4
//	body    blocks:v checkpoint:v [state] exceptions:v (gap:v target:z)… code
//	state   current:v frames:v (return address:z)…
//	end     0 blocks:v checkpoints:v (blocks:v offset:v)… crc32:4 offset of end:8 "ppah"
//
// v is an unsigned LEB128 number. z is a signed one (zigzag), the difference from the
// previous one. Fixed numbers are little-endian. crc32 is IEEE, over everything before it
// in the header, in the body, or in the end. Flags: 1 intraprocedural, 2 asymmetric, 4
// functions are chosen, 8 loops, 16 repeats.
//
// # Checkpoints
//
// Every Options.Checkpoint blocks, the stream is reset: the model, the targets that the
// run has shown, and the histories are cleared, and the current block and the call stack
// are written. This is the timestamp of the paper's section 8, with the model
// re-initialised. [Checkpoints] lists the checkpoints, and [NewDecoderAt] starts at one.
//
// # Limits
//
// Memory is bounded on both sides, by the model, MaxDepth frames of call stack (the outer
// ones are forgotten, their returns become exceptions), and the program's size. For
// damaged input the error is a *[wire.CorruptError]. A decoder with another shell than
// the encoder's returns an error or other blocks. An [Encoder] and a [Decoder] belong to
// one goroutine. So may a Shell that serves only one of them.
package app
