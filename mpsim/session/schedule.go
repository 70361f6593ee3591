package session

import (
	"bytes"
	"context"
	"errors"
	"io"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/schedule"
	"hindsight/tracefmt"
)

// followed writes the schedule that a run follows into its trace, so that the trace is
// self-contained.
func (r *Run) followed(opts *recorder.Options) {
	if r.Follow == nil {
		return
	}
	text := r.Follow.Text()
	others := opts.Extra
	opts.Extra = func(end bool) (out []format.Extra) {
		if others != nil {
			out = others(end)
		}
		for part := uint32(0); len(text) > 0; part++ {
			n := min(len(text), tracefmt.MaxPayload)
			out = append(out, format.Extra{Kind: tracefmt.KindFollowed, Thread: part, Payload: text[:n]})
			text = text[n:]
		}
		return out
	}
}

// Followed returns the schedule that the run of a trace followed, or nil if it followed
// none.
func Followed(t *cdr.Trace) (*schedule.Schedule, error) {
	var parts []io.Reader
	for x, err := range t.Extras(tracefmt.KindFollowed) {
		if err != nil {
			return nil, err
		}
		parts = append(parts, bytes.NewReader(x.Payload))
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return schedule.Parse("the schedule in the trace", io.MultiReader(parts...))
}

// Schedule reruns the run in t and returns which thread ran for how long, and the program
// as it was in memory. The error is [ErrOtherRun] if the rerun differs.
func (a *Rerun) Schedule(ctx context.Context, t *cdr.Trace) (*schedule.Schedule, *image.Space, error) {
	r, std, done, err := a.Run(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	r.Trail = true
	res, err := r.Simulate(ctx, std, nil)
	if err != nil {
		return nil, nil, err
	}
	if res.Interrupted && ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err := SameEnd(t, res); err != nil {
		return nil, nil, err
	}
	return res.Schedule, r.Image, nil
}

// SameEnd compares how a rerun ended with how the run in t ended. t must be complete. The
// error is [ErrOtherRun] if they differ.
func SameEnd(t *cdr.Trace, res *mpsim.Result) error {
	want := t.Info().Outcome
	if want == nil {
		return errIncomplete
	}
	return sameOutcome(want, &res.Outcome)
}

// errIncomplete says that the end of a run is not known.
var errIncomplete = errors.New("the trace is incomplete, so a rerun cannot be compared with it")
