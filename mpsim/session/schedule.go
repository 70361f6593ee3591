package session

import (
	"bytes"
	"io"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/mpsim/schedule"
	"hindsight/tracefmt"
)

// followed puts the schedule that a run follows into its trace, which is
// self-contained by that.
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

// Followed is the schedule that the run of a trace followed; nil if it followed
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
