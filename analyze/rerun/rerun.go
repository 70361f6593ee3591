// Package rerun says what an analysis needs from the simulator: reruns of a recorded run,
// and runs of the schedules that lead to predicted races. A run is deterministic, so
// running the program again reveals what is not in a trace.
//
// Package analyze and the packages below it do not link the simulator. Their callers pass
// these interfaces: package mpsim/session implements [Runner], and package mpsim/witness
// implements [Witnesses].
package rerun

import (
	"context"

	"hindsight/analyze/predict"
	"hindsight/analyze/race"
	"hindsight/analyze/report"
	"hindsight/cdr"
	"hindsight/tracefmt/event"
)

// Runner reruns the run in a trace.
type Runner interface {
	// RecordAll reruns t, the trace in file, and records the run with all accesses to the
	// file into. Sites have the same numbers in both.
	RecordAll(ctx context.Context, t *cdr.Trace, file, into string) error
	// RecordAs reruns t, the trace in file, and records the run to the file into. mode is
	// what to record, cdr or wet. beside, if not nil, observes the run.
	RecordAs(ctx context.Context, t *cdr.Trace, file, into, mode string, beside event.Observer) error
	// Observe reruns t with an observer. It returns an error if the run was different.
	Observe(ctx context.Context, t *cdr.Trace, o event.Observer) error
}

// Witnesses runs the schedules that lead to predicted races and deadlocks.
type Witnesses interface {
	// Race runs the schedule that leads to a race that was predicted from t, and reports
	// whether that run raced. The error is that of ctx, or says why nothing can be run.
	Race(ctx context.Context, t *cdr.Trace, opts race.Options, p *predict.Race) (*report.Prediction, error)
	// Deadlock does the same for a deadlock.
	Deadlock(ctx context.Context, t *cdr.Trace, p *predict.Deadlock) (*report.Prediction, error)
}
