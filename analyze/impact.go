package analyze

import (
	"context"
	"errors"

	"hindsight/analyze/report"
)

// Impact tells of each race in a report what its value reached: output, control
// flow, or nothing. progress is called with how many of the races are done, log
// with a sentence about each that is not in the trace; either may be nil. The
// error is a [*NoValuesError] when the trace was recorded without values; when ctx
// ends early the report has what was known.
func (t *Trace) Impact(ctx context.Context, rep *report.Report, progress func(done, total int), log func(text string)) error {
	if len(rep.Races) == 0 {
		return nil
	}
	v, err := t.withValues()
	if err != nil {
		return err
	}
	for i := range rep.Races {
		m, err := v.impact(ctx, &rep.Races[i])
		switch {
		case errors.Is(err, errElsewhere):
			if log != nil {
				log(err.Error())
			}
		case err != nil:
			return err
		default:
			rep.Races[i].SetImpact(m)
		}
		if progress != nil {
			progress(i+1, len(rep.Races))
		}
	}
	return nil
}
