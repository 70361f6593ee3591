package count

import (
	"math"
	"math/bits"
	"slices"

	"hindsight/analyze/race/internal/pass"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// Shard is a worker of the exact pass. It stores the accesses to its part of memory and
// counts the pairs that race there.
type Shard struct {
	Config
	sorted  []uint64 // the pages of suspects
	shadow  shadow
	Pairs   PairTable
	unit    *pass.Unit
	manners []manner // of the current access
	dirty   []*page  // with something pending
	horizon *pass.Horizon
	swept   *pass.Horizon // at the last sweep
	records int           // columns and members in the shadow
	sweepAt int
	Stats   Stats
}

// Config says what a shard processes. It does not change while it counts.
type Config struct {
	Number, Of int           // the shard processes every Ofth page of a sieve, by hash
	Accesses   []pass.Access // by index
	// Suspects has, by page of a sieve, a bit for each byte on which there is a race. nil
	// means all of the shard's memory.
	Suspects map[uint64][]uint64
	Atomic   *replay.Atomics // nil: no byte is part of an atomic variable
	// Own reports whether memory is a thread's own.
	Own          func(t event.ThreadID, addr uint64) bool
	SweepEvery   int // number of records that may be added before the shadow is swept
	ColumnsLimit int // number of columns of a class up to which none is searched for to merge or drop
}

// Stats says how much work counting was.
type Stats struct {
	Accesses uint64 // to memory with races
	Groups   uint64 // of these, number that were processed together
	Peak     int    // largest number of records of accesses at a time
	Sweeps   int
}

func New(c Config) *Shard {
	s := &Shard{Config: c, shadow: shadow{pages: map[uint64]*page{}},
		Pairs: NewPairTable(), sweepAt: c.SweepEvery}
	for n := range s.Suspects {
		s.sorted = append(s.sorted, n)
	}
	slices.Sort(s.sorted)
	return s
}

// Take takes a batch.
func (s *Shard) Take(b *pass.Batch, items []pass.Item) error {
	s.horizon = b.Horizon
	unit, access := int32(-1), uint32(0)
	for i := range items {
		it := &items[i]
		if len(s.dirty) > 0 && (it.Kind != pass.ItemRun || it.Unit != unit || it.Access != access) {
			s.settle()
		}
		switch it.Kind {
		case pass.ItemCut:
			s.records += s.shadow.cut(it.Base, it.Size, it.Number)
		case pass.ItemRun:
			unit, access = it.Unit, it.Access
			s.unit = &b.Units[it.Unit]
			s.paintRun(it)
		case pass.ItemEvent:
			s.unit = &b.Units[it.Unit]
			s.takeEvent(it)
		}
	}
	s.settle()
	return nil
}

// perSieve is the number of pages of the shadow in a page of a sieve.
const perSieve = 1 << (pass.PageBits - PageBits)

// page returns a page of the shadow, or nil if the shard processes nothing in the whole
// page of the sieve.
func (s *Shard) page(number uint64) *page {
	if s.shadow.last != nil && s.shadow.last.number == number {
		return s.shadow.last
	}
	p := s.shadow.pages[number]
	if p == nil {
		looks := allGranules
		if s.Suspects != nil {
			near := s.Suspects[number/perSieve]
			if near == nil {
				return nil
			}
			looks = suspectGranules(near, number%perSieve)
		} else if pass.Owner(number/perSieve, s.Of) != s.Number {
			return nil
		}
		p = &page{number: number, looks: looks}
		if s.Atomic != nil {
			s.markAtomic(p)
		}
		s.shadow.pages[number] = p
	}
	s.shadow.last = p
	return p
}

// suspectGranules returns those of page number part of a page of a sieve.
func suspectGranules(near []uint64, part uint64) (g Granules) {
	const words = 1 << pass.PageBits / 64 / perSieve
	for i, w := range near[part*words : (part+1)*words] {
		for w != 0 {
			b := bits.TrailingZeros64(w) &^ 7
			w &^= 0xff << b
			g.add(uint64(i)*8 + uint64(b)/8)
		}
	}
	return g
}

func (s *Shard) markAtomic(p *page) {
	first := p.number * PerPage
	for i := range uint64(PerPage) {
		if s.Atomic.Ever(first+i) != 0 {
			p.atomic.add(i)
		}
		if s.Atomic.Ever(first+i-1) != 0 {
			p.after.add(i)
		}
	}
}

// nextPage returns the first page after the given one that the shard may look at.
func (s *Shard) nextPage(number uint64) (uint64, bool) {
	outer := number/perSieve + 1
	if s.Suspects == nil {
		return outer * perSieve, outer < 1<<(64-pass.PageBits)
	}
	i, _ := slices.BinarySearch(s.sorted, outer)
	if i == len(s.sorted) {
		return 0, false
	}
	return s.sorted[i] * perSieve, true
}

// common returns the granules of a set that are not the thread's own memory.
func (s *Shard) common(p *page, set Granules) (rest Granules) {
	for !set.empty() {
		i := set.first()
		set = set.without(Singleton(i))
		if !s.Own(s.unit.Thread, (p.number*PerPage+i)<<3) {
			rest.add(i)
		}
	}
	return rest
}

// touch finds the races of executions of the current unit, times on each granule of a
// set, with earlier accesses there, and stores them.
func (s *Shard) touch(p *page, set Granules, m manner, times uint64) {
	c := column{manner: m, thread: s.unit.Thread, strand: s.unit.Strand}
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

// check counts the pairs of executions, which touch the granules of a class as c says,
// with what is stored about them. It returns the index of the column that the executions
// themselves belong to, or -1.
func (s *Shard) check(p *page, cl *class, c *column, times uint64) int {
	s.Stats.Groups++
	least := s.horizon.Least
	own := -1
	for i := 0; i < len(cl.columns); i++ {
		d := &cl.columns[i]
		if int(d.strand) < len(least) && d.newest.epoch <= least[d.strand] { // every thread has seen it
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
		if c.racing(&d.manner) == 0 || // no common byte, or the first one is in the previous granule
			!c.op.Writes() && !d.op.Writes() ||
			d.cut != 0 && d.cut <= s.unit.Start {
			continue
		}
		if first, n := d.unseen(s.unit.Clock.At(d.strand)); n != 0 {
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

// found counts dynamic pairs: on each granule of a set, pairs of executions in the
// current unit with those of d from its unit first on.
func (s *Shard) found(p *page, set Granules, c, d *column, first, dynamic uint64) {
	x, y := s.Accesses[c.access].Place, s.Accesses[d.access].Place
	pr := s.Pairs.at(pairKey(min(x, y))<<32 | pairKey(max(x, y)))
	pr.Dynamic = AddSat(pr.Dynamic, mulSat(dynamic, set.count()))
	m := meetingKey{s.unit.Order, first}
	at := Spot{Page: p.number, Set: set, Later: SpotSide{c.access, c.offset}, Earlier: SpotSide{d.access, d.offset}, common: c.racing(&d.manner)}
	if n := pr.First.compare(m); n >= 0 || pr.First.Spots == nil {
		pr.First.offer(m, c.thread, d.thread, at)
	}
	m.Earlier = d.newest.last
	if n := pr.Last.compare(m); n <= 0 || pr.Last.Spots == nil {
		pr.Last.offer(m, c.thread, d.thread, at)
	}
}

// remember adds executions to column number own of a class, or as column c.
func (s *Shard) remember(cl *class, own int, c *column, times uint64) {
	if own < 0 {
		if len(cl.columns) >= max(int(cl.limit), s.ColumnsLimit) {
			s.thin(cl)
		}
		own = len(cl.columns)
		cl.columns = append(cl.columns, *c)
		s.records++
	}
	if cl.columns[own].add(s.unit, times) {
		s.records++
	}
	s.Stats.Peak = max(s.Stats.Peak, s.records)
}

// takeEvent processes the current unit, an event that is an access.
func (s *Shard) takeEvent(it *pass.Item) {
	addr, end := it.Base, it.Base+it.Size
	m := manner{access: it.Access, op: s.Accesses[it.Access].Op}
	all := uint8(0) // bytes that count as atomic
	if s.Accesses[it.Access].Atomic == replay.IsAtomic {
		all = wholeMask
	}
	const shift = PageBits - 3
	for at := addr; at < end; {
		g := at >> 3
		p := s.page(g >> shift)
		if p == nil {
			next, ok := s.nextPage(g >> shift)
			if !ok {
				break
			}
			at = next << PageBits
			continue
		}
		if at&7 == 0 && at-addr >= 8 && end-at >= 8 { // everything that is whole in the page, in one go
			n := min((end-at)>>3, PerPage-g&(PerPage-1))
			m.offset, m.mask, m.prev = math.MinInt8, wholeMask, wholeMask
			m.atomic, m.prevAtomic = all, all
			s.touch(p, progression(g&(PerPage-1), 1, n).and(p.looks), m, 1)
			at += n << 3
			continue
		}
		stop := min(end, (g+1)<<3)
		m.mask = uint8((1<<(stop-at) - 1) << (at & 7))
		m.offset = int8(max(int64(addr-g<<3), math.MinInt8)) // at least -15 for an atomic access, any for a free
		m.prev = lastBytes(addr, g<<3)
		m.atomic, m.prevAtomic = m.mask&all, m.prev&all
		if s.Accesses[it.Access].Atomic == replay.MaybeAtomic {
			s.variables(&m, g)
		}
		if p.looks.Contains(g & (PerPage - 1)) {
			s.touch(p, Singleton(g&(PerPage-1)), m, 1)
		}
		at = stop
	}
	s.trim()
}

// lastBytes returns the bytes from addr on in the granule that ends at end.
func lastBytes(addr, end uint64) uint8 {
	switch {
	case addr >= end:
		return 0
	case end-addr >= 8:
		return wholeMask
	}
	return uint8(wholeMask) << (8 - (end - addr))
}
