// Package analyze answers questions about a recorded run of a program: which accesses
// raced, what led to a value and what followed from it, who wrote a variable, what
// threads waited for, and what sharing memory cost.
//
//	t, err := analyze.Open("bank.hst")
//	if err != nil {
//		return err
//	}
//	defer t.Close()
//	races, err := t.Races(ctx, analyze.RaceOptions{})
//	if err != nil {
//		return err
//	}
//	return races.WriteJSON(os.Stdout)
//
// # Traces
//
// The command hindsight run and the function mpsim/session.Record write traces. Which
// methods work depends on what was recorded:
//
//	recorded with          methods
//	run                    Races, Contention, Info, Verify
//	run --record wet       also Slice, Impact, ControlFlow, Values, Addrs, Writes
//	run --arch             also Sharing
//
// The command hindsight wet adds values and dependences to a trace that was recorded
// without them.
//
// # Options and results
//
// Options are plain structs. Their zero values select what the command does without
// flags. Results are plain structs, too: [Trace.Races] returns a [*report.Report],
// [Trace.Slice] an [*annotate.Report], [Trace.Contention] a [*contention.Report] and
// [Trace.Sharing] a [*sharing.Report]. Their fields are the findings, and their methods
// (WriteText, WriteJSON and so on) write these as text and in other forms.
//
// A method that takes a context returns soon after the context is done, with what it has
// found so far and the error of the context. Queries return iterators, which end after
// the first error.
//
// # Errors
//
// An [*OptionError] names the option that cannot be fulfilled. A [*NoValuesError] says
// that the trace was recorded without values and dependences, [ErrNoCaches] that it was
// recorded without a model of caches, and [ErrNothingRecorded] that the recording was cut
// off before any of the run was written. If a file is damaged, the error wraps a
// *tracefmt.CorruptError.
//
// # Places in a program
//
// A place is written as on the command line:
//
//	bank.c:42           a line
//	bank.c:42:balance   what the line does to a variable
//	transfer            a function or a variable
//	balance+8           an address, counted from a symbol
//	0x11a40             an address
//
// If nothing or more than one thing matches, the error lists the candidates.
//
// # Reruns
//
// A run is deterministic and can be repeated, so a trace need not contain everything.
// This package does not link the simulator. If an answer needs a rerun, the caller
// supplies a [rerun.Runner], which package mpsim/session implements. Races in other
// schedules need [rerun.Witnesses], which package mpsim/witness implements.
//
// # Packages below this one
//
// The packages below this one do the work. Use them, with the recording that
// [Trace.Recorded] returns, for anything that has no method here. Packages race and order
// find races, predict finds races in other schedules, artifact finds races that are
// consequences of others, slice follows dependences, replay walks over a run, and report
// and annotate write results.
package analyze
