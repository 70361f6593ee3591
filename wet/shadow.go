package wet

import (
	"hindsight/tracefmt/event"
	"math/bits"
)

// src is a statement of a thread that produced something. 0 is none.
type src uint64

const (
	stmtBits = 22
	nodeBits = 24
	maxNodes = 1<<nodeBits - 2
)

// The remaining bits of a src are for the thread.
const _ = uint64(event.MaxThreads-1) << (stmtBits + nodeBits)

// srcOf packs a statement. node is counted from 1, so that 0 means none.
func srcOf(thread uint32, node NodeID, stmt uint32) src {
	return src(thread)<<(stmtBits+nodeBits) | src(node+1)<<stmtBits | src(stmt)
}

func (s src) thread() uint32 { return uint32(s >> (stmtBits + nodeBits)) }
func (s src) node() NodeID   { return NodeID(s>>stmtBits&(1<<nodeBits-1)) - 1 }
func (s src) stmt() uint32   { return uint32(s & (1<<stmtBits - 1)) }

// mark is the instance of a producer, the bytes that its store wrote, and the number of
// loads between the stored value and one that is kept.
//
//	bits 0–47   instance
//	bits 48–53  depth, farther than maxDepth: the value cannot be found this way
//	bits 54–55  logarithm of the store's size
//	bits 56–58  the byte of the store with which a cell begins
//	bit  63     the cell is split, and src is its index in the pool
type mark uint64

const (
	kBits   = 48
	maxK    = 1<<kBits - 1
	unknown = 63 // a depth

	firstShift = kBits + 8
	splitMark  = mark(1) << 63
)

func markOf(k uint64, depth, size uint8) mark {
	return mark(k) | mark(depth)<<kBits | mark(bits.TrailingZeros8(size))<<(kBits+6)
}

func (m mark) k() uint64    { return uint64(m) & maxK }
func (m mark) depth() uint8 { return uint8(m>>kBits) & 63 }
func (m mark) size() uint8  { return 1 << (m >> (kBits + 6) & 3) }
func (m mark) first() uint8 { return uint8(m>>firstShift) & 7 }

// from returns the mark of a cell that begins n bytes later.
func (m mark) from(n uint64) mark {
	const bits = mark(7) << firstShift
	return m&^bits | (m+mark(n&7)<<firstShift)&bits
}

// part16 says which bytes of what a load reads come from a store, as a mask, and how much
// farther they are in the store, counted from -7. It is 0 if all bytes come from the
// store's beginning.
//
//	bits 0–3   7 and how much farther
//	bits 4–11  one bit for each byte of the load
type part16 uint16

const maxPart = 1<<12 - 1

// take returns the part of a store's value that a load uses.
func (p part16) take(v uint64) uint64 {
	if far := int(p&15) - 7; far >= 0 {
		v >>= 8 * far
	} else {
		v <<= -8 * far
	}
	mask := uint64(0)
	for i := range 8 {
		if p>>(4+i)&1 != 0 {
			mask |= 0xff << (8 * i)
		}
	}
	return v & mask
}

// cell says which instance last wrote the bytes of a granule.
type cell struct {
	src  src
	mark mark
}

func (c cell) same(d cell) bool { return c.src == d.src && c.mark.k() == d.mark.k() }

// A granule has 4 bytes, because most stores write at least that. A granule that was
// written in parts has a cell for each byte, in a pool.
const (
	granule   = 4
	pageShift = 13
	pageCells = 1 << pageShift / granule
	pageCache = 64
)

type shadowPage [pageCells]cell

// shadow has the last writer of each byte of memory.
type shadow struct {
	pages map[uint64]*shadowPage
	tags  [pageCache]uint64 // number of the page + 1
	cache [pageCache]*shadowPage
	pool  [][granule]cell
	free  []uint32
}

func newShadow() *shadow { return &shadow{pages: map[uint64]*shadowPage{}} }

// page returns the page of an address. It returns nil if the page was never written and
// create is not set.
func (s *shadow) page(addr uint64, create bool) *shadowPage {
	n := addr >> pageShift
	i := n % pageCache
	if s.tags[i] == n+1 {
		return s.cache[i]
	}
	p := s.pages[n]
	if p == nil {
		if !create {
			return nil
		}
		p = new(shadowPage)
		s.pages[n] = p
	}
	s.tags[i], s.cache[i] = n+1, p
	return p
}

func at(addr uint64) uint64 { return addr >> 2 & (pageCells - 1) }

// write records that the bytes were written.
func (s *shadow) write(addr, size uint64, by cell) {
	for size > 0 {
		c := &s.page(addr, true)[at(addr)]
		off := addr % granule
		n := min(granule-off, size)
		if n == granule {
			if c.mark&splitMark != 0 {
				s.free = append(s.free, uint32(c.src))
			}
			*c = by
		} else {
			p := s.split(c)
			for i := range n {
				p[off+i] = cell{by.src, by.mark.from(i)}
			}
		}
		by.mark = by.mark.from(n)
		addr += n
		size -= n
	}
}

// split returns the bytes of a cell.
func (s *shadow) split(c *cell) *[granule]cell {
	if c.mark&splitMark != 0 {
		return &s.pool[c.src]
	}
	var i int
	if n := len(s.free); n > 0 {
		i = int(s.free[n-1])
		s.free = s.free[:n-1]
	} else {
		i = len(s.pool)
		s.pool = append(s.pool, [granule]cell{})
	}
	for k := range s.pool[i] {
		s.pool[i][k] = cell{c.src, c.mark.from(uint64(k))}
	}
	*c = cell{src(i), splitMark}
	return &s.pool[i]
}

// forget records that the bytes have no writer.
func (s *shadow) forget(addr, size uint64) {
	if size>>pageShift > uint64(len(s.pages)) { // a large part of the address space
		first, last := addr>>pageShift+1, (addr+size)>>pageShift // whole pages: up to last
		for n := range s.pages {
			if n >= first && n < last {
				s.drop(n)
			}
		}
		s.forget(addr, first<<pageShift-addr)
		s.forget(last<<pageShift, (addr+size)-last<<pageShift)
		return
	}
	for size > 0 {
		n := min(1<<pageShift-addr%(1<<pageShift), size)
		switch {
		case s.page(addr, false) == nil:
		case n == 1<<pageShift:
			s.drop(addr >> pageShift)
		default:
			s.write(addr, n, cell{})
		}
		addr += n
		size -= n
	}
}

// move records that n bytes moved to another place, which does not overlap the old one.
// Addresses and n are multiples of a granule. The bytes at the old place have no writer.
func (s *shadow) move(from, to, n uint64) {
	s.forget(to, n)
	for old := from; old < from+n; old += granule {
		page := s.page(old, false)
		if page == nil {
			old = old>>pageShift<<pageShift + 1<<pageShift - granule // the next page
			continue
		}
		c := page[at(old)]
		if c.src == 0 && c.mark&splitMark == 0 {
			continue
		}
		place := &s.page(to+(old-from), true)[at(to+(old-from))]
		if c.mark&splitMark != 0 {
			parts := s.split(place) // may move the pool
			*parts = s.pool[c.src]
		} else {
			*place = c
		}
	}
	s.forget(from, n)
}

// drop releases a page's memory.
func (s *shadow) drop(n uint64) {
	for _, c := range s.pages[n] {
		if c.mark&splitMark != 0 {
			s.free = append(s.free, uint32(c.src))
		}
	}
	i := n % pageCache
	s.tags[i], s.cache[i] = 0, nil
	delete(s.pages, n)
}

// producers are the distinct producers of what a load reads.
type producers struct {
	n     int
	cells [8]cell
	parts [8]part16
	whole bool // all bytes were written
}

// read finds the distinct producers of up to 8 bytes.
func (s *shadow) read(addr, size uint64, out *producers) {
	out.n, out.whole = 0, true
	for at := uint64(0); at < size; {
		off := (addr + at) % granule
		k := min(granule-off, size-at)
		if page := s.page(addr+at, false); page == nil {
			out.whole = false
		} else if c := page[(addr+at)>>2&(pageCells-1)]; c.mark&splitMark == 0 {
			out.note(cell{c.src, c.mark.from(off)}, at, k)
		} else {
			for i, b := range s.pool[c.src][off : off+k] {
				out.note(b, at+uint64(i), 1)
			}
		}
		at += k
	}
	for i := range out.n {
		if out.parts[i] == part16(1<<size-1)<<4|7 {
			out.parts[i] = 0
		}
	}
}

// note adds n bytes of the load, from at on.
func (p *producers) note(c cell, at, n uint64) {
	if c.src == 0 {
		p.whole = false
		return
	}
	part := part16(1<<n-1)<<(4+at) | part16(uint64(c.mark.first())+7-at)&15
	for i := range p.n {
		if p.cells[i].same(c) {
			p.parts[i] |= part &^ 15
			return
		}
	}
	p.cells[p.n], p.parts[p.n] = c, part
	p.n++
}

// depth returns the number of steps to find what is read. found says whether that is
// possible. Several producers count more, because their steps multiply.
func (p *producers) depth() (depth uint8, found bool) {
	if !p.whole {
		return 0, false
	}
	for _, c := range p.cells[:p.n] {
		depth = max(depth, c.mark.depth())
	}
	return depth + 2*uint8(bits.Len(uint(p.n-1))), depth < unknown
}

// scan calls f with the producers of a range. Equal neighbours are joined.
func (s *shadow) scan(addr, size uint64, f func(cell)) {
	var last cell
	tell := func(c cell) {
		if c.src != 0 && !c.same(last) {
			f(c)
		}
		last = c
	}
	for size > 0 {
		page := s.page(addr, false)
		if page == nil {
			n := min(1<<pageShift-addr%(1<<pageShift), size)
			addr += n
			size -= n
			continue
		}
		off := addr % granule
		k := min(granule-off, size)
		if c := page[at(addr)]; c.mark&splitMark == 0 {
			tell(c)
		} else {
			for _, b := range s.pool[c.src][off : off+k] {
				tell(b)
			}
		}
		addr += k
		size -= k
	}
}
