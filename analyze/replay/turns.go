package replay

import (
	"context"
	"math"

	"hindsight/tracefmt/event"
)

// Turns walks over a run with threads threads in the order in which it was executed, as
// far as the run knows that order. It calls visit for the events of S_synch. It calls
// part for accesses that a thread executed before another thread's turn and that no event
// of the thread itself followed. Accesses without such a call come just before the
// thread's next event, or at the end.
func Turns(ctx context.Context, src Events, threads int, part func(t event.ThreadID, accesses uint64) error, visit func(*Event) error) error {
	w := &Walk{Starts: make([]uint64, threads), parts: true}
	p := w.schedule(src, &Visitor{Segment: func(u *Unit) error { return part(u.Thread, u.Part) }})
	defer p.close()
	err := Each(ctx, src, threads, func(ev *Event) error {
		if err := p.upTo(ev.Seq); err != nil {
			return err
		}
		return visit(ev)
	})
	if err != nil {
		return err
	}
	return p.upTo(math.MaxUint64)
}
