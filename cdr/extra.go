package cdr

import (
	"iter"

	"hindsight/cdr/format"
	"hindsight/tracefmt"
)

// Extras returns the blocks of a kind that the recorder itself does not write, in the
// order of the file. It ends after the first error.
func (t *Trace) Extras(kind tracefmt.Kind) iter.Seq2[format.Extra, error] {
	return func(yield func(format.Extra, error) bool) {
		for _, h := range t.r.Blocks() {
			if h.Kind != kind {
				continue
			}
			payload, err := t.r.Read(h)
			if !yield(format.Extra{Kind: h.Kind, Thread: h.Thread, Payload: payload}, err) || err != nil {
				return
			}
		}
	}
}
