package order

import (
	"maps"
	"slices"
	"sort"

	"hindsight/analyze/replay"
	"hindsight/cdr/format"
)

// wanted is the granules that the walk looks at, and what it remembers of them.
type wanted struct {
	pages  map[uint64]*cells
	ranges []span // in order, apart; nil: all memory
	every  bool   // all memory
	number uint64 // of last
	last   *cells
}

// span is the addresses from lo to hi, hi excluded.
type span struct{ lo, hi uint64 }

// cells are the granules of a page.
type cells struct {
	in   granules
	also granules                // looked at for critical sections only
	all  *[pageGranules]*granule // made when first needed
}

// everything wants all memory.
func everything() *wanted { return &wanted{pages: map[uint64]*cells{}, every: true} }

// newWanted wants the granules of ranges. More may be added until the first look.
func newWanted(ranges []span) *wanted {
	w := &wanted{pages: map[uint64]*cells{}}
	for _, r := range ranges {
		w.add(r.lo, r.hi)
	}
	return w
}

// add wants the granules that [lo, hi) touches.
func (w *wanted) add(lo, hi uint64) {
	for lo < hi {
		page := lo >> pageBits
		end := min(hi, (page+1)<<pageBits)
		if w.pages[page] == nil {
			w.pages[page] = &cells{}
		}
		w.pages[page].in.set(lo>>3&(pageGranules-1), (end-1)>>3&(pageGranules-1))
		lo = end
	}
}

// atomic wants the memory of an event that is an atomic access.
func (w *wanted) atomic(ev *format.Event) error {
	if op, ok := replay.OpOf(ev.Kind); ok && op.Atomic() && ev.Obj+uint64(ev.Size) > ev.Obj {
		w.add(ev.Obj, ev.Obj+min(uint64(ev.Size), replay.LargestAtomic))
	}
	return nil
}

// wanted returns what the contest let through, and what besides critical sections touch;
// nil: nothing.
func (c *contest) wanted() (*wanted, *guarded) {
	w, s := &wanted{pages: map[uint64]*cells{}}, &guarded{pages: map[uint64]*granules{}}
	for n, p := range c.pages {
		races, sections := c.parts(n, p)
		if races.any() {
			w.pages[n] = &cells{in: races}
		}
		if sections.any() {
			s.pages[n] = &sections
		}
	}
	w.look(nil)
	if len(s.pages) == 0 {
		return w, nil
	}
	return w, s
}

// look adds granules to look at for critical sections only, by page.
func (w *wanted) look(also map[uint64]*granules) {
	for n, in := range also {
		if w.pages[n] == nil {
			w.pages[n] = &cells{}
		}
		w.pages[n].also.with(in)
	}
	w.ranges, w.last = nil, nil
	for _, n := range slices.Sorted(maps.Keys(w.pages)) {
		all := w.pages[n].in
		all.with(&w.pages[n].also)
		for g := range uint64(pageGranules) {
			if all[g>>6]>>(g&63)&1 == 0 {
				continue
			}
			at := n<<pageBits + g<<3
			if k := len(w.ranges); k > 0 && w.ranges[k-1].hi == at {
				w.ranges[k-1].hi = at + 8
			} else {
				w.ranges = append(w.ranges, span{at, at + 8})
			}
		}
	}
}

// meets reports whether a wanted granule has a byte in [lo, hi).
func (w *wanted) meets(lo, hi uint64) bool {
	if w.every {
		return true
	}
	if page := lo >> pageBits; page == (hi-1)>>pageBits {
		c := w.page(page)
		if c == nil {
			return false
		}
		if first, last := lo>>3&(pageGranules-1), (hi-1)>>3&(pageGranules-1); last-first < 2 {
			return c.has(first) || c.has(last)
		}
	}
	i := sort.Search(len(w.ranges), func(i int) bool { return w.ranges[i].hi > lo })
	return i < len(w.ranges) && w.ranges[i].lo < hi
}

func (w *wanted) page(number uint64) *cells {
	if w.last == nil || w.number != number {
		c := w.pages[number]
		if c == nil {
			if !w.every {
				return nil
			}
			c = &cells{}
			for i := range c.in {
				c.in[i] = ^uint64(0)
			}
			w.pages[number] = c
		}
		w.number, w.last = number, c
	}
	return w.last
}

// has reports whether granule i of the page is looked at.
func (c *cells) has(i uint64) bool { return (c.in[i>>6]|c.also[i>>6])>>(i&63)&1 != 0 }

// granule returns what is remembered of a granule; nil when there may be no race on it.
func (w *wanted) granule(g uint64) *granule {
	c := w.page(g / pageGranules)
	if c == nil {
		return nil
	}
	i := g % pageGranules
	if c.in[i>>6]>>(i&63)&1 == 0 {
		return nil
	}
	if c.all == nil {
		c.all = new([pageGranules]*granule)
	}
	if c.all[i] == nil {
		c.all[i] = &granule{}
	}
	return c.all[i]
}

// within calls visit for the granules to look at that [addr, addr+size) touches;
// with nil for those on which there is no race.
func (w *wanted) within(addr, size uint64, visit func(g uint64, gr *granule)) {
	if size == 0 || addr+size < addr {
		return
	}
	first, last := addr>>3, (addr+size-1)>>3
	if first == last { // nearly always
		if c := w.page(first / pageGranules); c != nil && c.has(first%pageGranules) {
			visit(first, w.granule(first))
		}
		return
	}
	if w.every {
		for g := first; g <= last; g++ {
			visit(g, w.granule(g))
		}
		return
	}
	i := sort.Search(len(w.ranges), func(i int) bool { return w.ranges[i].hi > addr&^7 })
	for ; i < len(w.ranges) && w.ranges[i].lo>>3 <= last; i++ {
		for g := max(first, w.ranges[i].lo>>3); g <= min(last, w.ranges[i].hi>>3-1); g++ {
			visit(g, w.granule(g))
		}
	}
}
