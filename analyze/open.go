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

// OpenRerun is like [Open], for a trace that may hold only the schedule of its run.
// Such a run is rerun by r and recorded into a temporary file, which Close removes;
// mode is what to record, cdr or wet. beside, if not nil, is called before a rerun
// with the number of instructions in the run (0 if it is not known), and returns an
// observer of the rerun.
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

// Insts returns the number of instructions in the run, 0 if it is not known.
func (t *Trace) Insts() uint64 {
	if o := t.cdr.Info().Outcome; o != nil {
		return o.Insts
	}
	return 0
}
