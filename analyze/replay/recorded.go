package replay

import (
	"iter"

	"hindsight/cdr"
	"hindsight/cdr/fold"
	"hindsight/tracefmt/event"
)

// Compressed is a segment whose accesses are available by their bytes.
type Compressed interface {
	// Empty reports whether there are no such accesses.
	Empty() bool
	// EachExtent calls yield for extents that are the bytes that the segment
	// accesses, until it reports false. An extent is valid until yield returns.
	EachExtent(yield func(*fold.Extent) bool) error
	// TallyWithin returns how often sites were executed at which addresses; it may
	// leave out accesses in no range [lo, hi) that keep accepts.
	TallyWithin(keep func(lo, hi uint64) bool) iter.Seq2[fold.Tally, error]
	// RunsOf returns the runs of a site, the last one first if back is set; it may
	// leave out accesses too.
	RunsOf(site SiteID, back bool, keep func(lo, hi uint64) bool) iter.Seq2[Run, error]
}

// Seekable is a source whose segments can be read without the preceding ones.
type Seekable interface {
	// SegmentsAt returns the segments of a thread with those places, which rise.
	SegmentsAt(t event.ThreadID, places []uint64) iter.Seq2[Segment, error]
}

// Source is a recorded run, as much as the analysis needs of it. Its
// iterators may be walked more than once; a segment is not used any more when
// the next one of its thread is asked for.
type Source interface {
	// NumThreads is the number of threads; their identifiers are below it.
	NumThreads() int
	NumSites() int
	Site(SiteID) Site
	// Events is S_synch in total order.
	Events() iter.Seq2[Event, error]
	// Segments are those of a thread, in order; ones without accesses may be
	// missing.
	Segments(event.ThreadID) iter.Seq2[Segment, error]
}

// narrowing is a source with sites of which segments hand out a part of the bytes that
// the instruction accesses: those that the source code can have accessed.
type narrowing interface {
	Narrowed
	Whole(SiteID) Site
}

// Narrowed is a run that knows which bytes of an access the source code can have
// accessed: size of them after skip others. *cdr.Trace is one.
type Narrowed interface {
	Used(SiteID) (skip, size uint8)
}

// Whole returns what the instruction of a site accesses, of which a segment of src handed
// out the bytes at addr.
func Whole(src Source, site SiteID, addr uint64) (first, size uint64) {
	if n, ok := src.(narrowing); ok {
		skip, _ := n.Used(site)
		return addr - uint64(skip), uint64(n.Whole(site).Size)
	}
	return addr, uint64(src.Site(site).Size)
}

// FromTrace is a trace as a source. Of a load that reads a bit-field, the source hands out
// the bytes of the field ([cdr.Trace.Used]).
func FromTrace(t *cdr.Trace) Source { return trace{t} }

type trace struct{ *cdr.Trace }

type segment struct{ *cdr.Segment }

func (s segment) Place() uint64 { return s.Index }

// Whole is the site as it was recorded.
func (t trace) Whole(id SiteID) Site { return t.Trace.Site(id) }

// Site has the size of what segments hand out.
func (t trace) Site(id SiteID) Site {
	s := t.Trace.Site(id)
	_, s.Size = t.Used(id)
	return s
}

func (t trace) NumThreads() int { return len(t.Threads()) }

func (t trace) Segments(th event.ThreadID) iter.Seq2[Segment, error] {
	return asSegments(t.Trace.Segments(th))
}

func (t trace) NextSegment(th event.ThreadID, sites []bool) func() (Segment, error) {
	next := t.Trace.NextSegment(th, sites)
	return func() (Segment, error) {
		s, err := next()
		if s == nil {
			return nil, err
		}
		return segment{s}, err
	}
}

func (t trace) SegmentsAt(th event.ThreadID, places []uint64) iter.Seq2[Segment, error] {
	return asSegments(t.Trace.SegmentsAt(th, places))
}

func asSegments(all iter.Seq2[*cdr.Segment, error]) iter.Seq2[Segment, error] {
	return func(yield func(Segment, error) bool) {
		for s, err := range all {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(segment{s}, nil) {
				return
			}
		}
	}
}
