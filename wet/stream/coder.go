package stream

import "math/bits"

// coder compresses values in one direction, with one method: a code per value, and the
// symbols that were not predicted.
type coder struct {
	method Method
	bits   uint // of a table index
	n      uint64
	codes  packed
	missed []uint64

	last  uint64 // previous value
	ctx   context
	table []uint64
}

func newCoder(m Method, tableBits uint) *coder {
	c := &coder{method: m, bits: tableBits, codes: packed{width: m.codeBits()}}
	if m.family() == familyContext {
		c.ctx = newContext(m.order(), tableBits)
		c.table = make([]uint64, 1<<tableBits)
	}
	return c
}

func (c *coder) put(v uint64) {
	s := v
	if c.method.strides() {
		s = zigzag(v - c.last)
		c.last = v
	}
	c.n++
	switch c.method.family() {
	case familyPlain:
		c.missed = append(c.missed, s)
	case familyLast:
		c.codes.push(c.putLast(s))
	default:
		c.codes.push(c.putContext(s))
	}
}

// putLast looks for s among the last symbols that missed, the latest first. A miss adds s
// and removes the oldest symbol, and a hit changes nothing. The table at any position is
// therefore a part of the list of misses, and one list serves both directions.
func (c *coder) putLast(s uint64) uint64 {
	n := len(c.missed)
	for age := 1; age <= min(n, c.method.lastSize()); age++ {
		if c.missed[n-age] == s {
			return uint64(age)
		}
	}
	c.missed = append(c.missed, s)
	return 0
}

// putContext returns a step of the unidirectional FCM of section 4.
func (c *coder) putContext(s uint64) (hit uint64) {
	line := &c.table[c.ctx.hash()]
	if *line == s {
		hit = 1
	} else {
		*line = s
		c.missed = append(c.missed, s)
	}
	c.ctx.push(s)
	return hit
}

func (c *coder) stream() *Stream {
	s := &Stream{method: c.method, bits: c.bits, n: c.n, codes: c.codes, missed: pack(c.missed)}
	s.codes.seal()
	return s
}

// seal makes a packed sequence readable even if nothing was added.
func (p *packed) seal() {
	for uint64(len(p.words)) < 2 {
		p.words = append(p.words, 0)
	}
}

// plainCost returns the length of the binary form of a stream's values without
// prediction.
type plainCost struct {
	n, varint, low, high uint64
}

func (p *plainCost) put(v uint64) {
	if p.n == 0 {
		p.low, p.high = v, v
	}
	p.n++
	p.varint += uvarintLen(v)
	p.low, p.high = min(p.low, v), max(p.high, v)
}

// size returns the size of the part that appendNumbers writes.
func (p *plainCost) size() uint64 {
	fixed := uvarintLen(p.low) + 1 + byteLen(p.n, uint(bits.Len64(p.high-p.low)))
	return 1 + min(p.varint, fixed)
}
