package written

import (
	"hindsight/mpsim/image"
)

const (
	pageBytes = 4096
	filter    = 1 << 12
)

// memory has the known contents of some pages.
type memory struct {
	pages map[uint64]*page // by address / 4096
	maybe [filter]bool     // by page number modulo filter: there may be such a page
}

type page struct {
	data  [pageBytes]byte
	known [pageBytes]bool
}

// newMemory returns a memory of those pages, with the contents of the program's file.
func newMemory(img *image.Space, numbers map[uint64]bool) memory {
	m := memory{pages: make(map[uint64]*page, len(numbers))}
	for n := range numbers {
		p := new(page)
		m.pages[n], m.maybe[n%filter] = p, true
		for _, of := range img.Images() {
			for i := range of.Segments {
				p.load(n*pageBytes, &of.Segments[i])
			}
		}
	}
	return m
}

// load stores the contents of a segment in the page at addr.
func (p *page) load(addr uint64, s *image.Segment) {
	if addr >= s.End() || s.Addr >= addr+pageBytes {
		return
	}
	for k := range uint64(pageBytes) {
		off := addr + k - s.Addr
		if off < s.MemSize {
			p.known[k] = true
			if off < uint64(len(s.Data)) {
				p.data[k] = s.Data[off]
			}
		}
	}
}

// watches reports whether an address is in one of the pages.
func (m *memory) watches(addr uint64) bool {
	n := addr / pageBytes
	return m.maybe[n%filter] && m.pages[n] != nil
}

// write stores the lowest bytes of value and reports whether they were already there.
func (m *memory) write(addr uint64, size uint8, value uint64) (unchanged bool) {
	unchanged = true
	for range size {
		p, b := m.pages[addr/pageBytes], byte(value)
		if p == nil {
			unchanged = false
		} else {
			at := addr % pageBytes
			unchanged = unchanged && p.known[at] && p.data[at] == b
			p.data[at], p.known[at] = b, true
		}
		addr++
		value >>= 8
	}
	return unchanged
}

// forget marks bytes as unknown, because something unknown was written.
func (m *memory) forget(addr, n uint64) { m.fill(addr, n, false) }

// zero stores zeros.
func (m *memory) zero(addr, n uint64) { m.fill(addr, n, true) }

func (m *memory) fill(addr, n uint64, known bool) {
	if n == 0 {
		return
	}
	first, last := addr/pageBytes, (addr+n-1)/pageBytes
	if last-first < uint64(len(m.pages)) {
		for number := first; number <= last; number++ {
			if p := m.pages[number]; p != nil {
				p.fill(number, addr, n, known)
			}
		}
		return
	}
	for number, p := range m.pages {
		if number-first <= last-first {
			p.fill(number, addr, n, known)
		}
	}
}

// fill sets the part of the n bytes at addr that is in the page with that number.
func (p *page) fill(number, addr, n uint64, known bool) {
	var from, to uint64
	if start := number * pageBytes; start < addr {
		from = addr - start
		to = min(from+n, pageBytes)
	} else {
		to = min(addr+n-start, pageBytes)
	}
	for k := from; k < to; k++ {
		p.data[k], p.known[k] = 0, known
	}
}
