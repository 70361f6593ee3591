package race

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"

	"hindsight/analyze/hb"
	"hindsight/analyze/place"
	"hindsight/tracefmt/event"
)

// ErrSource is wrapped by errors about a source that contradicts itself.
var ErrSource = errors.New("inconsistent trace")

// Analyze finds the races of a run.
//
// It reads S_synch up to four times: for the atomic variables and the threads
// that nobody creates; together with the bytes that each segment accesses, for
// the memory on which there are races; together with the accesses to that
// memory, for the races; and for the locks and locations of the instances that
// the result shows.
func Analyze(ctx context.Context, src Source, opts Options) (*Result, error) {
	if opts.SweepEvery <= 0 {
		opts.SweepEvery = 1 << 18
	}
	opts.columnsLimit = cmp.Or(opts.columnsLimit, columnsLimit)
	opts.staleAfter = cmp.Or(opts.staleAfter, staleAfter)
	opts.batchItems = cmp.Or(opts.batchItems, batchItems)
	if opts.Workers <= 0 {
		opts.Workers = min(runtime.GOMAXPROCS(0), 8)
	}
	opts.Workers = min(opts.Workers, maxWorkers)
	e, err := newEngine(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	if !opts.noSieve {
		if err := e.sieve(ctx, src); err != nil {
			return nil, err
		}
	}
	if e.suspects == nil || len(e.suspects.ranges) > 0 {
		if err := e.exact(ctx, src); err != nil {
			return nil, err
		}
	}
	return e.result(ctx, src)
}

// maxWorkers bounds the workers that memory is divided among.
const maxWorkers = 64

// sieve is the pass that finds the granules on which there are races.
func (e *engine) sieve(ctx context.Context, src Source) error {
	sieves := make([]*sieve, e.opts.Workers)
	takers := make([]taker, len(sieves))
	for i := range sieves {
		sieves[i] = newSieve(i, len(sieves), len(e.starts))
		takers[i] = sieves[i]
		if e.opts.layers > 0 {
			sieves[i].limit = e.opts.layers
		}
	}
	e.sieving = true
	if err := e.pass(ctx, src, takers); err != nil {
		return err
	}
	e.sieving = false
	e.suspects = gather(sieves)
	for _, s := range sieves {
		e.stats.Pages += len(s.pages)
	}
	return nil
}

// exact is the pass that counts the pairs.
func (e *engine) exact(ctx context.Context, src Source) error {
	shards := make([]*shard, e.opts.Workers)
	takers := make([]taker, len(shards))
	for i := range shards {
		shards[i] = newShard(e, i)
		takers[i] = shards[i]
	}
	if err := e.pass(ctx, src, takers); err != nil {
		return err
	}
	for _, s := range shards {
		e.pairs.merge(&s.pairs)
		e.stats.Accesses += s.stats.Accesses
		e.stats.Groups += s.stats.Groups
		e.stats.Peak += s.stats.Peak
		e.stats.Sweeps += s.stats.Sweeps
	}
	return nil
}

func newEngine(ctx context.Context, src Source, opts Options) (*engine, error) {
	n := src.NumThreads()
	if n > hb.MaxThreads {
		return nil, fmt.Errorf("%w: %d threads", hb.ErrThread, n)
	}
	rt, _ := opts.Program.(interface{ Runtime(pc uint64) bool })
	e := &engine{
		opts:     opts,
		placeIDs: map[Place]uint32{},
		eventIDs: map[Place]uint32{},
		pairs:    pairTable{pairs: map[pairKey]*pair{}},
		starts:   make([]uint64, n),
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
	e.sites = len(e.accesses)
	return e, e.scan(ctx, src)
}

// scan is the first walk along S_synch.
func (e *engine) scan(ctx context.Context, src Source) error {
	if e.opts.Atomics == Relaxed {
		e.atomic = &atomicSet{granules: map[uint64]uint8{}}
	}
	e.created = make([]bool, len(e.starts))
	err := walk(ctx, src, func(ev *Event) error {
		if int64(ev.Thread) >= int64(len(e.starts)) {
			return fmt.Errorf("%w: event %d is of thread %d of %d", ErrSource, ev.Seq, ev.Thread, len(e.starts))
		}
		switch ev.Kind {
		case event.Create:
			if ev.Obj < uint64(len(e.created)) {
				e.created[ev.Obj] = true
			}
		case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
			if e.atomic != nil {
				for i := range uint64(min(ev.Size, maxAtomic)) {
					e.atomic.add(ev.Obj + i)
				}
			} else {
				e.eventAccess(Place{ev.PC, atomicOp(ev.Kind)})
			}
		case event.Free:
			e.eventAccess(Place{ev.PC, Free})
		case event.StrandBegin:
			e.strands = true
		}
		return nil
	})
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
	next func() (Segment, error) // nil after the last
	stop func()
	seg  Segment // the next one, or nil
	done bool
}

func newCursor(src Source, t event.ThreadID) cursor {
	if s, ok := src.(steppable); ok {
		return cursor{next: s.NextSegment(t), stop: func() {}}
	}
	next, stop := iter.Pull2(src.Segments(t))
	return cursor{stop: stop, next: func() (Segment, error) {
		seg, err, _ := next()
		return seg, err
	}}
}

func (c *cursor) peek() (Segment, error) {
	if c.seg == nil && !c.done {
		seg, err := c.next()
		if err != nil {
			return nil, err
		}
		c.seg, c.done = seg, seg == nil
	}
	return c.seg, nil
}

// reset begins a pass.
func (e *engine) reset(ctx context.Context, takers []taker) {
	e.order, e.memory = hb.New(), place.NewMap(e.opts.TLSSize)
	e.order.Threads(len(e.starts))
	for t, created := range e.created {
		if !created {
			e.order.Root(event.ThreadID(t))
		}
	}
	clear(e.starts)
	e.private, e.horizon, e.batch, e.now = intervals{}, nil, nil, 0
	e.stats = Stats{Pages: e.stats.Pages}
	e.crew, e.canceled = newCrew(takers), ctx.Err
}

// pass is a walk along S_synch with the segments, of which the takers take the
// accesses.
func (e *engine) pass(ctx context.Context, src Source, takers []taker) error {
	e.reset(ctx, takers)
	err := e.walk(ctx, src)
	if err == nil {
		err = e.flush()
	}
	if stopped := e.crew.stop(); err == nil {
		err = stopped
	}
	return err
}

func (e *engine) walk(ctx context.Context, src Source) error {
	cursors := make([]cursor, len(e.starts))
	for t := range cursors {
		cursors[t] = newCursor(src, event.ThreadID(t))
		defer cursors[t].stop()
	}
	err := walk(ctx, src, func(ev *Event) error {
		if err := e.takeSegments(ctx, &cursors[ev.Thread], ev.Thread, ev.Index, 2*ev.Seq); err != nil {
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
		if e.sieving {
			err = e.feedExtents(seg)
		} else {
			err = e.feedTallies(seg)
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// apply takes an event: the access that it is, if it is one, and what it does
// to happens-before and to memory.
func (e *engine) apply(ev *Event) error {
	e.stats.Events++
	t := ev.Thread
	if err := e.order.Acquire(t, &ev.Event); err != nil {
		return fmt.Errorf("event %d: %w", ev.Seq, err)
	}
	if err := e.feed(ev); err != nil {
		return err
	}
	at := ev.Seq + 1
	switch ev.Kind {
	case event.Create:
		if ev.Obj < uint64(len(e.starts)) {
			e.starts[ev.Obj] = at
		}
	case event.Private:
		e.private.add(ev.Obj, ev.Arg)
	}
	e.memory.Apply(t, ev.Index, &ev.Event)
	if err := e.order.Release(t, &ev.Event); err != nil {
		return fmt.Errorf("event %d: %w", ev.Seq, err)
	}
	e.starts[t], e.now = at, at
	return nil
}

// feed hands out what an event does to memory.
func (e *engine) feed(ev *Event) error {
	t, at := ev.Thread, ev.Seq+1
	switch ev.Kind {
	case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
		if e.atomic == nil {
			e.begin(t, 2*ev.Seq+1, at)
			return e.feedEvent(Place{ev.PC, atomicOp(ev.Kind)}, ev.Obj, uint64(min(ev.Size, maxAtomic)), ev.Index)
		}
	case event.Free:
		e.begin(t, 2*ev.Seq+1, at)
		return e.feedEvent(Place{ev.PC, Free}, ev.Obj, e.freed(ev), ev.Index)
	case event.Alloc, event.Map, event.Renew:
		return e.feedCut(ev.Obj, ev.Arg, at)
	case event.StackMap:
		if err := e.feedCut(ev.Obj, ev.Arg, at); err != nil {
			return err
		}
	case event.StrandBegin, event.StrandEnd:
		// The frames below are of others, which run here before and after.
		low := ev.Arg - min(ev.Arg, taskFrames)
		return e.feedCut(low, ev.Arg-low, at)
	}
	switch ev.Kind {
	case event.StackMap, event.Create, event.ThreadStart, event.ThreadEnd, event.Private:
		if e.strands {
			return e.settle() // the workers look at what this changes
		}
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

// result makes the report of what was found, with two more walks along
// S_synch.
func (e *engine) result(ctx context.Context, src Source) (*Result, error) {
	res := &Result{Stats: e.stats}
	found, err := e.resolve(ctx, src)
	if err != nil {
		return nil, err
	}
	res.Races = make([]Race, len(found))
	d := newDetails(e, res)
	for i := range found {
		p, r := &found[i], &res.Races[i]
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
