package main

import (
	"context"
	"errors"
	"fmt"

	"hindsight/analyze/report"
)

// addImpact tells of each race in a report what its value reached. The trace
// has to have been recorded with values.
func addImpact(ctx context.Context, std streams, file string, rep *report.Report) error {
	if len(rep.Races) == 0 {
		return nil
	}
	v, err := openValues(file)
	if err != nil {
		return fmt.Errorf("%s: --impact: %w", file, err)
	}
	defer v.close()
	p := newProgress(std.err, "following racy values", uint64(len(rep.Races)))
	defer p.end()
	for i := range rep.Races {
		m, err := v.impact(ctx, &rep.Races[i])
		switch {
		case errors.Is(err, errElsewhere):
			fmt.Fprintf(std.err, "hindsight: %v\n", err)
		case err != nil:
			return fmt.Errorf("%s: --impact: %w", file, err)
		default:
			rep.Races[i].SetImpact(m)
		}
		p.step(1)
	}
	return nil
}
