package cdr

import (
	"iter"

	"hindsight/cdr/format"
	"hindsight/tracefmt"
)

// S_synch is the order of the events of the threads. The schedule is the order of their
// accesses. Only turns that end with accesses are written: accesses that are in no piece
// were executed just before the thread's next event, or at the end of the run. The
// schedule of an epoch is a block, which is absent if it has no pieces:
//
//	payload = uvarint pieces
//	          column: uvarint events of the run before it - those before the previous piece
//	          column: uvarint thread
//	          column: uvarint accesses

// HasSchedule reports whether the trace has the order in which accesses were executed.
// Without it, the order of accesses between two events is not known.
func (t *Trace) HasSchedule() bool { return t.meta.Schedule }

// Schedule returns the pieces in the order of the run. It ends after the first
// error.
func (t *Trace) Schedule() iter.Seq2[format.Piece, error] {
	return func(yield func(format.Piece, error) bool) {
		last := format.Piece{}
		for i := range t.epochs {
			h, ok := t.blocks[blockKey{tracefmt.KindSchedule, uint32(i), 0}]
			if !ok {
				continue
			}
			var pieces []format.Piece
			if err := t.read(h, func(b []byte) (err error) {
				pieces, err = format.DecodeSchedule(b, last.Seq)
				return err
			}); err != nil {
				yield(format.Piece{}, err)
				return
			}
			for _, last = range pieces {
				if !yield(last, nil) {
					return
				}
			}
		}
	}
}
