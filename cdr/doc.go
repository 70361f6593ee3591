// Package cdr records what the threads of a run did and reads it back, in the
// representations of "Compactly Representing Parallel Program Executions"
// (PPoPP 2003), sections 2.1 to 2.4.
//
// # What a trace holds
//
//   - For each thread, its control flow: a string over terminals, kept as a
//     Sequitur grammar (package wpp). A terminal is an acyclic path of basic
//     blocks (or, by choice, one block) run a number of times in a row, an
//     ordered event, or a correction of the call stack.
//   - For each thread and load or store, the addresses: differences, runs of
//     equal differences, and a Sequitur grammar over pairs (difference, count).
//   - S_synch, the total order of ordered events.
//   - Tables of blocks, sites and paths, the program's ELF file, and what was
//     run and how.
//
// [ModeCDR] is all of it, [ModeCOR] leaves the addresses out, [ModeDOR] has one
// string of accesses and events a thread instead.
//
// Runs of a path are counted before Sequitur sees them, as the paper does with
// differences: a loop is then one symbol and not a tower of rules, control
// strings come out up to a quarter smaller, and recording is faster.
//
// Basic blocks and paths are those of the program's static control flow
// ([Options].Program). What the simulator runs as one block is one or several
// basic blocks, one after the other; in the trace they are apart, so that a
// block count means the same here as in the papers. Code that the static view
// does not know, or that a fault cut short, is a block of its own.
//
// # Recording
//
// A [Recorder] is an [event.Observer]. It works in epochs: when the grammars in
// memory reach [Options].Budget, they are written, closed by a commit block
// with the counts of each thread, and others begun. An epoch can be read alone:
// it begins with the threads' call stacks and with absolute addresses. Where
// batches begin and end does not show in the file. A [Scout] finds out
// beforehand which memory is shared.
//
// # Call stacks
//
// A path that ends with a call pushes the address after it, one that ends with
// a return pops, and so does an event that returns from a hooked function. The
// recorder follows [event.CallStack]; where a return really left more frames
// (a long jump, an exception) or none, a correction follows the terminal as soon
// as the target is known or [event.Unwound] tells. Folding the terminals
// therefore always returns the true stack,
// and wpp.Stacks finds it at any place without expansion.
//
// # Reading
//
// A [Trace] opens a file lazily. [Trace.Segments] cuts a thread at its events
// by synch counts, entering only rules that hold one; the accesses of a segment
// come as strided runs from the address grammars. [Trace.AccessStack],
// [Trace.EventStack] and [Trace.Locate] go to a single place by rank and select
// (Algorithm 1). Nothing hands back an expanded trace but the iterators
// [Trace.Blocks] and [Trace.Accesses].
//
// A file that was not closed returns what was committed, with Complete false in
// [Trace.Info]. Whatever a file says, the answer is an error or some trace,
// never a panic; what is loaded is checked first, and is bounded: errors are
// *[tracefmt.CorruptError].
//
// # Files of this package
//
// Left of the file: recorder.go and thread.go (the hot loop), program.go (from
// the simulator's blocks to basic blocks), paths.go, address.go, epoch.go. The payloads, both ways: meta.go, tables.go,
// controlblock.go, datablock.go, sync.go, and the commit block in epoch.go.
// Right of the file: trace.go, stretch.go (a thread in an epoch, loaded),
// segment.go with vector.go and addrindex.go, stack.go, walk.go, history.go with
// lastaddr.go, verify.go.
//
// # Several goroutines
//
// A Recorder, a Scout and a Trace with its iterators belong to one goroutine at
// a time. Open a file twice to read it from two.
package cdr
