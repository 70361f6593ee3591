package replay

import (
	"fmt"
	"iter"

	"hindsight/cdr/format"
)

// parts divides segments into parts according to the run's schedule.
type parts struct {
	w     *Walk
	v     *Visitor
	next  func() (format.Piece, error, bool) // nil: segments are not divided
	close func()
	piece format.Piece // the next one, if held is set
	held  bool
}

func (w *Walk) schedule(src Events, v *Visitor) *parts {
	p := &parts{w: w, v: v, close: func() {}}
	if s, ok := src.(Scheduled); ok && w.parts && s.HasSchedule() {
		p.next, p.close = iter.Pull2(s.Schedule())
	}
	return p
}

// upTo visits the parts before the event at position seq of S_synch.
func (p *parts) upTo(seq uint64) error {
	for p.next != nil {
		if !p.held {
			piece, err, ok := p.next()
			if err != nil {
				return err
			}
			if !ok {
				p.next = nil
				return nil
			}
			p.piece, p.held = piece, true
		}
		if p.piece.Seq > seq {
			return nil
		}
		p.held = false
		if int64(p.piece.Thread) >= int64(len(p.w.Starts)) {
			return fmt.Errorf("%w: the schedule has thread %d of %d", ErrTrace, p.piece.Thread, len(p.w.Starts))
		}
		if p.piece.Accesses == 0 {
			continue
		}
		u := Unit{Thread: p.piece.Thread, Start: p.w.Starts[p.piece.Thread], Part: p.piece.Accesses}
		if err := p.v.Segment(&u); err != nil {
			return err
		}
	}
	return nil
}
