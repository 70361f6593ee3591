package artifact

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"sort"

	"hindsight/analyze/hb"
	"hindsight/analyze/place"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/cdr/fold"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// errTooMuch says that the run exceeds the limits of what the analysis keeps.
var errTooMuch = errors.New("too many accesses by the racing instructions")

// index has all executions of the instructions that take part in races. It can say which
// of them race, instance by instance, and where the events of the run are.
type index struct {
	sites   map[format.SiteID]*siteIndex
	pairs   map[pairKey]int // static pair of sites → index of the race
	byRace  [][]pairKey     // the same by race, in order
	seqs    [][]uint64      // for each thread, the positions of its events in S_synch
	creates map[event.ThreadID]eventRef
	events  map[sideEvent]event.StrandID // strands of the events that are sides of races
	tls     uint64
	tps     []uint64 // where the thread-local variables of each thread begin; 0 if unknown
	private allocs   // memory of which each thread has its own part
	allocs  allocs
	atomic  *replay.Atomics // bytes that an atomic access touches
	records int
	clocks  int // words of all clocks
	// compared counts the records examined in search of races.
	compared int
	survey   *replay.Survey
	strands  bool // some thread acts as another strand than its own
}

type eventRef struct {
	thread event.ThreadID
	index  uint64
	seq    uint64
}

// sideEvent identifies an event that is a side of a race.
type sideEvent struct {
	thread event.ThreadID
	index  uint64
}

type pairKey struct{ a, b format.SiteID }

func keyOf(a, b format.SiteID) pairKey { return pairKey{min(a, b), max(a, b)} }

// record is a strided run of executions in a segment.
type record struct {
	base   uint64
	stride int64
	count  uint64
	first  uint64 // ordinal
	unit   *unit
}

// unit is a segment.
type unit struct {
	thread event.ThreadID
	strand event.StrandID // that the thread acts as
	epoch  uint64
	clock  hb.Clock
	start  uint64 // 1 + the position in S_synch of the event that begins it; 0 if none
	end    uint64 // position in S_synch of the event that ends it
}

// before reports whether x happens before y.
func (x *unit) before(y *unit) bool { return y.clock.At(x.strand) >= x.epoch }

// exec is an execution of a racing site, or an event that races.
type exec struct {
	site    format.SiteID
	ordinal uint64 // of an event: its index among the thread's events
	event   bool
	addr    uint64
	size    uint64
	unit    *unit
}

func (x *exec) thread() event.ThreadID { return x.unit.thread }

// same reports whether two executions are the same.
func (x *exec) same(y *exec) bool {
	return x.site == y.site && x.ordinal == y.ordinal && x.event == y.event && x.unit.thread == y.unit.thread
}

// maxClocks limits the words of vector clocks that are kept, and maxEvents the events
// whose positions are.
const (
	maxClocks = 8 << 20
	maxEvents = 16 << 20
)

// indexer fills an index in one pass along S_synch.
type indexer struct {
	*index
	opts     *Options
	run      *replay.Walk
	business replay.Business
	last     map[event.StrandID]hb.Clock // for each strand, the clock of its last unit
}

// newIndex returns the index of the plain sides of the races.
func newIndex(ctx context.Context, src replay.Source, races []race.Race, prog place.Program, tls uint64, opts *Options) (*index, error) {
	n := src.NumThreads()
	x := &indexer{
		index: &index{sites: map[format.SiteID]*siteIndex{}, pairs: map[pairKey]int{}, seqs: make([][]uint64, n),
			creates: map[event.ThreadID]eventRef{}, events: map[sideEvent]event.StrandID{}, tls: tls, tps: make([]uint64, n),
			allocs: newAllocs(), private: newAllocs()},
		opts: opts, business: replay.NewBusiness(prog), last: map[event.StrandID]hb.Clock{},
	}
	x.findSites(src, races)
	if err := x.scan(ctx, src); err != nil {
		return nil, err
	}
	if err := x.pass(ctx, src); err != nil {
		return nil, err
	}
	return x.index, nil
}

// findSites finds the sites of the races' places and pairs them.
func (x *indexer) findSites(src replay.Source, races []race.Race) {
	places := map[race.Place][]format.SiteID{}
	for i := range races {
		for _, s := range []*race.Side{&races[i].First.Later, &races[i].First.Earlier} {
			if s.Op.Plain() {
				places[s.Place] = nil
			}
		}
		for _, in := range []*race.Instance{&races[i].First, &races[i].Last} {
			for _, s := range []*race.Side{&in.Later, &in.Earlier} {
				if !s.Op.Plain() {
					x.events[sideEvent{s.Thread, s.Segment}] = s.Thread.Strand()
				}
			}
		}
	}
	for id := range src.NumSites() {
		s := src.Site(format.SiteID(id))
		p := race.Place{PC: s.PC, Op: replay.SiteOp(&s)}
		if _, ok := places[p]; ok && !x.business.Muted(s.PC) {
			places[p] = append(places[p], format.SiteID(id))
			x.sites[format.SiteID(id)] = &siteIndex{site: s, threads: map[event.ThreadID][]record{}, strands: map[event.StrandID]*strandRecords{}}
		}
	}
	x.byRace = make([][]pairKey, len(races))
	for i := range races {
		f := &races[i].First
		for _, a := range places[f.Later.Place] {
			for _, b := range places[f.Earlier.Place] {
				if _, again := x.pairs[keyOf(a, b)]; again {
					continue
				}
				x.pairs[keyOf(a, b)] = i
				x.byRace[i] = append(x.byRace[i], keyOf(a, b))
				x.sites[a].partner = append(x.sites[a].partner, b)
				if a != b {
					x.sites[b].partner = append(x.sites[b].partner, a)
				}
			}
		}
		slices.SortFunc(x.byRace[i], func(p, q pairKey) int { return cmp.Or(cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b)) })
	}
}

// writesAndReads returns the sites of race k that write and those that read, as
// pairs, in order.
func (x *index) writesAndReads(k int) iter.Seq2[format.SiteID, format.SiteID] {
	return func(yield func(write, read format.SiteID) bool) {
		for _, key := range x.byRace[k] {
			a, b := key.a, key.b
			if x.sites[a].site.Access != event.Write {
				a, b = b, a
			}
			if x.sites[a].site.Access != x.sites[b].site.Access && !yield(a, b) {
				return
			}
		}
	}
}

// scan is the first walk along S_synch. It finds the positions of events, atomic bytes,
// and threads that no thread creates.
func (x *indexer) scan(ctx context.Context, src replay.Source) (err error) {
	total := 0
	x.survey, err = replay.NewSurvey(ctx, src, len(x.seqs), false, &x.business, func(ev *replay.Event) error {
		if total++; total > maxEvents {
			return errTooMuch
		}
		x.seqs[ev.Thread] = append(x.seqs[ev.Thread], ev.Seq)
		switch ev.Kind {
		case event.Create:
			x.creates[event.ThreadID(ev.Obj)] = eventRef{ev.Thread, ev.Index, ev.Seq}
		case event.Private:
			x.private.add(alloc{ev.Seq, ev.Obj, ev.Arg})
		case event.ThreadLocal:
			x.private.add(alloc{ev.Seq, ev.Obj, uint64(ev.Size)})
		case event.ThreadStart:
			x.tps[ev.Thread] = ev.Arg
		case event.ThreadPointer:
			x.tps[ev.Thread] = ev.Obj
		}
		return nil
	})
	x.atomic = x.survey.Atomic
	return err
}

// pass walks along S_synch with the segments.
func (x *indexer) pass(ctx context.Context, src replay.Source) error {
	wanted := make([]bool, src.NumSites())
	for id := range x.sites {
		wanted[id] = true
	}
	cursors := replay.NewCursors(src, x.survey.Threads, wanted)
	defer cursors.Close()
	x.run = x.survey.Walk(replay.Options{TLSSize: x.tls, Share: true})
	return x.run.Run(ctx, src, &replay.Visitor{
		Segment: func(u *replay.Unit) error {
			for {
				seg, err := cursors.Next(u)
				if err != nil || seg == nil {
					return err
				}
				if err := x.take(seg, u); err != nil {
					return err
				}
				if err := ctx.Err(); err != nil {
					return err
				}
			}
		},
		Event: func(ev *replay.Event) error {
			if k := (sideEvent{ev.Thread, ev.Index}); len(x.events) > 0 {
				if _, ok := x.events[k]; ok {
					x.events[k] = x.run.Order.Strand(ev.Thread)
				}
			}
			return nil
		},
		Life: func(addr, size, at uint64) error {
			x.allocs.add(alloc{at - 1, addr, size})
			return nil
		},
	})
}

// take adds the runs of racing sites in a segment.
func (x *indexer) take(seg replay.Segment, of *replay.Unit) error {
	var u *unit
	for r, err := range seg.Runs() {
		if err != nil {
			return err
		}
		s := x.sites[r.Site]
		if s == nil {
			continue
		}
		if u == nil {
			if u = x.unit(of); u == nil {
				return errTooMuch
			}
		}
		put := func(from, to uint64) {
			rec := record{r.Base + from*uint64(r.Stride), r.Stride, to - from, r.First + from, u}
			s.threads[u.thread] = append(s.threads[u.thread], rec)
			if s.strands[u.strand] == nil {
				s.strands[u.strand] = &strandRecords{}
			}
			own := s.strands[u.strand]
			own.records = append(own.records, rec)
			x.records++
		}
		if x.business.User(s.site.PC) {
			put(0, r.Count)
		} else if err := x.byLibrary(s.site.PC, &r, put); err != nil {
			return err
		}
		if x.records > x.opts.Records {
			return errTooMuch
		}
	}
	return nil
}

// byLibrary returns the parts of a run by library code at pc that access the user's
// memory.
func (x *indexer) byLibrary(pc uint64, r *fold.Run, put func(from, to uint64)) error {
	const limit = 1 << 20
	if r.Count > limit && r.Stride != 0 {
		return errTooMuch
	}
	step := uint64(1)
	if r.Stride == 0 {
		step = r.Count
	}
	from, in := uint64(0), false
	for i := uint64(0); i < r.Count; i += step {
		user := x.business.Counts(x.run.Memory, pc, r.Base+i*uint64(r.Stride))
		if user && !in {
			from = i
		}
		if !user && in {
			put(from, i)
		}
		in = user
	}
	if in {
		put(from, r.Count)
	}
	return nil
}

// unit returns the unit of a segment, or nil if the clocks take too much memory. Units of
// a strand share a clock as long as they know the same about other strands.
func (x *indexer) unit(of *replay.Unit) *unit {
	t, order := of.Thread, x.run.Order
	now := order.Clock(t)
	strand := order.Strand(t)
	x.strands = x.strands || strand != t.Strand()
	u := &unit{thread: t, strand: strand, epoch: order.Epoch(strand), clock: x.last[strand], start: of.Start, end: of.Seq}
	same := len(u.clock) == len(now)
	for i := 0; same && i < len(now); i++ {
		same = now[i] == u.clock[i] || event.StrandID(i) == strand
	}
	if !same {
		u.clock = slices.Clone(now)
		x.last[strand] = u.clock
		if x.clocks += len(now); x.clocks > maxClocks {
			return nil
		}
	}
	return u
}

// at returns the execution of the racing site with that ordinal. ok is false if it is not
// recorded or none of the user's business.
func (x *index) at(t event.ThreadID, id format.SiteID, ordinal uint64) (exec, bool) {
	s := x.sites[id]
	if s == nil {
		return exec{}, false
	}
	list := s.threads[t]
	i := sort.Search(len(list), func(i int) bool { return list[i].first > ordinal }) - 1
	if i < 0 || ordinal-list[i].first >= list[i].count {
		return exec{}, false
	}
	return s.exec(id, &list[i], ordinal-list[i].first), true
}

// side returns the execution of a side of a race.
func (x *index) side(s *race.Side) (exec, bool) {
	if s.Op.Plain() {
		return x.at(s.Thread, s.Site, s.Ordinal)
	}
	if int(s.Thread) >= len(x.seqs) {
		return exec{}, false
	}
	u := &unit{thread: s.Thread, strand: x.events[sideEvent{s.Thread, s.Segment}], end: s.Seq, start: s.Seq + 1}
	return exec{ordinal: s.Segment, event: true, addr: s.Address, size: s.Size, unit: u}, true
}

func (s *siteIndex) exec(id format.SiteID, r *record, k uint64) exec {
	return exec{site: id, ordinal: r.first + k, addr: r.base + k*uint64(r.stride), size: uint64(s.site.Size), unit: r.unit}
}

// partners returns the executions of site id that race with y, in order for each
// strand.
func (x *index) partners(id format.SiteID, y *exec) iter.Seq[exec] {
	return func(yield func(exec) bool) {
		s := x.sites[id]
		size := uint64(s.site.Size)
		for _, strand := range s.inOrder() {
			if strand == y.unit.strand {
				continue
			}
			own := s.strands[strand]
			if own.granules == nil {
				own.build(size)
			}
			list := own.records
			// The racing executions are contiguous in time.
			from := sort.Search(len(list), func(i int) bool { return !list[i].unit.before(y.unit) })
			for _, i := range own.near(y.addr, y.size, from) {
				r := &list[i]
				if y.unit.before(r.unit) {
					break
				}
				x.compared++
				lo, hi := r.overlap(size, y.addr, y.size)
				for k := lo; k < hi; k++ {
					e := s.exec(id, r, k)
					if x.common(&e, y) && !yield(e) {
						return
					}
				}
			}
		}
	}
}

// races reports whether two executions race.
func (x *index) races(a, b *exec) bool {
	return a.unit.strand != b.unit.strand && !a.unit.before(b.unit) && !b.unit.before(a.unit) && x.common(a, b)
}

// common reports whether two executions have a common byte that counts.
func (x *index) common(a, b *exec) bool {
	for at := max(a.addr, b.addr); at-a.addr < a.size && at-b.addr < b.size; at++ {
		if x.atomic.Ever(at>>3)>>(at&7)&1 == 0 {
			return !x.allocs.separate(at, a.unit, b.unit) && (a.unit.thread != b.unit.thread || !x.own(a.unit.thread, at))
		}
	}
	return false
}

// own reports whether an address is in memory of which a thread has its own part. The
// strands of the thread run there one after another, so they do not race.
func (x *index) own(t event.ThreadID, addr uint64) bool {
	return x.private.between(addr, 0, math.MaxUint64) || x.tps[t] != 0 && addr-x.tps[t] < x.tls
}
