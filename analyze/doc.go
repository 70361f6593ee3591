// Package analyze answers questions about a recorded run of a program: which
// accesses raced, what led to a value and what followed from it, who wrote a
// variable, what threads waited for, and what sharing memory cost.
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
// The command hindsight run writes traces, and so does the function
// mpsim/session.Record. What was recorded decides what can be asked:
//
//	recorded with          methods
//	run                    Races, Contention, Info, Verify
//	run --record wet       also Slice, Impact, ControlFlow, Values, Addrs, Writes
//	run --arch             also Sharing
//
// hindsight wet adds values and dependences to a trace that was recorded without
// them.
//
// # Options and results
//
// Options are plain structs. Their zero values ask for what the command without
// flags does. Results are plain structs, too: [Trace.Races] returns a
// [*report.Report], [Trace.Slice] an [*annotate.Report], [Trace.Contention] a
// [*contention.Report] and [Trace.Sharing] a [*sharing.Report]. Their fields hold
// what was found; their methods write it as text and in other forms (WriteText,
// WriteJSON and so on).
//
// A method that takes a context returns soon after the context is done. It then
// returns what it has found so far, together with the error. Queries return
// sequences, which end after the first error; break out of the loop to end one
// early.
//
// # Errors
//
// An [*OptionError] names the option that cannot be fulfilled. A [*NoValuesError]
// says that the trace was recorded without values and dependences,
// [ErrNoCaches] that it was recorded without a model of caches, and
// [ErrNothingRecorded] that the recording was cut off before anything of the run
// was written. Damage in a file is an error of type *tracefmt.CorruptError.
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
// If a place matches nothing, or more than one thing, the error lists the
// candidates.
//
// # Reruns
//
// A run is deterministic, so a trace need not hold everything: it can be rerun.
// This package does not link the simulator. Where an answer needs a rerun, the
// caller supplies a [rerun.Runner], which package mpsim/session implements. Races
// of other schedules need [rerun.Witnesses], which package mpsim/witness
// implements.
//
// # The packages below
//
// The packages below this one do the work. Use them for what has no method here,
// with the recording that [Trace.Recorded] returns. race and order find races,
// predict finds those of other schedules, artifact finds races that are
// consequences of others, slice follows dependences, replay walks over a run, and
// report and annotate write results.
package analyze
