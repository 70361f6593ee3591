package cdr

import (
	"fmt"

	"hindsight/tracefmt/event"
)

// DefaultScoutLimit is the memory of a [Scout] without a limit of its own.
const DefaultScoutLimit = 512 << 20

// Scout is an [event.Observer] that learns which 8-byte granules of memory two
// or more threads touch, by plain or atomic accesses, during a run. Memory
// that is freed and used again by another thread, heap and stacks alike,
// counts as shared. Because runs are deterministic, what a scout learns from
// one run holds for the next: give [Scout.Keep] to its [Recorder].
//
// The zero value is ready for use.
type Scout struct {
	// Limit is the memory of the table in bytes; 0 means DefaultScoutLimit.
	// Granules that found no room count as shared: the trace becomes larger,
	// not wrong.
	Limit uint64

	pages  map[uint64]*scoutPage
	last   *scoutPage
	lastNo uint64
	full   bool
	blocks [][]uint8 // sizes of each block's sites
}

const (
	scoutShift  = 9 // granules in a page of the table: 4 KiB of memory
	scoutShared = 1<<16 - 1
)

// scoutPage holds for each granule thread+1 of its only user, 0 for none, or
// scoutShared.
type scoutPage [1 << scoutShift]uint16

// Define implements [event.Observer].
func (s *Scout) Define(blocks []event.Block) error {
	for i := range blocks {
		if int(blocks[i].ID) != len(s.blocks) {
			return fmt.Errorf("scout: block %d defined out of order", blocks[i].ID)
		}
		var sizes []uint8
		if n := len(blocks[i].Sites); n > 0 {
			sizes = make([]uint8, n)
		}
		for j, site := range blocks[i].Sites {
			sizes[j] = site.Size
		}
		s.blocks = append(s.blocks, sizes)
	}
	return nil
}

// Batch implements [event.Observer].
func (s *Scout) Batch(b *event.Batch) error {
	if b.Thread >= maxThreads-2 {
		return fmt.Errorf("scout: more than %d threads", maxThreads-2)
	}
	owner := uint16(b.Thread) + 1
	addrs := b.Addrs
	for _, id := range b.Blocks {
		if int(id) >= len(s.blocks) {
			return fmt.Errorf("scout: block %d is not defined", id)
		}
		sizes := s.blocks[id]
		if len(addrs) < len(sizes) {
			return errAddrs
		}
		for i, size := range sizes {
			s.touch(owner, addrs[i], uint64(size))
		}
		addrs = addrs[len(sizes):]
	}
	for i := range b.Events {
		if e := &b.Events[i]; e.Kind.Info().Class == event.ClassAtomic && e.Kind != event.Fence {
			s.touch(owner, e.Obj, uint64(e.Size))
		}
	}
	return nil
}

// Finish implements [event.Observer].
func (s *Scout) Finish(event.Outcome) error { return nil }

func (s *Scout) touch(owner uint16, addr, size uint64) {
	first := addr >> 3
	s.mark(owner, first)
	if last := (addr + max(size, 1) - 1) >> 3; last != first {
		s.mark(owner, last)
	}
}

func (s *Scout) mark(owner uint16, granule uint64) {
	p := s.last
	if no := granule >> scoutShift; p == nil || no != s.lastNo {
		if p = s.page(no); p == nil {
			return
		}
		s.last, s.lastNo = p, no
	}
	cell := &p[granule&(1<<scoutShift-1)]
	switch *cell {
	case owner:
	case 0:
		*cell = owner
	default:
		*cell = scoutShared
	}
}

// page gives a page of the table, nil when there is no room for it.
func (s *Scout) page(no uint64) *scoutPage {
	if p := s.pages[no]; p != nil {
		return p
	}
	limit := s.Limit
	if limit == 0 {
		limit = DefaultScoutLimit
	}
	const pageBytes = 2<<scoutShift + 64 // with its share of the map
	if s.full || uint64(len(s.pages)+1)*pageBytes > limit {
		s.full = true
		return nil
	}
	if s.pages == nil {
		s.pages = map[uint64]*scoutPage{}
	}
	p := new(scoutPage)
	s.pages[no] = p
	return p
}

// Keep tells whether a granule (address / 8) is shared, for [Options].Keep.
// It may be used from one goroutine at a time, when the run is over.
func (s *Scout) Keep(granule uint64) bool {
	p := s.last
	if no := granule >> scoutShift; p == nil || no != s.lastNo {
		if p = s.pages[no]; p == nil {
			return s.full
		}
		s.last, s.lastNo = p, no
	}
	return p[granule&(1<<scoutShift-1)] == scoutShared
}
