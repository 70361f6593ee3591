// Package app compresses the control flow of one thread as Arithmetic Program
// Paths: M. Renieris, S. Ramaprasad and S. P. Reiss, "Arithmetic Program
// Paths" (ESEC/FSE 2005).
//
// What is recorded is the directions that conditional branches take. Each is
// coded arithmetically (package rangecode) with the probability that an alloyed
// branch predictor gives it; played back through the program's control flow, a
// [Shell] that the caller supplies, the directions give the exact sequence of
// basic blocks again.
//
// # Model
//
// A conditional has a number, in order of first execution. The low
// Options.Table bits of the number, its last Options.Local directions and the
// last Options.Global directions of any conditional select a pair of counters,
// of how often each direction was taken in that context (section 5.2). Counters
// begin at 1, histories with all directions taken. When the sum of a pair passes
// Options.Limit both are halved, rounded up. With Options.Intraprocedural the
// global history is one of the function's activation: it is put by at a call
// and taken up again at the return (section 7.4).
//
// The paper's predictor cannot foresee the end of a loop that turns more often
// than its histories are long, and loses to grammars there (section 7.2, art and
// equake). Options.Loops, which is not of the paper, adds two bits to the
// context: whether the conditional has gone the same way as often as it did the
// last time, and as often as if the difference between the last two times
// went on, as it does in a triangular nest of loops. Options.Repeats, which is
// not of the paper either, finds long stretches that come again, as Sequitur
// does: where a conditional was reached before by the same 128 directions, or
// else by the same 16 or more, the direction that it took then, and how many have agreed so far, are
// its context in place of the histories.
//
// # Indirect jumps
//
// In the [Symmetric] scheme (section 5.3) an indirect jump is a cascade of
// conditionals, a binary search among the targets that the shell knows, then
// comparisons with those that only the run has shown. They have numbers and
// histories like any conditional. In the [Asymmetric] scheme the target is
// given by its identifier, its place in the list of all targets so far, whose
// bits are coded with counters of that jump. In the symmetric scheme a jump that
// has only one known target costs nothing.
//
// # What a shell does not foresee
//
// Calls of functions that are not recorded, long jumps, signals and code that
// the shell does not know make control go where the shell says it cannot. Such
// an exception is listed with its place and target. From then on the block that
// it left has one more possible target, and a conditional that says whether it
// goes as the shell says. Control flow without exceptions pays nothing for this.
// The first block of a stream is always an exception.
//
// # Chosen functions
//
// With Options.Functions only blocks of these functions are recorded, and given
// back; blocks that the shell does not know are of none. A call of another
// function leads after the call, and a jump to one returns.
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
// v is an unsigned LEB128 number, z a signed one (zigzag) that is the difference
// to the one before; fixed numbers are little-endian; crc32 is IEEE, of what
// stands before it in the header, in the body, or in the end. Flags: 1
// intraprocedural, 2 asymmetric, 4 functions are chosen, 8 loops,
// 16 repeats.
//
// # Checkpoints
//
// Every Options.Checkpoint blocks, the stream begins anew: the model, targets
// that the run has shown, and histories are forgotten, and the current block
// and the call stack are written. That is the timestamp of the paper's section
// 8, with the model re-initialised. [Checkpoints] lists them, [NewDecoderAt]
// starts at one.
//
// # Limits
//
// Memory is bounded on both sides, by the model, MaxDepth frames of call
// stack (the outer ones are forgotten, their returns become exceptions), and
// the program's size. Damaged input returns a *[wire.CorruptError]; a decoder with
// another shell than the encoder's returns an error or other blocks. An
// [Encoder] and a [Decoder] belong to one goroutine; so may a Shell, if it
// serves one of them only.
package app
