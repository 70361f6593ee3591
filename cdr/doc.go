// Package cdr reads the trace of a parallel run: what each thread executed, which memory
// it accessed, and in which order the threads synchronised. The representations are those
// of "Compactly Representing Parallel Program Executions" (PPoPP 2003), sections 2.1 to
// 2.4. The package navigates in the compressed form. It does not write traces, and it
// draws no conclusions from them.
//
// # What a trace contains
//
//   - The control flow of each thread: a string over terminals, stored as a
//     Sequitur grammar (package wpp). A terminal is a run of an acyclic path of
//     basic blocks (or of one block, if the run was recorded so), an ordered
//     event, or a correction of the call stack.
//   - The addresses of each load and store, by thread: differences, runs of
//     equal differences, and a Sequitur grammar over pairs (difference, count).
//   - S_synch, the total order of ordered events.
//   - Tables of blocks, sites and paths, the program's ELF file, and what was
//     run and how.
//
// [format.ModeCDR] is all of this. [format.ModeCOR] leaves out the addresses.
// [format.ModeDOR] has one string of accesses and events for each thread instead.
//
// # Related packages
//
// Package cdr/recorder writes traces. Package cdr/format encodes and decodes the payloads
// of their blocks, and package cdr/synclog those of S_synch. Package cdr/fold answers
// questions about addresses without expanding them.
//
// # Call stacks
//
// Folding the terminals of a thread always returns its true call stack (see package
// cdr/recorder), and wpp.Stacks finds the call stack at any place without expansion.
//
// # Reading
//
// A [Trace] decodes a file on demand. [Trace.Segments] cuts a thread at its events by
// synch counts, and enters only rules that contain an event. The accesses of a segment
// are strided runs from the address grammars. [Trace.AccessStack], [Trace.EventStack] and
// [Trace.Locate] find a single place by rank and select (Algorithm 1 of the paper). Only
// the iterators [Trace.Blocks] and [Trace.Accesses] expand a trace.
//
// If a recording was cut off, the trace holds what was committed, and [Trace.Info] says
// that it is incomplete. Files are not trusted: everything is checked when it is loaded,
// sizes are bounded, and damage causes an error of type [*tracefmt.CorruptError], never a
// panic.
//
// # Files of this package
//
// trace.go opens a file, and stretch.go loads what a thread did in an epoch. segment.go,
// runs.go and vector.go find segments and their accesses. stack.go, history*.go and
// laststore.go answer questions about single places. walk.go, steps.go, stepswithin.go,
// calls.go and pace.go go through a thread in order. flowplay.go builds grammars from
// arithmetic program paths. verify.go reads everything.
//
// # Goroutines
//
// A Trace and its iterators belong to one goroutine at a time. To read a file in two
// goroutines, open it twice.
package cdr
