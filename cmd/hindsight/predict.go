package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/analyze/report"
	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/witness"
	"hindsight/tracefmt/outfile"
)

// predictFlags are the flags for races of other schedules.
type predictFlags struct {
	on  bool
	dir string
}

func (f *predictFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.on, "predict", false, "also report races that only another schedule shows: each is run under that schedule, and reported if it raced")
	flags.StringVar(&f.dir, "schedules", "", "--predict: `DIR` for the schedules (default: TRACE.schedules)")
	cli.CompleteDir(cmd, "schedules")
}

// apply asks an analysis for predictions. The function that it returns ends the bar.
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

// keep writes the schedules of the predictions in a report, and says how to run them.
func (f *predictFlags) keep(ctx context.Context, t *cdr.Trace, file string, rep *report.Report, again *againFlags) error {
	if !f.on {
		return nil
	}
	dir := f.dir
	if dir == "" {
		dir = file + ".schedules"
	}
	command := ""
	for _, list := range [][]report.Race{rep.Races, rep.Unshown} {
		for i := range list {
			p := list[i].Prediction
			if p == nil || p.Schedule == nil {
				continue
			}
			if command == "" {
				if err := os.MkdirAll(dir, 0o777); err != nil {
					return err
				}
				r, _, done, err := again.rerun().Run(ctx, t)
				if err != nil {
					return err
				}
				done()
				command = rerunCommand(r, again.stdin, file)
			}
			path := filepath.Join(dir, list[i].ID+"-witness.txt")
			err := outfile.Write(ctx, path, outfile.Options{}, func(w io.Writer) error {
				_, err := w.Write(p.Schedule)
				return err
			})
			if err != nil {
				return err
			}
			p.Rerun = &report.Rerun{Schedule: path, Command: recorded(command, quoted(path))}
		}
	}
	return nil
}

// recorded is the command line of a run that follows a schedule and is recorded.
func recorded(command, path string) string {
	return strings.Replace(strings.Replace(command, " --record none", " -o witness.hst", 1), "%s", path, 1)
}
