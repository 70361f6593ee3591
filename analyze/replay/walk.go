package replay

import (
	"context"
	"errors"
	"fmt"
	"math"

	"hindsight/analyze/hb"
	"hindsight/analyze/place"
	"hindsight/tracefmt/event"
)

// Unit is a segment, or an event that is an access. Units are numbered in the order in
// which they end.
type Unit struct {
	Thread event.ThreadID
	Index  uint64 // index, among its thread's events, of the event that ends it or is it; the maximum if no event ends it
	Seq    uint64 // position of that event in S_synch, or the maximum
	Number uint64 // position among units
	Start  uint64 // 1 + the position in S_synch of the event that begins it, or 0 if none does
	// Part is the number of accesses in the unit, if it is a part of a segment: the next
	// accesses of the thread since its last event or part. Only Thread and Start of the
	// other fields are set then. 0 means all up to the event. There are parts only in
	// walks in the order of accesses.
	Part uint64
}

// End returns the position in S_synch, from 1, of the event that ends the unit or is it,
// or the maximum if none does.
func (u *Unit) End() uint64 {
	if u.Seq == math.MaxUint64 {
		return u.Seq
	}
	return u.Seq + 1
}

// Unfinished is the first number of units that no event ends.
const Unfinished = 1 << 63

// Access is an event that is an access.
type Access struct {
	Op      Op
	PC      uint64
	Address uint64
	Size    uint64 // bytes, at most [LargestFree]
}

// Visitor has the functions that a walk calls. A nil function is not called. The
// arguments of a function are valid until it returns. An error ends the walk.
type Visitor struct {
	Segment func(u *Unit) error
	Event   func(ev *Event) error
	Access  func(u *Unit, a *Access) error
	// Life is called when the memory in [addr, addr+size) begins a new life at position
	// at of S_synch, counted from 1.
	Life func(addr, size, at uint64) error
	// Changes is called before the address space changes in other ways than by heap
	// blocks.
	Changes func(ev *Event) error
	Done    func(ev *Event) error
}

// Options of a walk. With the zero value, it follows everything.
type Options struct {
	TLSSize uint64 // bytes of a thread's thread-local variables
	Atomics bool   // atomic accesses are accesses too
	NoOrder bool   // do not follow happens-before
	Share   bool   // let strands share numbers where they can, see [hb.Order.ShareNumbers]
	// Parts divides segments into parts, if the run knows the order in which accesses
	// were executed. Otherwise a segment is visited whole, at its end.
	Parts bool
}

// Walk is a moment of a run.
type Walk struct {
	Order   *hb.Order // nil: not followed
	Memory  *place.Map
	Starts  []uint64 // for each thread, where its current segment begins, as in [Unit.Start]
	Index   []uint64 // for each thread, the number of its events so far
	Now     uint64   // 1 + the position in S_synch of the last event
	atomics bool
	parts   bool
	made    map[uint64]bool
	open    []bool // threads that have been created and have not ended
	own     ranges // memory of which each thread has its own part
	unit    Unit   // the current one
	access  Access
}

// Walk returns a walk at the beginning of the run.
func (s *Survey) Walk(opts Options) *Walk {
	w := &Walk{Memory: place.NewMap(opts.TLSSize), Starts: make([]uint64, s.Threads),
		Index: make([]uint64, s.Threads), atomics: opts.Atomics, parts: opts.Parts, made: s.Made, open: make([]bool, s.Threads)}
	for _, t := range s.Roots {
		w.open[t] = true
	}
	if !opts.NoOrder {
		w.Order = s.order(opts.Share)
	}
	return w
}

// Order returns happens-before at the beginning of the run.
func (s *Survey) Order() *hb.Order { return s.order(false) }

func (s *Survey) order(share bool) *hb.Order {
	o := hb.New()
	if share {
		o.ShareNumbers()
	}
	o.Threads(s.Threads)
	for _, t := range s.Roots {
		o.Root(t)
	}
	return o
}

// Own reports whether addr is in memory of which thread t has its own part. The strands
// of t run there one after another, so they do not race.
func (w *Walk) Own(t event.ThreadID, addr uint64) bool {
	if w.own.contains(addr) {
		return true
	}
	owner, _, ok := w.Memory.TLS(addr)
	return ok && owner == t
}

// Open calls yield with where the present segments of the threads begin that have been
// created and have not ended. All other segments to come begin later.
func (w *Walk) Open(yield func(start uint64) bool) {
	for t, open := range w.open {
		if open && !yield(w.Starts[t]) {
			return
		}
	}
}

// Oldest is the least of what [Walk.Open] calls yield with, the maximum if there is none.
func (w *Walk) Oldest() uint64 {
	least := uint64(math.MaxUint64)
	for at := range w.Open {
		least = min(least, at)
	}
	return least
}

// Run walks from the beginning to the end of the run that was surveyed.
func (w *Walk) Run(ctx context.Context, src Events, v *Visitor) error {
	parts := w.schedule(src, v)
	defer parts.close()
	err := each(ctx, src, len(w.Starts), func(ev *Event) error {
		if v.Segment != nil {
			if err := parts.upTo(ev.Seq); err != nil {
				return err
			}
			w.unit = Unit{Thread: ev.Thread, Index: ev.Index, Seq: ev.Seq, Number: 2 * ev.Seq, Start: w.Starts[ev.Thread]}
			if err := v.Segment(&w.unit); err != nil {
				return err
			}
		}
		if err := w.event(ev, v); err != nil {
			return fmt.Errorf("event %d: %w", ev.Seq, err)
		}
		return nil
	})
	if errors.Is(err, ErrStop) {
		return nil
	}
	if err != nil || v.Segment == nil {
		return err
	}
	if err := parts.upTo(math.MaxUint64); err != nil {
		return err
	}
	for t := range w.Starts {
		u := Unit{Thread: event.ThreadID(t), Index: math.MaxUint64, Seq: math.MaxUint64, Number: Unfinished + uint64(t), Start: w.Starts[t]}
		if err := v.Segment(&u); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// event executes steps 2 to 8 of an event; see the package comment.
func (w *Walk) event(ev *Event, v *Visitor) error {
	t, at := ev.Thread, ev.Seq+1
	if w.Order != nil {
		if err := w.Order.Acquire(t, &ev.Event); err != nil {
			return err
		}
	}
	if v.Event != nil {
		if err := v.Event(ev); err != nil {
			return err
		}
	}
	if err := w.touch(ev, v); err != nil {
		return err
	}
	switch ev.Kind {
	case event.StackMap, event.Create, event.ThreadStart, event.ThreadEnd, event.ThreadPointer, event.ThreadLocal, event.Private:
		if v.Changes != nil {
			if err := v.Changes(ev); err != nil {
				return err
			}
		}
	}
	switch ev.Kind {
	case event.Create:
		if ev.Obj < uint64(len(w.Starts)) {
			w.Starts[ev.Obj], w.open[ev.Obj] = at, true
		}
	case event.Private:
		w.own.add(ev.Obj, ev.Arg)
	}
	w.Memory.Apply(t, ev.Index, &ev.Event)
	if w.Order != nil {
		if err := w.Order.Release(t, &ev.Event); err != nil {
			return err
		}
	}
	w.Starts[t], w.Index[t], w.Now, w.open[t] = at, ev.Index+1, at, ev.Kind != event.ThreadEnd
	if v.Done != nil {
		return v.Done(ev)
	}
	return nil
}

// touch applies what an event does to memory: an access, a new life.
func (w *Walk) touch(ev *Event, v *Visitor) error {
	if v.Access != nil {
		if op, ok := OpOf(ev.Kind); ok && (w.atomics || !op.Atomic()) && (op != Use || w.made[ev.Obj]) {
			w.unit = Unit{Thread: ev.Thread, Index: ev.Index, Seq: ev.Seq, Number: 2*ev.Seq + 1, Start: ev.Seq + 1}
			w.access = Access{Op: op, PC: ev.PC, Address: ev.Obj, Size: min(Extent(w.Memory, &ev.Event), LargestFree)}
			if err := v.Access(&w.unit, &w.access); err != nil {
				return err
			}
		}
	}
	if v.Life != nil {
		if addr, size, ok := LifeOf(&ev.Event); ok {
			return v.Life(addr, size, ev.Seq+1)
		}
	}
	return nil
}
