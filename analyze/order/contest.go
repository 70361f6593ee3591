package order

import (
	"fmt"

	"hindsight/analyze/hb"
	"hindsight/analyze/internal/layer"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// contest finds the granules of eight bytes whose accesses can matter, so that only those
// need be processed one by one. It uses what segments touch, not their accesses, and may
// let through too much.
//
// For happens-before, schedulable happens-before and weak causal precedence a granule
// matters if two strands touch it, one of them writing, and the hard order
// (happens-before without mutexes) does not order the two, unless all who touch it hold
// one mutex in common (what was touched before a second strand was created is ordered
// before all that others do). All three orders contain the hard order and put the
// sections of a mutex that conflict in order, so that there is no race on other granules,
// and what a read there reads from is before it anyhow.
//
// Accesses in critical sections may still order others by weak causal precedence. For
// that it is enough to know what a section touched, see sections.go.
//
// For lock sets a granule matters if Eraser's state machine, on the granule as a whole,
// finds it shared, modified and without a lock.
type contest struct {
	sites   []code // of the walker
	atomic  *replay.Atomics
	lockset bool // of lock sets too
	states  int  // that a page may have before there is a look at which of them are needed
	run     *replay.Walk
	hard    *hb.Order
	held    replay.Held[event.StrandID]
	strand  event.StrandID // of the present event, by happens-before
	uses    map[uint64][]lockUse
	eraser  *eraser
	pages   map[uint64]*contestPage
	last    *contestPage
	number  uint64 // of last
	alive   int    // strands that were created and have not ended
	several bool   // there has been more than one
	mutexes mutexUse
	unit    contestUnit
	// Of lists: which were taken, and which in critical sections. lives counts what
	// changes what taking one means: strands, and lives of memory.
	taken    []taken
	sections []bool
	lives    uint32
	set      granuleSet                        // of the present access
	relate   func(*layer.Layer) layer.Relation // stands, allocated once
}

// lockUse says when a strand last took a mutex or gave it back: 1 + the place
// in S_synch, or the maximum if it holds it at the end.
type lockUse struct {
	strand event.StrandID
	last   uint64
}

// contestUnit says who touches memory, and when.
type contestUnit struct {
	thread event.ThreadID
	strand event.StrandID // by the hard order
	access layer.Access   // in it
	simple bool           // plain accesses by the program's own code
	clock  hb.Clock
	start  uint64
	own    event.StrandID // strand by happens-before
	locks  [2]int32       // held for reading, for writing
	mutex  int32          // mutexes held
}

// granules are those of a page.
type granules [8]uint64

const (
	pageBits     = 12
	pageGranules = 1 << (pageBits - 3)
)

func (g *granules) any() bool {
	return g[0]|g[1]|g[2]|g[3]|g[4]|g[5]|g[6]|g[7] != 0
}

func (g *granules) without(o *granules) {
	for i := range g {
		g[i] &^= o[i]
	}
}

func (g *granules) with(o *granules) {
	for i := range g {
		g[i] |= o[i]
	}
}

// common makes g what a and b have in common.
func (g *granules) common(a, b *granules) bool {
	for i := range g {
		g[i] = a[i] & b[i]
	}
	return g.any()
}

// set puts granules lo to hi of the page, both included, into the set.
func (g *granules) set(lo, hi uint64) {
	for i := lo >> 6; i <= hi>>6; i++ {
		from, to := max(lo, i<<6)&63, min(hi, i<<6+63)&63
		g[i] |= ^uint64(0) << from & (^uint64(0) >> (63 - to))
	}
}

// contestPage is what a page is remembered of. What was found is in no hard order.
type contestPage struct {
	layer.Page
	limit   int // of layers
	states  []contestState
	many    int      // of states
	bare    granules // let through for lock sets
	mutexes []mutexState
}

func (c *contest) page(number uint64) *contestPage {
	if c.last == nil || c.number != number {
		p := c.pages[number]
		if p == nil {
			p = &contestPage{Page: layer.New(len(granules{})), limit: fewLayers}
			c.pages[number] = p
		}
		c.last, c.number = p, number
	}
	return c.last
}

// touch processes an access of the current unit to granules of a page.
func (c *contest) touch(number uint64, in granules, write bool) error {
	if len(c.pages) > maxPages {
		return fmt.Errorf("%w: more than %d pages of memory accessed", race.ErrLimit, maxPages)
	}
	p := c.page(number)
	c.unit.access.Write = write
	c.protect(p, in)
	if c.lockset {
		left := in
		if left.without(&p.bare); left.any() {
			c.eraser.touch(p, left, &c.unit, c.alive < 2)
		}
	}
	if p.Found != nil {
		in.without((*granules)(p.Found))
	}
	if !in.any() {
		return nil
	}
	d := &c.set
	d.load(&in)
	p.Touch(&d.Set, c.unit.access, c.relate)
	if d.Any() && !p.Join(&d.Set, c.unit.access) {
		p.Add(&d.Set, c.unit.access)
		if len(p.Layers) > p.limit {
			p.thin(c.run.Oldest())
		}
	}
	return nil
}

// maxPages limits the pages that are processed.
const maxPages = 1 << 21

// stands relates an earlier access to one of the current unit.
func (c *contest) stands(l *layer.Layer) layer.Relation {
	u := &c.unit
	write, strand := u.access.Write, l.ID.Strand()
	same := strand == u.strand
	before := same || l.ID.Epoch() <= u.clock.At(strand)
	switch {
	case !before && (write || l.Write) && (l.Cut == 0 || l.Cut > u.start):
		return layer.Conflict
	case before && (write || !l.Write):
		return layer.Covered
	}
	return layer.Apart
}

// granuleSet is a set of granules of a page as package layer has them.
type granuleSet struct{ layer.Set }

func (d *granuleSet) load(in *granules) {
	d.Lo, d.Hi = 0, len(in)-1
	for in[d.Lo] == 0 && d.Lo < d.Hi {
		d.Lo++
	}
	for in[d.Hi] == 0 && d.Lo < d.Hi {
		d.Hi--
	}
	copy(d.W[d.Lo:], in[d.Lo:d.Hi+1])
}

// fewLayers is how many layers a page has before there is a look at which of
// them are needed.
const fewLayers = 24

// maxLayers is how many layers a page may have before all of it is let through.
const maxLayers = 512

// thin makes few layers of many: those of a strand become one, as late as the
// latest of them, which can only let through more.
func (p *contestPage) thin(oldest uint64) {
	kept := p.Layers[:0]
next:
	for _, l := range p.Layers {
		if l.Cut != 0 && l.Cut <= oldest {
			continue // nobody is left who was there before the allocation
		}
		for i := range kept {
			k := &kept[i]
			if k.ID.Strand() == l.ID.Strand() && k.Write == l.Write && (k.Cut == 0) == (l.Cut == 0) {
				k.Merge(&l)
				continue next
			}
		}
		kept = append(kept, l)
	}
	p.Keep(kept)
	p.limit = max(fewLayers, 2*len(kept))
	if len(kept) > maxLayers {
		var all granules
		all.set(0, pageGranules-1)
		var d granuleSet
		d.load(&all)
		p.Find(&d.Set)
	}
}

// cut begins new lives of the granules that [addr, addr+size) touches.
func (c *contest) cut(addr, size, at uint64) {
	if size == 0 || addr+size < addr {
		return
	}
	layer.Within(c.pages, addr>>pageBits, (addr+size-1)>>pageBits, func(number uint64, p *contestPage) {
		var in granules
		lo, hi := max(addr, number<<pageBits), min(addr+size-1, (number+1)<<pageBits-1)
		in.set(lo>>3&(pageGranules-1), hi>>3&(pageGranules-1))
		p.cutStates(&in, at, c.run, c.states)
		c.set.load(&in)
		c.lives++
		if p.Cut(&c.set.Set, at); len(p.Layers) > p.limit {
			p.thin(c.run.Oldest())
		}
	})
}
