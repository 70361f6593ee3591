package race

import "hindsight/tracefmt/event"

// The shadow remembers the accesses made so far, by granule of 8 bytes.

const (
	pageBits  = 10
	perPage   = 1 << (pageBits - 3) // granules
	wholeMask = 0xff
)

// ref names an execution: the place in the order of units (see engine.order)
// and the ordinal of the site, or the index of the event.
type ref struct{ order, ordinal uint64 }

// member is a member of a series: executions in one epoch, or in several that
// nobody can tell apart.
type member struct {
	epoch       uint64 // the last of the epochs
	total       uint64 // executions up to and including these
	first, last ref
}

// column is the series of the executions by one thread of one access that
// touched the same bytes of a granule.
type column struct {
	access uint32 // index of engine.accesses
	thread event.ThreadID
	strand event.ThreadID // that the thread acted as
	// offset of the first byte accessed from the start of the granule; it is
	// negative when the access began in the granule before.
	offset int8
	mask   uint8 // bytes of the granule
	prev   uint8 // bytes of the granule before
	op     Op
	// cut is the 1-based place in S_synch of the first allocation of this
	// memory since, 0 if there was none.
	cut    uint64
	before uint64 // executions dropped from the front of the series
	series []member
}

// unseen finds the executions that a thread whose clock stands at seen for
// this column's thread is not ordered after: those from member i on.
func (c *column) unseen(seen uint64) (i int, count uint64) {
	n := len(c.series)
	if c.series[n-1].epoch <= seen {
		return n, 0
	}
	if c.series[0].epoch > seen {
		return 0, c.series[n-1].total - c.before
	}
	lo, hi := 1, n-1 // series[hi].epoch > seen
	for lo < hi {
		if mid := (lo + hi) / 2; c.series[mid].epoch > seen {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	base := c.before
	if lo > 0 {
		base = c.series[lo-1].total
	}
	return lo, c.series[n-1].total - base
}

// add records a burst. It says whether the series became longer.
func (c *column) add(epoch uint64, b *burst) bool {
	n := len(c.series)
	if n > 0 && c.series[n-1].epoch == epoch {
		m := &c.series[n-1]
		m.total += b.count
		if m.first.order == b.order {
			m.first.ordinal = min(m.first.ordinal, b.ordinal)
		}
		if m.last.order == b.order {
			m.last.ordinal = max(m.last.ordinal, b.last)
		} else {
			m.last = ref{b.order, b.last}
		}
		return false
	}
	total := b.count + c.before
	if n > 0 {
		total = b.count + c.series[n-1].total
	}
	c.series = append(c.series, member{epoch, total, b.ref, ref{b.order, b.last}})
	return true
}

// granule is what is remembered of 8 bytes.
type granule struct {
	columns []column
	limit   int32 // length at which superfluous columns are looked for again
}

// page is what is remembered of 1024 bytes.
type page struct {
	whole    granule // accesses (of Free) that cover every byte and the 8 before
	granules *[perPage]granule
}

func (p *page) at(i uint64) *granule {
	if p.granules == nil {
		p.granules = new([perPage]granule)
	}
	return &p.granules[i]
}

// shadow maps page numbers to pages.
type shadow struct {
	pages    map[uint64]*page
	lastPage uint64
	last     *page
}

func (s *shadow) page(number uint64) *page {
	if s.last != nil && s.lastPage == number {
		return s.last
	}
	p := s.pages[number]
	if p == nil {
		p = new(page)
		s.pages[number] = p
	}
	s.lastPage, s.last = number, p
	return p
}

// within calls yield for the pages that exist among those numbered first to
// last.
func (s *shadow) within(first, last uint64, yield func(number uint64, p *page)) {
	if last-first < uint64(len(s.pages)) {
		for n := first; ; n++ {
			if p := s.pages[n]; p != nil {
				yield(n, p)
			}
			if n == last {
				return
			}
		}
	}
	for n, p := range s.pages {
		if n >= first && n <= last {
			yield(n, p)
		}
	}
}

// cut separates what is remembered of the granules that [addr, addr+size)
// touches from accesses that begin at place at (1-based) of S_synch or later.
func (s *shadow) cut(addr, size, at uint64) {
	if size == 0 {
		return
	}
	lo, hi := addr>>3, (addr+size-1)>>3
	if hi < lo {
		return
	}
	const shift = pageBits - 3
	s.within(lo>>shift, hi>>shift, func(number uint64, p *page) {
		from, to := uint64(0), uint64(perPage-1)
		if number == lo>>shift {
			from = lo & (perPage - 1)
		}
		if number == hi>>shift {
			to = hi & (perPage - 1)
		}
		if from == 0 && to == perPage-1 {
			p.whole.cut(at)
		} else {
			p.spread()
		}
		if p.granules != nil {
			for i := from; i <= to; i++ {
				p.granules[i].cut(at)
			}
		}
	})
}

func (g *granule) cut(at uint64) {
	for i := range g.columns {
		if c := &g.columns[i]; c.cut == 0 {
			c.cut = at
		}
	}
}

// spread writes the accesses that cover the whole page into its granules.
func (p *page) spread() {
	if len(p.whole.columns) == 0 {
		return
	}
	for i := range uint64(perPage) {
		g := p.at(i)
		for _, c := range p.whole.columns {
			c.series = append([]member(nil), c.series...)
			g.columns = append(g.columns, c)
		}
	}
	p.whole = granule{}
}
