package order

import (
	"context"

	"hindsight/analyze/hb"
	"hindsight/analyze/race"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Question asks what a run does with two accesses that may race. Sides identify the
// executions: of a place, to an address.
type Question struct {
	Sides [2]func(p race.Place, addr uint64) bool
}

// Answer says what a run does with two accesses.
type Answer struct {
	Met   [2]bool // the run has executions of the side
	Races bool    // some executions of the two race by happens-before
	// Earlier and Later are executions in different threads that happens-before
	// orders, the first that the run has; nil: it has none.
	Earlier, Later *Access
	// Release, by the earlier one's thread, and Acquire, by the later one's, order
	// them. Direct says that they are about the same object; otherwise others come
	// between them. They are nil if none was found.
	Release, Acquire *format.Event
	Direct           bool
}

// Settle answers questions about a run. It examines all accesses.
func Settle(ctx context.Context, src Source, opts Options, questions []Question) ([]Answer, error) {
	opts.Everything = true
	w := &settleWatch{ask: questions, answers: make([]Answer, len(questions)), memory: memory{}, match: map[race.Place][]asked{}}
	if err := Watch(ctx, src, opts, w); err != nil {
		return nil, err
	}
	edges := &edgeWatch{}
	for i := range w.answers {
		if a := &w.answers[i]; a.Later != nil && !a.Races {
			edges.wanted = append(edges.wanted, &edge{answer: a, released: map[uint64]*format.Event{}})
		}
	}
	if len(edges.wanted) == 0 {
		return w.answers, nil
	}
	return w.answers, Watch(ctx, src, opts, edges)
}

// asked is a side of a question.
type asked struct{ question, side int }

// settleWatch finds out which accesses of questions a run has.
type settleWatch struct {
	ask     []Question
	answers []Answer
	full    *hb.Order
	memory  memory
	match   map[race.Place][]asked // that may be meant by a place
}

// keptOfPlace is the number of executions of a place by a strand that are compared with
// later ones.
const keptOfPlace = 2

// Begin implements [Watcher].
func (w *settleWatch) Begin(full, _ *hb.Order) { w.full = full }

// Event implements [Watcher].
func (w *settleWatch) Event(*format.Event) error { return nil }

// Done implements [Watcher].
func (w *settleWatch) Done(*format.Event) error { return nil }

// Life implements [Watcher].
func (w *settleWatch) Life(addr, size uint64) { w.memory.life(addr, size) }

// Access implements [Watcher].
func (w *settleWatch) Access(a *Access, g uint64, mask, atomic uint8) error {
	mine := w.asked(a)
	if len(mine) == 0 {
		return nil
	}
	x := executedNow(w.full, a, mask, atomic)
	clock := w.full.Clock(a.Thread)
	for _, m := range mine {
		w.answers[m.question].Met[m.side] = true
	}
	for i := range w.memory[g] {
		o := &w.memory[g][i]
		if !o.conflicts(&x) {
			continue
		}
		theirs := w.asked(&o.Access)
		for _, m := range mine {
			for _, n := range theirs {
				if m.question != n.question || m.side == n.side && len(mine) == 1 && len(theirs) == 1 {
					continue
				}
				to := &w.answers[m.question]
				if o.epoch > clock.At(o.strand) {
					to.Races = true
				} else if to.Later == nil {
					earlier, later := o.Access, *a
					to.Earlier, to.Later = &earlier, &later
				}
			}
		}
	}
	w.memory.keep(g, x, keptOfPlace)
	return nil
}

// asked returns the sides that an access is meant by.
func (w *settleWatch) asked(a *Access) (all []asked) {
	may, known := w.match[a.Place]
	if !known {
		for q := range w.ask {
			for s, is := range w.ask[q].Sides {
				if is(a.Place, 0) {
					may = append(may, asked{q, s})
				}
			}
		}
		w.match[a.Place] = may
	}
	for _, m := range may {
		if w.ask[m.question].Sides[m.side](a.Place, a.Address) {
			all = append(all, m)
		}
	}
	return all
}

// edge is an answer whose release and acquire are wanted.
type edge struct {
	answer   *Answer
	began    bool // the earlier access has been made
	strand   event.StrandID
	epoch    uint64
	first    *format.Event            // release after it
	released map[uint64]*format.Event // the last one by object
}

// edgeWatch finds what orders accesses.
type edgeWatch struct {
	wanted []*edge
	full   *hb.Order
}

// Begin implements [Watcher].
func (w *edgeWatch) Begin(full, _ *hb.Order) { w.full = full }

// Life implements [Watcher].
func (w *edgeWatch) Life(uint64, uint64) {}

// Access implements [Watcher].
func (w *edgeWatch) Access(a *Access, _ uint64, _, _ uint8) error {
	for _, e := range w.wanted {
		if !e.began && e.answer.Earlier.is(a) {
			e.began, e.strand = true, w.full.Strand(a.Thread)
			e.epoch = w.full.Epoch(e.strand)
		}
	}
	return nil
}

// Event implements [Watcher]: the first event of the later one's thread after which it
// knows of the earlier one is the acquire.
func (w *edgeWatch) Event(ev *format.Event) error {
	for _, e := range w.wanted {
		a := e.answer
		if !e.began || a.Acquire != nil || ev.Thread != a.Later.Thread || w.full.Clock(ev.Thread).At(e.strand) < e.epoch {
			continue
		}
		acquire := *ev
		a.Acquire, a.Release = &acquire, e.first
		if r := e.released[object(ev)]; r != nil {
			a.Release, a.Direct = r, true
		}
	}
	return nil
}

// Done implements [Watcher]: events of the earlier one's strand after it may release.
func (w *edgeWatch) Done(ev *format.Event) error {
	for _, e := range w.wanted {
		if !e.began || e.answer.Acquire != nil || w.full.Strand(ev.Thread) != e.strand && ev.Thread != e.answer.Earlier.Thread {
			continue
		}
		switch ev.Kind {
		case event.MutexLock, event.ReadLock, event.WriteLock, event.ThreadStart, event.Join, event.BarrierLeave, event.SemWait:
			continue
		}
		release := *ev
		if e.first == nil {
			e.first = &release
		}
		switch ev.Kind {
		case event.Create: // the object is the thread, which begins with an event of its own
			e.released[startOf(event.ThreadID(ev.Obj))] = &release
		case event.ThreadEnd:
			e.released[uint64(ev.Thread)] = &release // what a join names
		default:
			e.released[ev.Obj] = &release
		}
	}
	return nil
}

// object names what an acquire is about, as releases are filed.
func object(ev *format.Event) uint64 {
	if ev.Kind == event.ThreadStart {
		return startOf(ev.Thread)
	}
	return ev.Obj
}

// startOf stands for the start of a thread: no object has such an address.
func startOf(t event.ThreadID) uint64 { return ^uint64(t) }
