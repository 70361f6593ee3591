package steer

import (
	"context"
	"io"
	"strings"

	"hindsight/analyze/report"
	"hindsight/cdr"
	"hindsight/mpsim/session"
)

// KeepWitnesses writes the schedules of the predictions in the report on a trace to a
// directory, and adds the commands that run them to the report.
func KeepWitnesses(ctx context.Context, t *cdr.Trace, again *session.Rerun, from Source, dir string, rep *report.Report) error {
	w := witnessFiles{t: t, from: from, dir: dir, again: again}
	for _, list := range [][]report.Race{rep.Races, rep.Unshown} {
		for i := range list {
			if err := w.write(ctx, list[i].ID, list[i].Prediction, recordWitness); err != nil {
				return err
			}
		}
	}
	for _, list := range [][]report.Deadlock{rep.Deadlocks, rep.UnshownDeadlocks} {
		for i := range list {
			if err := w.write(ctx, list[i].ID, list[i].Prediction, recordNothing); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordWitness are the flags of a run that will be recorded.
const recordWitness = "-o witness.hst"

// witnessFiles writes the schedules of predictions.
type witnessFiles struct {
	t       *cdr.Trace
	from    Source
	dir     string
	again   *session.Rerun
	command string // reruns the program, once it is known
}

// write writes the schedule of a prediction. In the command that reruns it, flags replace
// the flag to record nothing.
func (w *witnessFiles) write(ctx context.Context, id string, p *report.Prediction, flags string) error {
	if p == nil || p.Schedule == nil {
		return nil
	}
	if w.command == "" {
		r, _, done, err := w.again.Run(ctx, w.t)
		if err != nil {
			return err
		}
		done()
		w.command = Command(r, w.from)
	}
	path, err := keepSchedule(ctx, w.dir, id+"-witness.txt", func(out io.Writer) error {
		_, err := out.Write(p.Schedule)
		return err
	})
	command := strings.Replace(w.command, recordNothing, flags, 1)
	p.Rerun = &report.Rerun{Schedule: path, Command: WithSchedule(command, path, "")}
	return err
}
