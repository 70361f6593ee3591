package analyze

import (
	"context"
	"errors"
	"fmt"
	"os"

	"hindsight/analyze/rerun"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// OpenRerun is like [Open], but also accepts a trace that contains only the schedule of
// its run. It then has r rerun and record the run into a temporary file, which Close
// removes. mode is what to record, cdr or wet. If beside is not nil, it is called before
// a rerun with the number of instructions in the run (0 if unknown), and returns an
// observer for the rerun.
func OpenRerun(ctx context.Context, path, mode string, r rerun.Runner, beside func(insts uint64) event.Observer) (*Trace, error) {
	t, err := Open(path)
	if err != nil || t.cdr.Info().Mode != format.ModeSchedule {
		return t, err
	}
	defer t.Close()
	tmp, err := os.CreateTemp("", "hindsight-*.hst")
	if err == nil {
		err = tmp.Close()
	}
	if err != nil {
		return nil, err
	}
	var told event.Observer
	if beside != nil {
		told = beside(t.Insts())
	}
	if err := r.RecordAs(ctx, t.cdr, path, tmp.Name(), mode, told); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), os.Remove(tmp.Name()))
	}
	return OpenScratch(tmp.Name(), path)
}

// Insts returns the number of instructions in the run, or 0 if it is unknown.
func (t *Trace) Insts() uint64 {
	if o := t.cdr.Info().Outcome; o != nil {
		return o.Insts
	}
	return 0
}
