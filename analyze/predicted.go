package analyze

import (
	"context"

	"hindsight/analyze/predict"
	"hindsight/analyze/race"
	"hindsight/analyze/report"
	"hindsight/cdr"
)

// foretold is what a run predicts, with the results of the witness runs: one for each
// race of the prediction (nil for races that the run itself showed), and one for each
// deadlock.
type foretold struct {
	races     []*report.Prediction
	found     []predict.Deadlock
	deadlocks []*report.Prediction
}

// notRun is the text for a witness that there was no time to run.
const notRun = "its witness was not run"

// predict adds the predicted races to the races of a run, and runs the witnesses.
func (q *inquiry) predict(ctx context.Context, t *cdr.Trace, opts race.Options, shown *race.Result) (*race.Result, *foretold, error) {
	res, found, err := predict.AnalyzeWith(ctx, t, opts, shown)
	switch {
	case res == nil:
		return nil, nil, err
	case err != nil:
		q.log("races of other schedules: %v", err)
	}
	opts.Found = nil
	out := &foretold{races: make([]*report.Prediction, len(found.Races)), found: found.Deadlocks, deadlocks: make([]*report.Prediction, len(found.Deadlocks))}
	total, done := len(found.Deadlocks), 0
	for _, p := range found.Races {
		if p != nil {
			total++
		}
	}
	// try runs a witness.
	try := func(reversed bool, run func() (*report.Prediction, error)) (*report.Prediction, error) {
		if q.Running != nil {
			q.Running(done, total)
			done++
		}
		how := &report.Prediction{Diverged: notRun}
		if ctx.Err() == nil {
			got, err := run()
			switch {
			case err == nil:
				how = got
			case ctx.Err() == nil:
				return nil, err
			}
		}
		how.Reversed = reversed
		return how, nil
	}
	for i, p := range found.Races {
		if p == nil {
			continue
		}
		out.races[i], err = try(p.Reversed, func() (*report.Prediction, error) { return q.Witnesses.Race(ctx, t, opts, p) })
		if err != nil {
			return nil, nil, err
		}
	}
	for i := range found.Deadlocks {
		d := &found.Deadlocks[i]
		out.deadlocks[i], err = try(d.Reversed, func() (*report.Prediction, error) { return q.Witnesses.Deadlock(ctx, t, d) })
		if err != nil {
			return nil, nil, err
		}
	}
	return res, out, nil
}
