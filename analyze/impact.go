package analyze

import (
	"context"
	"errors"

	"hindsight/analyze/report"
)

// Impact adds to each race in a report what its value reached: output, control flow, or
// nothing. If progress is not nil, it is called with the number of finished races. If log
// is not nil, it is called with a sentence about each race that is not in the trace. If
// the trace was recorded without values, the error is a [*NoValuesError]. If ctx is done
// early, the report has what was found so far.
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
