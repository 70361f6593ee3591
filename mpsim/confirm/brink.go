package confirm

import (
	"context"
	"fmt"

	"hindsight/mpsim"
)

// brink is a run in which both threads are about to make their accesses.
type brink struct {
	a             *approach
	way           int
	first, second *Access           // in the order of the run
	point         *mpsim.Checkpoint // nil: none can be taken
	ready         bool
	failed        Finding // why there is no brink
}

// approach is a run on its way to the brink.
type approach struct {
	w     *course
	p     Pair
	pair  [2]*Access
	held  *mpsim.Hart // at the first access
	other *mpsim.Hart // at the second
	first int         // index in pair of the access that held is at
	where uint64      // the memory that held is about to access
	size  uint64
	alone bool // only the thread of the second access runs, as long as it can
	stuck bool
	point *mpsim.Checkpoint // when the thread is held; nil: none can be taken
}

// approach starts to examine a pair.
func (c *Confirmer) approach(ctx context.Context, p Pair) (*approach, error) {
	if c.course == nil || !c.course.prepared[p] {
		if err := c.Prepare(ctx, []Pair{p}); err != nil {
			return nil, err
		}
	}
	a := &approach{w: c.course, p: p}
	a.pair = [2]*Access{&a.p.A, &a.p.B}
	return a, nil
}

// hold runs until one thread is about to make the first access, and holds it there. It
// reports false if the run does not reach the access.
func (a *approach) hold(ctx context.Context) (bool, error) {
	w := a.w
	if a.point != nil {
		a.point.Back()
		return true, nil
	}
	if !w.before(a.p) {
		return false, nil
	}
	a.held = nil
	w.at = a.stop
	w.advance(ctx)
	if a.held == nil || ctx.Err() != nil {
		return false, ctx.Err()
	}
	var err error
	a.point, err = w.checkpoint()
	return true, err
}

// brink runs until both threads are about to make their accesses. way selects how to wait
// for the second one; 0 means that only its thread runs as long as it can.
func (a *approach) brink(ctx context.Context, way int) (*brink, error) {
	w := a.w
	if ok, err := a.hold(ctx); !ok || err != nil {
		return &brink{failed: Finding{Verdict: Unknown, What: "the run did not come to the accesses again"}}, err
	}
	a.other, a.alone, a.stuck = nil, way == 0, false
	w.at, w.stuck = func(h *mpsim.Hart, _ uint64) bool { return a.second(h) }, a.stood
	a.wait(way)
	ended := w.advance(ctx)
	w.whole += w.m.Insts()
	b := &brink{a: a, way: way, first: a.pair[a.first], second: a.pair[1-a.first]}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case a.other == nil:
		if !ended {
			w.m.Interrupt()
		}
		res, err := w.m.Finish()
		if err != nil {
			return nil, err
		}
		b.failed = a.why(res)
		return b, nil
	}
	second := *b.second
	second.Thread = a.other.ID() // possibly another thread than in the run
	b.second, b.ready = &second, true
	w.quiet()
	var err error
	b.point, err = w.checkpoint()
	return b, err
}

// back returns to the brink.
func (b *brink) back(ctx context.Context) error {
	if b.point != nil {
		b.point.Back()
		return nil
	}
	_, err := b.a.brink(ctx, b.way)
	return err
}

// stop is called when a hart is about to make one of the accesses.
func (a *approach) stop(h *mpsim.Hart, n uint64) bool {
	side, at, size, ok := a.p.makes(h, n)
	if !ok {
		return false
	}
	a.held, a.first, a.where, a.size = h, side, at, size
	h.Hold(true)
	a.w.m.Pause()
	return true
}

// second is called when a hart is about to make an access while another is held.
func (a *approach) second(h *mpsim.Hart) bool {
	want := a.pair[1-a.first]
	if h == a.held || h.PC != want.PC || a.alone && h.ID() != want.Thread {
		return false
	}
	if !want.Call && !a.pair[a.first].Call {
		addr, size, ok := h.Accesses()
		if !ok || addr >= a.where+a.size || a.where >= addr+size {
			return false
		}
	}
	a.other = h
	a.w.m.Pause()
	return true
}

// wait lets the others continue until one is about to make the second access.
func (a *approach) wait(way int) {
	m := a.w.m
	switch way {
	case 0:
		for _, h := range m.Threads() {
			h.Hold(h == a.held || h.ID() != a.pair[1-a.first].Thread)
		}
		m.Follow(nil, mpsim.RoundRobin, bigQuantum, 1)
	case 1:
		m.Follow(nil, mpsim.RoundRobin, bigQuantum, 1)
	default:
		m.Follow(nil, mpsim.Random, 0, uint64(way))
	}
}

// stood is called when no thread can continue. It releases the others. If that does not
// help, the second access cannot be made before the first.
func (a *approach) stood() {
	a.stuck = true
	for _, h := range a.w.m.Threads() {
		if h.Held() && h != a.held {
			h.Hold(false)
			a.stuck = false
		}
	}
	a.alone = false
	if a.stuck {
		a.w.m.Pause()
	}
}

// why says why the two accesses could not be reached together.
func (a *approach) why(res *mpsim.Result) Finding {
	if a.held == nil {
		return Finding{Verdict: Unknown, What: "the run did not come to the accesses again"}
	}
	held, other := a.pair[a.first].Thread, a.pair[1-a.first].Thread
	f := Finding{Verdict: Infeasible}
	if held == other { // of two tasks or goroutines
		f.What = fmt.Sprintf("no thread makes the other access while T%d, which made both, is held", held)
		return f
	}
	for _, h := range a.w.m.Threads() {
		if h.ID() != other {
			continue
		}
		switch {
		case !h.Runnable():
			f.Stands = h.UserPC()
			f.What = fmt.Sprintf("T%d waits for %s while T%d is held", other, h.WaitsFor(), held)
			return f
		case res.LimitReached:
			f.Stands = h.UserPC()
			f.What = fmt.Sprintf("T%d spins while T%d is held", other, held)
			return f
		}
	}
	f.What = fmt.Sprintf("T%d goes on and does not make its access while T%d is held: a check leads past it", other, held)
	return f
}
