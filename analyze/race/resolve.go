package race

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math/bits"
	"slices"

	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// What was counted knows the two units of the first and the last instance of a
// static pair, and where they meet. Which executions these are is looked up
// here: the runs of one site in one segment are walked from the front, or from
// the back, until one of them touches such a place.

// resolved is a static pair with its instances.
type resolved struct {
	dynamic     uint64
	first, last instance
}

// side is one unit of a meeting.
type side struct {
	thread event.ThreadID
	order  uint64
	// place of the segment, index of the event
	place uint64
}

func (s *side) isEvent() bool { return s.order < replay.Unfinished && s.order&1 != 0 }

// quest is the search for an instance: spots of one access on each side.
type quest struct {
	later, earlier side
	back           bool // the last instance
	spots          []spot
	x, y           execution
	addr           uint64
}

// resolve finds the instances of all pairs and sorts these by the first ones.
func (e *engine) resolve(ctx context.Context, src Source) ([]resolved, error) {
	var all []*quest
	byPair := map[*pair][2][]*quest{}
	for _, p := range e.pairs.pairs {
		qs := [2][]*quest{quests(&p.first, false), quests(&p.last, true)}
		byPair[p] = qs
		all = append(append(all, qs[0]...), qs[1]...)
	}
	if len(all) == 0 {
		return nil, nil
	}
	if err := findPlaces(ctx, src, e.survey.Threads, all); err != nil {
		return nil, err
	}
	for _, round := range []func(*quest) *side{func(q *quest) *side { return &q.later }, func(q *quest) *side { return &q.earlier }} {
		if err := e.round(ctx, src, all, round); err != nil {
			return nil, err
		}
	}
	out := make([]resolved, 0, len(byPair))
	for p, qs := range byPair {
		r := resolved{dynamic: p.dynamic, first: qs[0][0].instance(), last: qs[1][0].instance()}
		for _, q := range qs[0][1:] {
			if i := q.instance(); i.compare(&r.first) < 0 {
				r.first = i
			}
		}
		for _, q := range qs[1][1:] {
			if i := q.instance(); i.compare(&r.last) > 0 {
				r.last = i
			}
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(x, y resolved) int { return x.first.compare(&y.first) })
	return out, nil
}

func (q *quest) instance() instance { return instance{later: q.x, earlier: q.y, addr: q.addr} }

// quests are the searches of a meeting, one for each two accesses.
func quests(m *meeting, back bool) (all []*quest) {
	spots := joinSpots(m.spots)
	slices.SortFunc(spots, func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.later.access, b.later.access), cmp.Compare(a.earlier.access, b.earlier.access), cmp.Compare(a.page, b.page))
	})
	for i := 0; i < len(spots); {
		j := i + 1
		for j < len(spots) && spots[j].later.access == spots[i].later.access && spots[j].earlier.access == spots[i].earlier.access {
			j++
		}
		q := &quest{later: side{thread: m.laterThread, order: m.later}, earlier: side{thread: m.earlierThread, order: m.earlier}, back: back, spots: spots[i:j]}
		q.x = execution{access: spots[i].later.access, thread: m.laterThread, ref: ref{order: m.later}}
		q.y = execution{access: spots[i].earlier.access, thread: m.earlierThread, ref: ref{order: m.earlier}}
		all = append(all, q)
		i = j
	}
	return all
}

// findPlaces finds the segments and events that the units are.
func findPlaces(ctx context.Context, src Source, threads int, all []*quest) error {
	bySeq := map[uint64][]*side{}
	for _, q := range all {
		for _, s := range []*side{&q.later, &q.earlier} {
			seq := s.order / 2
			if s.order >= replay.Unfinished {
				seq = replay.Unfinished + uint64(s.thread)
			}
			bySeq[seq] = append(bySeq[seq], s)
		}
	}
	events := make([]uint64, threads)
	err := replay.Each(ctx, src, threads, func(ev *Event) error {
		for _, s := range bySeq[ev.Seq] {
			s.place = ev.Index
		}
		events[ev.Thread] = ev.Index + 1
		return nil
	})
	for t, n := range events {
		for _, s := range bySeq[replay.Unfinished+uint64(t)] {
			s.place = n
		}
	}
	return err
}

// round finds the executions of one side of all quests.
func (e *engine) round(ctx context.Context, src Source, all []*quest, of func(*quest) *side) error {
	want := make([]map[uint64][]*quest, e.survey.Threads)
	for _, q := range all {
		s := of(q)
		if s.isEvent() {
			q.settle(s, s.place, 0)
			continue
		}
		if want[s.thread] == nil {
			want[s.thread] = map[uint64][]*quest{}
		}
		want[s.thread][s.place] = append(want[s.thread][s.place], q)
	}
	for t, byPlace := range want {
		places := make([]uint64, 0, len(byPlace))
		for p := range byPlace {
			places = append(places, p)
		}
		slices.Sort(places)
		for seg, err := range segmentsAt(src, event.ThreadID(t), places) {
			if err != nil {
				return err
			}
			for _, q := range byPlace[seg.Place()] {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := e.search(seg, q, of(q)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func segmentsAt(src Source, t event.ThreadID, places []uint64) iter.Seq2[Segment, error] {
	if s, ok := src.(seekable); ok {
		return s.SegmentsAt(t, places)
	}
	return func(yield func(Segment, error) bool) {
		for seg, err := range src.Segments(t) {
			if err != nil {
				yield(nil, err)
				return
			}
			if _, ok := slices.BinarySearch(places, seg.Place()); ok && !yield(seg, nil) {
				return
			}
		}
	}
}

// search finds the execution of a side of q that is in a segment.
func (e *engine) search(seg Segment, q *quest, s *side) error {
	access := q.access(s)
	a := &e.accesses[access]
	t := newTargets(q, s)
	for r, err := range runsOf(seg, a.site, q.back, t.meets) {
		if err != nil {
			return err
		}
		if ordinal, addr, ok := t.in(r, uint64(a.size), q.back); ok {
			q.settle(s, ordinal, addr)
			return nil
		}
	}
	return fmt.Errorf("%w: no execution of site %d in segment %d of thread %d is where it raced", ErrSource, a.site, seg.Place(), s.thread)
}

func runsOf(seg Segment, site SiteID, back bool, keep func(lo, hi uint64) bool) iter.Seq2[Run, error] {
	if c, ok := seg.(compressed); ok {
		return c.RunsOf(site, back, keep)
	}
	return func(yield func(Run, error) bool) {
		var all []Run
		for r, err := range seg.Runs() {
			if err != nil {
				yield(Run{}, err)
				return
			}
			if r.Site == site {
				all = append(all, r)
			}
		}
		if back {
			slices.Reverse(all)
		}
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (q *quest) access(s *side) uint32 {
	if s == &q.later {
		return q.x.access
	}
	return q.y.access
}

// settle notes the execution of a side; that of the later one is settled first
// and leaves the spots where it took part.
func (q *quest) settle(s *side, ordinal, addr uint64) {
	if s == &q.later {
		q.x.ordinal, q.x.addr = ordinal, addr
		if !s.isEvent() {
			q.spots = narrow(q.spots, addr, laterSide)
		}
		return
	}
	q.y.ordinal, q.y.addr = ordinal, addr
	if !s.isEvent() {
		q.spots = narrow(q.spots, addr, earlierSide)
	}
	at := q.spots[0]
	for _, sp := range q.spots[1:] {
		if sp.at() < at.at() {
			at = sp
		}
	}
	q.addr = at.at()
}

func laterSide(s *spot) spotSide   { return s.later }
func earlierSide(s *spot) spotSide { return s.earlier }

// at is the first common byte of the spot's first granule.
func (s *spot) at() uint64 {
	return (s.page*perPage+s.set.first())<<3 + uint64(bits.TrailingZeros8(s.common))
}

// narrow returns the granules of spots in which an access that begins at addr
// takes part.
func narrow(spots []spot, addr uint64, of func(*spot) spotSide) (left []spot) {
	for _, g := range []uint64{addr >> 3, addr>>3 + 1} {
		for i := range spots {
			s := spots[i]
			if s.page == g/perPage && s.set.contains(g%perPage) && g<<3+uint64(int64(of(&s).offset)) == addr {
				s.set = singleton(g % perPage)
				left = append(left, s)
			}
		}
	}
	return left
}

// targets are the addresses at which an access of a site counts.
type targets struct {
	pages  []uint64 // in order
	byPage map[uint64][]target
}

type target struct {
	set    granules
	offset int8
}

func newTargets(q *quest, s *side) *targets {
	of := laterSide
	if s == &q.earlier {
		of = earlierSide
	}
	t := &targets{byPage: map[uint64][]target{}}
	for i := range q.spots {
		sp := &q.spots[i]
		offset := of(sp).offset
		old := t.byPage[sp.page]
		if old == nil {
			t.pages = append(t.pages, sp.page)
		}
		if j := slices.IndexFunc(old, func(x target) bool { return x.offset == offset }); j >= 0 {
			old[j].set = old[j].set.or(sp.set)
			continue
		}
		t.byPage[sp.page] = append(old, target{sp.set, offset})
	}
	slices.Sort(t.pages)
	return t
}

// meets says whether a target may be in [lo, hi).
func (t *targets) meets(lo, hi uint64) bool {
	i, _ := slices.BinarySearch(t.pages, lo>>pageBits)
	return i < len(t.pages) && t.pages[i]<<pageBits < hi
}

// at says whether addr is one of the targets.
func (t *targets) at(addr uint64) bool {
	for _, g := range [2]uint64{addr >> 3, addr>>3 + 1} {
		for i := range t.byPage[g/perPage] {
			x := &t.byPage[g/perPage][i]
			if x.set.contains(g%perPage) && g<<3+uint64(int64(x.offset)) == addr {
				return true
			}
		}
	}
	return false
}

// in finds the first execution of a run, or the last, that is at a target.
func (t *targets) in(r Run, size uint64, back bool) (ordinal, addr uint64, ok bool) {
	if r.Stride == 0 {
		if back {
			r.First += r.Count - 1
		}
		return r.First, r.Base, t.at(r.Base)
	}
	base, stride := r.Base, r.Stride
	if back {
		base, stride = r.Base+uint64(r.Stride)*(r.Count-1), -r.Stride
	}
	for i := uint64(0); i < r.Count; {
		addr = base + i*uint64(stride)
		if !t.meets(addr, addr+size) {
			i += leave(addr, stride, size)
			continue
		}
		if t.at(addr) {
			if back {
				i = r.Count - 1 - i
			}
			return r.First + i, addr, true
		}
		i++
	}
	return 0, 0, false
}

// leave is after how many steps from addr on accesses of size bytes can touch
// another page than the first one's.
func leave(addr uint64, stride int64, size uint64) uint64 {
	const pageSize = 1 << pageBits
	in := addr & (pageSize - 1)
	if stride < 0 {
		return in/-uint64(stride) + 1
	}
	if in+size > pageSize {
		return 1
	}
	return (pageSize-in-size)/uint64(stride) + 1
}
