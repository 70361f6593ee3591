package cdr

import (
	"fmt"
	"iter"

	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// Segment is the stretch of a thread's execution between two of its ordered
// events (or its beginning, or its end).
type Segment struct {
	Thread event.ThreadID
	// Index says that the segment ends with the thread's event of that index;
	// the last segment of a thread ends with the thread.
	Index uint64
	// Executed is the number of plain accesses in the segment, recorded or not.
	Executed uint64

	walk  *segmentWalk
	parts []segmentPart
	one   [1]segmentPart // where parts begins
}

// segmentPart is what of a segment lies in one epoch.
type segmentPart struct {
	epoch int
	sites []partSite
}

type partSite struct {
	site  SiteID
	count uint64
	from  uint64 // ordinal of the first in the epoch
	first uint64 // and in the trace
}

// segmentWalk cuts the control string of a thread at its sync terminals. It
// enters only rules that hold one.
type segmentWalk struct {
	t       *Trace
	thread  event.ThreadID
	epoch   int // being walked
	s       *stretch
	counter *counter
	scratch []siteCount
	stack   []wpp.Step
	inEpoch []uint64      // executions of each site before the walk, in the epoch
	before  []uint64      // and in the epochs before
	cursors []*addrCursor // by site
	cursed  int           // epoch of cursors
}

// Segments gives the segments of a thread in order: one more than it has
// events. Runs are cheapest to get in the order of the segments, and may be
// asked for later too. The iterator ends after the first error.
//
// Traces in DOR mode have no segments.
func (t *Trace) Segments(th event.ThreadID) iter.Seq2[*Segment, error] {
	return func(yield func(*Segment, error) bool) {
		for next := t.NextSegment(th); ; {
			seg, err := next()
			if seg == nil && err == nil || !yield(seg, err) || err != nil {
				return
			}
		}
	}
}

// NextSegment gives a function that gives the segments of a thread one by one,
// like [Trace.Segments], and nil after the last or an error.
func (t *Trace) NextSegment(th event.ThreadID) func() (*Segment, error) {
	var w *segmentWalk
	index, done := uint64(0), false
	return func() (*Segment, error) {
		if done {
			return nil, nil
		}
		done = true // unless all goes well
		if w == nil {
			if err := t.hasControl(th); err != nil {
				return nil, err
			}
			w = t.newSegmentWalk(th)
			if err := w.nextEpoch(); err != nil {
				return nil, err
			}
		}
		seg := &Segment{Thread: th, Index: index, walk: w}
		more, err := w.fill(seg)
		if err != nil {
			return nil, err
		}
		index++
		done = !more
		return seg, nil
	}
}

func (t *Trace) newSegmentWalk(th event.ThreadID) *segmentWalk {
	return &segmentWalk{t: t, thread: th, epoch: -1, inEpoch: make([]uint64, t.NumSites()), before: make([]uint64, t.NumSites())}
}

// SegmentsAt gives the segments of a thread with the given indices, which must
// rise. It goes down the grammar by synch counts (PPoPP 2003, algorithm 1)
// instead of past all that is before. The iterator ends after the first error.
func (t *Trace) SegmentsAt(th event.ThreadID, indices []uint64) iter.Seq2[*Segment, error] {
	return func(yield func(*Segment, error) bool) {
		if err := t.hasControl(th); err != nil {
			yield(nil, err)
			return
		}
		w := t.newSegmentWalk(th)
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

// skip counts everything up to behind the n-th sync terminal from where the
// walk begins, or to the end of the epoch, and gives the number of sync
// terminals passed.
func (w *segmentWalk) skip(n uint64) (passed uint64) {
	s := w.s
	for passed < n && len(w.stack) > 0 {
		top := &w.stack[len(w.stack)-1]
		body := s.g.Body(top.Rule)
		if int(top.Index) >= len(body) {
			w.stack = w.stack[:len(w.stack)-1]
			continue
		}
		x := body[top.Index]
		top.Index++
		switch {
		case !x.IsRule() && s.terms[x.Terminal()].kind == termSync:
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
	if t.meta.Mode == ModeDOR {
		return fmt.Errorf("control flow: %w (record mode dor)", ErrNotRecorded)
	}
	return nil
}

// nextEpoch goes on to the next epoch in which the thread did something; s is
// nil behind the last.
func (w *segmentWalk) nextEpoch() error {
	for site, n := range w.inEpoch {
		w.before[site] += n
		w.inEpoch[site] = 0
	}
	w.s, w.counter = nil, nil
	for w.epoch++; w.epoch < len(w.t.epochs); w.epoch++ {
		s, err := w.t.stretch(w.epoch, w.thread)
		if err != nil {
			return err
		}
		if s != nil {
			w.s, w.counter = s, newCounter(s)
			w.stack = append(w.stack[:0], wpp.Step{Rule: s.g.Start()})
			break
		}
	}
	return nil
}

// fill walks to the end of the segment. more is false when that is the end of
// the thread.
func (w *segmentWalk) fill(seg *Segment) (more bool, err error) {
	for w.s != nil {
		atEvent := w.toEvent()
		if w.scratch = w.counter.takeInto(w.scratch[:0]); len(w.scratch) > 0 {
			v := w.scratch
			part := segmentPart{epoch: w.epoch, sites: make([]partSite, len(v))}
			for i, c := range v {
				from := w.inEpoch[c.site]
				part.sites[i] = partSite{site: c.site, count: c.count, from: from, first: w.before[c.site] + from}
				w.inEpoch[c.site] += c.count
				seg.Executed += c.count
			}
			if seg.parts == nil {
				seg.parts = seg.one[:0]
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

// toEvent counts everything up to the next sync terminal and passes it. It
// reports false at the end of the epoch.
func (w *segmentWalk) toEvent() bool {
	s := w.s
	for len(w.stack) > 0 {
		top := &w.stack[len(w.stack)-1]
		body := s.g.Body(top.Rule)
		if int(top.Index) >= len(body) {
			w.stack = w.stack[:len(w.stack)-1]
			continue
		}
		x := body[top.Index]
		top.Index++
		switch {
		case x.IsRule() && s.events.Rule(x.Rule()) != 0:
			w.stack = append(w.stack, wpp.Step{Rule: x.Rule()})
		case !x.IsRule() && s.terms[x.Terminal()].kind == termSync:
			return true
		default:
			w.counter.add(x)
		}
	}
	return false
}

// Runs gives the recorded plain accesses of the segment as strided runs, site
// by site (a segment that spans epochs: epoch by epoch). Nothing is expanded.
// It ends after the first error.
func (seg *Segment) Runs() iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		w := seg.walk
		for _, part := range seg.parts {
			s, err := w.stretchOf(part.epoch)
			if err != nil {
				yield(Run{}, err)
				return
			}
			if s.data == nil {
				continue
			}
			for _, p := range part.sites {
				c, err := w.cursor(s, p.site)
				if err != nil {
					yield(Run{}, err)
					return
				}
				if c == nil {
					continue
				}
				if c.at != p.from || c.stack == nil {
					c.seek(p.from)
				}
				c.busy = true
				more := c.next(p.from+p.count, func(r Run) bool {
					r.Site = p.site
					r.First += p.first - p.from
					return yield(r, nil)
				})
				c.busy = false
				if !more {
					c.stack = nil
					return
				}
			}
		}
	}
}

// stretchOf gives the thread's stretch in an epoch. The one being walked is at
// hand, so that walks of several threads in turn do not load theirs again and
// again when the cache cannot hold them all.
func (w *segmentWalk) stretchOf(epoch int) (*stretch, error) {
	if w.s != nil && w.s.epoch == epoch {
		return w.s, nil
	}
	return w.t.stretch(epoch, w.thread)
}

// cursor gives the walk's cursor in the addresses of a site; nil when none
// were recorded.
func (w *segmentWalk) cursor(s *stretch, site SiteID) (*addrCursor, error) {
	if w.cursors == nil || w.cursed != s.epoch {
		w.cursors, w.cursed = make([]*addrCursor, len(w.inEpoch)), s.epoch
	}
	if c := w.cursors[site]; c != nil && !c.busy {
		return c, nil
	}
	x, err := s.addrIndex(site)
	if err != nil {
		return nil, err
	}
	var c *addrCursor
	if x != nil {
		c = &addrCursor{x: x}
	}
	w.cursors[site] = c
	return c, nil
}

// addrIndex gives the index of a site's addresses; nil when none were
// recorded.
func (s *stretch) addrIndex(site SiteID) (*addrIndex, error) {
	if s.data == nil {
		return nil, nil
	}
	if int(site) < len(s.indexes) && s.indexes[site] != nil {
		return s.indexes[site], nil
	}
	i, ok := s.data.bySite[site]
	if !ok {
		return nil, nil
	}
	x, err := newAddrIndex(&s.data.streams[i], s.data.terms)
	if err != nil {
		return nil, err
	}
	if s.indexes == nil {
		s.indexes = make([]*addrIndex, len(s.tab.sites))
	}
	s.indexes[site] = x
	return x, nil
}
