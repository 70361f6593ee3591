package race

import (
	"iter"

	"hindsight/tracefmt/event"
)

// SiteID numbers the plain load and store instructions of a trace.
type SiteID uint32

// Site is a load or store instruction.
type Site struct {
	PC     uint64
	Size   uint8 // bytes
	Access event.Access
}

// Event is an entry of S_synch.
type Event struct {
	event.Event
	Thread event.ThreadID
	Seq    uint64 // place in S_synch, from 0
	Index  uint64 // ordinal among the thread's own events, from 0
}

// Run is a number of accesses of a site at equal distances.
type Run struct {
	Site   SiteID
	Base   uint64
	Stride int64
	Count  uint64
	First  uint64 // ordinal of the first access among the thread's accesses by this site, from 0
}

// Segment is what a thread did between two of its events.
type Segment interface {
	// Place is the number of the thread's events before the segment.
	Place() uint64
	// Runs are the plain accesses of the segment, site by site.
	Runs() iter.Seq2[Run, error]
}

// Source is a recorded run, as much as the analysis needs of it. Its
// iterators may be walked more than once.
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
