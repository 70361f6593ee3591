package main

import (
	"context"
	"errors"
	"fmt"

	"hindsight/analyze/report"
	"hindsight/cmd/internal/cli"
)

// addImpact tells of each race in a report what its value reached. The trace
// has to have been recorded with values.
func addImpact(ctx context.Context, std cli.Streams, file string, rep *report.Report) error {
	if len(rep.Races) == 0 {
		return nil
	}
	v, err := openValues(file)
	if err != nil {
		return fmt.Errorf("%s: --impact: %w", file, err)
	}
	defer v.close()
	p := cli.NewProgress(std.Err, "following racy values", uint64(len(rep.Races)))
	defer p.End()
	for i := range rep.Races {
		m, err := v.impact(ctx, &rep.Races[i])
		switch {
		case errors.Is(err, errElsewhere):
			fmt.Fprintf(std.Err, "hindsight: %v\n", err)
		case err != nil:
			return fmt.Errorf("%s: --impact: %w", file, err)
		default:
			rep.Races[i].SetImpact(m)
		}
		p.Step(1)
	}
	return nil
}
