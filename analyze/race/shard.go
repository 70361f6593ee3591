package race

import (
	"math"
	"math/bits"

	"hindsight/tracefmt/event"
)

// shard is a worker of the exact pass: it remembers the accesses to its part of
// memory and counts the pairs that race there.
type shard struct {
	e          *engine // what does not change during a batch
	number     int     // of e.of
	suspects   map[uint64]*[sieveWords]uint64
	accesses   []access
	shadow     shadow
	pairs      pairTable
	unit       *unit
	near       *[sieveWords]uint64 // page nearNumber of suspects
	nearNumber uint64
	hasNear    bool
	horizon    *horizon
	swept      *horizon // at the last sweep
	records    int      // columns and members in the shadow
	sweepAt    int
	stats      Stats
}

func newShard(e *engine, number int) *shard {
	s := &shard{e: e, number: number, accesses: e.accesses, shadow: shadow{pages: map[uint64]*page{}},
		pairs: pairTable{pairs: map[pairKey]*pair{}}, sweepAt: e.opts.SweepEvery}
	if e.suspects != nil {
		s.suspects = e.suspects.pages[number]
	}
	return s
}

// take takes a batch.
func (s *shard) take(b *batch) error {
	s.horizon = b.horizon
	for i := range b.items {
		it := &b.items[i]
		switch it.kind {
		case itemCut:
			s.shadow.cut(it.base, it.size, it.first)
			continue
		case itemRun:
			s.unit = &b.units[it.unit]
			s.takeRun(it)
		case itemEvent:
			s.unit = &b.units[it.unit]
			s.takeEvent(it)
		}
	}
	return nil
}

// mine says whether some of what the shard looks at is in a page of a sieve.
func (s *shard) mine(number uint64) bool {
	if s.suspects == nil {
		return owner(number, s.e.opts.Workers) == s.number
	}
	if s.nearNumber != number || !s.hasNear {
		s.near, s.nearNumber, s.hasNear = s.suspects[number], number, true
	}
	return s.near != nil
}

// looks says whether the shard looks at a granule.
func (s *shard) looks(g uint64) bool {
	const perSieve = sieveSize / 8
	return s.mine(g/perSieve) && (s.suspects == nil || uint8(s.near[g%perSieve/8]>>(g%8*8)) != 0)
}

// ownMemory says whether addr is in memory of which thread t has a part of its
// own, so that its strands, which run there one after another, do not race.
func (s *shard) ownMemory(t event.ThreadID, addr uint64) bool {
	if s.e.private.contains(addr) {
		return true
	}
	owner, _, ok := s.e.memory.TLS(addr)
	return ok && owner == t
}

// takeRun takes a run of plain accesses of the present unit.
func (s *shard) takeRun(it *item) {
	a := &s.accesses[it.access]
	if it.stride == 0 {
		s.burst(it.access, a, it.base, it.first, it.first+it.count-1, it.count)
		s.trim()
		return
	}
	for i := uint64(0); i < it.count; {
		addr := it.base + i*it.stride
		number := addr >> sieveBits
		end := (addr + uint64(a.size) - 1) >> sieveBits
		if !s.mine(number) && (number == end || !s.mine(end)) {
			i += leave(addr, int64(it.stride), uint64(a.size))
			continue
		}
		s.burst(it.access, a, addr, it.first+i, it.first+i, 1)
		i++
		if i&(1<<14-1) == 0 {
			s.trim()
		}
	}
	s.trim()
}

// leave is after how many steps from addr on accesses of size bytes can touch
// another page than the first one's.
func leave(addr uint64, stride int64, size uint64) uint64 {
	in := addr & (sieveSize - 1)
	if stride < 0 {
		return in/-uint64(stride) + 1
	}
	if in+size > sieveSize {
		return 1
	}
	return (sieveSize-in-size)/uint64(stride) + 1
}

// burst is a number of executions of an access at one address.
type burst struct {
	execution        // its ordinal is that of the first
	last      uint64 // ordinal of the last
	count     uint64
}

// burst takes count executions of a site at addr, with ordinals from first to
// last.
func (s *shard) burst(id uint32, a *access, addr, first, last, count uint64) {
	g, lo := addr>>3, addr&7
	wide := uint16(1<<a.size-1) << lo
	mask, over := uint8(wide), uint8(wide>>8)
	if s.e.atomic != nil {
		mask &^= s.e.atomic.bytes(g)
		if over != 0 {
			over &^= s.e.atomic.bytes(g + 1)
		}
	}
	looks := mask != 0 && s.looks(g)
	if looks {
		s.stats.Accesses += count
	}
	b := burst{last: last, count: count}
	b.access, b.thread, b.addr, b.ref = id, uint32(s.unit.thread), addr, ref{s.unit.order, first}
	if looks {
		s.touch(g, &b, column{offset: int8(lo), mask: mask, op: a.op})
	}
	if over != 0 && s.looks(g+1) {
		s.touch(g+1, &b, column{offset: int8(lo) - 8, mask: over, prev: mask, op: a.op})
	}
}

// touch finds the races of a burst with what was done to granule g before, and
// remembers it there as c says.
func (s *shard) touch(g uint64, b *burst, c column) {
	const shift = pageBits - 3
	c.access, c.thread, c.strand = b.access, s.unit.thread, s.unit.strand
	p := s.shadow.page(g >> shift)
	gr := p.at(g & (perPage - 1))
	if len(p.whole.columns) > 0 {
		s.check(&p.whole, g, b, &c)
	}
	s.remember(gr, s.check(gr, g, b, &c), b, c)
}

// check counts the pairs of a burst, which touches granule g as c says, with
// what is remembered in gr. It gives the index of the column that the burst
// itself belongs in, or -1.
func (s *shard) check(gr *granule, g uint64, b *burst, c *column) int {
	own := -1
	for i := range gr.columns {
		d := &gr.columns[i]
		if d.strand == c.strand {
			if d.access == c.access && d.thread == c.thread && d.cut == 0 && d.mask == c.mask && d.prev == c.prev && d.offset == c.offset {
				own = i
			}
			continue
		}
		if d.mask&c.mask == 0 || d.prev&c.prev != 0 || // no common byte, or the first one is in the granule before
			!c.op.Writes() && !d.op.Writes() || c.op.Atomic() && d.op.Atomic() ||
			d.cut != 0 && d.cut <= s.unit.start {
			continue
		}
		if from, n := d.unseen(s.unit.clock.At(d.strand)); n != 0 {
			if d.thread == c.thread && s.ownMemory(c.thread, g<<3) {
				continue
			}
			s.found(d, from, mulSat(n, b.count), g<<3, uint64(bits.TrailingZeros8(c.mask&d.mask)), b)
		}
	}
	return own
}

// found counts dynamic pairs of a burst with the members of c that begin with
// number from. The first common byte is number common of the granule at base.
func (s *shard) found(c *column, from int, dynamic, base, common uint64, b *burst) {
	x, y := s.accesses[b.access].place, s.accesses[c.access].place
	key := pairKey{min(x, y), max(x, y)}
	newest := &c.series[len(c.series)-1]
	if p := s.pairs.last; p != nil && s.pairs.lastKey == key && b.order > p.last.later.order {
		// Units come in order: this pair is behind all that were found.
		p.dynamic = addSat(p.dynamic, dynamic)
		p.last.later, p.last.addr = b.execution, base+common
		p.last.later.ordinal = b.last
		p.last.earlier = execution{access: c.access, thread: uint32(c.thread), addr: base + uint64(int64(c.offset)), ref: newest.last}
		return
	}
	earlier := execution{access: c.access, thread: uint32(c.thread), addr: base + uint64(int64(c.offset)), ref: c.series[from].first}
	first := instance{later: b.execution, earlier: earlier, addr: base + common}
	last := first
	last.later.ordinal = b.last
	last.earlier.ref = newest.last
	s.pairs.add(key, dynamic, &first, &last)
}

// remember adds a burst to column number own of gr, or as column c.
func (s *shard) remember(gr *granule, own int, b *burst, c column) {
	if own < 0 {
		if len(gr.columns) >= max(int(gr.limit), s.e.opts.columnsLimit) {
			s.thin(gr)
		}
		own = len(gr.columns)
		gr.columns = append(gr.columns, c)
		s.records++
	}
	if gr.columns[own].add(s.unit.epoch, b) {
		s.records++
	}
	s.stats.Peak = max(s.stats.Peak, s.records)
}

// takeEvent takes the present unit, an event that is an access.
func (s *shard) takeEvent(it *item) {
	addr, id, op := it.base, it.access, s.accesses[it.access].op
	b := burst{last: it.first, count: 1}
	b.access, b.thread, b.addr, b.ref = id, uint32(s.unit.thread), addr, ref{s.unit.order, it.first}
	end := addr + it.size
	var prev uint8
	for at := addr; at < end; {
		if number := at >> sieveBits; !s.mine(number) { // the bytes before the next page have been looked at
			at = min((number+1)<<sieveBits, end)
			prev = lastBytes(addr, at)
			continue
		}
		g := at >> 3
		if at&(1<<pageBits-1) == 0 && at-addr >= 8 && end-at >= 1<<pageBits {
			s.takePage(at>>pageBits, op, &b)
			at += 1 << pageBits
			prev = wholeMask
			continue
		}
		stop := min(end, (g+1)<<3)
		mask := uint8((1<<(stop-at) - 1) << (at & 7))
		offset := int64(addr - g<<3) // at least -15 for an atomic access, any for a free
		if s.looks(g) {
			s.touch(g, &b, column{offset: int8(max(offset, math.MinInt8)), mask: mask, prev: prev, op: op})
		}
		prev, at = mask, stop
	}
}

// lastBytes is the bytes from addr on in the granule that ends at at.
func lastBytes(addr, at uint64) uint8 {
	if at-addr >= 8 {
		return wholeMask
	}
	return wholeMask << (8 - (at - addr))
}

// takePage takes a whole page of a burst of Free that covers the granule before
// it too. Only
// what somebody touched there costs anything.
func (s *shard) takePage(number uint64, op Op, b *burst) {
	p := s.shadow.page(number)
	first := number << (pageBits - 3)
	c := column{access: b.access, thread: s.unit.thread, strand: s.unit.strand, offset: math.MinInt8, mask: wholeMask, prev: wholeMask, op: op}
	own := s.check(&p.whole, first, b, &c)
	if p.granules != nil {
		for i := range uint64(perPage) {
			if gr := &p.granules[i]; len(gr.columns) > 0 {
				s.check(gr, first+i, b, &c)
			}
		}
	}
	s.remember(&p.whole, own, b, c)
}
