package mpsim

import (
	"hindsight/mpsim/mem"
	"hindsight/mpsim/rv"
)

// Watched memory, for a [Replay]. Its pages are not in the translation caches, so that
// accesses to them, and only those, take the slow path, which checks the ranges.

// Watched is memory to stop at.
type Watched struct {
	Addr, Size uint64
	Access     mem.Access // which accesses count: Read, Write or both
}

// watches are the watched ranges; nil: none.
type watches struct {
	ranges []Watched
	// hit is the access that exec stopped at.
	hit, size uint64
	access    mem.Access
	which     int // of ranges
}

// page reports whether a page contains watched memory.
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

// overlaps returns the index of a range that an access touches, or -1.
func (w *watches) overlaps(addr, size uint64, access mem.Access) int {
	for i := range w.ranges {
		if r := &w.ranges[i]; r.Access&access != 0 && addr < r.Addr+r.Size && r.Addr < addr+size {
			return i
		}
	}
	return -1
}

// stops reports whether an access must not be made because its memory is watched, and makes
// exec return.
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

// atomicAccess returns what an atomic instruction does with its memory.
func atomicAccess(op rv.Op) mem.Access {
	switch op {
	case rv.OpLRW, rv.OpLRD:
		return mem.Read
	}
	return mem.Read | mem.Write
}
