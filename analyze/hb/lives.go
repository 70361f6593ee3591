package hb

import (
	"math/bits"

	"hindsight/tracefmt/event"
)

// TaskStack is the largest number of bytes of stack that the frames of a task and of its
// callees are expected to take, if the event does not say how many they ever used.
const TaskStack = 256 << 10

// LifeOf returns the memory of which e begins a new life, if it does (docs/semantics.md,
// "Lives of memory").
func LifeOf(e *event.Event) (addr, size uint64, ok bool) {
	switch e.Kind {
	case event.Alloc, event.Map, event.StackMap, event.Renew:
		return e.Obj, e.Arg, true
	case event.StrandBegin, event.StrandEnd, event.StrandSuspend, event.StrandResume: // the frames below belong to others, which run here before and after
		size = uint64(e.Size)
		if size == 0 {
			size = TaskStack
		}
		low := e.Arg - min(e.Arg, size)
		return low, e.Arg - low, true
	}
	return 0, 0, false
}

// pageShift is the logarithm of the size in bytes of a page of [Places], and granuleShift
// that of a granule.
const (
	pageShift    = 12
	granuleShift = 3
)

// Places is the set of granules of memory that have sync objects. Its zero value is
// empty.
type Places struct{ pages map[uint64]*granuleSet }

// granuleSet has a bit for each granule of a page.
type granuleSet [1 << (pageShift - granuleShift) / 64]uint64

// Add adds the granule of addr.
func (p *Places) Add(addr uint64) {
	if p.pages == nil {
		p.pages = map[uint64]*granuleSet{}
	}
	set := p.pages[addr>>pageShift]
	if set == nil {
		set = new(granuleSet)
		p.pages[addr>>pageShift] = set
	}
	g := addr >> granuleShift % (1 << (pageShift - granuleShift))
	set[g/64] |= 1 << (g % 64)
}

// Take removes the granules that size bytes at addr touch, and calls gone with the lowest
// address of each.
func (p *Places) Take(addr, size uint64, gone func(granule uint64)) {
	if size == 0 || len(p.pages) == 0 {
		return
	}
	last := addr + size - 1
	if last < addr {
		last = ^uint64(0)
	}
	low, high := addr>>pageShift, last>>pageShift
	if high-low >= uint64(len(p.pages)) {
		for n := range p.pages {
			if low <= n && n <= high {
				p.takeOf(n, addr, last, gone)
			}
		}
		return
	}
	for n := low; n <= high; n++ {
		p.takeOf(n, addr, last, gone)
	}
}

// takeOf is Take for the part of [addr, last] in page n.
func (p *Places) takeOf(n, addr, last uint64, gone func(granule uint64)) {
	set := p.pages[n]
	if set == nil {
		return
	}
	var rest uint64
	for i := range set {
		for left := set[i]; left != 0; left &= left - 1 {
			bit := bits.TrailingZeros64(left)
			granule := n<<pageShift + uint64(64*i+bit)<<granuleShift
			if granule>>granuleShift >= addr>>granuleShift && granule <= last {
				set[i] &^= 1 << bit
				gone(granule)
			}
		}
		rest |= set[i]
	}
	if rest == 0 {
		delete(p.pages, n)
	}
}

// renew removes the sync objects and release sequences in memory that begins a new life.
func (o *Order) renew(e *event.Event) {
	if addr, size, ok := LifeOf(e); ok {
		o.places.Take(addr, size, func(granule uint64) {
			delete(o.atomics, granule>>granuleShift)
			for b := range uint64(1 << granuleShift) {
				o.forget(granule + b)
			}
		})
	}
}
