// Package analyze answers questions about a recorded run: which accesses raced,
// what led to a value and what followed from it, who wrote a variable, which
// variables threads share.
//
//	t, err := analyze.Open("bank.hst")
//	if err != nil { … }
//	defer t.Close()
//	report, err := t.Races(ctx, analyze.RaceOptions{})
//
// A trace is written by hindsight run, or by package mpsim/session.
// [Trace.Races] and [Trace.Info] work on every trace. [Trace.Slice],
// [Trace.Impact] and the queries need values and dependences (run --record wet,
// hindsight wet). [Trace.Sharing] needs a model of caches (run --arch).
//
// # Options
//
// Options are plain structs whose zero values ask for what hindsight does
// without flags. Results are plain structs too; those that are reports write
// themselves as text and in other forms (WriteText, WriteJSON, …).
//
// # Context
//
// A method that takes a context ends soon after the context is done, and
// returns what it has found so far together with the error. Queries return
// sequences: stop the loop to end them.
//
// # Places in a program
//
// Places are written as on the command line: file.c:42 (a line), file.c:42:name
// (what the line does to a variable), a function, a variable, symbol+8, or an
// address such as 0x11a40. If a place matches nothing, or more than one thing,
// the error lists the candidates.
//
// The packages below this one do the work: race and order find races, artifact
// finds races that are consequences of others, slice follows dependences,
// replay walks over a run, and report and annotate write results.
package analyze
