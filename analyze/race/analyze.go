package race

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"hindsight/analyze/hb"
	"hindsight/analyze/place"
	"hindsight/tracefmt/event"
)

// ErrSource is wrapped by errors about a source that contradicts itself.
var ErrSource = errors.New("inconsistent trace")

// Analyze finds the races of a run.
//
// It reads S_synch three times: for the atomic variables and the threads that
// nobody creates; together with the segments, for the races; and for the locks
// and locations of the instances that the result shows.
func Analyze(ctx context.Context, src Source, opts Options) (*Result, error) {
	if opts.SweepEvery <= 0 {
		opts.SweepEvery = 1 << 18
	}
	opts.columnsLimit = cmp.Or(opts.columnsLimit, columnsLimit)
	opts.staleAfter = cmp.Or(opts.staleAfter, staleAfter)
	e, err := newEngine(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	if err := e.pass(ctx, src); err != nil {
		return nil, err
	}
	return e.result(ctx, src)
}

func newEngine(ctx context.Context, src Source, opts Options) (*engine, error) {
	n := src.NumThreads()
	if n > hb.MaxThreads {
		return nil, fmt.Errorf("%w: %d threads", hb.ErrThread, n)
	}
	rt, _ := opts.Program.(interface{ Runtime(pc uint64) bool })
	e := &engine{
		opts:     opts,
		order:    hb.New(),
		memory:   place.NewMap(opts.TLSSize),
		placeIDs: map[Place]uint32{},
		eventIDs: map[Place]uint32{},
		shadow:   shadow{pages: map[uint64]*page{}},
		pairs:    pairTable{pairs: map[pairKey]*pair{}},
		starts:   make([]uint64, n),
		sweepAt:  opts.SweepEvery,
	}
	for id := range src.NumSites() {
		site := src.Site(SiteID(id))
		op := Read
		if site.Access == event.Write {
			op = Write
		}
		if site.Size == 0 || site.Size > 8 {
			return nil, fmt.Errorf("%w: site %d accesses %d bytes", ErrSource, id, site.Size)
		}
		e.accesses = append(e.accesses, access{place: e.placeID(Place{site.PC, op}), op: op,
			user: e.user(site.PC), mute: rt != nil && rt.Runtime(site.PC), size: site.Size, site: SiteID(id)})
	}
	e.order.Threads(n)
	return e, e.scan(ctx, src)
}

// scan is the first walk along S_synch.
func (e *engine) scan(ctx context.Context, src Source) error {
	if e.opts.Atomics == Relaxed {
		e.atomic = &atomicSet{granules: map[uint64]uint8{}}
	}
	created := make([]bool, len(e.starts))
	err := walk(ctx, src, func(ev *Event) error {
		if int64(ev.Thread) >= int64(len(e.starts)) {
			return fmt.Errorf("%w: event %d is of thread %d of %d", ErrSource, ev.Seq, ev.Thread, len(e.starts))
		}
		switch ev.Kind {
		case event.Create:
			if ev.Obj < uint64(len(created)) {
				created[ev.Obj] = true
			}
		case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
			if e.atomic != nil {
				for i := range uint64(min(ev.Size, maxAtomic)) {
					e.atomic.add(ev.Obj + i)
				}
			}
		}
		return nil
	})
	for t, c := range created {
		if !c {
			e.order.Root(event.ThreadID(t))
		}
	}
	return err
}

// maxAtomic bounds the bytes of an atomic access.
const maxAtomic = 16

// walk calls visit for the events of S_synch.
func walk(ctx context.Context, src Source, visit func(*Event) error) error {
	n := 0
	for ev, err := range src.Events() {
		if err != nil {
			return err
		}
		if n++; n&0xfff == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := visit(&ev); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// cursor walks the segments of a thread.
type cursor struct {
	next func() (Segment, error, bool)
	stop func()
	seg  Segment // the next one, or nil
	done bool
}

func (c *cursor) peek() (Segment, error) {
	if c.seg == nil && !c.done {
		seg, err, ok := c.next()
		if err != nil {
			return nil, err
		}
		c.seg, c.done = seg, !ok
	}
	return c.seg, nil
}

// pass is the second walk along S_synch, with the segments.
func (e *engine) pass(ctx context.Context, src Source) error {
	cursors := make([]cursor, len(e.starts))
	for t := range cursors {
		cursors[t].next, cursors[t].stop = iter.Pull2(src.Segments(event.ThreadID(t)))
		defer cursors[t].stop()
	}
	err := walk(ctx, src, func(ev *Event) error {
		t := ev.Thread
		if err := e.takeSegments(ctx, &cursors[t], t, ev.Index, 2*ev.Seq); err != nil {
			return err
		}
		return e.apply(ev)
	})
	if err != nil {
		return err
	}
	for t := range cursors {
		if err := e.takeSegments(ctx, &cursors[t], event.ThreadID(t), 1<<63, unfinished+uint64(t)); err != nil {
			return err
		}
	}
	return nil
}

// takeSegments takes the segments of thread t up to the one with place upTo,
// which is unit number order.
func (e *engine) takeSegments(ctx context.Context, c *cursor, t event.ThreadID, upTo, order uint64) error {
	for {
		seg, err := c.peek()
		if err != nil || seg == nil || seg.Place() > upTo {
			return err
		}
		c.seg = nil
		e.stats.Segments++
		e.begin(t, order, e.starts[t])
		runs := 0
		for r, err := range seg.Runs() {
			if err != nil {
				return err
			}
			if int64(r.Site) >= int64(len(e.accesses)) {
				return fmt.Errorf("%w: site %d of %d", ErrSource, r.Site, len(e.accesses))
			}
			for r.Count > 0 {
				piece := r
				if r.Stride != 0 {
					piece.Count = min(r.Count, maxPiece)
				}
				e.takeRun(piece)
				r.Base += piece.Count * uint64(r.Stride)
				r.First += piece.Count
				r.Count -= piece.Count
				if e.records > e.sweepAt {
					e.sweep()
				}
				if runs++; runs&0xff == 0 || piece.Count == maxPiece {
					if err := ctx.Err(); err != nil {
						return err
					}
				}
			}
		}
	}
}

// maxPiece bounds the accesses of a run that are taken at a time.
const maxPiece = 1 << 14

// apply takes an event: the access that it is, if it is one, and what it does
// to happens-before and to memory.
func (e *engine) apply(ev *Event) error {
	e.stats.Events++
	t := ev.Thread
	if err := e.order.Acquire(t, &ev.Event); err != nil {
		return fmt.Errorf("event %d: %w", ev.Seq, err)
	}
	at := ev.Seq + 1
	switch ev.Kind {
	case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
		if e.atomic == nil {
			e.begin(t, 2*ev.Seq+1, at)
			e.takeEvent(Place{ev.PC, atomicOp(ev.Kind)}, ev.Obj, uint64(min(ev.Size, maxAtomic)), ev.Index)
		}
	case event.Free:
		e.begin(t, 2*ev.Seq+1, at)
		e.takeEvent(Place{ev.PC, Free}, ev.Obj, e.freed(ev), ev.Index)
	case event.Alloc, event.Map, event.StackMap:
		e.shadow.cut(ev.Obj, ev.Arg, at)
	case event.Create:
		if ev.Obj < uint64(len(e.starts)) {
			e.starts[ev.Obj] = at
		}
	case event.StrandBegin, event.StrandEnd:
		// The frames below are of others, which run here before and after.
		low := ev.Arg - min(ev.Arg, taskFrames)
		e.shadow.cut(low, ev.Arg-low, at)
	case event.Private:
		e.private.add(ev.Obj, ev.Arg)
	}
	e.memory.Apply(t, ev.Index, &ev.Event)
	if err := e.order.Release(t, &ev.Event); err != nil {
		return fmt.Errorf("event %d: %w", ev.Seq, err)
	}
	e.starts[t], e.now = at, at
	if e.records > e.sweepAt {
		e.sweep()
	}
	return nil
}

// taskFrames is how many bytes of stack the frames of a task and of what it
// calls are expected to take at most.
const taskFrames = 256 << 10

// freed is the number of bytes that a Free event gives back.
func (e *engine) freed(ev *Event) uint64 {
	size := ev.Arg
	if size == 0 {
		if b, ok := e.memory.Block(ev.Obj); ok && b.Addr == ev.Obj && !b.Freed {
			size = b.Size
		}
	}
	return min(size, maxFree)
}

// maxFree bounds the bytes that a free is remembered for, so that a damaged
// trace cannot ask for all memory. The rest of a larger block is not looked at.
const maxFree = 1 << 30

func atomicOp(k event.Kind) Op {
	switch k {
	case event.AtomicLoad:
		return AtomicRead
	case event.AtomicStore:
		return AtomicWrite
	}
	return AtomicUpdate
}

// result makes the report of what was found, with a third walk along S_synch.
func (e *engine) result(ctx context.Context, src Source) (*Result, error) {
	res := &Result{Stats: e.stats}
	found := e.pairs.sorted()
	res.Races = make([]Race, len(found))
	d := newDetails(e, res)
	for i, p := range found {
		r := &res.Races[i]
		r.Dynamic = p.dynamic
		r.First, r.Last = d.instance(&p.first), d.instance(&p.last)
	}
	for i := range res.Races {
		d.want(&res.Races[i])
	}
	if err := walk(ctx, src, func(ev *Event) error { d.apply(ev); return nil }); err != nil {
		return nil, err
	}
	d.finish()
	res.Threads = slices.Clone(d.threads())
	return res, nil
}
