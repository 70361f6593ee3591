package order

import (
	"context"
	"fmt"
	"iter"
	"math"

	"hindsight/analyze/hb"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// walker is the state of the walk over the run.
type walker struct {
	src      Source
	opts     Options
	survey   *replay.Survey
	business replay.Business
	run      *replay.Walk
	all      *carrier[vector] // happens-before; carries the clocks of shb
	shb      *shb
	ordered  bool // the run knows in which order accesses were executed
	wcp      *wcp
	held     replay.Held[event.StrandID]
	wanted   *wanted
	guarded  *guarded             // nil: what they touch is wanted
	kept     *replay.Footprints   // of an earlier walk; nil: none
	suspects []span               // if schedulable happens-before alone is asked for: memory with races by happens-before
	alone    bool                 // it is
	sites    []code               // what is to be known of each site
	events   map[race.Place]*code // and of each place of an event that is an access
	present  Access
	pairs    map[key]*Pair
	seen     map[instance]Set // by the present access, if it touches several granules
	remember []*entry         // of the present access
	watch    Watcher          // is told of the walk, which then looks for no races itself; nil: none
	hard     *hb.Order        // of watch
	// thread, strand and epoch are those of the present event.
	thread event.ThreadID
	strand event.StrandID
	epoch  uint64
}

// prepare finds out which accesses matter, and positions before the first of them.
func (w *walker) prepare(ctx context.Context) error {
	w.business, w.pairs, w.seen = replay.NewBusiness(w.opts.Program), map[key]*Pair{}, map[instance]Set{}
	var also func(*format.Event) error
	if w.alone {
		w.wanted = newWanted(w.suspects)
		also = w.wanted.atomic
	}
	var err error
	w.survey, err = replay.NewSurvey(ctx, w.src, len(w.src.Threads()), w.opts.Atomics == race.Strict, &w.business, also)
	if err != nil {
		return err
	}
	w.lookUpSites()
	var uses map[uint64][]lockUse
	if !w.alone {
		if uses, err = w.choose(ctx); err != nil {
			return err
		}
	}
	options := w.walkOptions()
	options.Parts = true
	w.run = w.survey.Walk(options)
	w.all = newCarrier[vector](w.run.Order)
	w.shb, w.ordered = &shb{}, replay.HasSchedule(w.src)
	if w.alone {
		w.wanted.look(nil)
	} else {
		w.wcp = newWCP(w.survey, uses)
		w.wcp.guarded = w.guarded
	}
	return nil
}

// choose finds the accesses that matter to the orders, and returns the uses of
// mutexes.
func (w *walker) choose(ctx context.Context) (map[uint64][]lockUse, error) {
	w.wanted = everything()
	c, err := w.contest(ctx)
	if err != nil {
		return nil, err
	}
	if !w.opts.Everything {
		w.wanted, w.guarded = c.wanted()
	}
	switch s := w.guarded; {
	case s == nil:
	case w.watch != nil: // each access in critical sections matters
		w.wanted.look(s.pages)
		w.guarded = nil
	default:
		if err := w.findMixed(ctx, s, c.sections); err != nil {
			return nil, err
		}
	}
	return c.uses, nil
}

func (w *walker) walkOptions() replay.Options {
	return replay.Options{TLSSize: w.opts.TLSSize, Atomics: true}
}

// walk processes accesses in the order in which they were executed, as far as the run
// knows it.
func (w *walker) walk(ctx context.Context) error {
	steps := replay.NewSteps(w.survey.Threads, w.src.Steps)
	if src, ok := w.src.(compressed); ok && !w.wanted.every {
		steps = replay.NewSteps(w.survey.Threads, func(t event.ThreadID) iter.Seq2[cdr.Step, error] {
			return src.StepsWithin(t, w.wanted.meets)
		})
	}
	defer steps.Close()
	if s := w.guarded; s != nil {
		var stop func()
		s.feeds, stop = w.feeds(s.sites)
		defer stop()
	}
	return w.run.Run(ctx, w.src, &replay.Visitor{
		Segment: func(u *replay.Unit) error {
			if err := steps.Segment(ctx, u, func(s *cdr.Step) error { return w.step(u, s) }); err != nil {
				return err
			}
			if w.watch != nil {
				return nil
			}
			return w.section(u)
		},
		Event: w.event,
		Access: func(u *replay.Unit, a *replay.Access) error {
			w.present = Access{Place: race.Place{PC: a.PC, Op: a.Op}, Thread: u.Thread, Address: a.Address, Size: a.Size,
				Segment: u.Index, Ordinal: u.Index, Seq: u.Seq}
			return w.access(&w.present, u, w.lookUpEvent(w.present.Place))
		},
		Life: func(addr, size, at uint64) error {
			if w.watch != nil {
				w.watch.Life(addr, size)
			}
			w.cut(addr, size, at)
			return nil
		},
		Done: w.done,
	})
}

// places finds out where the segments of the accesses to report end, which is not
// known while they go on.
func (w *walker) places(ctx context.Context) error {
	var all []*Access
	for _, p := range w.pairs {
		for o := range p.First {
			for i := range p.First[o] {
				if p.Orders.Has(Order(o)) {
					all = append(all, &p.First[o][i])
				}
			}
		}
	}
	return PlaceAll(ctx, w.src, all)
}

// PlaceAll fills in where in S_synch the segments of accesses end ([Access.Seq]),
// which is not known while they go on.
func PlaceAll(ctx context.Context, src Source, all []*Access) error {
	type segment struct {
		thread event.ThreadID
		index  uint64
	}
	wanted := map[segment][]*Access{}
	for _, a := range all {
		if a.Op.Plain() {
			a.Seq = math.MaxUint64
			k := segment{a.Thread, a.Segment}
			wanted[k] = append(wanted[k], a)
		}
	}
	return replay.Each(ctx, src, len(src.Threads()), func(ev *format.Event) error {
		for _, a := range wanted[segment{ev.Thread, ev.Index}] {
			a.Seq = ev.Seq
		}
		return nil
	})
}

// code determines whether accesses by an instruction count, and as what.
type code struct {
	place       race.Place
	skip, size  uint64 // bytes of the access: the first ones, which do not count, and those that do
	user, muted bool
	atomicity   replay.Atomicity
}

func (w *walker) lookUp(place race.Place) code {
	return code{place: place, user: w.business.User(place.PC), atomicity: w.business.Atomicity(place.Op, place.PC, w.survey.Atomic == nil)}
}

// lookUpEvent is lookUp for the place of an event, which looks once.
func (w *walker) lookUpEvent(place race.Place) *code {
	is := w.events[place]
	if is == nil {
		c := w.lookUp(place)
		is = &c
		if w.events == nil {
			w.events = map[race.Place]*code{}
		}
		w.events[place] = is
	}
	return is
}

func (w *walker) lookUpSites() {
	w.sites = make([]code, w.src.NumSites())
	narrowed, known := w.src.(replay.Narrowed)
	for i := range w.sites {
		site := w.src.Site(format.SiteID(i))
		w.sites[i] = w.lookUp(race.Place{PC: site.PC, Op: replay.SiteOp(&site)})
		w.sites[i].size, w.sites[i].muted = uint64(site.Size), w.business.Muted(site.PC)
		if known {
			skip, size := narrowed.Used(format.SiteID(i))
			w.sites[i].skip, w.sites[i].size = uint64(skip), uint64(size)
		}
	}
}

// step takes an execution of a site.
func (w *walker) step(u *replay.Unit, s *cdr.Step) error {
	if int64(s.Site) >= int64(len(w.sites)) {
		return fmt.Errorf("%w: site %d", ErrTrace, s.Site)
	}
	site := &w.sites[s.Site]
	if site.muted {
		return nil
	}
	w.present = Access{Place: site.place, Thread: u.Thread, Address: s.Address + site.skip, Size: site.size,
		Segment: w.run.Index[u.Thread], Site: s.Site, Ordinal: s.Ordinal, Number: s.Number}
	return w.access(&w.present, u, site)
}

// event takes the part of an event that orders it after others, and all of it
// that concerns weak causal precedence.
func (w *walker) event(ev *format.Event) error {
	t := ev.Thread
	if w.watch != nil {
		return w.watched(ev)
	}
	w.strand = w.run.Order.Strand(t)
	w.epoch = w.run.Order.Epoch(w.strand)
	w.all.acquired(t, &ev.Event, func(v vector) { w.shb.take(w.strand, v) })
	if ev.Kind == event.StrandBegin {
		w.held.Clear(w.strand)
	}
	w.thread = t
	if w.alone {
		return nil
	}
	return w.weak(ev, w.strand, w.epoch)
}

// done takes the part that orders others after it.
func (w *walker) done(ev *format.Event) error {
	if w.watch != nil {
		return w.watchedDone(ev)
	}
	w.held.Apply(w.strand, &ev.Event)
	w.shb.clock(w.strand)
	w.all.released(w.strand, w.epoch, &ev.Event, func() vector { return w.shb.clocks[w.strand].clone() })
	if w.run.Order.Epoch(w.strand) != w.epoch {
		w.shb.tick(w.strand)
	}
	return nil
}

// weak takes the part of an event that concerns weak causal precedence; own is
// the present epoch of strand s.
func (w *walker) weak(ev *format.Event, s event.StrandID, own uint64) error {
	t, hard := ev.Thread, w.wcp.hard
	switch ev.Kind {
	case event.MutexLock:
		w.wcp.acquire(s, ev.Obj, own)
	case event.MutexUnlock:
		return w.wcp.release(s, ev.Obj, vector(w.run.Order.Clock(t)), ev.Seq+1)
	default:
		w.wcp.life(t, s, own, ev)
		th := w.wcp.strand(s)
		if err := hard.order.Acquire(t, &ev.Event); err != nil {
			return err
		}
		hard.acquired(t, &ev.Event, func(c hardClock) {
			th.before.join(c.before)
			th.hard.join(c.hard)
		})
		at := hard.order.Strand(t)
		epoch := hard.order.Epoch(at)
		if err := hard.order.Release(t, &ev.Event); err != nil {
			return err
		}
		hard.released(at, epoch, &ev.Event, func() hardClock { return w.wcp.strand(s).handed(s, own) })
	}
	return nil
}
