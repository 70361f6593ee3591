package resolve

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"hindsight/analyze/race/internal/count"
	"hindsight/analyze/race/internal/pass"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// Pair is a static pair with its instances.
type Pair struct {
	Dynamic     uint64
	First, Last Instance
}

// side is one unit of a meeting.
type side struct {
	thread event.ThreadID
	order  uint64
	// place of the segment, index of the event
	place uint64
}

func (s *side) isEvent() bool { return s.order < replay.Unfinished && s.order&1 != 0 }

// quest is the search for an instance: the spots of one access on each side.
type quest struct {
	later, earlier side
	back           bool // the last instance
	spots          []count.Spot
	x, y           Execution
	addr           uint64
}

// Pairs finds the instances of all pairs of a run with threads threads, and sorts the
// pairs by their first ones.
func Pairs(ctx context.Context, src replay.Source, threads int, accesses []pass.Access, pairs *count.PairTable) ([]Pair, error) {
	var all []*quest
	byPair := map[*count.Pair][2][]*quest{}
	for _, p := range pairs.Pairs {
		qs := [2][]*quest{quests(&p.First, false), quests(&p.Last, true)}
		byPair[p] = qs
		all = append(append(all, qs[0]...), qs[1]...)
	}
	if len(all) == 0 {
		return nil, nil
	}
	if err := findPlaces(ctx, src, threads, all); err != nil {
		return nil, err
	}
	r := resolver{src, accesses, threads}
	for _, round := range []func(*quest) *side{func(q *quest) *side { return &q.later }, func(q *quest) *side { return &q.earlier }} {
		if err := r.round(ctx, all, round); err != nil {
			return nil, err
		}
	}
	out := make([]Pair, 0, len(byPair))
	for p, qs := range byPair {
		r := Pair{Dynamic: p.Dynamic, First: qs[0][0].instance(), Last: qs[1][0].instance()}
		for _, q := range qs[0][1:] {
			if i := q.instance(); i.compare(&r.First) < 0 {
				r.First = i
			}
		}
		for _, q := range qs[1][1:] {
			if i := q.instance(); i.compare(&r.Last) > 0 {
				r.Last = i
			}
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(x, y Pair) int { return x.First.compare(&y.First) })
	return out, nil
}

func (q *quest) instance() Instance { return Instance{Later: q.x, Earlier: q.y, Addr: q.addr} }

// quests returns the searches of a meeting, one for each two accesses.
func quests(m *count.Meeting, back bool) (all []*quest) {
	spots := count.JoinSpots(m.Spots)
	slices.SortFunc(spots, func(a, b count.Spot) int {
		return cmp.Or(cmp.Compare(a.Later.Access, b.Later.Access), cmp.Compare(a.Earlier.Access, b.Earlier.Access), cmp.Compare(a.Page, b.Page))
	})
	for i := 0; i < len(spots); {
		j := i + 1
		for j < len(spots) && spots[j].Later.Access == spots[i].Later.Access && spots[j].Earlier.Access == spots[i].Earlier.Access {
			j++
		}
		q := &quest{later: side{thread: m.LaterThread, order: m.Later}, earlier: side{thread: m.EarlierThread, order: m.Earlier}, back: back, spots: spots[i:j]}
		q.x = Execution{Access: spots[i].Later.Access, Thread: m.LaterThread, ref: ref{Order: m.Later}}
		q.y = Execution{Access: spots[i].Earlier.Access, Thread: m.EarlierThread, ref: ref{Order: m.Earlier}}
		all = append(all, q)
		i = j
	}
	return all
}

// findPlaces finds the segments and events of the units.
func findPlaces(ctx context.Context, src replay.Source, threads int, all []*quest) error {
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
	err := replay.Each(ctx, src, threads, func(ev *replay.Event) error {
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

// resolver looks executions up in a run.
type resolver struct {
	src      replay.Source
	accesses []pass.Access
	threads  int
}

// round finds the executions of one side of all quests.
func (r *resolver) round(ctx context.Context, all []*quest, of func(*quest) *side) error {
	want := make([]map[uint64][]*quest, r.threads)
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
		for seg, err := range segmentsAt(r.src, event.ThreadID(t), places) {
			if err != nil {
				return err
			}
			for _, q := range byPlace[seg.Place()] {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := r.search(seg, q, of(q)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func segmentsAt(src replay.Source, t event.ThreadID, places []uint64) iter.Seq2[replay.Segment, error] {
	if s, ok := src.(replay.Seekable); ok {
		return s.SegmentsAt(t, places)
	}
	return func(yield func(replay.Segment, error) bool) {
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
func (r *resolver) search(seg replay.Segment, q *quest, s *side) error {
	access := q.access(s)
	a := &r.accesses[access]
	t := newTargets(q, s)
	for run, err := range runsOf(seg, a.Site, q.back, t.meets) {
		if err != nil {
			return err
		}
		if ordinal, addr, ok := t.in(run, uint64(a.Size), q.back); ok {
			q.settle(s, ordinal, addr)
			return nil
		}
	}
	return fmt.Errorf("%w: no execution of site %d in segment %d of thread %d is where it raced", replay.ErrTrace, a.Site, seg.Place(), s.thread)
}

func runsOf(seg replay.Segment, site replay.SiteID, back bool, keep func(lo, hi uint64) bool) iter.Seq2[replay.Run, error] {
	if c, ok := seg.(replay.Compressed); ok {
		return c.RunsOf(site, back, keep)
	}
	return func(yield func(replay.Run, error) bool) {
		var all []replay.Run
		for r, err := range seg.Runs() {
			if err != nil {
				yield(replay.Run{}, err)
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
		return q.x.Access
	}
	return q.y.Access
}

// settle sets the execution of a side. That of the later side is set first, and only
// leaves the spots in which it took part.
func (q *quest) settle(s *side, ordinal, addr uint64) {
	if s == &q.later {
		q.x.Ordinal, q.x.Addr = ordinal, addr
		if !s.isEvent() {
			q.spots = narrow(q.spots, addr, laterSide)
		}
		return
	}
	q.y.Ordinal, q.y.Addr = ordinal, addr
	if !s.isEvent() {
		q.spots = narrow(q.spots, addr, earlierSide)
	}
	at := q.spots[0]
	for _, sp := range q.spots[1:] {
		if sp.At() < at.At() {
			at = sp
		}
	}
	q.addr = at.At()
}

func laterSide(s *count.Spot) count.SpotSide   { return s.Later }
func earlierSide(s *count.Spot) count.SpotSide { return s.Earlier }

// narrow returns the granules of spots in which an access that begins at addr
// takes part.
func narrow(spots []count.Spot, addr uint64, of func(*count.Spot) count.SpotSide) (left []count.Spot) {
	for _, g := range []uint64{addr >> 3, addr>>3 + 1} {
		for i := range spots {
			s := spots[i]
			if s.Page == g/count.PerPage && s.Set.Contains(g%count.PerPage) && g<<3+uint64(int64(of(&s).Offset)) == addr {
				s.Set = count.Singleton(g % count.PerPage)
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
	set    count.Granules
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
		offset := of(sp).Offset
		old := t.byPage[sp.Page]
		if old == nil {
			t.pages = append(t.pages, sp.Page)
		}
		if j := slices.IndexFunc(old, func(x target) bool { return x.offset == offset }); j >= 0 {
			old[j].set = old[j].set.Or(sp.Set)
			continue
		}
		t.byPage[sp.Page] = append(old, target{sp.Set, offset})
	}
	slices.Sort(t.pages)
	return t
}

// meets reports whether a target may be in [lo, hi).
func (t *targets) meets(lo, hi uint64) bool {
	i, _ := slices.BinarySearch(t.pages, lo>>count.PageBits)
	return i < len(t.pages) && t.pages[i]<<count.PageBits < hi
}

// at reports whether addr is one of the targets.
func (t *targets) at(addr uint64) bool {
	for _, g := range [2]uint64{addr >> 3, addr>>3 + 1} {
		for i := range t.byPage[g/count.PerPage] {
			x := &t.byPage[g/count.PerPage][i]
			if x.set.Contains(g%count.PerPage) && g<<3+uint64(int64(x.offset)) == addr {
				return true
			}
		}
	}
	return false
}

// in returns the first execution of a run, or the last, that is at a target.
func (t *targets) in(r replay.Run, size uint64, back bool) (ordinal, addr uint64, ok bool) {
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

// leave returns the number of steps from addr on after which accesses of size bytes can
// touch another page than the first one's.
func leave(addr uint64, stride int64, size uint64) uint64 {
	const pageSize = 1 << count.PageBits
	in := addr & (pageSize - 1)
	if stride < 0 {
		return in/-uint64(stride) + 1
	}
	if in+size > pageSize {
		return 1
	}
	return (pageSize-in-size)/uint64(stride) + 1
}
