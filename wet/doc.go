// Package wet records and reads whole execution traces: X. Zhang and R. Gupta, "Whole
// Execution Traces" (MICRO 2004), extended to several threads. A graph of the program's
// code is labelled with everything that happened in a run: when each path was executed,
// what every statement computed, and what it depended on. Package analyze/slice asks the
// questions.
//
// # The graph
//
// A statement is an instruction. A node is an acyclic path of a function (section 3.1;
// package cfg numbers them) or something that happened outside the recorded code: a
// thread's start, a hooked function, a signal. Executions of a node by a thread are
// counted from 0, K; those of all nodes by a thread are its timestamps. A path ends after
// calls and returns, where control goes along no edge of the static control flow, at
// environment calls and effects, and where another thread runs; so the memory accesses of
// one execution are adjacent in the order of the run.
//
// A statement depends on those that defined the registers it uses, on those that wrote
// the bytes it reads, in any thread, and on the last instance in its frame of a branch
// that it is control dependent on, or, if there is none, on the call that created the
// frame.
//
// Unrecorded code that copies (event.EffectTake, EffectKeep) is not a statement: the copy
// keeps the writer of the original (carry.go).
//
// # What is stored (section 3)
//
// Timestamps: for each thread, the nodes that it executed, in order. A reader computes
// the lists of timestamps from them. The string of nodes is coded as decisions between
// the nodes that followed each node before, with contexts of several lengths
// (flowcode.go).
//
// Dependences: those inside a path follow from its code. The others are in slots of a
// node. There is a slot for a register that is live on entry, for an access that reads,
// and for the decision about blocks that nothing in the path decides about. Statements
// share slots. Each execution of the node has one label in each slot: a statement of a
// thread and an instance of it. The labels of registers and of decisions follow from the
// control flow and are not stored. A reader walks over a thread's epoch once to find them
// (registers.go, controls.go). Those of accesses are stored by edge, a pair of
// statements. Their lists are arithmetic runs while an epoch is open, so a dependence at
// a constant distance takes no memory, however often it occurs. In the file, equal lists,
// and lists that differ by a constant, are stored once.
//
// Values: grouped by the inputs that they depend on, with unique tuples and a pattern,
// while tuples repeat. A group whose tuples are mostly new is dissolved, and its
// statements are stored separately. With an [Evaluator] most values are not stored at
// all:
//
//   - what is computed inside a path from other values is computed again;
//   - what a path leaves in a register, computed from registers that came in
//     (an anchor), is kept when another path uses it, or, if it is irregular,
//     only when it would take a chain of more than maxChain steps to compute;
//   - what is loaded is what stores wrote, be it part of one or bytes of several;
//     once that is more than maxDepth steps away the value is kept.
//
// Every value is computed exactly, from stored ones, in a bounded number of steps.
//
// # Tier 2 (section 4)
//
// Lists that are more than a few runs are compressed by package stream. The container
// compresses blocks once more.
//
// A query that steps through executions, forward or back ([Graph.Stepping]), reads long
// lists by bidirectional cursors: the compressed stream, its checkpoints and two tables
// are in memory, not the numbers. The control flow of a thread in an epoch is stored as
// one string that can be read forward only. A query that steps compresses it into a
// bidirectional stream first, and makes the lists that follow from it (timestamps of a
// node, producers of registers) from that stream (flowstep.go). Memory therefore holds
// some bits for each execution, whatever the query returns. A list that turns out to be
// read in random order is decoded completely, as all lists are for slices.
//
// # Epochs
//
// When the labels of the open epoch reach the budget, they are written and dropped, and
// counts continue. A reader finds the epoch of an execution in a directory, decodes lists
// on demand, and caches them within a limit. Timestamps and instances count over the
// whole run, so edges lead across epochs. docs/trace-format.md has the bytes.
//
// # Goroutines
//
// A [Builder] is called by one goroutine at a time, as observers are. A [Graph] and its
// iterators belong to one goroutine at a time; iterators may be interleaved. Whatever a
// file contains, a reader returns errors and does not panic.
package wet
