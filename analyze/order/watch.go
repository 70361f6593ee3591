package order

import (
	"context"

	"hindsight/analyze/hb"
	"hindsight/analyze/replay"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Watcher receives what a run does, in the order of the run, as far as it can matter for
// another schedule of the same run: all events, and the accesses to memory on which
// conflicting accesses are not in the hard order (happens-before without mutexes). What
// else the run touches is the same in every schedule that respects that order.
type Watcher interface {
	// Begin is called first. The two orders are those of the present moment
	// throughout: full is happens-before, hard is the same without mutexes.
	Begin(full, hard *hb.Order)
	// Access: an access touches bytes of a granule (address / 8), mask of them, and
	// of these atomic count as accessed atomically.
	Access(a *Access, granule uint64, mask, atomic uint8) error
	// Life is called when the memory in [addr, addr+size) begins a new life.
	Life(addr, size uint64)
	// Event is called when what comes before the event in the two orders is known,
	// and Done when it is over. An access that is an event comes between the two.
	Event(ev *format.Event) error
	Done(ev *format.Event) error
}

// Watch walks over the run and calls the methods of a watcher.
func Watch(ctx context.Context, src Source, opts Options, to Watcher) error {
	opts.NoLockset = true
	w := &walker{src: src, opts: opts, watch: to}
	if err := w.prepare(ctx); err != nil {
		return err
	}
	w.hard = w.survey.Order()
	to.Begin(w.run.Order, w.hard)
	return w.walk(ctx)
}

// watchedAccess tells the watcher of an access that is the program's business.
func (w *walker) watchedAccess(a *Access, u *replay.Unit, by *code) (err error) {
	end := a.Address + a.Size
	w.wanted.within(a.Address, a.Size, func(g uint64, _ *granule) {
		if err == nil && (!w.run.Own(a.Thread, g<<3)) {
			mask := maskOf(g, a.Address, end)
			err = w.watch.Access(a, g, mask, w.atomic(g, mask, u, by))
		}
	})
	return err
}

// watched takes the part of an event that orders it after others.
func (w *walker) watched(ev *format.Event) error {
	if !isMutex(ev.Kind) {
		if err := w.hard.Acquire(ev.Thread, &ev.Event); err != nil {
			return err
		}
	}
	return w.watch.Event(ev)
}

// watchedDone takes the part that orders others after it.
func (w *walker) watchedDone(ev *format.Event) error {
	if err := w.watch.Done(ev); err != nil || isMutex(ev.Kind) {
		return err
	}
	return w.hard.Release(ev.Thread, &ev.Event)
}

// isMutex reports whether the hard order leaves events of a kind out.
func isMutex(k event.Kind) bool { return k == event.MutexLock || k == event.MutexUnlock }
