package order

import (
	"fmt"

	"hindsight/analyze/hb"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// contest finds the granules of eight bytes whose accesses can matter, so that
// only those need be taken one by one. It looks at what segments touch, not at
// their accesses, and may let through too much.
//
// For happens-before, schedulable happens-before and weak causal precedence a
// granule matters if two strands touch it, one of them writing, and either the
// hard order (happens-before without mutexes) does not order the two, or both
// hold a mutex. All three orders contain the hard order, so that there is no
// race on other granules; what a read there reads from is before it anyhow; and
// no access to them is in two critical sections that conflict. They add nothing
// to any clock.
//
// For lock sets a granule matters if Eraser's state machine, on the granule as
// a whole, finds it shared, modified and without a lock.
type contest struct {
	src      Source
	lockset  bool // of lock sets too
	run      *replay.Walk
	hard     *hb.Order
	held     replay.Held[event.StrandID]
	strand   event.StrandID // of the present event, by happens-before
	uses     map[uint64][]lockUse
	eraser   *eraser
	pages    map[uint64]*contestPage
	last     *contestPage
	number   uint64 // of last
	business *replay.Business
	alive    int // strands that were created and have not ended
	unit     contestUnit
}

// lockUse says when a strand last took a mutex or gave it back: 1 + the place
// in S_synch, or the maximum if it holds it at the end.
type lockUse struct {
	strand event.StrandID
	last   uint64
}

// contestUnit is who touches memory, and when.
type contestUnit struct {
	thread event.ThreadID
	strand event.StrandID // by the hard order
	epoch  uint64
	clock  hb.Clock
	held   bool
	start  uint64
	own    event.StrandID // strand by happens-before
	locks  [2]int32       // held for reading, for writing
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

type contestPage struct {
	contested granules
	layers    []contestLayer
	limit     int // of layers
	states    []contestState
}

// contestLayer is the granules of a page that a strand touched in an epoch.
type contestLayer struct {
	strand      event.StrandID
	epoch       uint64
	cut         uint64 // 1-based place in S_synch of the first allocation since, or 0
	write, held bool
	in          granules
}

func (c *contest) page(number uint64) *contestPage {
	if c.last == nil || c.number != number {
		p := c.pages[number]
		if p == nil {
			p = &contestPage{limit: 24}
			c.pages[number] = p
		}
		c.last, c.number = p, number
	}
	return c.last
}

// touch takes an access of the present unit to granules of a page.
func (c *contest) touch(number uint64, in granules, write bool) error {
	if len(c.pages) > maxPages {
		return fmt.Errorf("%w: more than %d pages of memory accessed", race.ErrLimit, maxPages)
	}
	p := c.page(number)
	in.without(&p.contested)
	if !in.any() {
		return nil
	}
	if c.lockset {
		c.eraser.touch(p, in, &c.unit, write, c.alive < 2)
		in.without(&p.contested)
	}
	p.touch(in, &c.unit, write, c.oldest)
	return nil
}

// maxPages bounds the pages looked at.
const maxPages = 1 << 21

// touch finds what of the granules others have touched in no hard order.
func (p *contestPage) touch(in granules, u *contestUnit, write bool, oldest func() uint64) {
	for i := range p.layers {
		if l := &p.layers[i]; l.strand == u.strand && l.epoch == u.epoch && l.held == u.held && l.cut == 0 && (l.write || !write) {
			in.without(&l.in)
		}
	}
	if !in.any() {
		return
	}
	var hit, both granules
	kept := p.layers[:0]
	for _, l := range p.layers {
		if both.common(&l.in, &in) {
			same := l.strand == u.strand
			before := same || l.epoch <= u.clock.At(l.strand)
			switch {
			case !same && (write || l.write) && (l.held && u.held || !before && (l.cut == 0 || l.cut > u.start)):
				hit.with(&both)
			case before && (write || !l.write) && (!l.held || same && u.held):
				// whoever is in conflict with it is so with this access too
				if l.in.without(&in); !l.in.any() {
					continue
				}
			}
		}
		kept = append(kept, l)
	}
	p.layers = kept
	if hit.any() {
		p.contend(&hit)
		in.without(&hit)
	}
	if in.any() {
		p.remember(in, u, write, oldest)
	}
}

// contend lets granules through and forgets them.
func (p *contestPage) contend(in *granules) {
	p.contested.with(in)
	kept := p.layers[:0]
	for _, l := range p.layers {
		if l.in.without(in); l.in.any() {
			kept = append(kept, l)
		}
	}
	p.layers = kept
	p.clearStates(in)
}

func (p *contestPage) remember(in granules, u *contestUnit, write bool, oldest func() uint64) {
	for i := range p.layers {
		l := &p.layers[i]
		if l.strand == u.strand && l.epoch == u.epoch && l.held == u.held && l.cut == 0 && l.write == write {
			l.in.with(&in)
			return
		}
	}
	p.layers = append(p.layers, contestLayer{u.strand, u.epoch, 0, write, u.held, in})
	if len(p.layers) > p.limit {
		p.thin(oldest())
	}
}

// maxLayers is how many layers a page may have before all of it is let through.
const maxLayers = 512

// thin makes few layers of many: those of a strand become one, as late as the
// latest of them, which can only let through more.
func (p *contestPage) thin(oldest uint64) {
	kept := p.layers[:0]
next:
	for _, l := range p.layers {
		if l.cut != 0 && l.cut <= oldest && !l.held {
			continue // nobody is left who was there before the allocation
		}
		for i := range kept {
			k := &kept[i]
			if k.strand == l.strand && k.write == l.write && k.held == l.held && (k.cut == 0) == (l.cut == 0) {
				k.in.with(&l.in)
				k.epoch, k.cut = max(k.epoch, l.epoch), max(k.cut, l.cut)
				continue next
			}
		}
		kept = append(kept, l)
	}
	p.layers = kept
	if p.limit = max(24, 2*len(kept)); len(kept) > maxLayers {
		p.contend(&granules{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)})
	}
}

// oldest is the least beginning of the present segments.
func (c *contest) oldest() uint64 {
	least := c.run.Starts[0]
	for _, at := range c.run.Starts {
		least = min(least, at)
	}
	return least
}

// cut begins new lives of the granules that [addr, addr+size) touches.
func (c *contest) cut(addr, size, at uint64) {
	if size == 0 || addr+size < addr {
		return
	}
	first, last := addr>>pageBits, (addr+size-1)>>pageBits
	one := func(number uint64, p *contestPage) {
		var in granules
		lo, hi := max(addr, number<<pageBits), min(addr+size-1, (number+1)<<pageBits-1)
		in.set(lo>>3&(pageGranules-1), hi>>3&(pageGranules-1))
		p.cut(&in, at)
		if len(p.layers) > p.limit {
			p.thin(c.oldest())
		}
	}
	if last-first > uint64(len(c.pages)) {
		for number, p := range c.pages {
			if number >= first && number <= last {
				one(number, p)
			}
		}
		return
	}
	for number := first; number <= last; number++ {
		if p := c.pages[number]; p != nil {
			one(number, p)
		}
	}
}

func (p *contestPage) cut(in *granules, at uint64) {
	p.clearStates(in)
	for i := range len(p.layers) {
		l := &p.layers[i]
		var inside granules
		if l.cut != 0 || !inside.common(&l.in, in) {
			continue
		}
		cut := *l
		cut.in, cut.cut = inside, at
		if l.in.without(&inside); !l.in.any() {
			*l = cut
		} else {
			p.layers = append(p.layers, cut)
		}
	}
}
