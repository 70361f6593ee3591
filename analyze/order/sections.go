package order

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	"hindsight/analyze/hb"
	"hindsight/analyze/internal/layer"
	"hindsight/analyze/replay"
	"hindsight/cdr/fold"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Most memory that mutexes protect is protected always by the same ones, so that
// there is no race on it. But critical sections of a mutex that touch the same of
// it are in weak causal precedence. For that only what a section touched matters,
// not in which order, unless memory with a race is touched in the same segment:
// then what has been learnt by the time of that access depends on the order.
// Segments of this kind are called mixed, and are walked access by access.

// mutexState is the granules of a page that are protected alike.
type mutexState struct {
	protection
	in granules
}

// protection is which mutexes protect granules, and who accesses them with one.
type protection struct {
	mutexes     int32          // number of the set of those held at every access; anyLocks: there was none
	owner       event.StrandID // that accesses them with a mutex; hb.NoStrand: none, or several
	many, wrote bool           // several do; one writes
	odd         bool           // there are accesses by events or by libraries
}

// protect notes the mutexes with which the present unit accesses granules.
func (c *contest) protect(p *contestPage, in granules) {
	u := &c.unit
	if !c.several && u.mutex == 0 && u.simple {
		return // before all that another strand does
	}
	var part granules
	n, changed := len(p.mutexes), false
	for i := 0; i < n; i++ {
		st := &p.mutexes[i]
		if !part.common(&st.in, &in) {
			continue
		}
		in.without(&part)
		if next := c.protected(st.protection); next != st.protection {
			st.in.without(&part)
			p.addProtection(next, &part)
			changed = true
		}
	}
	if in.any() {
		p.addProtection(c.protected(protection{mutexes: anyLocks, owner: hb.NoStrand}), &in)
	}
	if changed {
		p.mutexes = slices.DeleteFunc(p.mutexes, func(st mutexState) bool { return !st.in.any() })
	}
}

// protected returns what becomes of protection by an access of the present unit.
func (c *contest) protected(st protection) protection {
	u := &c.unit
	if c.several {
		st.mutexes = c.eraser.meet(st.mutexes, u.mutex)
	}
	if u.mutex != 0 {
		switch {
		case st.many:
		case st.owner == hb.NoStrand:
			st.owner = u.own
		case st.owner != u.own:
			st.owner, st.many = hb.NoStrand, true
		}
		st.wrote = st.wrote || u.access.Write
	}
	st.odd = st.odd || !u.simple
	return st
}

func (p *contestPage) addProtection(st protection, in *granules) {
	for i := range p.mutexes {
		if o := &p.mutexes[i]; o.protection == st {
			o.in.with(in)
			return
		}
	}
	p.mutexes = append(p.mutexes, mutexState{st, *in})
}

// parts divides the granules of a page that matter into those on which there may
// be a race and those that only critical sections touch.
func (c *contest) parts(number uint64, p *contestPage) (races, sections granules) {
	races = p.bare
	found := granules{}
	copy(found[:], p.Found)
	for i := range p.mutexes {
		st := &p.mutexes[i]
		var unordered granules
		unordered.common(&found, &st.in)
		found.without(&st.in)
		common := st.many && st.wrote
		switch {
		case st.odd && common:
			races.with(&st.in)
		case st.odd || !c.exclude(st.mutexes):
			races.with(&unordered)
		}
		if common {
			sections.with(&st.in)
		}
	}
	races.with(&found)
	if c.atomic.InPage(number << pageBits) {
		for g := range uint64(pageGranules) {
			if sections[g>>6]>>(g&63)&1 != 0 && c.atomic.Ever(number*pageGranules+g) != 0 {
				races[g>>6] |= 1 << (g & 63)
			}
		}
	}
	sections.without(&races)
	return races, sections
}

// exclude reports whether one of the mutexes of a set kept those who had it apart
// throughout the run, so that happens-before orders them.
func (c *contest) exclude(set int32) bool {
	return set == anyLocks || slices.ContainsFunc(c.eraser.sets[set], func(obj uint64) bool { return !c.mutexes.broken[obj] })
}

// mutexUse follows who holds which mutex.
type mutexUse struct {
	holder map[uint64]event.StrandID
	broken map[uint64]bool // held by two at once, released by another, or initialised again after it was used
	used   map[uint64]bool
	places hb.Places // of those used
}

func (m *mutexUse) take(s event.StrandID, ev *event.Event) {
	switch ev.Kind {
	case event.MutexLock:
		if _, held := m.holder[ev.Obj]; held {
			m.broken[ev.Obj] = true
		}
		m.holder[ev.Obj], m.used[ev.Obj] = s, true
		m.places.Add(ev.Obj)
	case event.MutexUnlock:
		if by, held := m.holder[ev.Obj]; !held || by != s {
			m.broken[ev.Obj] = true
		}
		delete(m.holder, ev.Obj)
	case event.Init, event.Destroy:
		if m.used[ev.Obj] {
			m.broken[ev.Obj] = true
		}
	default:
		if addr, size, ok := hb.LifeOf(ev); ok {
			m.places.Take(addr, size, func(granule uint64) {
				for obj := granule; obj < granule+8; obj++ {
					if m.used[obj] {
						m.broken[obj] = true
					}
				}
			})
		}
	}
}

// guarded is the memory without races that critical sections touch.
type guarded struct {
	pages map[uint64]*granules
	mixed map[segmentOf]struct{} // of threads without lists
	lists []guardedList
	sites []bool // that access it with a mutex
	feeds []*footprints
}

// guardedList is what a list touches of guarded memory.
type guardedList struct {
	extents []guardedExtent
	looked  bool // it is known
	mixed   bool // segments with it in a critical section are mixed
}

// segmentOf is a segment of a thread.
type segmentOf struct {
	thread event.ThreadID
	index  uint64 // events of the thread before it
}

// findMixed finds the mixed segments. What is touched in them is wanted too.
func (w *walker) findMixed(ctx context.Context, s *guarded, sections []bool) error {
	s.mixed, s.sites = map[segmentOf]struct{}{}, make([]bool, len(w.sites))
	s.lists = make([]guardedList, w.kept.Lists())
	also := map[uint64]*granules{}
	take := func(extents []guardedExtent, races bool) (mixed bool, err error) {
		for i := range extents {
			s.sites[extents[i].Site] = true
		}
		if !races || len(extents) == 0 {
			return false, nil
		}
		return true, s.touches(extents, func(t touch) { addGranule(also, t.granule) })
	}
	sites := w.notMuted()
	feeds, stop := w.feeds(sites)
	defer stop()
	for n, in := range sections {
		if !in {
			continue
		}
		f := footprints{kept: w.kept, lists: []replay.Footprint{replay.Footprint(n)}, known: true, sites: sites}
		extents, races, err := w.guardedBy(&f)
		if err != nil {
			return err
		}
		l := &s.lists[n]
		l.extents, l.looked = extents, true
		if l.mixed, err = take(extents, races); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(feeds, func(f *footprints) bool { return !f.known }) {
		err := w.walkMixed(ctx, feeds, func(f *footprints, at segmentOf) error {
			extents, races, err := w.guardedBy(f)
			if err != nil {
				return err
			}
			mixed, err := take(extents, races)
			if mixed {
				s.mixed[at] = struct{}{}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	w.wanted.look(also)
	return nil
}

// walkMixed walks the run and calls visit for the segments in critical sections of
// threads without lists.
func (w *walker) walkMixed(ctx context.Context, feeds []*footprints, visit func(*footprints, segmentOf) error) error {
	run := w.survey.Walk(w.walkOptions())
	var held replay.Held[event.StrandID]
	var strand event.StrandID
	return run.Run(ctx, w.src, &replay.Visitor{
		Segment: func(u *replay.Unit) error {
			f, mine := feeds[u.Thread], held.Of(run.Order.Strand(u.Thread))
			if f.known || !slices.ContainsFunc(mine, func(l replay.Lock) bool { return !l.RW }) {
				return f.skip()
			}
			return visit(f, segmentOf{u.Thread, run.Index[u.Thread]})
		},
		Event: func(ev *format.Event) error {
			strand = run.Order.Strand(ev.Thread)
			if ev.Kind == event.StrandBegin {
				held.Clear(strand)
			}
			return nil
		},
		Done: func(ev *format.Event) error { held.Apply(strand, &ev.Event); return nil },
	})
}

// guardedBy returns the extents of the next segment that touch guarded memory, and
// whether it touches memory with a race.
func (w *walker) guardedBy(f *footprints) (all []guardedExtent, races bool, err error) {
	err = f.next(func(x *fold.Extent) error {
		err := eachBlock(x, func(addr, size uint64) { races = races || w.wanted.meets(addr, addr+size) })
		some, err2 := w.guarded.meets(x)
		if some {
			all = append(all, guardedExtent{*x, w.sites[x.Site].place.Op.Writes()})
		}
		return cmp.Or(err, err2)
	})
	return all, races, err
}

func addGranule(to map[uint64]*granules, g uint64) {
	in := to[g/pageGranules]
	if in == nil {
		in = &granules{}
		to[g/pageGranules] = in
	}
	in.set(g%pageGranules, g%pageGranules)
}

// within calls visit for the granules that [addr, addr+size) touches.
func (s *guarded) within(addr, size uint64, visit func(g uint64)) {
	first, last := addr>>3, (addr+size-1)>>3
	layer.Within(s.pages, first/pageGranules, last/pageGranules, func(number uint64, in *granules) {
		lo, hi := max(first, number*pageGranules), min(last, number*pageGranules+pageGranules-1)
		for g := lo; g <= hi; g++ {
			if in[g%pageGranules>>6]>>(g&63)&1 != 0 {
				visit(g)
			}
		}
	})
}

// eachBlock calls visit for the blocks of an extent, those of a bit map byte by
// byte.
func eachBlock(x *fold.Extent, visit func(addr, size uint64)) error {
	if err := checkExtent(x); err != nil {
		return err
	}
	for i := range x.Count {
		at := x.Base + i*x.Stride
		if x.Bits == nil {
			visit(at, x.Len)
			continue
		}
		for n, w := range x.Bits {
			for ; w != 0; w &= w - 1 {
				visit(at+uint64(64*n+bits.TrailingZeros64(w)), 1)
			}
		}
	}
	return nil
}

// section takes what the critical sections that u is part of touch in it.
func (w *walker) section(u *replay.Unit) error {
	s := w.guarded
	if s == nil || u.Part > 0 {
		return nil
	}
	f, strand := s.feeds[u.Thread], w.run.Order.Strand(u.Thread)
	list, known := f.list()
	if len(w.wcp.strand(strand).held) == 0 || known && list == 0 || w.inMixed(u.Thread) {
		return f.skip()
	}
	if known && s.lists[list].looked {
		return cmp.Or(f.skip(), w.wcp.segment(strand, s.lists[list].extents))
	}
	extents, _, err := w.guardedBy(f)
	if known {
		s.lists[list].extents, s.lists[list].looked = extents, true
	}
	return cmp.Or(err, w.wcp.segment(strand, extents))
}

// inMixed reports whether the present segment of a thread is mixed.
func (w *walker) inMixed(t event.ThreadID) bool {
	if w.guarded == nil {
		return false
	}
	if list, known := w.guarded.feeds[t].list(); known {
		return w.guarded.lists[list].mixed
	}
	_, mixed := w.guarded.mixed[segmentOf{t, w.run.Index[t]}]
	return mixed
}
