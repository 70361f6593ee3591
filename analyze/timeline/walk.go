package timeline

import (
	"context"
	"fmt"
	"iter"

	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Source is a recorded run. *cdr.Trace implements it.
type Source interface {
	Threads() []cdr.Thread
	Events() iter.Seq2[format.Event, error]
	HasSchedule() bool
	Schedule() iter.Seq2[format.Piece, error]
	Pace(event.ThreadID) (*cdr.Pace, error)
	Insts(event.ThreadID) uint64
}

// Visitor has the functions that a walk calls, in the order of time. Functions that are
// nil are not called. An error of a function ends the walk.
type Visitor struct {
	// Slice is called when a thread executed from one time to another.
	Slice func(t event.ThreadID, from, to uint64) error
	// Waits is called with how a thread was blocked before an event, if it was. It is
	// called before the slice that ends with the event.
	Waits func(ev *replay.Event, waits []Wait) error
	// Event is called for each event of S_synch.
	Event func(ev *replay.Event, at uint64) error
	// Edge is called when an event ordered a thread after what another one did earlier.
	// Edges by atomic accesses are omitted.
	Edge func(e *Edge) error
}

// Walk walks over a run.
func Walk(ctx context.Context, src Source, v *Visitor) error {
	w := &walk{v: v, src: src, locks: map[uint64]*lockState{}, last: map[object]moment{}}
	w.threads = make([]thread, len(src.Threads()))
	for t := range w.threads {
		p, err := src.Pace(event.ThreadID(t))
		if err != nil {
			return err
		}
		w.threads[t].pace = p
	}
	if err := replay.Turns(ctx, src, len(w.threads), w.part, w.event); err != nil {
		return err
	}
	for t := range w.threads {
		insts, _, _, err := w.threads[t].pace.ToEvent()
		if err != nil {
			return err
		}
		if err := w.slice(event.ThreadID(t), insts); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// walk is a moment of a run.
type walk struct {
	v       *Visitor
	src     Source
	threads []thread
	now     uint64
	locks   map[uint64]*lockState
	last    map[object]moment // the last release
	waits   []Wait
}

// object identifies the object of an event.
type object struct {
	kind Kind
	obj  uint64
	arg  uint64 // generation of a barrier
}

type thread struct {
	pace    *cdr.Pace
	last    uint64 // when it last executed, or its last event was
	event   uint64 // when its last event was
	ended   bool
	cond    object // what it waits on, if its kind is set
	since   uint64 // when it began to
	promise replay.Event
}

// part processes accesses of a thread before a turn of another thread.
func (w *walk) part(t event.ThreadID, accesses uint64) error {
	insts, err := w.threads[t].pace.PastAccess(accesses)
	if err != nil {
		return err
	}
	return w.slice(t, insts)
}

// slice makes a thread execute n instructions.
func (w *walk) slice(t event.ThreadID, insts uint64) error {
	if insts == 0 {
		return nil
	}
	from := w.now
	w.now += insts
	w.threads[t].last = w.now
	if w.v.Slice == nil {
		return nil
	}
	return w.v.Slice(t, from, w.now)
}

func (w *walk) event(ev *replay.Event) error {
	t := &w.threads[ev.Thread]
	insts, accesses, ok, err := t.pace.ToEvent()
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%w: event %d of thread %d is not in its control flow", replay.ErrTrace, ev.Index, ev.Thread)
	}
	w.waits = w.blocked(ev, t, accesses, w.waits[:0])
	if w.v.Waits != nil && len(w.waits) > 0 {
		if err := w.v.Waits(ev, w.waits); err != nil {
			return err
		}
	}
	if err := w.slice(ev.Thread, insts); err != nil {
		return err
	}
	t.last, t.event = w.now, w.now
	if w.v.Event != nil {
		if err := w.v.Event(ev, w.now); err != nil {
			return err
		}
	}
	return w.apply(ev, t)
}

// blocked says how a thread was blocked before its event, if it executed accesses
// accesses between the start of its turn and the event.
func (w *walk) blocked(ev *replay.Event, t *thread, accesses uint64, out []Wait) []Wait {
	from, to := t.last, w.now
	wait := Wait{Kind: waitKind(ev.Kind), Object: ev.Obj, PC: ev.PC, By: NoThread}
	if wait.Kind == Order && t.promise.Kind == event.Publish && t.promise.Obj == ev.Obj && t.promise.PC == ev.PC {
		// The thread has been in the same call since its last event, and what it executes
		// is the runtime's code.
		from, wait.Spins, accesses = t.event, true, 0
	}
	if wait.Kind == None || accesses > 0 || from >= to {
		return out
	}
	switch wait.Kind {
	case Lock, ReadLock, WriteLock:
		if t.cond.kind == Cond && wait.Kind == Lock && ev.Obj == t.cond.arg {
			until := Wait{From: max(from, t.since), To: to, Kind: Cond, Object: t.cond.obj, PC: ev.PC, By: NoThread}
			if m := w.last[object{kind: Cond, obj: t.cond.obj}]; m.known && m.at >= t.since && m.thread != ev.Thread {
				until.To, until.By = m.at, m.thread
			}
			if until.To > until.From {
				out = append(out, until)
			}
			from = until.To
		}
		if l := w.locks[ev.Obj]; l != nil {
			out = l.waits(ev.Thread, from, to, wait, out)
		}
		return out
	}
	m := w.last[object{wait.Kind, ev.Obj, generation(ev)}]
	if !m.known || m.thread == ev.Thread || m.at <= from {
		return out
	}
	wait.From, wait.To, wait.By = from, min(m.at, to), m.thread
	return append(out, wait)
}

func generation(ev *replay.Event) uint64 {
	if ev.Kind == event.BarrierEnter || ev.Kind == event.BarrierLeave {
		return ev.Arg
	}
	return 0
}

// waitKind returns what an event may have waited for.
func waitKind(k event.Kind) Kind {
	switch k {
	case event.MutexLock:
		return Lock
	case event.ReadLock:
		return ReadLock
	case event.WriteLock:
		return WriteLock
	case event.BarrierLeave:
		return Barrier
	case event.SemWait:
		return Semaphore
	case event.OnceSeen:
		return Once
	case event.Join:
		return Join
	case event.Observe:
		return Order
	}
	return None
}

// apply applies the effect of an event on what others may wait for, and reports the edge
// that ends at it.
func (w *walk) apply(ev *replay.Event, t *thread) error {
	t.promise = replay.Event{}
	to := object{kind: waitKind(ev.Kind), obj: ev.Obj, arg: generation(ev)}
	switch ev.Kind {
	case event.MutexLock, event.WriteLock, event.ReadLock:
		return w.locked(ev, t)
	case event.MutexUnlock, event.WriteUnlock, event.ReadUnlock:
		w.lock(ev.Obj).release(ev.Thread, w.now)
		return nil
	case event.CondWait:
		t.cond, t.since = object{Cond, ev.Obj, ev.Arg}, w.now
		return nil
	case event.CondSignal, event.CondBroadcast:
		w.note(object{kind: Cond, obj: ev.Obj}, ev)
	case event.BarrierEnter:
		w.note(object{Barrier, ev.Obj, ev.Arg}, ev)
	case event.SemPost:
		w.note(object{kind: Semaphore, obj: ev.Obj}, ev)
	case event.OnceDone:
		w.note(object{kind: Once, obj: ev.Obj}, ev)
	case event.ThreadEnd:
		t.ended = true
		w.note(object{kind: Join, obj: uint64(ev.Thread)}, ev)
	case event.Create:
		w.note(object{kind: Create, obj: ev.Obj}, ev)
		if ev.Obj < uint64(len(w.threads)) {
			w.threads[ev.Obj].last = w.now
		}
	case event.Publish:
		t.promise = *ev
		w.note(object{kind: Order, obj: ev.Obj}, ev)
	case event.Forget:
		delete(w.last, object{kind: Order, obj: ev.Obj})
	case event.StrandCreate, event.StrandSuspend:
		w.note(object{kind: Strand, obj: ev.Obj}, ev)
	case event.ThreadStart:
		to = object{kind: Create, obj: uint64(ev.Thread)}
	case event.StrandBegin, event.StrandResume:
		to = object{kind: Strand, obj: ev.Obj}
	}
	if to.kind == None {
		return nil
	}
	return w.edge(w.last[to], ev, to)
}

func (w *walk) note(o object, ev *replay.Event) { w.last[o] = moment{w.now, ev.Thread, true} }

func (w *walk) edge(m moment, ev *replay.Event, o object) error {
	if !m.known || m.thread == ev.Thread || w.v.Edge == nil {
		return nil
	}
	return w.v.Edge(&Edge{m.at, m.thread, w.now, ev.Thread, o.kind, o.obj})
}

func (w *walk) lock(obj uint64) *lockState {
	l := w.locks[obj]
	if l == nil {
		l = &lockState{prune: 64}
		w.locks[obj] = l
	}
	return l
}

// locked processes the event that a thread has a lock.
func (w *walk) locked(ev *replay.Event, t *thread) error {
	l := w.lock(ev.Obj)
	if len(l.holds) >= l.prune {
		before := w.now
		for i := range w.threads {
			if th := &w.threads[i]; !th.ended && th.last > 0 {
				before = min(before, th.last)
			}
		}
		l.drop(before)
	}
	l.take(ev.Thread, w.now, ev.Kind == event.ReadLock)
	if t.cond.kind == Cond && ev.Obj == t.cond.arg {
		o := object{kind: Cond, obj: t.cond.obj}
		t.cond = object{}
		if m := w.last[o]; m.at >= t.since {
			if err := w.edge(m, ev, o); err != nil {
				return err
			}
		}
	}
	return w.edge(l.released, ev, object{kind: waitKind(ev.Kind), obj: ev.Obj})
}
