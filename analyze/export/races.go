package export

import (
	"context"
	"errors"

	"hindsight/analyze"
	"hindsight/analyze/report"
	"hindsight/cdr/format"
)

// findRaces finds the races of a run, without artifacts. If the trace has only half of
// the run, the report is nil, and left is called with the reason if it is not nil.
func findRaces(ctx context.Context, t *analyze.Trace, left func(error)) (*report.Report, error) {
	rep, err := t.Races(ctx, analyze.RaceOptions{Artifacts: analyze.ArtifactsOff})
	var half *format.HalfError
	if errors.As(err, &half) {
		if left != nil {
			left(err)
		}
		return nil, nil
	}
	return rep, err
}
