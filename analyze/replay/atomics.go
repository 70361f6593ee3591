package replay

import "hindsight/analyze/hb"

// Atomics has the bytes of atomic variables, for each life of memory: memory that begins
// a new life has none until an atomic access touches it again. A nil set is empty.
//
// It is built in two walks along S_synch. The first finds the bytes. The second finds the
// lives in which they are touched; it is omitted if no life begins near them.
type Atomics struct {
	bytes *Bytes              // of all lives
	pages map[uint64]struct{} // with such bytes
	// What the first walk finds out about lives: the pages in which they begin, and
	// separately those that begin in many pages at once.
	begin map[uint64]struct{}
	large ranges

	places hb.Places               // of all bytes
	now    map[uint64]uint8        // bytes touched in the current life, by granule
	lives  map[uint64][]atomicLife // lives that have ended
}

// atomicLife has the bytes of a granule that were touched in a life that has ended.
type atomicLife struct {
	end   uint64 // position in S_synch, from 1, of the event that began the next life
	bytes uint8
}

func newAtomics() *Atomics {
	return &Atomics{bytes: NewBytes(), pages: map[uint64]struct{}{}, begin: map[uint64]struct{}{}}
}

// pageShift is the logarithm of the bytes of a page. manyPages is the number of pages
// from which on a life is stored as a range.
const (
	pageShift = 12
	manyPages = 16
)

// find processes an event of the first walk.
func (a *Atomics) find(ev *Event, atomic uint64) {
	if atomic > 0 {
		a.bytes.Add(ev.Obj, atomic)
		for _, at := range [2]uint64{ev.Obj, ev.Obj + atomic - 1} {
			a.pages[at>>pageShift] = struct{}{}
		}
		return
	}
	addr, size, ok := LifeOf(&ev.Event)
	if !ok || size == 0 || addr+size < addr {
		return
	}
	if size >= manyPages<<pageShift {
		a.large.add(addr, size)
		return
	}
	for n := addr >> pageShift; n <= (addr+size-1)>>pageShift; n++ {
		a.begin[n] = struct{}{}
	}
}

// renewed ends the first walk and reports whether a second one is necessary.
func (a *Atomics) renewed() bool {
	some := false
	for n := range a.pages {
		if _, ok := a.begin[n]; ok || a.large.meets(n<<pageShift, 1<<pageShift) {
			some = true
		}
	}
	a.begin, a.large = nil, nil
	if !some {
		return false
	}
	a.now, a.lives = map[uint64]uint8{}, map[uint64][]atomicLife{}
	for g := range a.bytes.granules {
		a.places.Add(g << 3)
	}
	return true
}

// follow processes an event of the second walk.
func (a *Atomics) follow(ev *Event, atomic uint64) {
	for i := range atomic {
		at := ev.Obj + i
		a.now[at>>3] |= 1 << (at & 7)
	}
	addr, size, ok := LifeOf(&ev.Event)
	if !ok || size == 0 {
		return
	}
	var renewed []uint64
	a.places.Take(addr, size, func(granule uint64) { renewed = append(renewed, granule) })
	for _, granule := range renewed {
		g := granule >> 3
		a.lives[g] = append(a.lives[g], atomicLife{ev.Seq + 1, a.now[g]})
		delete(a.now, g)
		a.places.Add(granule)
	}
}

// InPage reports whether there are atomic variables in the page of 4 KiB that contains
// addr.
func (a *Atomics) InPage(addr uint64) bool {
	if a == nil {
		return false
	}
	_, some := a.pages[addr>>pageShift]
	return some
}

// Ever returns the mask of the bytes of a granule that belong to an atomic variable in
// any of its lives.
func (a *Atomics) Ever(granule uint64) uint8 {
	if a == nil {
		return 0
	}
	return a.bytes.Of(granule)
}

// In returns the mask of the bytes of a granule that belong to an atomic variable in one
// of its lives, counted from 0.
func (a *Atomics) In(granule, life uint64) uint8 {
	if a == nil || a.lives == nil {
		return a.Ever(granule)
	}
	if ended := a.lives[granule]; life < uint64(len(ended)) {
		return ended[life].bytes
	}
	return a.now[granule]
}

// Of returns the mask of the bytes of a granule that belong to an atomic variable in a
// life in which a unit may have accessed it.
func (a *Atomics) Of(granule, start, end uint64) uint8 {
	ever := a.Ever(granule)
	if ever == 0 || len(a.lives) == 0 {
		return ever
	}
	mask, began := uint8(0), uint64(0)
	for _, l := range a.lives[granule] {
		if end > began && start < l.end {
			mask |= l.bytes
		}
		began = l.end
	}
	if end > began {
		mask |= a.now[granule]
	}
	return mask
}
