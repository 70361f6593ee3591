package analyze

import (
	"context"

	"hindsight/analyze/predict"
	"hindsight/analyze/race"
	"hindsight/analyze/report"
	"hindsight/cdr"
)

// Witnesses runs the schedules that lead to predicted races. Package mpsim/witness has
// one: this package does not link the simulator.
type Witnesses interface {
	// Race runs the witness of a race that the run in t predicts, and says whether
	// that run raced. The error is that of ctx, or says why nothing can be run.
	Race(ctx context.Context, t *cdr.Trace, opts race.Options, p *predict.Race) (*report.Prediction, error)
}

// notRun is what is said of a witness when there was no time for it.
const notRun = "its witness was not run"

// predict adds to the races of a run those that it predicts, with how the runs of their
// witnesses went, in the order of the result; nil are races that the run showed.
func (q *inquiry) predict(ctx context.Context, t *cdr.Trace, opts race.Options, shown *race.Result) (*race.Result, []*report.Prediction, error) {
	res, found, err := predict.AnalyzeWith(ctx, t, opts, shown)
	switch {
	case res == nil:
		return nil, nil, err
	case err != nil:
		q.log("races of other schedules: %v", err)
	}
	opts.Found = nil
	out := make([]*report.Prediction, len(found))
	total, done := 0, 0
	for _, p := range found {
		if p != nil {
			total++
		}
	}
	for i, p := range found {
		if p == nil {
			continue
		}
		if q.Running != nil {
			q.Running(done, total)
			done++
		}
		out[i] = &report.Prediction{Diverged: notRun, Reversed: p.Reversed}
		if ctx.Err() != nil {
			continue
		}
		how, err := q.Witnesses.Race(ctx, t, opts, p)
		if err != nil && ctx.Err() == nil {
			return nil, nil, err
		}
		if err == nil {
			how.Reversed = p.Reversed
			out[i] = how
		}
	}
	return res, out, nil
}
