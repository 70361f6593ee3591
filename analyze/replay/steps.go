package replay

import (
	"context"
	"iter"

	"hindsight/tracefmt/event"
)

// Steps walk over the accesses of all threads one by one, each thread at its own pace.
type Steps struct{ threads []steps }

type steps struct {
	next   func() (Step, error, bool)
	stop   func()
	ahead  Step // the next step, if held is set
	held   bool
	placed uint64 // accesses of the thread up to its last event, or the last part of a segment
}

// NewSteps returns Steps before the first step of each thread. of returns a thread's
// steps. The caller must call Close.
func NewSteps(threads int, of func(event.ThreadID) iter.Seq2[Step, error]) *Steps {
	s := &Steps{threads: make([]steps, threads)}
	for t := range s.threads {
		s.threads[t].next, s.threads[t].stop = iter.Pull2(of(event.ThreadID(t)))
	}
	return s
}

// Close ends the walks.
func (s *Steps) Close() {
	for t := range s.threads {
		s.threads[t].stop()
	}
}

// Segment calls visit for the accesses of a unit, which must be the next segment of its
// thread or the next part of it.
func (s *Steps) Segment(ctx context.Context, u *Unit, visit func(*Step) error) error {
	t := &s.threads[u.Thread]
	until := t.placed + u.Part
	for n := 1; ; n++ {
		if !t.held {
			step, err, ok := t.next()
			if err != nil || !ok {
				return err
			}
			t.ahead, t.held = step, true
		}
		switch {
		case u.Part > 0 && (t.ahead.IsEvent || t.ahead.Number >= until):
			t.placed = until
			return nil
		case t.ahead.IsEvent:
			t.placed, t.held = t.ahead.Number, false
			return nil
		}
		if n&0xffff == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		t.held = false
		if err := visit(&t.ahead); err != nil {
			return err
		}
	}
}
