package cdr

import (
	"iter"

	"hindsight/tracefmt"
)

// Extra is a block in a trace beside the recorder's own, of
// no concern to this package: see Options.Extra.
type Extra struct {
	Kind    tracefmt.Kind
	Thread  uint32
	Payload []byte
}

func (r *Recorder) writeExtra(end bool) error {
	if r.opts.Extra == nil {
		return nil
	}
	for _, x := range r.opts.Extra(end) {
		if err := r.w.Append(x.Kind, x.Thread, x.Payload); err != nil {
			return err
		}
	}
	return nil
}

// Extras returns the blocks of a kind that is not the recorder's own, in the
// order in which they were written. It ends after the first error.
func (t *Trace) Extras(kind tracefmt.Kind) iter.Seq2[Extra, error] {
	return func(yield func(Extra, error) bool) {
		for _, h := range t.r.Blocks() {
			if h.Kind != kind {
				continue
			}
			payload, err := t.r.Read(h)
			if !yield(Extra{h.Kind, h.Thread, payload}, err) || err != nil {
				return
			}
		}
	}
}
