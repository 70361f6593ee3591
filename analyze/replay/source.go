package replay

import (
	"errors"
	"iter"

	"hindsight/cdr"
	"hindsight/cdr/fold"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// ErrTrace is wrapped by errors about runs that contradict themselves.
var ErrTrace = errors.New("inconsistent trace")

// Types of package cdr that describe a recorded run.
type (
	SiteID = format.SiteID
	Site   = format.Site
	Event  = format.Event
	Run    = fold.Run
	Step   = cdr.Step
)

// Events is S_synch of a run, in total order. It may be iterated more than once.
type Events interface {
	Events() iter.Seq2[Event, error]
}

// Segment is what a thread did between two of its events.
type Segment interface {
	// Place returns the number of the thread's events before the segment.
	Place() uint64
	// Runs returns the plain accesses of the segment, site by site.
	Runs() iter.Seq2[Run, error]
}

// Segmented is a run that returns its segments one by one.
type Segmented interface {
	// Segments returns the segments of a thread, in order. Segments without accesses may
	// be missing. A segment is not used any more when the next one of its thread is read.
	Segments(event.ThreadID) iter.Seq2[Segment, error]
}

// steppable is a run whose segments can be read without an iterator, at a lower cost.
type steppable interface {
	// NextSegment returns a function that returns the segments of a thread in order, and
	// nil after the last or an error. If sites is not nil, it says of each site whether
	// its accesses are wanted; the others may be omitted.
	NextSegment(t event.ThreadID, sites []bool) func() (Segment, error)
}

// Cursors walk over the segments of all threads, each at its own pace.
type Cursors struct {
	src     Segmented
	sites   []bool
	threads []cursor
}

type cursor struct {
	next func() (Segment, error) // it returns nil after the last; nil: not asked for yet, or done
	stop func()
	seg  Segment // the next one, or nil
	done bool
}

// NewCursors returns cursors before the first segment of each thread. If sites is not
// nil, it says of each site whether its accesses are wanted; the others may be omitted.
// The caller must call Close.
func NewCursors(src Segmented, threads int, sites []bool) *Cursors {
	return &Cursors{src: src, sites: sites, threads: make([]cursor, threads)}
}

func newCursor(src Segmented, t event.ThreadID, sites []bool) cursor {
	if s, ok := src.(steppable); ok {
		return cursor{next: s.NextSegment(t, sites), stop: func() {}}
	}
	next, stop := iter.Pull2(src.Segments(t))
	return cursor{stop: stop, next: func() (Segment, error) {
		seg, err, _ := next()
		return seg, err
	}}
}

// Close ends the walks.
func (c *Cursors) Close() {
	for t := range c.threads {
		if stop := c.threads[t].stop; stop != nil {
			stop()
		}
	}
}

// Next returns the next segment of the unit, or nil after the last. (There is one unless
// the run is damaged.)
func (c *Cursors) Next(u *Unit) (Segment, error) {
	t := &c.threads[u.Thread]
	if t.next == nil && !t.done {
		*t = newCursor(c.src, u.Thread, c.sites)
	}
	if t.seg == nil && !t.done {
		seg, err := t.next()
		if err != nil {
			return nil, err
		}
		t.seg, t.done = seg, seg == nil
		if t.done {
			t.stop()
			t.next, t.stop = nil, nil // a thread that has ended takes no memory
		}
	}
	if t.seg == nil || t.seg.Place() > u.Index {
		return nil, nil
	}
	seg := t.seg
	t.seg = nil
	return seg, nil
}

// Scheduled is a run that may know the order in which accesses were executed between two
// events. *cdr.Trace implements it.
type Scheduled interface {
	HasSchedule() bool
	Schedule() iter.Seq2[format.Piece, error]
}

// HasSchedule reports whether a run knows in which order accesses were executed.
func HasSchedule(src Events) bool {
	s, ok := src.(Scheduled)
	return ok && s.HasSchedule()
}
