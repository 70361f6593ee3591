package replay

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"

	"hindsight/cdr"
	"hindsight/cdr/fold"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Footprints keeps the extents of segments, in few bytes each, so that several walks over
// a run compute them once. Segments with the same extents share a list, because critical
// sections of a mutex mostly touch the same memory. The zero value is empty.
//
// A list consists of its extents. An extent consists of its site and form, the difference
// of its base from that of the previous extent, and what the form says.
type Footprints struct {
	threads []footprintLog
	bytes   []byte   // of all lists
	ends    []uint32 // where each list ends in bytes
	table   []uint32 // of lists, by hash; 0: free
	seed    maphash.Seed
	bits    [][]uint64         // of the extents that have bits
	numbers map[*uint64]uint32 // of bits, by the first word
	size    int                // of everything
}

// Footprint is the number of a list. Segments without extents have number 0.
type Footprint uint32

// footprintLog has the lists of the segments of a thread.
type footprintLog struct {
	lists    []Footprint
	begun    bool
	complete bool // it has all segments
}

// maxFootprints limits what is kept, in bytes.
const maxFootprints = 64 << 20

// The forms of an extent.
const (
	oneBlock  = iota // length
	blocks           // length, stride, count
	bitBlocks        // the same, and the number of its bits
	forms
)

// Keeping returns a trace as a source. The first walk over the segments of a thread, if
// it asks for the extents of each, stores these in k.
func Keeping(t *cdr.Trace, k *Footprints) Source {
	*k = Footprints{threads: make([]footprintLog, len(t.Threads())), ends: make([]uint32, 1), table: make([]uint32, 1<<8),
		seed: maphash.MakeSeed(), numbers: map[*uint64]uint32{}}
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

// keptSegment is the current segment of the first walk over a thread.
type keptSegment struct {
	segment
	kept    *Footprints
	log     *footprintLog
	present []byte // its extents so far
	last    uint64 // base of the last extent
	begun   bool
	asked   bool // its extents were all yielded
	failed  bool // nothing is stored for the thread
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
		s.present = binary.AppendUvarint(s.present, s.kept.bitsOf(x.Bits))
	}
	s.last = x.Base
}

// bitsOf returns the number of the bits of an extent, which are not empty.
func (k *Footprints) bitsOf(bits []uint64) uint64 {
	n, ok := k.numbers[&bits[0]]
	if !ok || len(k.bits[n]) != len(bits) {
		n = uint32(len(k.bits))
		k.bits, k.numbers[&bits[0]] = append(k.bits, bits), n
	}
	return uint64(n)
}

// finish ends the current segment.
func (s *keptSegment) finish() {
	if !s.begun || s.failed {
		return
	}
	s.log.lists = append(s.log.lists, s.kept.list(s.present))
	s.present, s.last = s.present[:0], 0
	if s.kept.size += 4; !s.asked || s.kept.size > maxFootprints {
		s.drop()
	}
}

// drop removes what is stored for the thread. Its lists remain.
func (s *keptSegment) drop() {
	s.kept.size -= 4 * len(s.log.lists)
	s.log.lists, s.failed = nil, true
}

// list returns the list with those bytes.
func (k *Footprints) list(b []byte) Footprint {
	if len(b) == 0 {
		return 0
	}
	slot := k.slot(b)
	if n := k.table[slot]; n != 0 {
		return Footprint(n)
	}
	n := uint32(len(k.ends))
	k.bytes, k.table[slot] = append(k.bytes, b...), n
	k.ends = append(k.ends, uint32(len(k.bytes)))
	k.size += len(b) + 12
	if 2*len(k.ends) > len(k.table) {
		k.table = make([]uint32, 2*len(k.table))
		for n := 1; n < len(k.ends); n++ {
			k.table[k.slot(k.of(Footprint(n)))] = uint32(n)
		}
	}
	return Footprint(n)
}

// slot returns the position in the table of the list with those bytes, or the free one
// for it.
func (k *Footprints) slot(b []byte) uint64 {
	mask := uint64(len(k.table) - 1)
	i := maphash.Bytes(k.seed, b) & mask
	for ; k.table[i] != 0 && !bytes.Equal(k.of(Footprint(k.table[i])), b); i = (i + 1) & mask {
	}
	return i
}

// of returns the bytes of a list.
func (k *Footprints) of(n Footprint) []byte {
	if n == 0 {
		return nil
	}
	return k.bytes[k.ends[n-1]:k.ends[n]]
}

// Lists returns the number of lists. Their numbers are below it.
func (k *Footprints) Lists() int {
	if k == nil {
		return 0
	}
	return len(k.ends)
}

// Segments returns the lists of the segments of a thread, in order, or nil if they were
// not kept.
func (k *Footprints) Segments(th event.ThreadID) []Footprint {
	if k == nil || int(th) >= len(k.threads) || !k.threads[th].complete {
		return nil
	}
	return k.threads[th].lists
}

// Each calls visit for the extents of a list until visit returns false. An extent is
// valid until visit returns.
func (k *Footprints) Each(n Footprint, visit func(*fold.Extent) bool) {
	b := k.of(n)
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
	x := new(fold.Extent)
	for base := uint64(0); len(b) > 0; {
		head := number()
		base += signed()
		*x = fold.Extent{Site: format.SiteID(head / forms), Base: base, Len: number(), Count: 1}
		if head%forms != oneBlock {
			x.Stride, x.Count = signed(), number()
		}
		if head%forms == bitBlocks {
			x.Bits = k.bits[number()]
		}
		if !visit(x) {
			return
		}
	}
}
