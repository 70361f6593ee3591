package mpsim

import (
	"hindsight/mpsim/mem"
	"hindsight/mpsim/rv"
)

// Watched memory, of a [Replay]: its pages are not in the translation caches, so that
// accesses to them, and only those, take the slow way, which looks at the ranges.

// Watched is memory to stop at.
type Watched struct {
	Addr, Size uint64
	Access     mem.Access // which accesses count: Read, Write or both
}

// watches are the ranges that are watched; nil: none.
type watches struct {
	ranges []Watched
	// hit is the access that exec stopped at.
	hit, size uint64
	access    mem.Access
	which     int // of ranges
}

// page tells whether a page has watched memory.
func (w *watches) page(vpn uint64) bool {
	if w == nil {
		return false
	}
	for i := range w.ranges {
		if r := &w.ranges[i]; r.Addr>>mem.PageShift <= vpn && vpn <= (r.Addr+r.Size-1)>>mem.PageShift {
			return true
		}
	}
	return false
}

// overlaps is the index of a range that an access is to; -1: none.
func (w *watches) overlaps(addr, size uint64, access mem.Access) int {
	for i := range w.ranges {
		if r := &w.ranges[i]; r.Access&access != 0 && addr < r.Addr+r.Size && r.Addr < addr+size {
			return i
		}
	}
	return -1
}

// stops tells whether an access is not to be made because its memory is watched, and
// makes exec leave.
func (w *watches) stops(h *Hart, addr, size uint64, access mem.Access) bool {
	if w == nil {
		return false
	}
	w.which = w.overlaps(addr, size, access)
	if w.which < 0 {
		return false
	}
	w.hit, w.size, w.access = addr, size, access
	h.failed = stopWatched
	return true
}

// atomicAccess is what an atomic instruction does with its memory.
func atomicAccess(op rv.Op) mem.Access {
	switch op {
	case rv.OpLRW, rv.OpLRD:
		return mem.Read
	}
	return mem.Read | mem.Write
}
