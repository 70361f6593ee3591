package order

import (
	"context"
	"fmt"
	"iter"
	"math"

	"hindsight/analyze/place"
	"hindsight/analyze/race"
	"hindsight/cdr"
	"hindsight/tracefmt/event"
)

// walker is the state of the walk over the run.
type walker struct {
	src     Source
	opts    Options
	threads int
	roots   []event.ThreadID
	atomic  map[uint64]uint8 // bytes of atomic variables, by granule; nil: strict
	runtime func(pc uint64) bool
	memory  *place.Map
	all     *carrier[vector] // happens-before; carries the clocks of shb
	shb     *shb
	wcp     *wcp
	locks   lockset
	wanted  *wanted
	pairs   map[key]*Pair
	seen    map[instance]Set // by the present access, if it touches several granules
	index   []uint64         // events of each thread so far
	starts  []uint64         // 1 + the place in S_synch of each thread's last event
	private []span
	feeds   []feed
}

type feed struct {
	next func() (cdr.Step, error, bool)
	stop func()
}

func newWalker(ctx context.Context, src Source, opts Options) (*walker, error) {
	w := &walker{src: src, opts: opts, threads: len(src.Threads()),
		pairs: map[key]*Pair{}, seen: map[instance]Set{}, memory: place.NewMap(opts.TLSSize)}
	if opts.Atomics == race.Relaxed {
		w.atomic = map[uint64]uint8{}
	}
	if r, ok := opts.Program.(interface{ Runtime(pc uint64) bool }); ok {
		w.runtime = r.Runtime
	}
	created := make([]bool, w.threads)
	err := events(ctx, src, w.threads, func(ev *cdr.Event) error {
		switch ev.Kind {
		case event.Create:
			if ev.Obj < uint64(w.threads) {
				created[ev.Obj] = true
			}
		case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
			if w.atomic != nil {
				for i := range uint64(min(ev.Size, maxAtomic)) {
					w.atomic[(ev.Obj+i)>>3] |= 1 << ((ev.Obj + i) & 7)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for t, c := range created {
		if !c {
			w.roots = append(w.roots, event.ThreadID(t))
		}
	}
	w.wanted = everything()
	c, err := w.contest(ctx)
	if err != nil {
		return nil, err
	}
	if !opts.everything {
		w.wanted = c.wanted()
	}
	w.all = newCarrier[vector](w.threads, w.roots)
	w.shb = &shb{}
	w.wcp = newWCP(w.threads, w.roots, c.uses)
	w.index, w.starts = make([]uint64, w.threads), make([]uint64, w.threads)
	return w, nil
}

const (
	maxAtomic  = 16        // bytes of an atomic access
	maxFree    = 1 << 30   // bytes of a block that its free is taken for
	taskFrames = 256 << 10 // bytes of stack that a task's frames may take
)

// run takes each segment just before the event that ends it.
func (w *walker) run(ctx context.Context) error {
	for t := range w.threads {
		var f feed
		steps := w.src.Steps(event.ThreadID(t))
		if src, ok := w.src.(compressed); ok && !w.wanted.every {
			steps = src.StepsWithin(event.ThreadID(t), w.wanted.meets)
		}
		f.next, f.stop = iter.Pull2(steps)
		defer f.stop()
		w.feeds = append(w.feeds, f)
	}
	err := events(ctx, w.src, w.threads, func(ev *cdr.Event) error {
		if err := w.segment(ctx, ev.Thread, ev.Seq); err != nil {
			return err
		}
		return w.event(ev)
	})
	if err != nil {
		return err
	}
	for t := range w.threads {
		if err := w.segment(ctx, event.ThreadID(t), math.MaxUint64); err != nil {
			return err
		}
	}
	return nil
}

// segment takes the accesses of a thread up to its next event.
func (w *walker) segment(ctx context.Context, t event.ThreadID, seq uint64) error {
	for n := 1; ; n++ {
		step, err, ok := w.feeds[t].next()
		if err != nil || !ok || step.IsEvent {
			return err
		}
		if n&0xffff == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if int64(step.Site) >= int64(w.src.NumSites()) {
			return fmt.Errorf("%w: site %d", ErrTrace, step.Site)
		}
		site := w.src.Site(step.Site)
		op := race.Read
		if site.Access == event.Write {
			op = race.Write
		}
		a := Access{Place: race.Place{PC: site.PC, Op: op}, Thread: t, Address: step.Address, Size: uint64(site.Size),
			Segment: w.index[t], Site: step.Site, Ordinal: step.Ordinal, Seq: seq}
		w.access(&a, w.starts[t])
	}
}

// event takes an event.
func (w *walker) event(ev *cdr.Event) error {
	t := ev.Thread
	err := w.all.acquire(t, &ev.Event, func(v vector) { w.shb.take(w.all.order.Strand(t), v) })
	if err != nil {
		return err
	}
	s := w.all.order.Strand(t)
	if err := w.weak(ev, s); err != nil {
		return err
	}
	w.touchMemory(ev)
	w.memory.Apply(t, ev.Index, &ev.Event)
	w.locks.event(s, &ev.Event)
	epoch := w.all.order.Epoch(s)
	w.shb.clock(s)
	if err := w.all.release(t, &ev.Event, func() vector { return w.shb.clocks[s].clone() }); err != nil {
		return err
	}
	if w.all.order.Epoch(s) != epoch {
		w.shb.tick(s)
	}
	w.index[t]++
	w.starts[t] = ev.Seq + 1
	if ev.Kind == event.Create && ev.Obj < uint64(w.threads) {
		w.starts[ev.Obj] = ev.Seq + 1
	}
	return nil
}

// weak takes the part of an event that concerns weak causal precedence.
func (w *walker) weak(ev *cdr.Event, s event.StrandID) error {
	t := ev.Thread
	own := w.all.order.Epoch(s)
	switch ev.Kind {
	case event.MutexLock:
		w.wcp.acquire(s, ev.Obj, own)
	case event.MutexUnlock:
		return w.wcp.release(s, ev.Obj, vector(w.all.order.Clock(t)), ev.Seq+1)
	default:
		w.wcp.life(t, s, own, ev)
		th := w.wcp.strand(s)
		err := w.wcp.hard.acquire(t, &ev.Event, func(c hardClock) {
			th.before.join(c.before)
			th.hard.join(c.hard)
		})
		if err != nil {
			return err
		}
		return w.wcp.hard.release(t, &ev.Event, func() hardClock {
			return w.wcp.strand(s).handed(s, own)
		})
	}
	return nil
}

// touchMemory takes the access that an event is, and new lives of memory.
func (w *walker) touchMemory(ev *cdr.Event) {
	at := ev.Seq + 1
	a := Access{Place: race.Place{PC: ev.PC}, Thread: ev.Thread, Address: ev.Obj, Segment: ev.Index, Ordinal: ev.Index, Seq: ev.Seq}
	switch ev.Kind {
	case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
		if w.atomic == nil {
			a.Op = map[event.Kind]race.Op{event.AtomicLoad: race.AtomicRead, event.AtomicStore: race.AtomicWrite, event.AtomicRMW: race.AtomicUpdate}[ev.Kind]
			a.Size = uint64(min(ev.Size, maxAtomic))
			w.access(&a, at)
		}
	case event.Free:
		a.Op, a.Size = race.Free, freedBytes(w.memory, ev)
		w.access(&a, at)
	case event.Private:
		w.private = append(w.private, span{ev.Obj, ev.Obj + ev.Arg})
	default:
		if addr, size, ok := renewed(ev); ok {
			w.cut(addr, size, at)
		}
	}
}

// counts says whether an access is the program's business.
func (w *walker) counts(a *Access) bool {
	p := w.opts.Program
	if p == nil {
		return true
	}
	if w.runtime != nil && a.Op.Plain() && w.runtime(a.PC) {
		return false
	}
	return p.User(a.PC) || w.memory.User(p, a.Address)
}

// own says whether addr is in memory of which thread t has a part of its own.
func (w *walker) own(t event.ThreadID, addr uint64) bool {
	for _, p := range w.private {
		if addr >= p.lo && addr < p.hi {
			return true
		}
	}
	owner, _, ok := w.memory.TLS(addr)
	return ok && owner == t
}
