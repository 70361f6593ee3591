// Package cdr reads what the threads of a run did, as package recorder wrote it, in
// the representations of "Compactly Representing Parallel Program Executions"
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
// [format.ModeCDR] is all of it, [format.ModeCOR] leaves the addresses out,
// [format.ModeDOR] has one string of accesses and events a thread instead.
//
// # Rooms
//
// Package recorder writes such files, package format has their payloads, package
// fold answers questions about addresses without expanding them, package synclog
// is the code of S_synch. This package is the view that navigates.
//
// # Call stacks
//
// Folding the terminals of a thread always returns its true call stack (see package
// recorder), and wpp.Stacks finds it at any place without expansion.
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
// [Trace.Info]. Whatever a file says, the result is an error or some trace,
// never a panic. What is loaded is checked first, and its size is bounded:
// errors are *[tracefmt.CorruptError].
//
// # Files of this package
//
// trace.go opens, stretch.go is a thread in an epoch, loaded. Of segments:
// segment.go, runs.go, vector.go. Of single places: stack.go, history.go with
// historysites.go and laststore.go. In order: walk.go, steps.go, stepswithin.go,
// calls.go, pace.go. flowplay.go makes control strings of arithmetic program paths,
// verify.go reads everything.
//
// # Several goroutines
//
// A Trace with its iterators belongs to one goroutine at a time. Open a file twice
// to read it from two.
package cdr
