package count

import (
	"math/bits"
	"slices"

	"hindsight/analyze/race/internal/pass"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// The shadow stores the earlier accesses, by granule of 8 bytes. Granules of a page that
// were accessed in the same way share their records: they are a class.

const (
	PageBits  = 10
	PerPage   = 1 << (PageBits - 3) // granules
	wholeMask = 0xff
)

// Granules is a set of granules of a page.
type Granules [PerPage / 64]uint64

var allGranules = Granules{^uint64(0), ^uint64(0)}

// progression is n granules from number from on, step apart; they are in the
// page.
func progression(from, step, n uint64) (g Granules) {
	if step <= 1 {
		lo, hi := from, from+max(n, 1) // hi is after the last
		if lo < 64 {
			g[0] = ^uint64(0) << lo
		}
		g[1] = ^uint64(0)
		if lo > 64 {
			g[1] <<= lo - 64
		}
		if hi <= 64 {
			g[0] &= ^uint64(0) >> (64 - hi)
			g[1] = 0
		} else if hi < PerPage {
			g[1] &= ^uint64(0) >> (PerPage - hi)
		}
		return g
	}
	for ; n > 0; n-- {
		g[from>>6] |= 1 << (from & 63)
		from += step
	}
	return g
}

func (g Granules) empty() bool                 { return g[0]|g[1] == 0 }
func (g Granules) and(h Granules) Granules     { return Granules{g[0] & h[0], g[1] & h[1]} }
func (g Granules) Or(h Granules) Granules      { return Granules{g[0] | h[0], g[1] | h[1]} }
func (g Granules) without(h Granules) Granules { return Granules{g[0] &^ h[0], g[1] &^ h[1]} }
func (g Granules) Contains(i uint64) bool      { return g[i>>6]>>(i&63)&1 != 0 }
func (g *Granules) add(i uint64)               { g[i>>6] |= 1 << (i & 63) }
func (g Granules) count() uint64               { return uint64(bits.OnesCount64(g[0]) + bits.OnesCount64(g[1])) }
func Singleton(i uint64) (g Granules)          { g.add(i); return g }

// first returns the number of the first granule; there is one.
func (g Granules) first() uint64 {
	if g[0] != 0 {
		return uint64(bits.TrailingZeros64(g[0]))
	}
	return 64 + uint64(bits.TrailingZeros64(g[1]))
}

// member is a member of a series: executions in one epoch, or in several epochs that no
// thread can distinguish.
type member struct {
	epoch       uint64 // the last of the epochs
	total       uint64 // executions up to and including these
	first, last uint64 // their first and last unit (see pass.Unit.Order)
}

// manner is the way in which an access touches a granule.
type manner struct {
	access uint32 // index of Config.Accesses
	// offset of the first byte accessed from the start of the granule. It is negative if
	// the access began in the previous granule.
	offset int8
	mask   uint8 // bytes of the granule
	prev   uint8 // bytes of the previous granule
	op     replay.Op
	// The bytes among these to which the access counts as an atomic one.
	atomic, prevAtomic uint8
}

// racing returns the bytes of the granule on which executions in the two manners race, if
// nothing orders them. It returns none if the first such byte is in the previous granule.
func (m *manner) racing(n *manner) uint8 {
	if m.op.Call() && n.op.Call() {
		m, n = &manner{mask: m.mask, prev: m.prev}, &manner{mask: n.mask, prev: n.prev}
	}
	if m.prev&n.prev&^(m.prevAtomic&n.prevAtomic) != 0 {
		return 0
	}
	return m.mask & n.mask &^ (m.atomic & n.atomic)
}

// column is the series of the executions, by one thread and of one access, that touched
// the same bytes of a granule.
type column struct {
	manner
	thread event.ThreadID
	strand event.StrandID // that the thread acted as
	// cut is the 1-based position in S_synch of the first allocation of this memory
	// since, or 0 if there was none.
	cut    uint64
	before uint64 // executions dropped from the front of the series
	newest member // the last of the series
	older  []member
}

// unseen returns the executions that are not ordered before a thread whose clock is at
// seen for this column's thread: the first unit with one, and their number.
func (c *column) unseen(seen uint64) (first, count uint64) {
	if c.newest.epoch <= seen {
		return 0, 0
	}
	lo, hi := 0, len(c.older) // older[hi].epoch > seen
	for lo < hi {
		if mid := (lo + hi) / 2; c.older[mid].epoch > seen {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	first, base := c.newest.first, c.before
	if lo < len(c.older) {
		first = c.older[lo].first
	}
	if lo > 0 {
		base = c.older[lo-1].total
	}
	return first, c.newest.total - base
}

// add records executions in a unit. It reports whether the series became longer.
func (c *column) add(u *pass.Unit, times uint64) bool {
	m := &c.newest
	if m.epoch == u.Epoch {
		m.total += times
		m.last = u.Order
		return false
	}
	total := c.before + times
	if m.epoch != 0 { // epochs are from 1
		c.older = append(c.older, *m)
		total = m.total + times
	}
	*m = member{u.Epoch, total, u.Order, u.Order}
	return true
}

// weight returns the column and its members.
func (c *column) weight() int { return 2 + len(c.older) }

// class is granules of a page, and what is remembered of each of them.
type class struct {
	set     Granules
	columns []column
	limit   int32 // number of columns at which superfluous ones are searched for again
}

// weigh returns the columns and members of a class.
func (c *class) weigh() int {
	n := 0
	for i := range c.columns {
		n += c.columns[i].weight()
	}
	return n
}

// copyTo copies what is remembered to other granules.
func (c *class) copyTo(set Granules) class {
	d := class{set: set, columns: make([]column, len(c.columns)), limit: c.limit}
	for i := range c.columns {
		d.columns[i] = c.columns[i]
		d.columns[i].older = slices.Clone(c.columns[i].older)
	}
	return d
}

// page is what is stored about 1024 bytes.
type page struct {
	number  uint64
	looks   Granules // granules that are processed
	atomic  Granules // granules of which some bytes are atomic variables
	after   Granules // granules after one of those
	touched Granules // granules in some class
	classes []class
	of      *[PerPage]uint8 // the class of each granule; nil: there are few classes
	pending []pending
	tidied  *pass.Horizon // at the last time that the page was thinned
	work    int           // comparisons of classes since
	idle    int           // how often this hardly reduced the page, recently
}

// weigh returns the columns and members of the page.
func (p *page) weigh() (n int) {
	for i := range p.classes {
		n += p.classes[i].weigh()
	}
	return n
}

// fewClasses is the largest number of classes of a page that are searched one by one.
const fewClasses = 4

// classAt returns the class of a granule that is in one.
func (p *page) classAt(g uint64) int {
	if p.of != nil {
		return int(p.of[g])
	}
	for i := range p.classes {
		if p.classes[i].set.Contains(g) {
			return i
		}
	}
	return -1
}

// put adds a class to the page.
func (p *page) put(c class) int {
	i := len(p.classes)
	p.classes = append(p.classes, c)
	p.touched = p.touched.Or(c.set)
	switch {
	case p.of != nil:
		p.name(i)
	case len(p.classes) > fewClasses:
		p.index()
	}
	return i
}

// index notes the class of every granule.
func (p *page) index() {
	p.of = nil
	if len(p.classes) <= fewClasses {
		return
	}
	p.of = new([PerPage]uint8)
	for i := range p.classes {
		p.name(i)
	}
}

func (p *page) name(i int) {
	for s := p.classes[i].set; !s.empty(); {
		g := s.first()
		p.of[g] = uint8(i)
		s = s.without(Singleton(g))
	}
}

// part moves the granules that class i has in common with set to a class of their own,
// and returns it. grown is the additional memory.
func (p *page) part(i int, set Granules) (own int, grown int) {
	c := &p.classes[i]
	both := c.set.and(set)
	if both == c.set {
		return i, 0
	}
	c.set = c.set.without(both)
	d := c.copyTo(both)
	return p.put(d), d.weigh()
}

// shadow maps page numbers to pages.
type shadow struct {
	pages map[uint64]*page
	last  *page
}

// within calls yield for the pages that exist among those numbered first to
// last.
func (s *shadow) within(first, last uint64, yield func(p *page)) {
	if last-first < uint64(len(s.pages)) {
		for n := first; ; n++ {
			if p := s.pages[n]; p != nil {
				yield(p)
			}
			if n == last {
				return
			}
		}
	}
	for n, p := range s.pages {
		if n >= first && n <= last {
			yield(p)
		}
	}
}

// cut separates what is stored about the granules that [addr, addr+size) touches from
// accesses that begin at position at (1-based) of S_synch or later. It returns the
// additional records.
func (s *shadow) cut(addr, size, at uint64) (grown int) {
	if size == 0 {
		return 0
	}
	lo, hi := addr>>3, (addr+size-1)>>3
	if hi < lo {
		return 0
	}
	const shift = PageBits - 3
	s.within(lo>>shift, hi>>shift, func(p *page) {
		from, to := uint64(0), uint64(PerPage-1)
		if p.number == lo>>shift {
			from = lo & (PerPage - 1)
		}
		if p.number == hi>>shift {
			to = hi & (PerPage - 1)
		}
		for set := progression(from, 1, to-from+1).and(p.touched); !set.empty(); {
			i, more := p.part(p.classAt(set.first()), set)
			grown += more
			c := &p.classes[i]
			for j := range c.columns {
				if d := &c.columns[j]; d.cut == 0 {
					d.cut = at
				}
			}
			set = set.without(c.set)
		}
	})
	return grown
}
