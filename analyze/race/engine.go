package race

import (
	"math"
	"math/bits"

	"hindsight/analyze/hb"
	"hindsight/analyze/place"
	"hindsight/tracefmt/event"
)

// access is something that touches memory: a site, or an instruction that
// does an atomic access or a free.
type access struct {
	place uint32 // index of engine.places
	op    Op
	user  bool   // in the user's code
	mute  bool   // in the code of a runtime that says by events what it orders
	size  uint8  // bytes, of a site
	site  SiteID // of a site
}

// engine is the state of the pass over the run.
//
// The run is cut into units: a segment, or an event that is an access. Units
// are taken in the order in which they end, the segment that an event ends
// before the event itself; what is unfinished at the end comes last, by
// thread. A unit can then only happen after units taken before it, so that
// each pair is met once, when its later unit is taken.
type engine struct {
	opts     Options
	order    *hb.Order
	memory   *place.Map
	atomic   *atomicSet // nil: Strict
	places   []Place
	accesses []access // the first NumSites are the sites
	placeIDs map[Place]uint32
	eventIDs map[Place]uint32 // of accesses that are events
	shadow   shadow
	pairs    pairTable
	horizon  horizon
	starts   []uint64  // for each thread, 1 + the place in S_synch of its last event
	now      uint64    // 1 + the place in S_synch of the last event
	private  intervals // memory of which each thread has its own part
	records  int       // columns and members in the shadow
	sweepAt  int
	unit     unit
	stats    Stats
}

// unit is the unit being taken.
type unit struct {
	thread event.ThreadID
	strand event.ThreadID // that the thread acts as
	clock  hb.Clock
	epoch  uint64
	order  uint64 // its place among units
	start  uint64 // 1 + the place in S_synch of the event that begins it, 0 if none does
}

// unfinished is where the units that no event ends stand in the order.
const unfinished = 1 << 63

func (e *engine) begin(t event.ThreadID, order, start uint64) {
	s := e.order.Strand(t)
	e.unit = unit{thread: t, strand: s, clock: e.order.Clock(t), epoch: e.order.Epoch(s), order: order, start: start}
}

func (e *engine) placeID(p Place) uint32 {
	id, ok := e.placeIDs[p]
	if !ok {
		id = uint32(len(e.places))
		e.places = append(e.places, p)
		e.placeIDs[p] = id
	}
	return id
}

// eventAccess is the access of an event at p.
func (e *engine) eventAccess(p Place) uint32 {
	id, ok := e.eventIDs[p]
	if !ok {
		id = uint32(len(e.accesses))
		e.accesses = append(e.accesses, access{place: e.placeID(p), op: p.Op, user: e.user(p.PC)})
		e.eventIDs[p] = id
	}
	return id
}

// ownMemory says whether addr is in memory of which thread t has a part of its
// own, so that its strands, which run there one after another, do not race.
func (e *engine) ownMemory(t event.ThreadID, addr uint64) bool {
	if e.private.contains(addr) {
		return true
	}
	owner, _, ok := e.memory.TLS(addr)
	return ok && owner == t
}

func (e *engine) user(pc uint64) bool { return e.opts.Program == nil || e.opts.Program.User(pc) }

// takeRun takes a run of plain accesses of the present unit.
func (e *engine) takeRun(r Run) {
	id := uint32(r.Site)
	a := &e.accesses[id]
	e.stats.Runs++
	if r.Stride == 0 {
		e.take(id, a, r.Base, r.First, r.First+r.Count-1, r.Count)
		return
	}
	addr := r.Base
	for i := range r.Count {
		e.take(id, a, addr, r.First+i, r.First+i, 1)
		addr += uint64(r.Stride)
	}
}

// burst is a number of executions of an access at one address.
type burst struct {
	execution        // its ordinal is that of the first
	last      uint64 // ordinal of the last
	count     uint64
}

// take takes count executions of a site at addr, with ordinals from first to
// last.
func (e *engine) take(id uint32, a *access, addr, first, last, count uint64) {
	if a.mute || !a.user && !e.memory.User(e.opts.Program, addr) {
		e.stats.Ignored += count
		return
	}
	g, lo := addr>>3, addr&7
	wide := uint16(1<<a.size-1) << lo
	mask, over := uint8(wide), uint8(wide>>8)
	if e.atomic != nil {
		mask &^= e.atomic.bytes(g)
		if over != 0 {
			over &^= e.atomic.bytes(g + 1)
		}
	}
	if mask|over == 0 {
		e.stats.Ignored += count
		return
	}
	e.stats.Accesses += count
	b := burst{last: last, count: count}
	b.access, b.thread, b.addr, b.ref = id, uint32(e.unit.thread), addr, ref{e.unit.order, first}
	if mask != 0 {
		e.touch(g, &b, column{offset: int8(lo), mask: mask, op: a.op})
	}
	if over != 0 {
		e.touch(g+1, &b, column{offset: int8(lo) - 8, mask: over, prev: mask, op: a.op})
	}
}

// touch finds the races of a burst with what was done to granule g before, and
// remembers it there as c says.
func (e *engine) touch(g uint64, b *burst, c column) {
	const shift = pageBits - 3
	c.access, c.thread, c.strand = b.access, e.unit.thread, e.unit.strand
	p := e.shadow.page(g >> shift)
	gr := p.at(g & (perPage - 1))
	if len(p.whole.columns) > 0 {
		e.check(&p.whole, g, b, &c)
	}
	e.remember(gr, e.check(gr, g, b, &c), b, c)
}

// check counts the pairs of a burst, which touches granule g as c says, with
// what is remembered in gr. It gives the index of the column that the burst
// itself belongs in, or -1.
func (e *engine) check(gr *granule, g uint64, b *burst, c *column) int {
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
			d.cut != 0 && d.cut <= e.unit.start {
			continue
		}
		if from, n := d.unseen(e.unit.clock.At(d.strand)); n != 0 {
			if d.thread == c.thread && e.ownMemory(c.thread, g<<3) {
				continue
			}
			e.found(d, from, mulSat(n, b.count), g<<3, uint64(bits.TrailingZeros8(c.mask&d.mask)), b)
		}
	}
	return own
}

// found counts dynamic pairs of a burst with the members of c that begin with
// number from. The first common byte is number common of the granule at base.
func (e *engine) found(c *column, from int, dynamic, base, common uint64, b *burst) {
	x, y := e.accesses[b.access].place, e.accesses[c.access].place
	earlier := execution{access: c.access, thread: uint32(c.thread), addr: base + uint64(int64(c.offset)), ref: c.series[from].first}
	first := instance{later: b.execution, earlier: earlier, addr: base + common}
	last := first
	last.later.ordinal = b.last
	last.earlier.ref = c.series[len(c.series)-1].last
	e.pairs.add(pairKey{min(x, y), max(x, y)}, dynamic, &first, &last)
}

// remember adds a burst to column number own of gr, or as column c.
func (e *engine) remember(gr *granule, own int, b *burst, c column) {
	if own < 0 {
		if len(gr.columns) >= max(int(gr.limit), e.opts.columnsLimit) {
			e.thin(gr)
		}
		own = len(gr.columns)
		gr.columns = append(gr.columns, c)
		e.records++
	}
	if gr.columns[own].add(e.unit.epoch, b) {
		e.records++
	}
	e.stats.Peak = max(e.stats.Peak, e.records)
}

// takeEvent takes the present unit, an event that is an access: size bytes at
// addr.
func (e *engine) takeEvent(p Place, addr, size, index uint64) {
	if size == 0 || addr+size < addr {
		return
	}
	id := e.eventAccess(p)
	if !e.accesses[id].user && !e.memory.User(e.opts.Program, addr) {
		e.stats.Ignored++
		return
	}
	e.stats.Accesses++
	b := burst{last: index, count: 1}
	b.access, b.thread, b.addr, b.ref = id, uint32(e.unit.thread), addr, ref{e.unit.order, index}
	end := addr + size
	var prev uint8
	for at := addr; at < end; {
		g := at >> 3
		if at&(1<<pageBits-1) == 0 && at-addr >= 8 && end-at >= 1<<pageBits {
			e.takePage(at>>pageBits, p.Op, &b)
			at += 1 << pageBits
			prev = wholeMask
			continue
		}
		stop := min(end, (g+1)<<3)
		mask := uint8((1<<(stop-at) - 1) << (at & 7))
		offset := int64(addr - g<<3) // at least -15 for an atomic access, any for a free
		e.touch(g, &b, column{offset: int8(max(offset, math.MinInt8)), mask: mask, prev: prev, op: p.Op})
		prev, at = mask, stop
	}
}

// takePage takes a whole page of a burst of Free that covers the granule before
// it too. Only
// what somebody touched there costs anything.
func (e *engine) takePage(number uint64, op Op, b *burst) {
	p := e.shadow.page(number)
	first := number << (pageBits - 3)
	c := column{access: b.access, thread: e.unit.thread, strand: e.unit.strand, offset: math.MinInt8, mask: wholeMask, prev: wholeMask, op: op}
	own := e.check(&p.whole, first, b, &c)
	if p.granules != nil {
		for i := range uint64(perPage) {
			if gr := &p.granules[i]; len(gr.columns) > 0 {
				e.check(gr, first+i, b, &c)
			}
		}
	}
	e.remember(&p.whole, own, b, c)
}
