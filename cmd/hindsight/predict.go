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
	flags.BoolVar(&f.on, "predict", false, "also report races and deadlocks of other schedules: the program is run under each, and what that run shows is reported")
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
	w := witnessFiles{t: t, file: file, dir: dir, again: again}
	for _, list := range [][]report.Race{rep.Races, rep.Unshown} {
		for i := range list {
			if err := w.write(ctx, list[i].ID, list[i].Prediction, recordWitness); err != nil {
				return err
			}
		}
	}
	for _, list := range [][]report.Deadlock{rep.Deadlocks, rep.UnshownDeadlocks} {
		for i := range list {
			if err := w.write(ctx, list[i].ID, list[i].Prediction, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordWitness are flags of a run that is to be recorded.
const recordWitness = " -o witness.hst"

// witnessFiles writes the schedules of predictions.
type witnessFiles struct {
	t         *cdr.Trace
	file, dir string
	again     *againFlags
	command   string // that reruns the program, once it is known
}

// write writes the schedule of a prediction. The command that reruns it has those flags
// in place of the one to record nothing.
func (w *witnessFiles) write(ctx context.Context, id string, p *report.Prediction, flags string) error {
	if p == nil || p.Schedule == nil {
		return nil
	}
	if w.command == "" {
		if err := os.MkdirAll(w.dir, 0o777); err != nil {
			return err
		}
		r, _, done, err := w.again.rerun().Run(ctx, w.t)
		if err != nil {
			return err
		}
		done()
		w.command = rerunCommand(r, w.again.stdin, w.file)
	}
	path := filepath.Join(w.dir, id+"-witness.txt")
	err := outfile.Write(ctx, path, outfile.Options{}, func(out io.Writer) error {
		_, err := out.Write(p.Schedule)
		return err
	})
	command := w.command
	if flags != "" {
		command = strings.Replace(command, " --record none", flags, 1)
	}
	p.Rerun = &report.Rerun{Schedule: path, Command: strings.Replace(command, "%s", quoted(path), 1)}
	return err
}

// keepBeside is keep for one trace of an exploration.
func (f *predictFlags) keepBeside(ctx context.Context, file string, rep *report.Report, again *againFlags) error {
	if !f.on {
		return nil
	}
	t, err := cdr.OpenFile(file)
	if err != nil {
		return err
	}
	defer t.Close()
	return f.keep(ctx, t, file, rep, again)
}
