package replay

import (
	"encoding/binary"

	"hindsight/cdr"
	"hindsight/cdr/fold"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Footprints keeps the extents of segments, in few bytes each, so that several walks
// over a run compute them once. The zero value keeps nothing yet.
//
// A segment is the number of its bytes, and then its extents. An extent is its site
// and form, the difference of its base from that of the segment's previous extent,
// and what the form says.
type Footprints struct {
	threads []footprintLog
	bytes   int // of all threads
}

// footprintLog is the extents of the segments of a thread.
type footprintLog struct {
	bytes    []byte
	bits     [][]uint64 // of the extents that have some
	begun    bool
	complete bool // all segments are in it
}

// maxFootprints bounds the bytes of all logs together.
const maxFootprints = 64 << 20

// The forms of an extent.
const (
	oneBlock  = iota // length
	blocks           // length, stride, count
	bitBlocks        // the same, number of its bits in the log
	forms
)

// Keeping is a trace as a source. The first walk over the segments of a thread, if it
// asks for the extents of each, puts these into k.
func Keeping(t *cdr.Trace, k *Footprints) Source {
	k.threads = make([]footprintLog, len(t.Threads()))
	return keeping{trace{t}, k}
}

type keeping struct {
	trace
	kept *Footprints
}

// NextSegment implements [steppable].
func (k keeping) NextSegment(th event.ThreadID, sites []bool) func() (Segment, error) {
	log := &k.kept.threads[th]
	if log.begun {
		return k.trace.NextSegment(th, sites)
	}
	log.begun = true
	next := k.Trace.NextSegment(th, sites)
	r := &keptSegment{kept: k.kept, log: log, asked: true}
	return func() (Segment, error) {
		r.finish()
		s, err := next()
		if s == nil {
			log.complete = err == nil && !r.failed
			if !log.complete {
				r.drop()
			}
			return nil, err
		}
		r.segment, r.begun, r.asked = segment{s}, true, false
		return r, err
	}
}

// keptSegment is the present segment of the first walk over a thread.
type keptSegment struct {
	segment
	kept    *Footprints
	log     *footprintLog
	present []byte // its extents so far
	last    uint64 // base of the last extent
	begun   bool
	asked   bool // its extents were asked for, and handed out to the last
	failed  bool // nothing is kept of the thread
}

// EachExtent implements [Compressed].
func (s *keptSegment) EachExtent(yield func(*fold.Extent) bool) error {
	if s.failed || s.asked {
		return s.segment.EachExtent(yield)
	}
	stopped := false
	err := s.segment.EachExtent(func(x *fold.Extent) bool {
		s.put(x)
		stopped = !yield(x)
		return !stopped
	})
	s.asked = err == nil && !stopped
	return err
}

// put appends an extent.
func (s *keptSegment) put(x *fold.Extent) {
	form := uint64(blocks)
	switch {
	case x.Bits != nil:
		form = bitBlocks
	case x.Count == 1:
		form = oneBlock
	}
	s.present = binary.AppendUvarint(s.present, uint64(x.Site)*forms+form)
	s.present = binary.AppendVarint(s.present, int64(x.Base-s.last))
	s.present = binary.AppendUvarint(s.present, x.Len)
	if form != oneBlock {
		s.present = binary.AppendVarint(s.present, int64(x.Stride))
		s.present = binary.AppendUvarint(s.present, x.Count)
	}
	if form == bitBlocks {
		s.present = binary.AppendUvarint(s.present, uint64(len(s.log.bits)))
		s.log.bits = append(s.log.bits, x.Bits)
	}
	s.last = x.Base
}

// finish ends the present segment.
func (s *keptSegment) finish() {
	if !s.begun || s.failed {
		return
	}
	before := len(s.log.bytes)
	s.log.bytes = binary.AppendUvarint(s.log.bytes, uint64(len(s.present)))
	s.log.bytes = append(s.log.bytes, s.present...)
	s.present, s.last = s.present[:0], 0
	if s.kept.bytes += len(s.log.bytes) - before; !s.asked || s.kept.bytes > maxFootprints {
		s.drop()
	}
}

// drop keeps nothing of the thread.
func (s *keptSegment) drop() {
	s.kept.bytes -= len(s.log.bytes)
	s.log.bytes, s.log.bits, s.failed = nil, nil, true
}

// Reader returns a function that calls visit for the extents of the next segment of a
// thread, until it reports false; a nil visit only goes on to the segment after it.
// It returns nil if the extents of the thread were not kept. An extent is valid until
// visit returns.
func (k *Footprints) Reader(th event.ThreadID) func(visit func(*fold.Extent) bool) {
	if k == nil || int(th) >= len(k.threads) || !k.threads[th].complete {
		return nil
	}
	rest, bits := k.threads[th].bytes, k.threads[th].bits
	x := new(fold.Extent)
	return func(visit func(*fold.Extent) bool) {
		if len(rest) == 0 {
			return
		}
		size, n := binary.Uvarint(rest)
		b := rest[n : n+int(size)]
		rest = rest[n+int(size):]
		if visit == nil {
			return
		}
		number := func() uint64 {
			v, n := binary.Uvarint(b)
			b = b[n:]
			return v
		}
		signed := func() uint64 {
			v, n := binary.Varint(b)
			b = b[n:]
			return uint64(v)
		}
		for base := uint64(0); len(b) > 0; {
			head := number()
			base += signed()
			*x = fold.Extent{Site: format.SiteID(head / forms), Base: base, Len: number(), Count: 1}
			if head%forms != oneBlock {
				x.Stride, x.Count = signed(), number()
			}
			if head%forms == bitBlocks {
				x.Bits = bits[number()]
			}
			if !visit(x) {
				return
			}
		}
	}
}
