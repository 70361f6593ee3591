package arch

import (
	"cmp"
	"slices"

	"hindsight/tracefmt/event"
)

// HartCounts are the totals of one hart, or of all. An access that crosses the
// border of two lines counts for each.
type HartCounts struct {
	Loads, Stores           uint64 // references to lines; a read-modify-write is a store
	LoadMisses, StoreMisses uint64
	// The misses by kind: never held, driven out by another line, invalidated.
	// Those last are TrueSharing or FalseSharing.
	Cold, Replacement, Coherence uint64
	TrueSharing, FalseSharing    uint64
	Upgrades                     uint64 // writes to a shared copy
	InvalidationsSent            uint64 // copies of others that its writes invalidated
	InvalidationsReceived        uint64
	CacheToCache                 uint64 // misses served by another cache
	Writebacks                   uint64 // of its modified lines to memory

	Branches, Mispredicted uint64 // conditional ones
	Unresolved             uint64 // of Branches: left by a signal; counted as predicted
}

func (k *HartCounts) count(r *reference, hit bool) {
	if r.write {
		k.Stores++
		if !hit {
			k.StoreMisses++
		}
		return
	}
	k.Loads++
	if !hit {
		k.LoadMisses++
	}
}

// LineCounts are counted for a line from when a second hart touches it.
type LineCounts struct {
	ReadMisses, WriteMisses  uint64
	Coherence                uint64 // of those: the line had been invalidated
	TrueSharing              uint64 // of Coherence
	FalseSharing             uint64 // of Coherence
	Upgrades, Invalidations  uint64 // Invalidations: copies invalidated
	CacheToCache, Writebacks uint64
}

// WordCounts are counted for a word of a shared line. A miss, an upgrade and
// the invalidations that a write sends belong to the first word that the access
// touches; an invalidation is received by every word that the hart which loses
// the line had used.
type WordCounts struct {
	Reads, Writes                            uint64
	ReadMisses, WriteMisses                  uint64
	Coherence, TrueSharing, FalseSharing     uint64 // of the misses
	Upgrades                                 uint64
	InvalidationsSent, InvalidationsReceived uint64

	RemoteReads uint64 // reads of what another hart wrote last
	// Write runs (Eggers and Katz, ISCA 1988): writes by one hart with no access
	// by another in between. Their mean length is Writes / Runs.
	Runs, LongestRun uint64
	// Intervals between two consecutive writes by the same hart, those in which
	// other harts read the word, and how often (PPoPP 2003, section 6).
	Intervals, ReadIntervals, IntervalReads uint64
	// Bus transactions of the word under either protocol: see the comment of
	// type word.
	InvalidateBus, UpdateBus uint64
}

// TouchCounts are what a line cost a hart.
type TouchCounts struct {
	Misses                                   uint64 // after invalidations
	InvalidationsSent, InvalidationsReceived uint64
}

// Touch is what a hart did to a line. Bit n of the masks is granule n of the
// line.
type Touch struct {
	Thread        event.ThreadID
	Read, Written uint64
	TouchCounts
}

// Word is a word of a shared line.
type Word struct {
	Index int // in the line
	WordCounts
}

// Site is an instruction that had bus transactions on a shared line.
type Site struct {
	PC               uint64
	Thread           event.ThreadID
	Word             int // the first that it touches
	Read, Write      bool
	Misses, Upgrades uint64
	True, False      uint64 // of Misses
}

// Cost is the number of bus transactions.
func (s *Site) Cost() uint64 { return s.Misses + s.Upgrades }

// Line is a line that harts shared and that one of them invalidated.
type Line struct {
	Address uint64
	LineCounts
	Threads []Touch
	Words   []Word // that were touched since the line was shared
	Sites   []Site // that cost most, first
	// First and Last are how many ordered events the run had before the first
	// and the last transaction between harts.
	First, Last uint64
}

// Cost is the number of bus transactions that sharing brought about.
func (l *Line) Cost() uint64 { return l.Coherence + l.Upgrades }

// Result is what a model found.
type Result struct {
	Config      Config
	Granule     int          // bytes of a granule
	Harts       []HartCounts // by thread
	Touched     uint64       // lines
	SharedLines uint64       // lines that more than one hart touched
	// Lines are those that were ever invalidated, that cost most first; at most
	// as many as asked for. Dropped counts the others.
	Lines   []Line
	Dropped uint64
}

// maxSites bounds the sites of a line in a Result.
const maxSites = 16

// Result gives what was found so far, with at most maxLines lines. Before
// Finish there may be misses of which is not known yet whether they were true
// or false sharing; they are neither.
func (m *Model) Result(maxLines int) *Result {
	r := &Result{Config: m.cfg, Granule: 1 << m.granuleBits, Touched: uint64(len(m.lines)), SharedLines: m.sharedLines}
	r.Config.History = nil
	for _, h := range m.harts {
		if h == nil {
			h = &hart{}
		}
		r.Harts = append(r.Harts, h.counts)
	}
	var hot []*line
	for _, l := range m.lines {
		if l.shared != nil && l.shared.counts.Invalidations > 0 {
			hot = append(hot, l)
		}
	}
	slices.SortFunc(hot, func(a, b *line) int {
		x, y := &a.shared.counts, &b.shared.counts
		return cmp.Or(cmp.Compare(y.Coherence+y.Upgrades, x.Coherence+x.Upgrades), cmp.Compare(a.number, b.number))
	})
	if len(hot) > maxLines {
		r.Dropped = uint64(len(hot) - maxLines)
		hot = hot[:maxLines]
	}
	for _, l := range hot {
		r.Lines = append(r.Lines, l.result(m))
	}
	return r
}

func (l *line) result(m *Model) Line {
	s := l.shared
	out := Line{Address: l.number << m.lineBits, LineCounts: s.counts, Threads: l.threads(), First: s.first, Last: s.last}
	for i, w := range s.words {
		if w != nil {
			out.Words = append(out.Words, Word{i, w.counts})
		}
	}
	for _, at := range s.sites {
		out.Sites = append(out.Sites, *at)
	}
	slices.SortFunc(out.Sites, func(a, b Site) int {
		if c := cmp.Compare(b.Cost(), a.Cost()); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.PC, b.PC), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Word, b.Word))
	})
	out.Sites = out.Sites[:min(len(out.Sites), maxSites)]
	return out
}
