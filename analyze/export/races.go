package export

import (
	"context"
	"errors"

	"hindsight/analyze"
	"hindsight/analyze/race"
	"hindsight/analyze/report"
	"hindsight/cdr"
	"hindsight/cdr/format"
)

// found are the races of a run: as reported, and as the analysis left them.
type found struct {
	report *report.Report // nil: there are none to show
	result *race.Result
}

// findRaces finds the races of a run, without artifacts. A trace that holds half
// of the run has none: left is told why, if it is not nil.
func findRaces(ctx context.Context, t *analyze.Trace, left func(error)) (f found, err error) {
	f.report, err = t.Races(ctx, analyze.RaceOptions{
		Artifacts: analyze.ArtifactsOff,
		Analysis: func(ctx context.Context, t *cdr.Trace, opts race.Options) (res *race.Result, err error) {
			f.result, err = analyze.ByHappensBefore(ctx, t, opts)
			return f.result, err
		},
	})
	var half *format.HalfError
	if errors.As(err, &half) {
		if left != nil {
			left(err)
		}
		return found{}, nil
	}
	return f, err
}
