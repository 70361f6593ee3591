package replay

import (
	"context"
	"errors"
	"fmt"

	"hindsight/tracefmt/event"
)

// Survey collects what must be known about the whole run before its accesses can be
// judged.
type Survey struct {
	Threads int
	Roots   []event.ThreadID // threads that no Create announces
	Atomic  *Atomics         // nil under strict rules
	Tasks   bool             // the run has strands that are not threads' own
	Made    map[uint64]bool  // addresses of sync objects that the run initialises or destroys
}

// NewSurvey walks along S_synch of a run with threads threads. If also is not nil, it is
// called with every event.
func NewSurvey(ctx context.Context, src Events, threads int, strict bool, business *Business, also func(*Event) error) (*Survey, error) {
	s := &Survey{Threads: threads, Made: map[uint64]bool{}}
	if !strict {
		s.Atomic = newAtomics()
	}
	created := make([]bool, threads)
	err := Each(ctx, src, threads, func(ev *Event) error {
		switch ev.Kind {
		case event.Create:
			if ev.Obj < uint64(threads) {
				created[ev.Obj] = true
			}
		case event.StrandBegin:
			s.Tasks = true
		case event.Init, event.Destroy:
			s.Made[ev.Obj] = true
		}
		if s.Atomic != nil {
			s.Atomic.find(ev, business.variableBytes(ev))
		}
		if also != nil {
			return also(ev)
		}
		return nil
	})
	if err == nil && s.Atomic != nil && s.Atomic.renewed() {
		err = Each(ctx, src, threads, func(ev *Event) error {
			s.Atomic.follow(ev, business.variableBytes(ev))
			return nil
		})
	}
	for t, c := range created {
		if !c {
			s.Roots = append(s.Roots, event.ThreadID(t))
		}
	}
	return s, err
}

// variableBytes returns how many bytes at Obj an event shows to belong to an atomic
// variable.
func (b *Business) variableBytes(ev *Event) uint64 {
	n := AtomicBytes(&ev.Event)
	if n == 0 || b.intent != nil && (b.intent.Apart(ev.PC) || b.intent.Combines(ev.PC, ev.Obj)) {
		return 0
	}
	return n
}

// ErrStop is returned by a visitor to end a walk without a failure.
var ErrStop = errors.New("enough")

// Each calls visit for the events of S_synch of a run with threads threads.
func Each(ctx context.Context, src Events, threads int, visit func(*Event) error) error {
	err := each(ctx, src, threads, visit)
	if errors.Is(err, ErrStop) {
		return nil
	}
	return err
}

func each(ctx context.Context, src Events, threads int, visit func(*Event) error) error {
	n := 0
	var ev Event // one for all events, because visitors keep none
	for next, err := range src.Events() {
		if err != nil {
			return err
		}
		ev = next
		n++
		if n&0xfff == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if int64(ev.Thread) >= int64(threads) {
			return fmt.Errorf("%w: event %d is of thread %d of %d", ErrTrace, ev.Seq, ev.Thread, threads)
		}
		if err := visit(&ev); err != nil {
			return err
		}
	}
	return ctx.Err()
}
