package replay

import (
	"iter"

	"hindsight/cdr"
	"hindsight/cdr/fold"
	"hindsight/tracefmt/event"
)

// Compressed is a segment whose accesses are available in compressed form.
type Compressed interface {
	// Empty reports whether there are no accesses.
	Empty() bool
	// EachExtent calls yield for extents of the bytes that the segment accesses, until
	// yield returns false. An extent is valid until yield returns.
	EachExtent(yield func(*fold.Extent) bool) error
	// TallyWithin returns how often sites accessed which addresses. It may omit accesses
	// in no range [lo, hi) that keep accepts.
	TallyWithin(keep func(lo, hi uint64) bool) iter.Seq2[fold.Tally, error]
	// RunsOf returns the runs of a site, the last one first if back is set. It may omit
	// accesses as TallyWithin does.
	RunsOf(site SiteID, back bool, keep func(lo, hi uint64) bool) iter.Seq2[Run, error]
}

// Seekable is a source whose segments can be read without reading the preceding ones.
type Seekable interface {
	// SegmentsAt returns the segments of a thread with those indices, which ascend.
	SegmentsAt(t event.ThreadID, places []uint64) iter.Seq2[Segment, error]
}

// Source is a recorded run, as far as the analyses need it. Its iterators may be used
// more than once. A segment is not used any more when the next one of its thread is read.
type Source interface {
	// NumThreads returns the number of threads. Their identifiers are below it.
	NumThreads() int
	NumSites() int
	Site(SiteID) Site
	// Events returns S_synch in total order.
	Events() iter.Seq2[Event, error]
	// Segments returns the segments of a thread, in order. Segments without accesses may
	// be missing.
	Segments(event.ThreadID) iter.Seq2[Segment, error]
}

// narrowing is a source in which segments return, for some sites, only a part of the
// accessed bytes: those that the source code can have accessed.
type narrowing interface {
	Narrowed
	Whole(SiteID) Site
}

// Narrowed is a run that knows which bytes of an access the source code can have
// accessed: size bytes, after skip others. *cdr.Trace implements it.
type Narrowed interface {
	Used(SiteID) (skip, size uint8)
}

// Whole returns the bytes that the instruction of a site accesses. A segment of src
// returned the bytes at addr for that access.
func Whole(src Source, site SiteID, addr uint64) (first, size uint64) {
	if n, ok := src.(narrowing); ok {
		skip, _ := n.Used(site)
		return addr - uint64(skip), uint64(n.Whole(site).Size)
	}
	return addr, uint64(src.Site(site).Size)
}

// FromTrace returns a trace as a source. For a load that reads a bit-field, the source
// returns the bytes of the field ([cdr.Trace.Used]).
func FromTrace(t *cdr.Trace) Source { return trace{t} }

type trace struct{ *cdr.Trace }

type segment struct{ *cdr.Segment }

func (s segment) Place() uint64 { return s.Index }

// Whole returns the site as it was recorded.
func (t trace) Whole(id SiteID) Site { return t.Trace.Site(id) }

// Site returns the site with the size that segments return.
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
