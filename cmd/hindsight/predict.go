package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/analyze/report"
	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/steer"
	"hindsight/mpsim/witness"
)

// predictFlags are the flags about races in other schedules.
type predictFlags struct {
	on  bool
	dir string
}

func (f *predictFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.on, "predict", false, "also report races and deadlocks of other schedules: the program is run under each, and what that run shows is reported")
	flags.StringVar(&f.dir, "schedules", "", "--predict: `DIR` for the schedules (default: TRACE.schedules)")
	cli.CompleteDir(cmd, "schedules")
}

// apply makes an analysis predict races. The returned function ends the progress bar.
func (f *predictFlags) apply(std cli.Streams, o *analyze.RaceOptions, again *againFlags) (end func(), err error) {
	if !f.on {
		if f.dir != "" {
			return nil, errors.New("--schedules needs --predict")
		}
		return func() {}, nil
	}
	if o.Order != "" && o.Order != "hb" {
		return nil, fmt.Errorf("--predict adds to the races by happens-before; leave --order %s out", o.Order)
	}
	var bar *cli.Progress
	o.Witnesses = &witness.Runner{Rerun: again.rerun()}
	o.Running = func(_, total int) {
		if bar == nil {
			bar = cli.NewProgress(std.Err, "runs of predicted races", uint64(total))
		}
		bar.Step(1)
	}
	return func() { bar.End() }, nil
}

// keep writes the schedules of the predictions in a report, and adds how to run them.
func (f *predictFlags) keep(ctx context.Context, t *cdr.Trace, file string, rep *report.Report, again *againFlags) error {
	if !f.on {
		return nil
	}
	dir := f.dir
	if dir == "" {
		dir = file + ".schedules"
	}
	return steer.KeepWitnesses(ctx, t, again.rerun(), again.source(file), dir, rep)
}
