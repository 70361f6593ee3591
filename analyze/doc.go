// Package analyze answers questions about a recorded run: which accesses raced,
// what led to a value and what followed from it, who wrote a variable, which
// variables threads share.
//
//	t, err := analyze.Open("bank.hst")
//	if err != nil { … }
//	defer t.Close()
//	report, err := t.Races(ctx, analyze.RaceOptions{})
//
// A trace is written by hindsight run, or by package mpsim/session. Every trace
// can be asked for [Trace.Races] and [Trace.Info]. [Trace.Slice], [Trace.Impact]
// and the queries need values and dependences (run --record wet, hindsight wet),
// [Trace.Sharing] a model of caches (run --arch).
//
// # Options
//
// Options are plain structs whose zero values ask for what hindsight does
// without flags. Results are plain structs too; those that are reports write
// themselves as text and in other forms (WriteText, WriteJSON, …).
//
// # Context
//
// A question that takes a context ends soon after it is done, and returns what it
// has found by then beside the error. Answers of queries are sequences: stop the
// loop to end them.
//
// # Places in a program
//
// A place is named as users name it: file.c:42 (a line), file.c:42:name (what the
// line does to a variable), a function, a variable, symbol+8, or 0x and an
// address. A place that names nothing or too much is an error that lists what
// there is.
//
// The packages below this one do the work: race and order find races, artifact
// tells them apart, slice follows dependences, replay walks over a run, report
// and annotate are the forms that results are written in.
package analyze
