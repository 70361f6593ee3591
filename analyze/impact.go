package analyze

import (
	"context"
	"errors"

	"hindsight/analyze/report"
)

// Impact adds to each race in a report what its value reached: output, control flow,
// or nothing. progress, if not nil, is called with the number of races that are
// done, and log, if not nil, with a sentence about each race that the trace does not
// hold. If the trace was recorded without values, the error is a [*NoValuesError]. If
// ctx is done early, the report has what was known.
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
