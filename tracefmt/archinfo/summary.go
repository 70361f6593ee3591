package archinfo

import (
	"encoding/binary"
	"fmt"

	"hindsight/tracefmt/event"
)

// Limits of a summary.
const (
	MaxLines = 1 << 14 // limit for what a writer keeps
	maxBytes = 16 << 20
	maxLine  = 1 << 16 // bytes of a line
)

// Config is the machine that was modelled.
type Config struct {
	Size, Ways, Line uint64 // of an L1 data cache: bytes, ways of a set, bytes of a line
	Table            uint64 // number of counters of the gshare predictor
	HistoryBits      uint64 // number of bits of its global history
	Granule          uint64 // bytes that one bit of a Touch stands for
}

// HartCounts are the totals of one hart, or of all harts. An access that crosses the
// boundary between two lines counts for each of them.
type HartCounts struct {
	Loads, Stores           uint64 // references to lines; a read-modify-write is a store
	LoadMisses, StoreMisses uint64
	// The misses by cause: the line was never held, was replaced by another line, or was
	// invalidated. A miss after an invalidation is TrueSharing or FalseSharing.
	Cold, Replacement, Coherence uint64
	TrueSharing, FalseSharing    uint64
	Upgrades                     uint64 // writes to a shared copy
	InvalidationsSent            uint64 // copies in other caches that its writes invalidated
	InvalidationsReceived        uint64
	CacheToCache                 uint64 // misses served by another cache
	Writebacks                   uint64 // of its modified lines to memory

	Branches, Mispredicted uint64 // conditional ones
	Unresolved             uint64 // of Branches: left by a signal; counted as predicted correctly
}

// Fields returns the counts in the order of the payload.
func (k *HartCounts) Fields() []*uint64 {
	return []*uint64{&k.Loads, &k.Stores, &k.LoadMisses, &k.StoreMisses, &k.Cold, &k.Replacement, &k.Coherence,
		&k.TrueSharing, &k.FalseSharing, &k.Upgrades, &k.InvalidationsSent, &k.InvalidationsReceived,
		&k.CacheToCache, &k.Writebacks, &k.Branches, &k.Mispredicted, &k.Unresolved}
}

// LineCounts are counted for a line from the moment a second hart touches it.
type LineCounts struct {
	ReadMisses, WriteMisses  uint64
	Coherence                uint64 // misses on a line that had been invalidated
	TrueSharing              uint64 // of Coherence
	FalseSharing             uint64 // of Coherence
	Upgrades, Invalidations  uint64 // Invalidations: copies invalidated
	CacheToCache, Writebacks uint64
}

// Fields returns the counts in the order of the payload.
func (k *LineCounts) Fields() []*uint64 {
	return []*uint64{&k.ReadMisses, &k.WriteMisses, &k.Coherence, &k.TrueSharing, &k.FalseSharing,
		&k.Upgrades, &k.Invalidations, &k.CacheToCache, &k.Writebacks}
}

// WordCounts are counted for a word of a shared line. A miss, an upgrade and the
// invalidations that a write sends belong to the first word that the access touches; an
// invalidation counts as received for every word of the line that the losing hart had
// used.
type WordCounts struct {
	Reads, Writes                            uint64
	ReadMisses, WriteMisses                  uint64
	Coherence, TrueSharing, FalseSharing     uint64 // of the misses
	Upgrades                                 uint64
	InvalidationsSent, InvalidationsReceived uint64

	RemoteReads uint64 // reads of a value that another hart wrote last
	// Write runs (Eggers and Katz, ISCA 1988): writes by one hart with no access
	// by another in between. Their mean length is Writes / Runs.
	Runs, LongestRun uint64
	// Intervals between two consecutive writes by the same hart; those in which other
	// harts read the word; and the number of these reads (PPoPP 2003, section 6).
	Intervals, ReadIntervals, IntervalReads uint64
	// Bus transactions of the word under either protocol. docs/architecture-model.md says
	// how they are counted.
	InvalidateBus, UpdateBus uint64
}

// Fields returns the counts in the order of the payload.
func (k *WordCounts) Fields() []*uint64 {
	return []*uint64{&k.Reads, &k.Writes, &k.ReadMisses, &k.WriteMisses, &k.Coherence, &k.TrueSharing, &k.FalseSharing,
		&k.Upgrades, &k.InvalidationsSent, &k.InvalidationsReceived, &k.RemoteReads, &k.Runs, &k.LongestRun,
		&k.Intervals, &k.ReadIntervals, &k.IntervalReads, &k.InvalidateBus, &k.UpdateBus}
}

// Add adds the counts of o.
func (k *WordCounts) Add(o *WordCounts) {
	longest := max(k.LongestRun, o.LongestRun)
	from := o.Fields()
	for i, f := range k.Fields() {
		*f += *from[i]
	}
	k.LongestRun = longest
}

// TouchCounts are what a line cost a hart.
type TouchCounts struct {
	Misses                                   uint64 // after invalidations
	InvalidationsSent, InvalidationsReceived uint64
}

// Touch is what a hart did to a line. Bit n of a mask is granule n of the line.
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

// Site is an instruction that caused bus transactions on a shared line.
type Site struct {
	PC               uint64
	Thread           event.ThreadID
	Word             int // the first word that it touches
	Read, Write      bool
	Misses, Upgrades uint64
	True, False      uint64 // of Misses
}

// Cost returns the number of bus transactions.
func (s *Site) Cost() uint64 { return s.Misses + s.Upgrades }

// Line is a line that harts shared and that one of them invalidated.
type Line struct {
	Address uint64
	LineCounts
	Threads []Touch
	Words   []Word // those touched since the line was shared
	Sites   []Site // the most expensive first
	// First and Last are the numbers of ordered events in the run before the first and
	// the last transaction between harts.
	First, Last uint64
}

// Cost returns the number of bus transactions that sharing caused.
func (l *Line) Cost() uint64 { return l.Coherence + l.Upgrades }

// Summary contains the results of the model for a run.
type Summary struct {
	Config      Config
	Harts       []HartCounts // by thread
	Touched     uint64       // lines
	SharedLines uint64       // lines that more than one hart touched
	// Lines are those that were ever invalidated, the most expensive first. Dropped
	// counts those that were left out.
	Lines   []Line
	Dropped uint64
}

func (s *Summary) head() []*uint64 {
	c := &s.Config
	return []*uint64{&c.Size, &c.Ways, &c.Line, &c.Table, &c.HistoryBits, &c.Granule, &s.Touched, &s.SharedLines, &s.Dropped}
}

// Encode returns the payload of an arch-summary block:
//
//	1 form (1)
//	uvarint size, ways, line, table, history bits, granule, touched, shared, dropped
//	uvarint harts, for each its counts in the order of HartCounts
//	uvarint lines, for each:
//	  uvarint address, first, last, the counts in the order of LineCounts
//	  uvarint threads, for each: thread, mask read, mask written, misses,
//	    invalidations sent, received
//	  uvarint words, for each: index, the counts in the order of WordCounts
//	  uvarint sites, for each: pc, thread, word, 1 read | 2 write, misses,
//	    upgrades, true, false
//
// Lines that do not fit into 16 MiB are left out, the last first.
func (s *Summary) Encode() []byte {
	for lines := min(len(s.Lines), MaxLines); ; lines /= 2 {
		cut := *s
		cut.Lines, cut.Dropped = s.Lines[:lines], s.Dropped+uint64(len(s.Lines)-lines)
		if b := cut.encode(); len(b) <= maxBytes || lines == 0 {
			return b
		}
	}
}

func (s *Summary) encode() []byte {
	b := appendFields([]byte{form}, s.head())
	b = binary.AppendUvarint(b, uint64(len(s.Harts)))
	for i := range s.Harts {
		b = appendFields(b, s.Harts[i].Fields())
	}
	b = binary.AppendUvarint(b, uint64(len(s.Lines)))
	for i := range s.Lines {
		b = s.Lines[i].append(b)
	}
	return b
}

func appendFields(b []byte, fields []*uint64) []byte {
	for _, f := range fields {
		b = binary.AppendUvarint(b, *f)
	}
	return b
}

func (l *Line) append(b []byte) []byte {
	b = appendFields(b, []*uint64{&l.Address, &l.First, &l.Last})
	b = appendFields(b, l.Fields())
	b = binary.AppendUvarint(b, uint64(len(l.Threads)))
	for i := range l.Threads {
		t := &l.Threads[i]
		b = binary.AppendUvarint(b, uint64(t.Thread))
		b = appendFields(b, []*uint64{&t.Read, &t.Written, &t.Misses, &t.InvalidationsSent, &t.InvalidationsReceived})
	}
	b = binary.AppendUvarint(b, uint64(len(l.Words)))
	for i := range l.Words {
		b = binary.AppendUvarint(b, uint64(l.Words[i].Index))
		b = appendFields(b, l.Words[i].Fields())
	}
	b = binary.AppendUvarint(b, uint64(len(l.Sites)))
	for i := range l.Sites {
		b = l.Sites[i].append(b)
	}
	return b
}

func (s *Site) append(b []byte) []byte {
	flags := uint64(0)
	if s.Read {
		flags |= 1
	}
	if s.Write {
		flags |= 2
	}
	thread, word := uint64(s.Thread), uint64(s.Word)
	return appendFields(b, []*uint64{&s.PC, &thread, &word, &flags, &s.Misses, &s.Upgrades, &s.True, &s.False})
}

// DecodeSummary reads an arch-summary block.
func DecodeSummary(payload []byte) (*Summary, error) {
	d := decode(payload)
	if d.Byte() != form || len(payload) > maxBytes {
		d.Fail("form")
	}
	s := new(Summary)
	d.fields(s.head())
	if c := &s.Config; c.Line < 8 || c.Line > maxLine || c.Line&(c.Line-1) != 0 || c.Granule == 0 || c.Granule > c.Line || c.Line > 64*c.Granule {
		d.Fail("bytes of a line")
	}
	s.Harts = make([]HartCounts, d.Count(len(new(HartCounts).Fields()), "count"))
	for i := range s.Harts {
		d.fields(s.Harts[i].Fields())
	}
	lines := d.Count(3+len(new(LineCounts).Fields())+3, "count")
	if lines > MaxLines {
		d.Fail("number of lines")
		lines = 0
	}
	s.Lines = make([]Line, lines)
	for i := range s.Lines {
		d.line(&s.Lines[i], s)
		if d.Err != nil {
			break
		}
	}
	d.End()
	if d.Err != nil {
		return nil, fmt.Errorf("arch summary: %w", d.Err)
	}
	return s, nil
}

func (d *decoder) fields(fields []*uint64) {
	for _, f := range fields {
		*f = d.Uvarint()
	}
}

func (d *decoder) line(l *Line, s *Summary) {
	d.fields([]*uint64{&l.Address, &l.First, &l.Last})
	d.fields(l.Fields())
	if l.Address&(s.Config.Line-1) != 0 {
		d.Fail("address of a line")
	}
	harts, words := uint64(len(s.Harts)), s.Config.Line/8
	l.Threads = make([]Touch, d.Count(6, "count"))
	for i := range l.Threads {
		t := &l.Threads[i]
		t.Thread = event.ThreadID(d.Below(harts, "number out of range"))
		d.fields([]*uint64{&t.Read, &t.Written, &t.Misses, &t.InvalidationsSent, &t.InvalidationsReceived})
	}
	l.Words = make([]Word, d.Count(1+len(new(WordCounts).Fields()), "count"))
	for i := range l.Words {
		l.Words[i].Index = int(d.Below(words, "number out of range"))
		d.fields(l.Words[i].Fields())
	}
	l.Sites = make([]Site, d.Count(8, "count"))
	for i := range l.Sites {
		t := &l.Sites[i]
		t.PC = d.Uvarint()
		t.Thread = event.ThreadID(d.Below(harts, "number out of range"))
		t.Word = int(d.Below(words, "number out of range"))
		flags := d.Below(4, "number out of range")
		t.Read, t.Write = flags&1 != 0, flags&2 != 0
		d.fields([]*uint64{&t.Misses, &t.Upgrades, &t.True, &t.False})
	}
}
