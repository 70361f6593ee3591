package wet

import (
	"encoding/binary"

	"hindsight/wet/stream"
)

// Forms of a sequence in the file.
const (
	formRuns    = 0 // its runs, one by one
	formStream  = 1 // a stream of the part
	formColumns = 2 // its runs, as three streams
)

const (
	fewRuns     = 3  // shorter lists use formRuns
	fewNumbers  = 32 // shorter lists use formRuns
	longRuns    = 8  // average length of a run from which formColumns is used
	partPayload = 24 << 20
)

// Size is the size of a component, in bytes: with one label for each execution, as
// section 2 defines it; after the compression of section 3; and after that of section 4.
type Size struct {
	Orig, Tier1, Tier2 uint64
}

func (s *Size) add(o Size) {
	s.Orig += o.Orig
	s.Tier1 += o.Tier1
	s.Tier2 += o.Tier2
}

// part collects the labels of some nodes for a block.
type part struct {
	pool    map[uint64][]pooled
	streams [][]byte
	bytes   int
	records []byte
	number  uint32
}

// pooled is a stream that is in the part.
type pooled struct {
	runs  []run // as they were when it was added
	n     uint64
	index uint64
}

func (p *part) reset(number uint32) {
	*p = part{pool: map[uint64][]pooled{}, number: number}
}

// payload returns the part's block.
//
//	payload = uvarint streams, uvarint length of each, streams, records
func (p *part) payload() []byte {
	b := binary.AppendUvarint(nil, uint64(len(p.streams)))
	for _, s := range p.streams {
		b = binary.AppendUvarint(b, uint64(len(s)))
	}
	for _, s := range p.streams {
		b = append(b, s...)
	}
	return append(b, p.records...)
}

func (p *part) uvarint(v uint64) { p.records = binary.AppendUvarint(p.records, v) }

func (p *part) varint(v int64) { p.records = binary.AppendVarint(p.records, v) }

// seq writes a sequence of numbers that originally take width bytes each, and adds the
// stored size to size.
func (p *part) seq(s *seq, width uint64, size *Size) {
	before := len(p.records) + p.bytes
	isNew := true
	switch {
	case len(s.runs) <= fewRuns || s.n < fewNumbers:
		p.uvarint(s.n<<2 | formRuns)
		p.runs(s)
	case s.n >= longRuns*uint64(len(s.runs)):
		p.uvarint(s.n<<2 | formColumns)
		p.columns(s)
	default:
		p.uvarint(s.n<<2 | formStream)
		isNew = p.stream(s.runs, s.n)
		p.varint(int64(s.first()))
	}
	if isNew {
		size.Tier1 += width * s.n
	}
	size.Tier2 += uint64(len(p.records) + p.bytes - before)
}

// runs writes runs one by one. The length of the last one follows from the total.
func (p *part) runs(s *seq) {
	if s.n == 0 {
		return
	}
	p.uvarint(uint64(len(s.runs)))
	at := uint64(0)
	for i, r := range s.runs {
		p.varint(int64(r.first - at))
		if i < len(s.runs)-1 {
			p.uvarint(r.n - 1)
		}
		if r.n > 1 {
			p.varint(int64(r.stride))
		}
		at = r.first + r.stride*r.n
	}
}

func (p *part) columns(s *seq) {
	var firsts, strides, lengths seq
	at := uint64(0)
	for _, r := range s.runs {
		firsts.add(r.first - at)
		strides.add(r.stride)
		lengths.add(r.n)
		at = r.first + r.stride*r.n
	}
	p.uvarint(uint64(len(s.runs)))
	for _, c := range []*seq{&firsts, &strides, &lengths} {
		p.stream(c.runs, c.n)
		p.varint(int64(c.first()))
	}
}

// stream adds the differences from the first number to the pool, unless the pool has
// them, and writes their index.
func (p *part) stream(runs []run, n uint64) (isNew bool) {
	base := runs[0].first
	h := n
	for _, r := range runs {
		h = hashValues(hashValues(hashValues(h, r.first-base), r.stride), r.n)
	}
	for _, x := range p.pool[h] {
		if x.n == n && sameRuns(x.runs, runs) {
			p.uvarint(x.index)
			return false
		}
	}
	index := uint64(len(p.streams))
	p.pool[h] = append(p.pool[h], pooled{runs, n, index})
	var b stream.Builder
	s := seq{runs: runs, n: n}
	s.each(func(v uint64) { b.Append(v - base) })
	bin := b.Finish().AppendBinary(nil)
	p.streams = append(p.streams, bin)
	p.bytes += len(bin)
	p.uvarint(index)
	return true
}

func sameRuns(a, b []run) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].n != b[i].n || a[i].stride != b[i].stride || a[i].first-a[0].first != b[i].first-b[0].first {
			return false
		}
	}
	return true
}
