package race

import (
	"math"
	"math/bits"
	"slices"

	"hindsight/analyze/replay"
)

// shard is a worker of the exact pass: it remembers the accesses to its part of
// memory and counts the pairs that race there.
type shard struct {
	e        *engine // what does not change during a batch
	number   int     // of e.of
	suspects map[uint64][]uint64
	sorted   []uint64 // the pages of suspects
	accesses []access
	shadow   shadow
	pairs    pairTable
	unit     *unit
	manners  []manner // of the present access
	dirty    []*page  // with something pending
	horizon  *horizon
	swept    *horizon // at the last sweep
	records  int      // columns and members in the shadow
	sweepAt  int
	stats    Stats
}

func newShard(e *engine, number int) *shard {
	s := &shard{e: e, number: number, accesses: e.accesses, shadow: shadow{pages: map[uint64]*page{}},
		pairs: pairTable{pairs: map[pairKey]*pair{}}, sweepAt: e.opts.SweepEvery}
	if e.suspects != nil {
		s.suspects = e.suspects.pages[number]
		for n := range s.suspects {
			s.sorted = append(s.sorted, n)
		}
		slices.Sort(s.sorted)
	}
	return s
}

// take takes a batch.
func (s *shard) take(b *batch, items []item) error {
	s.horizon = b.horizon
	unit, access := int32(-1), uint32(0)
	for i := range items {
		it := &items[i]
		if len(s.dirty) > 0 && (it.kind != itemRun || it.unit != unit || it.access != access) {
			s.settle()
		}
		switch it.kind {
		case itemCut:
			s.records += s.shadow.cut(it.base, it.size, it.number)
		case itemRun:
			unit, access = it.unit, it.access
			s.unit = &b.units[it.unit]
			s.paintRun(it)
		case itemEvent:
			s.unit = &b.units[it.unit]
			s.takeEvent(it)
		}
	}
	s.settle()
	return nil
}

// perSieve is the pages of the shadow in a page of a sieve.
const perSieve = 1 << (sieveBits - pageBits)

// page returns a page of the shadow, or nil when the shard looks at nothing in
// the whole page of the sieve.
func (s *shard) page(number uint64) *page {
	if s.shadow.last != nil && s.shadow.last.number == number {
		return s.shadow.last
	}
	p := s.shadow.pages[number]
	if p == nil {
		looks := allGranules
		if s.suspects != nil {
			near := s.suspects[number/perSieve]
			if near == nil {
				return nil
			}
			looks = suspectGranules(near, number%perSieve)
		} else if owner(number/perSieve, s.e.opts.Workers) != s.number {
			return nil
		}
		p = &page{number: number, looks: looks}
		if s.e.survey.Atomic != nil {
			s.markAtomic(p)
		}
		s.shadow.pages[number] = p
	}
	s.shadow.last = p
	return p
}

// suspectGranules are those of page number part of a page of a sieve.
func suspectGranules(near []uint64, part uint64) (g granules) {
	const words = sieveWords / perSieve
	for i, w := range near[part*words : (part+1)*words] {
		for w != 0 {
			b := bits.TrailingZeros64(w) &^ 7
			w &^= 0xff << b
			g.add(uint64(i)*8 + uint64(b)/8)
		}
	}
	return g
}

func (s *shard) markAtomic(p *page) {
	first := p.number * perPage
	for i := range uint64(perPage) {
		if s.e.survey.Atomic.Ever(first+i) != 0 {
			p.atomic.add(i)
		}
		if s.e.survey.Atomic.Ever(first+i-1) != 0 {
			p.after.add(i)
		}
	}
}

// nextPage is the first page after the given one that the shard may look at.
func (s *shard) nextPage(number uint64) (uint64, bool) {
	outer := number/perSieve + 1
	if s.suspects == nil {
		return outer * perSieve, outer < 1<<(64-sieveBits)
	}
	i, _ := slices.BinarySearch(s.sorted, outer)
	if i == len(s.sorted) {
		return 0, false
	}
	return s.sorted[i] * perSieve, true
}

// common are the granules of a set that are not the thread's own memory.
func (s *shard) common(p *page, set granules) (rest granules) {
	for !set.empty() {
		i := set.first()
		set = set.without(singleton(i))
		if !s.e.run.Own(s.unit.thread, (p.number*perPage+i)<<3) {
			rest.add(i)
		}
	}
	return rest
}

// touch finds the races of executions of the present unit, times on each
// granule of a set, with what was done there before, and remembers them.
func (s *shard) touch(p *page, set granules, m manner, times uint64) {
	c := column{manner: m, thread: s.unit.thread, strand: s.unit.strand}
	if fresh := set.without(p.touched); !fresh.empty() {
		s.remember(&p.classes[p.put(class{set: fresh})], -1, &c, times)
		set = set.without(fresh)
	}
	for !set.empty() {
		i, grown := p.part(p.classAt(set.first()), set)
		s.records += grown
		cl := &p.classes[i]
		p.work++
		s.remember(cl, s.check(p, cl, &c, times), &c, times)
		set = set.without(cl.set)
	}
}

// check counts the pairs of executions, which touch the granules of a class as
// c says, with what is remembered of them. It returns the index of the column
// that the executions themselves belong in, or -1.
func (s *shard) check(p *page, cl *class, c *column, times uint64) int {
	s.stats.Groups++
	least := s.horizon.least
	own := -1
	for i := 0; i < len(cl.columns); i++ {
		d := &cl.columns[i]
		if int(d.strand) < len(least) && d.newest.epoch <= least[d.strand] { // everybody has seen it
			s.records -= d.weight()
			last := len(cl.columns) - 1
			*d, cl.columns[last] = cl.columns[last], column{}
			cl.columns = cl.columns[:last]
			i--
			continue
		}
		if d.strand == c.strand {
			if d.manner == c.manner && d.thread == c.thread && d.cut == 0 {
				own = i
			}
			continue
		}
		if c.racing(&d.manner) == 0 || // no common byte, or the first one is in the granule before
			!c.op.Writes() && !d.op.Writes() ||
			d.cut != 0 && d.cut <= s.unit.start {
			continue
		}
		if first, n := d.unseen(s.unit.clock.At(d.strand)); n != 0 {
			set := cl.set
			if d.thread == c.thread {
				if set = s.common(p, set); set.empty() {
					continue
				}
			}
			s.found(p, set, c, d, first, mulSat(n, times))
		}
	}
	return own
}

// found counts dynamic pairs, so many on each granule of a set, of executions
// in the present unit with those of d from its unit first on.
func (s *shard) found(p *page, set granules, c, d *column, first, dynamic uint64) {
	x, y := s.accesses[c.access].place, s.accesses[d.access].place
	pr := s.pairs.at(pairKey(min(x, y))<<32 | pairKey(max(x, y)))
	pr.dynamic = addSat(pr.dynamic, mulSat(dynamic, set.count()))
	m := meetingKey{s.unit.order, first}
	at := spot{page: p.number, set: set, later: spotSide{c.access, c.offset}, earlier: spotSide{d.access, d.offset}, common: c.racing(&d.manner)}
	if n := pr.first.compare(m); n >= 0 || pr.first.spots == nil {
		pr.first.offer(m, c.thread, d.thread, at)
	}
	m.earlier = d.newest.last
	if n := pr.last.compare(m); n <= 0 || pr.last.spots == nil {
		pr.last.offer(m, c.thread, d.thread, at)
	}
}

// remember adds executions to column number own of a class, or as column c.
func (s *shard) remember(cl *class, own int, c *column, times uint64) {
	if own < 0 {
		if len(cl.columns) >= max(int(cl.limit), s.e.opts.columnsLimit) {
			s.thin(cl)
		}
		own = len(cl.columns)
		cl.columns = append(cl.columns, *c)
		s.records++
	}
	if cl.columns[own].add(s.unit, times) {
		s.records++
	}
	s.stats.Peak = max(s.stats.Peak, s.records)
}

// takeEvent takes the present unit, an event that is an access.
func (s *shard) takeEvent(it *item) {
	addr, end := it.base, it.base+it.size
	m := manner{access: it.access, op: s.accesses[it.access].op}
	all := uint8(0) // bytes that count as atomic
	if s.accesses[it.access].atomic == replay.IsAtomic {
		all = wholeMask
	}
	const shift = pageBits - 3
	for at := addr; at < end; {
		g := at >> 3
		p := s.page(g >> shift)
		if p == nil {
			next, ok := s.nextPage(g >> shift)
			if !ok {
				break
			}
			at = next << pageBits
			continue
		}
		if at&7 == 0 && at-addr >= 8 && end-at >= 8 { // all that is whole in the page, at once
			n := min((end-at)>>3, perPage-g&(perPage-1))
			m.offset, m.mask, m.prev = math.MinInt8, wholeMask, wholeMask
			m.atomic, m.prevAtomic = all, all
			s.touch(p, progression(g&(perPage-1), 1, n).and(p.looks), m, 1)
			at += n << 3
			continue
		}
		stop := min(end, (g+1)<<3)
		m.mask = uint8((1<<(stop-at) - 1) << (at & 7))
		m.offset = int8(max(int64(addr-g<<3), math.MinInt8)) // at least -15 for an atomic access, any for a free
		m.prev = lastBytes(addr, g<<3)
		m.atomic, m.prevAtomic = m.mask&all, m.prev&all
		if s.accesses[it.access].atomic == replay.MaybeAtomic {
			s.variables(&m, g)
		}
		if p.looks.contains(g & (perPage - 1)) {
			s.touch(p, singleton(g&(perPage-1)), m, 1)
		}
		at = stop
	}
	s.trim()
}

// lastBytes is the bytes from addr on in the granule that ends at end.
func lastBytes(addr, end uint64) uint8 {
	switch {
	case addr >= end:
		return 0
	case end-addr >= 8:
		return wholeMask
	}
	return uint8(wholeMask) << (8 - (end - addr))
}
