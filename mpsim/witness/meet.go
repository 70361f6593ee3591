package witness

import (
	"bytes"
	"context"
	"errors"
	"io"

	"hindsight/analyze/predict"
	"hindsight/cdr"
	"hindsight/mpsim/confirm"
	"hindsight/mpsim/schedule"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/event"
)

// recorded is a run as it was, to be steered.
type recorded struct {
	of       *cdr.Trace
	run      *session.Run
	input    []byte
	schedule *schedule.Schedule
	insts    uint64
}

// recorded reruns the run in t to obtain its schedule, unless it was the last run
// requested.
func (r *Runner) recorded(ctx context.Context, t *cdr.Trace) (*recorded, error) {
	if r.run != nil && r.run.of == t {
		return r.run, nil
	}
	run, std, done, err := r.Rerun.Run(ctx, t)
	if err != nil {
		return nil, err
	}
	defer done()
	input, err := io.ReadAll(std.In)
	if err != nil {
		return nil, err
	}
	std.In, run.Trail = bytes.NewReader(input), true
	res, err := run.Simulate(ctx, std, event.Tee()) // as it was recorded
	if err == nil {
		err = session.SameEnd(t, res)
	}
	if err == nil && res.Interrupted {
		err = errors.Join(ctx.Err(), session.ErrOtherRun)
	}
	if err != nil {
		return nil, err
	}
	run.Follow = nil
	r.run = &recorded{t, run, input, res.Schedule, res.Insts}
	return r.run, nil
}

// meet looks for a schedule that leads to both accesses of a race, in the way of
// RaceFuzzer: one thread is held before its access in the recorded run, until another is
// about to make the other access. It does not choose which thread takes a task or a
// goroutine; the program's runtime does that as in the recorded run. If there is no
// schedule, why says so.
func (r *Runner) meet(ctx context.Context, t *cdr.Trace, p *predict.Race) (_ *schedule.Schedule, why string, err error) {
	var pair confirm.Pair
	for i, to := range []*confirm.Access{&pair.A, &pair.B} {
		a := &p.Accesses[i]
		if !a.Op.Plain() {
			return nil, "", nil
		}
		*to = confirm.Access{Thread: a.Thread, PC: a.PC, Ordinal: a.Ordinal, Address: a.Address, Size: a.Size}
	}
	of, err := r.recorded(ctx, t)
	if err != nil {
		return nil, "", err
	}
	c := confirm.New(confirm.Options{
		Config: of.run.Config(of.run.Image, session.Streams{}), Image: of.run.Image, Hooks: of.run.Hooks,
		Schedule: of.schedule, Input: of.input, Insts: of.insts,
	})
	defer func() { err = errors.Join(err, c.Close()) }()
	s, f, err := c.Meet(ctx, pair)
	if err != nil || s != nil {
		return s, "", err
	}
	return nil, f.What, nil
}
