package cdr

import (
	"fmt"
	"iter"
	"slices"

	"hindsight/cdr/fold"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// Segment is the part of a thread's execution between two of its ordered events (or its
// beginning, or its end).
type Segment struct {
	Thread event.ThreadID
	// Index is that of the thread's event that ends the segment. The end of the thread
	// ends its last segment.
	Index uint64
	walk  *segmentWalk
	parts []segmentPart
	one   [1]segmentPart // backing array of parts
	store []partSite     // sites of the first part, reused from an earlier segment
}

// segmentPart is the part of a segment in one epoch.
type segmentPart struct {
	epoch int
	sites []partSite
}

type partSite struct {
	site   format.SiteID
	number uint32 // in segmentWalk.sites of the epoch
	count  uint64
	from   uint64 // ordinal of the first in the epoch
	first  uint64 // ordinal of the first in the trace
}

// segmentWalk cuts the control string of a thread at its sync terminals. It
// enters only rules that contain one.
type segmentWalk struct {
	t       *Trace
	thread  event.ThreadID
	wanted  []bool // the sites that the caller wants; nil: all
	epoch   int    // the current epoch
	s       *stretch
	counter *counter
	scratch []siteCount
	stack   []wpp.Step
	sites   []format.SiteID          // the wanted sites of the epoch, in rising order
	inEpoch []uint64                 // executions of each of them in the epoch before the walk
	before  map[format.SiteID]uint64 // executions in earlier epochs
	feeds   []*siteFeed              // one for each of them; nil: not used yet
	extent  fold.Extent              // the extent that is yielded
}

// siteFeed has the addresses of a site in the current epoch of a walk.
type siteFeed struct {
	index  *fold.Index // nil: none were recorded
	busy   bool        // runs of the cursor are being yielded
	cover  int         // in so many following segments, footprints are looked up at once
	width  uint64      // bytes of an access
	cursor fold.Cursor
}

// Segments returns the segments of a thread in order, one more than it has events. Runs
// cost least in the order of the segments, but the caller may ask for them later too. The
// iterator ends after the first error.
//
// Traces in DOR mode have no segments.
func (t *Trace) Segments(th event.ThreadID) iter.Seq2[*Segment, error] {
	return func(yield func(*Segment, error) bool) {
		for next := t.nextSegment(th, nil, false); ; {
			seg, err := next()
			if seg == nil && err == nil || !yield(seg, err) || err != nil {
				return
			}
		}
	}
}

// NextSegment returns a function that returns the segments of a thread one by one, like
// [Trace.Segments], and nil after the last or an error. The last one is left out if it has
// no accesses. A segment is valid until the next call. If sites is not nil, it says of each
// site whether its accesses are wanted; the others are left out and cost nothing.
func (t *Trace) NextSegment(th event.ThreadID, sites []bool) func() (*Segment, error) {
	return t.nextSegment(th, sites, true)
}

// nextSegment is NextSegment. If reuse is set, each segment takes the memory of the
// previous one.
func (t *Trace) nextSegment(th event.ThreadID, sites []bool, reuse bool) func() (*Segment, error) {
	var w *segmentWalk
	index, done, empty := uint64(0), false, false
	var kept *Segment // whose memory the next segment takes
	return func() (*Segment, error) {
		if done {
			return nil, nil
		}
		done = true // unless all goes well
		if empty && reuse {
			return nil, nil
		}
		seg := kept
		if seg != nil {
			seg.begin(th, index)
		} else {
			seg = &Segment{Thread: th, Index: index}
		}
		if empty {
			return seg, nil
		}
		if w == nil {
			if err := t.hasControl(th); err != nil {
				return nil, err
			}
			w = &segmentWalk{t: t, thread: th, wanted: sites, epoch: -1}
			if err := w.nextEpoch(); err != nil {
				return nil, err
			}
		}
		seg.walk = w
		more, err := w.fill(seg)
		if err != nil {
			return nil, err
		}
		index++
		done = !more
		empty = more && w.over()
		if reuse {
			kept = seg
		}
		if done || empty {
			w, kept = nil, nil // a thread that has ended needs no memory until the last thread has ended
		}
		return seg, nil
	}
}

// Empty reports whether the segment has no accesses by the wanted sites.
func (seg *Segment) Empty() bool { return len(seg.parts) == 0 }

// begin makes seg a segment without accesses.
func (seg *Segment) begin(th event.ThreadID, index uint64) {
	store := seg.store
	if len(seg.parts) > 0 {
		store = seg.parts[0].sites
	}
	*seg = Segment{Thread: th, Index: index, store: store[:0]}
}

// over reports whether the walk has ended.
func (w *segmentWalk) over() bool {
	for n := len(w.stack); n > 0; n = len(w.stack) {
		if top := &w.stack[n-1]; int(top.Index) < len(w.s.Grammar.Body(top.Rule)) {
			return false
		}
		w.stack = w.stack[:n-1]
	}
	for i := w.epoch + 1; i < len(w.t.epochs); i++ {
		if w.t.epochs[i].thread(w.thread) != nil {
			return false
		}
	}
	return true
}

// SegmentsAt returns the segments of a thread with the given indices, which must ascend.
// It finds each by synch counts (PPoPP 2003, Algorithm 1), without walking over the
// preceding segments. The iterator ends after the first error.
func (t *Trace) SegmentsAt(th event.ThreadID, indices []uint64) iter.Seq2[*Segment, error] {
	return func(yield func(*Segment, error) bool) {
		if err := t.hasControl(th); err != nil {
			yield(nil, err)
			return
		}
		w := &segmentWalk{t: t, thread: th, epoch: -1}
		err := w.nextEpoch()
		at := uint64(0)
		for _, index := range indices {
			if err == nil {
				err = w.forward(index - at)
			}
			seg := &Segment{Thread: th, Index: index, walk: w}
			if err == nil {
				_, err = w.fill(seg)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(seg, nil) {
				return
			}
			at = index + 1
		}
	}
}

// forward passes n events.
func (w *segmentWalk) forward(n uint64) error {
	for n > 0 {
		if w.s == nil {
			return fmt.Errorf("segment of thread %d: %w", w.thread, ErrNoSuch)
		}
		n -= w.skip(n)
		w.scratch = w.counter.takeInto(w.scratch[:0])
		for _, c := range w.scratch {
			w.inEpoch[c.site] += c.count
		}
		if n > 0 {
			if err := w.nextEpoch(); err != nil {
				return err
			}
		}
	}
	return nil
}

// skip counts everything until after the nth sync terminal from the beginning of the
// walk, or until the end of the epoch, and returns the number of sync terminals passed.
func (w *segmentWalk) skip(n uint64) (passed uint64) {
	s := w.s
	for passed < n && len(w.stack) > 0 {
		top := &w.stack[len(w.stack)-1]
		body := s.Grammar.Body(top.Rule)
		if int(top.Index) >= len(body) {
			w.stack = w.stack[:len(w.stack)-1]
			continue
		}
		x := body[top.Index]
		top.Index++
		switch {
		case !x.IsRule() && s.Terms[x.Terminal()].Kind == format.TermSync:
			passed++
		case !x.IsRule() || s.events.Rule(x.Rule()) == 0:
			w.counter.add(x)
		case s.events.Rule(x.Rule()) < n-passed:
			passed += s.events.Rule(x.Rule())
			w.counter.handDown(x.Rule())
		default:
			w.stack = append(w.stack, wpp.Step{Rule: x.Rule()})
		}
	}
	return passed
}

func (t *Trace) hasControl(th event.ThreadID) error {
	if int(th) >= len(t.threads) {
		return fmt.Errorf("thread %d: %w", th, ErrNoSuch)
	}
	if t.meta.Mode == format.ModeDOR {
		return fmt.Errorf("control flow: %w (record mode dor)", ErrNotRecorded)
	}
	return nil
}

// nextEpoch moves to the next epoch in which the thread did something; s is nil after the
// last.
func (w *segmentWalk) nextEpoch() error {
	for i, n := range w.inEpoch {
		if w.before == nil {
			w.before = map[format.SiteID]uint64{}
		}
		w.before[w.sites[i]] += n
	}
	w.s, w.counter, w.inEpoch, w.feeds = nil, nil, nil, nil
	for w.epoch++; w.epoch < len(w.t.epochs); w.epoch++ {
		s, err := w.t.stretch(w.epoch, w.thread)
		if err != nil {
			return err
		}
		if s != nil {
			w.begin(s)
			w.stack = append(w.stack[:0], wpp.Step{Rule: s.Grammar.Start()})
			break
		}
	}
	return nil
}

// begin starts the walk at the beginning of s.
func (w *segmentWalk) begin(s *stretch) {
	w.s, w.sites = s, s.sites(w.wanted)
	w.counter = newCounter(s, w.sites)
	w.inEpoch, w.feeds = make([]uint64, len(w.sites)), make([]*siteFeed, len(w.sites))
}

// sites returns the wanted sites in the paths of the stretch, ascending. A nil wanted
// means all sites. The result is not nil.
func (s *stretch) sites(wanted []bool) []format.SiteID {
	var blocks []uint32
	for _, x := range s.Terms {
		if x.Kind == format.TermPath {
			blocks = append(blocks, s.tab.PathBlocks(format.PathID(x.A))...)
		}
	}
	slices.Sort(blocks)
	all := []format.SiteID{}
	for _, b := range slices.Compact(blocks) {
		for _, site := range s.tab.BlockSites(&s.tab.Blocks[b]) {
			if wanted == nil || wanted[site] {
				all = append(all, site)
			}
		}
	}
	slices.Sort(all)
	return slices.Clip(slices.Compact(all))
}

// fill walks to the end of the segment. more is false at the end of the thread.
func (w *segmentWalk) fill(seg *Segment) (more bool, err error) {
	for w.s != nil {
		atEvent := w.toEvent()
		w.scratch = w.counter.takeInto(w.scratch[:0])
		if len(w.scratch) > 0 {
			part := segmentPart{epoch: w.epoch}
			if seg.parts == nil {
				seg.parts, part.sites = seg.one[:0], seg.store
			}
			part.sites = slices.Grow(part.sites, len(w.scratch))
			for _, c := range w.scratch {
				from, site := w.inEpoch[c.site], w.sites[c.site]
				first := from
				if w.before != nil {
					first += w.before[site]
				}
				part.sites = append(part.sites, partSite{site: site, number: uint32(c.site), count: c.count, from: from, first: first})
				w.inEpoch[c.site] += c.count
			}
			seg.parts = append(seg.parts, part)
		}
		if atEvent {
			return true, nil
		}
		if err := w.nextEpoch(); err != nil {
			return false, err
		}
	}
	return false, nil
}

// toEvent counts everything up to the next sync terminal and steps over it. It
// reports false at the end of the epoch.
func (w *segmentWalk) toEvent() bool {
	s := w.s
	for len(w.stack) > 0 {
		top := &w.stack[len(w.stack)-1]
		body := s.Grammar.Body(top.Rule)
		if int(top.Index) >= len(body) {
			w.stack = w.stack[:len(w.stack)-1]
			continue
		}
		x := body[top.Index]
		top.Index++
		switch {
		case x.IsRule() && s.events.Rule(x.Rule()) != 0:
			w.stack = append(w.stack, wpp.Step{Rule: x.Rule()})
		case !x.IsRule() && s.Terms[x.Terminal()].Kind == format.TermSync:
			return true
		default:
			w.counter.add(x)
		}
	}
	return false
}

// Runs returns the recorded plain accesses of the segment as strided runs, site by site;
// in a segment that spans epochs, epoch by epoch. It expands nothing, and ends after the
// first error.
func (seg *Segment) Runs() iter.Seq2[fold.Run, error] {
	return func(yield func(fold.Run, error) bool) {
		w := seg.walk
		for _, part := range seg.parts {
			s, err := w.stretchOf(part.epoch)
			if err != nil {
				yield(fold.Run{}, err)
				return
			}
			if s.data == nil {
				continue
			}
			for i := range part.sites {
				p := &part.sites[i]
				f, err := w.feed(s, p)
				if err != nil {
					yield(fold.Run{}, err)
					return
				}
				if !f.each(p, func(r fold.Run) bool {
					r.Site = p.site
					r.First += p.first - p.from
					return yield(r, nil)
				}) {
					return
				}
			}
		}
	}
}

// stretchOf returns the thread's stretch in an epoch. The walk keeps the current stretch,
// so that walks of several threads in turn do not reload theirs when the cache cannot
// hold them all.
func (w *segmentWalk) stretchOf(epoch int) (*stretch, error) {
	if w.s != nil && w.s.epoch == epoch {
		return w.s, nil
	}
	return w.t.stretch(epoch, w.thread)
}

// feed returns the addresses of a site. They are the walk's own feed if that is in the
// epoch and not in use.
func (w *segmentWalk) feed(s *stretch, p *partSite) (*siteFeed, error) {
	own := w.s != nil && w.s.epoch == s.epoch
	if own {
		if f := w.feeds[p.number]; f != nil && !f.busy {
			return f, nil
		}
	}
	x, err := s.addrIndex(p.site)
	if err != nil {
		return nil, err
	}
	skip, size := w.t.Used(p.site)
	if skip != 0 && x != nil {
		later := *x
		later.First += uint64(skip)
		x = &later
	}
	f := &siteFeed{index: x, width: uint64(size), cursor: fold.Cursor{Index: x}}
	if own {
		w.feeds[p.number] = f
	}
	return f, nil
}

// at returns a cursor at the access with that ordinal.
func (f *siteFeed) at(from uint64) *fold.Cursor {
	if f.cursor.At != from || f.cursor.Stack == nil {
		f.cursor.Seek(from)
	}
	return &f.cursor
}

// each yields the accesses of a part. It returns false if yield did.
func (f *siteFeed) each(p *partSite, yield func(fold.Run) bool) bool {
	if f.index == nil {
		return true
	}
	f.busy = true
	more := f.at(p.from).Next(p.from+p.count, yield)
	f.busy = false
	return more
}

// addrIndex returns the index of a site's addresses, or nil if none were recorded.
func (s *stretch) addrIndex(site format.SiteID) (*fold.Index, error) {
	if s.data == nil {
		return nil, nil
	}
	i, ok := s.data.BySite[site]
	if !ok {
		return nil, nil
	}
	if s.indexes != nil && s.indexes[i] != nil {
		return s.indexes[i], nil
	}
	x, err := fold.NewIndex(&s.data.Streams[i], s.data.Terms)
	if err != nil {
		return nil, err
	}
	if s.indexes == nil {
		s.indexes = make([]*fold.Index, len(s.data.Streams))
	}
	s.indexes[i] = x
	return x, nil
}
