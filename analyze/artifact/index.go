package artifact

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"sort"

	"hindsight/analyze/hb"
	"hindsight/analyze/place"
	"hindsight/analyze/race"
	"hindsight/cdr"
	"hindsight/tracefmt/event"
)

// errTooMuch says that the run is beyond what the analysis keeps.
var errTooMuch = errors.New("too many accesses by the racing instructions")

// index knows all executions of the instructions that take part in races, so
// that it can say which of them race, instance by instance, and where the
// events of the run stand.
type index struct {
	sites   map[cdr.SiteID]*siteIndex
	pairs   map[pairKey]int // static pair of sites → index of the race
	seqs    [][]uint64      // for each thread, the places of its events in S_synch
	creates map[event.ThreadID]eventRef
	events  map[sideEvent]event.ThreadID // strands of the events that are sides of races
	tls     uint64
	tps     []uint64 // where the thread-local variables of each thread begin, 0 if unknown
	private allocs   // memory of which each thread has its own part
	allocs  allocs
	atomic  map[uint64]uint8 // by granule: bytes that some atomic access touches
	records int
	clocks  int // words of all clocks
	// compared counts the records looked at in search of races.
	compared int
}

type eventRef struct {
	thread event.ThreadID
	index  uint64
	seq    uint64
}

// sideEvent names an event that is a side of a race.
type sideEvent struct {
	thread event.ThreadID
	index  uint64
}

type pairKey struct{ a, b cdr.SiteID }

func keyOf(a, b cdr.SiteID) pairKey { return pairKey{min(a, b), max(a, b)} }

// siteIndex is the executions of a racing site, in order of each thread and,
// the same records, in order of each strand (see [hb.NoStrand]).
type siteIndex struct {
	site    cdr.Site
	partner []cdr.SiteID // sites that it races with
	threads map[event.ThreadID][]record
	strands map[event.ThreadID]*strandRecords
}

// strandRecords is the executions by a strand, in order.
type strandRecords struct {
	records []record
	// granules finds records of a few accesses; the others are wide. Made when
	// first needed.
	granules map[uint64][]int32
	wide     []int32
}

// fewAccesses is how many accesses a record may have that is found by their
// granules.
const fewAccesses = 16

func (s *strandRecords) build(size uint64) {
	s.granules = map[uint64][]int32{}
	for i := range s.records {
		r := &s.records[i]
		if r.count > fewAccesses && r.stride != 0 {
			s.wide = append(s.wide, int32(i))
			continue
		}
		for k := range min(r.count, fewAccesses) {
			addr := r.base + k*uint64(r.stride)
			for g := addr >> 3; g <= (addr+size-1)>>3; g++ {
				if list := s.granules[g]; len(list) == 0 || list[len(list)-1] != int32(i) {
					s.granules[g] = append(list, int32(i))
				}
			}
		}
	}
}

// near gives the records from index from on that may touch one of n bytes at
// addr, in order.
func (s *strandRecords) near(addr, n uint64, from int) []int32 {
	var out []int32
	add := func(list []int32) {
		i, _ := slices.BinarySearch(list, int32(from))
		out = append(out, list[i:]...)
	}
	add(s.wide)
	for g := addr >> 3; g <= (addr+n-1)>>3; g++ {
		add(s.granules[g])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

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
	strand event.ThreadID // that the thread acts as
	epoch  uint64
	clock  hb.Clock
	start  uint64 // 1 + the place in S_synch of the event that begins it, 0 if none
	end    uint64 // place in S_synch of the event that ends it
}

// before tells whether x happens before y.
func (x *unit) before(y *unit) bool { return y.clock.At(x.strand) >= x.epoch }

// exec is an execution of a racing site, or an event that races.
type exec struct {
	site    cdr.SiteID
	ordinal uint64 // of an event, its index among the thread's
	event   bool
	addr    uint64
	size    uint64
	unit    *unit
}

func (x *exec) thread() event.ThreadID { return x.unit.thread }

// same tells whether two are one.
func (x *exec) same(y *exec) bool {
	return x.site == y.site && x.ordinal == y.ordinal && x.event == y.event && x.unit.thread == y.unit.thread
}

// maxClocks bounds the words of vector clocks that are kept, maxEvents the
// events whose places are.
const (
	maxClocks = 8 << 20
	maxEvents = 16 << 20
)

// indexer fills an index in one pass along S_synch.
type indexer struct {
	*index
	opts   *Options
	order  *hb.Order
	memory *place.Map
	prog   place.Program
	starts []uint64
	last   map[event.ThreadID]hb.Clock // of each strand, the clock that its last unit has
	mute   func(pc uint64) bool        // code of a runtime that says by events what it orders
}

// newIndex makes the index of the plain sides of the races.
func newIndex(ctx context.Context, src race.Source, races []race.Race, prog place.Program, tls uint64, opts *Options) (*index, error) {
	n := src.NumThreads()
	x := &indexer{
		index: &index{sites: map[cdr.SiteID]*siteIndex{}, pairs: map[pairKey]int{}, seqs: make([][]uint64, n),
			creates: map[event.ThreadID]eventRef{}, events: map[sideEvent]event.ThreadID{}, tls: tls, tps: make([]uint64, n),
			atomic: map[uint64]uint8{}, allocs: newAllocs(), private: newAllocs()},
		opts: opts, order: hb.New(), memory: place.NewMap(tls), prog: prog, starts: make([]uint64, n), last: map[event.ThreadID]hb.Clock{},
		mute: func(uint64) bool { return false },
	}
	if rt, ok := prog.(interface{ Runtime(pc uint64) bool }); ok {
		x.mute = rt.Runtime
	}
	x.order.Threads(n)
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
func (x *indexer) findSites(src race.Source, races []race.Race) {
	places := map[race.Place][]cdr.SiteID{}
	for i := range races {
		for _, s := range []*race.Side{&races[i].First.Later, &races[i].First.Earlier} {
			if s.Op.Plain() {
				places[s.Place] = nil
			}
		}
		for _, in := range []*race.Instance{&races[i].First, &races[i].Last} {
			for _, s := range []*race.Side{&in.Later, &in.Earlier} {
				if !s.Op.Plain() {
					x.events[sideEvent{s.Thread, s.Segment}] = s.Thread
				}
			}
		}
	}
	for id := range src.NumSites() {
		s := src.Site(cdr.SiteID(id))
		p := race.Place{PC: s.PC, Op: race.Read}
		if s.Access == event.Write {
			p.Op = race.Write
		}
		if _, ok := places[p]; ok && !x.mute(s.PC) {
			places[p] = append(places[p], cdr.SiteID(id))
			x.sites[cdr.SiteID(id)] = &siteIndex{site: s, threads: map[event.ThreadID][]record{}, strands: map[event.ThreadID]*strandRecords{}}
		}
	}
	for i := range races {
		f := &races[i].First
		for _, a := range places[f.Later.Place] {
			for _, b := range places[f.Earlier.Place] {
				if _, again := x.pairs[keyOf(a, b)]; again {
					continue
				}
				x.pairs[keyOf(a, b)] = i
				x.sites[a].partner = append(x.sites[a].partner, b)
				if a != b {
					x.sites[b].partner = append(x.sites[b].partner, a)
				}
			}
		}
	}
}

// scan is a first walk along S_synch: places of events, atomic bytes, threads
// that nobody creates.
func (x *indexer) scan(ctx context.Context, src race.Source) error {
	total := 0
	for ev, err := range src.Events() {
		if err != nil {
			return err
		}
		if total++; total > maxEvents {
			return errTooMuch
		}
		if total&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if int(ev.Thread) >= len(x.seqs) {
			return fmt.Errorf("%w: event %d", race.ErrSource, ev.Seq)
		}
		x.seqs[ev.Thread] = append(x.seqs[ev.Thread], ev.Seq)
		switch ev.Kind {
		case event.Create:
			x.creates[event.ThreadID(ev.Obj)] = eventRef{ev.Thread, ev.Index, ev.Seq}
		case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
			for i := range uint64(min(ev.Size, 16)) {
				x.atomic[(ev.Obj+i)>>3] |= 1 << ((ev.Obj + i) & 7)
			}
		case event.Alloc, event.Map, event.StackMap, event.Renew:
			x.allocs.add(alloc{ev.Seq, ev.Obj, ev.Arg})
		case event.StrandBegin, event.StrandEnd:
			// The frames below are of others, which run here before and after.
			low := ev.Arg - min(ev.Arg, taskFrames)
			x.allocs.add(alloc{ev.Seq, low, ev.Arg - low})
		case event.Private:
			x.private.add(alloc{ev.Seq, ev.Obj, ev.Arg})
		case event.ThreadStart:
			x.tps[ev.Thread] = ev.Arg
		}
	}
	for t := range x.seqs {
		if _, created := x.creates[event.ThreadID(t)]; !created {
			x.order.Root(event.ThreadID(t))
		}
	}
	return nil
}

// taskFrames is how many bytes of stack the frames of a task are taken to have,
// as package race has it.
const taskFrames = 256 << 10

// pass walks along S_synch with the segments.
func (x *indexer) pass(ctx context.Context, src race.Source) error {
	type cursor struct {
		next func() (race.Segment, error, bool)
		seg  race.Segment
		done bool
	}
	cursors := make([]cursor, len(x.seqs))
	for t := range cursors {
		next, stop := iter.Pull2(src.Segments(event.ThreadID(t)))
		defer stop()
		cursors[t].next = next
	}
	take := func(t event.ThreadID, upTo, end uint64) error {
		c := &cursors[t]
		for !c.done {
			if c.seg == nil {
				seg, err, ok := c.next()
				if err != nil {
					return err
				}
				if c.seg, c.done = seg, !ok; !ok {
					return nil
				}
			}
			if c.seg.Place() > upTo {
				return nil
			}
			if err := x.take(c.seg, t, end); err != nil {
				return err
			}
			c.seg = nil
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	}
	for ev, err := range src.Events() {
		if err != nil {
			return err
		}
		if err := take(ev.Thread, ev.Index, ev.Seq); err != nil {
			return err
		}
		if err := x.order.Acquire(ev.Thread, &ev.Event); err != nil {
			return err
		}
		if k := (sideEvent{ev.Thread, ev.Index}); len(x.events) > 0 {
			if _, ok := x.events[k]; ok {
				x.events[k] = x.order.Strand(ev.Thread)
			}
		}
		if err := x.order.Release(ev.Thread, &ev.Event); err != nil {
			return err
		}
		x.memory.Apply(ev.Thread, ev.Index, &ev.Event)
		if ev.Kind == event.Create && ev.Obj < uint64(len(x.starts)) {
			x.starts[ev.Obj] = ev.Seq + 1
		}
		x.starts[ev.Thread] = ev.Seq + 1
	}
	for t := range cursors {
		if err := take(event.ThreadID(t), math.MaxUint64, math.MaxUint64); err != nil {
			return err
		}
	}
	return nil
}

// take keeps the runs of racing sites in a segment.
func (x *indexer) take(seg race.Segment, t event.ThreadID, end uint64) error {
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
			if u = x.unit(t, end); u == nil {
				return errTooMuch
			}
		}
		put := func(from, to uint64) {
			rec := record{r.Base + from*uint64(r.Stride), r.Stride, to - from, r.First + from, u}
			s.threads[t] = append(s.threads[t], rec)
			if s.strands[u.strand] == nil {
				s.strands[u.strand] = &strandRecords{}
			}
			own := s.strands[u.strand]
			own.records = append(own.records, rec)
			x.records++
		}
		if x.prog == nil || x.prog.User(s.site.PC) {
			put(0, r.Count)
		} else if err := x.library(&r, put); err != nil {
			return err
		}
		if x.records > x.opts.Records {
			return errTooMuch
		}
	}
	return nil
}

// library finds the parts of a run by library code that are to the user's
// memory.
func (x *indexer) library(r *cdr.Run, put func(from, to uint64)) error {
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
		user := x.memory.User(x.prog, r.Base+i*uint64(r.Stride))
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

// unit is the present segment of t; nil when the clocks take too much memory.
// Units of a strand share a clock as long as they have heard of the same of
// other strands.
func (x *indexer) unit(t event.ThreadID, end uint64) *unit {
	now := x.order.Clock(t)
	strand := x.order.Strand(t)
	u := &unit{thread: t, strand: strand, epoch: x.order.Epoch(strand), clock: x.last[strand], start: x.starts[t], end: end}
	same := len(u.clock) == len(now)
	for i := 0; same && i < len(now); i++ {
		same = now[i] == u.clock[i] || event.ThreadID(i) == strand
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

// at is the execution of a racing site with that ordinal; ok is false when it
// is not recorded or none of the user's business.
func (x *index) at(t event.ThreadID, id cdr.SiteID, ordinal uint64) (exec, bool) {
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

// side is the execution of a side of a race.
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

func (s *siteIndex) exec(id cdr.SiteID, r *record, k uint64) exec {
	return exec{site: id, ordinal: r.first + k, addr: r.base + k*uint64(r.stride), size: uint64(s.site.Size), unit: r.unit}
}

// all gives the executions of the site.
func (s *siteIndex) all(id cdr.SiteID) iter.Seq[exec] {
	return func(yield func(exec) bool) {
		for _, strand := range inOrder(s.strands) {
			for i := range s.strands[strand].records {
				r := &s.strands[strand].records[i]
				for k := range r.count {
					if !yield(s.exec(id, r, k)) {
						return
					}
				}
			}
		}
	}
}

// partners gives the executions of site id that race with y, in order for each
// strand.
func (x *index) partners(id cdr.SiteID, y *exec) iter.Seq[exec] {
	return func(yield func(exec) bool) {
		s := x.sites[id]
		size := uint64(s.site.Size)
		for _, strand := range inOrder(s.strands) {
			if strand == y.unit.strand {
				continue
			}
			own := s.strands[strand]
			if own.granules == nil {
				own.build(size)
			}
			list := own.records
			// What races is contiguous in time.
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

// inOrder is the strands that execute a site, in order.
func inOrder(lists map[event.ThreadID]*strandRecords) []event.ThreadID {
	return slices.Sorted(maps.Keys(lists))
}

// overlap is the range of executions of the run that touch one of n bytes at
// addr.
func (r *record) overlap(size, addr, n uint64) (lo, hi uint64) {
	if r.stride == 0 {
		if addr-r.base < size || r.base-addr < n {
			return 0, r.count
		}
		return 0, 0
	}
	// base + k·stride from addr-size+1 to addr+n-1
	low, high, step := int64(addr-r.base)-int64(size)+1, int64(addr-r.base)+int64(n)-1, r.stride
	if step < 0 {
		low, high, step = -high, -low, -step
	}
	if high < 0 {
		return 0, 0
	}
	if low > 0 {
		lo = uint64((low + step - 1) / step)
	}
	return lo, min(uint64(high/step)+1, r.count)
}

// races tells whether two executions race.
func (x *index) races(a, b *exec) bool {
	return a.unit.strand != b.unit.strand && !a.unit.before(b.unit) && !b.unit.before(a.unit) && x.common(a, b)
}

// common tells whether two executions have a byte in common that counts.
func (x *index) common(a, b *exec) bool {
	for at := max(a.addr, b.addr); at-a.addr < a.size && at-b.addr < b.size; at++ {
		if x.atomic[at>>3]>>(at&7)&1 == 0 {
			return !x.allocs.separate(at, a.unit, b.unit) && (a.unit.thread != b.unit.thread || !x.own(a.unit.thread, at))
		}
	}
	return false
}

// own tells whether an address is in memory of which a thread has a part of its
// own, so that its strands, which run one after another, do not race there.
func (x *index) own(t event.ThreadID, addr uint64) bool {
	return x.private.between(addr, 0, math.MaxUint64) || x.tps[t] != 0 && addr-x.tps[t] < x.tls
}

// alloc is the beginning of a life of memory.
type alloc struct{ seq, addr, size uint64 }

// allocs finds those that lie at an address.
type allocs struct {
	pages map[uint64][]alloc // small ones
	large []alloc
}

const (
	allocPage = 16 // bits
	largest   = 64 // pages
)

func newAllocs() allocs { return allocs{pages: map[uint64][]alloc{}} }

func (a *allocs) add(x alloc) {
	first, last := x.addr>>allocPage, (x.addr+max(x.size, 1)-1)>>allocPage
	if last-first > largest {
		a.large = append(a.large, x)
		return
	}
	for p := first; p <= last; p++ {
		a.pages[p] = append(a.pages[p], x)
	}
}

// separate tells whether the memory began another life between two segments.
func (a *allocs) separate(addr uint64, x, y *unit) bool {
	return a.between(addr, x.end, y.start) || a.between(addr, y.end, x.start)
}

// between tells whether the granule of addr began another life by an event
// with a place from end on and below start.
func (a *allocs) between(addr, end, start uint64) bool {
	if end >= start {
		return false
	}
	g := addr >> 3
	for _, list := range [][]alloc{a.pages[addr>>allocPage], a.large} {
		i := sort.Search(len(list), func(i int) bool { return list[i].seq >= end })
		for ; i < len(list) && list[i].seq < start; i++ {
			if x := &list[i]; x.size > 0 && g >= x.addr>>3 && g <= (x.addr+x.size-1)>>3 {
				return true
			}
		}
	}
	return false
}
