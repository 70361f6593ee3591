package recorder

import (
	"fmt"

	"hindsight/tracefmt/event"
)

// DefaultScoutLimit is the memory limit of a [Scout] that sets none.
const DefaultScoutLimit = 512 << 20

// Scout is an [event.Observer] that learns which 8-byte granules of memory two or more
// strands (threads, or tasks that threads run) touch during a run, by plain or atomic
// accesses or by freeing the block that they are in. Memory that is freed and used again
// by another strand, heap and stacks alike, counts as shared. Runs are deterministic, so
// what a scout learns from one run holds for the next: pass [Scout.Keep] to the
// [Recorder] of that run.
//
// The zero value is ready for use.
type Scout struct {
	// Limit is the memory of the table in bytes; 0 means DefaultScoutLimit. Granules
	// beyond it count as shared, so the trace gets larger but not wrong.
	Limit uint64

	pages   map[uint64]*scoutPage
	freed   map[uint64]scoutCell // pages without cells, with the only strand that freed them
	last    *scoutPage
	lastNo  uint64
	full    bool
	used    uint64        // bytes of Limit in use
	blocks  [][]uint8     // sizes of each block's sites
	strands [][]scoutCell // of each thread, the owners that it acts as, innermost last
}

const (
	scoutShift  = 9 // granules in a page of the table: 4 KiB of memory
	scoutShared = 1<<32 - 1
)

// scoutCell is the owner that is the only user of something, 0 for none, or scoutShared.
// The owners 1, 2, … are threads, and the following ones are strands that threads run for
// a while.
type scoutCell uint32

// scoutPage holds a cell for each granule.
type scoutPage [1 << scoutShift]scoutCell

// maxScoutFree bounds the bytes of a freed block that are examined.
const maxScoutFree = 1 << 30

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
	if b.Thread >= event.MaxThreads {
		return fmt.Errorf("scout: %w", event.ErrThreads)
	}
	for int(b.Thread) >= len(s.strands) {
		s.strands = append(s.strands, []scoutCell{scoutCell(len(s.strands)) + 1})
	}
	addrs, from := b.Addrs, 0
	var err error
	for i := range b.Events {
		e := &b.Events[i]
		if int(e.At) < from || int(e.At) > len(b.Blocks) {
			return fmt.Errorf("scout: event %d of a batch is at block %d of %d", i, e.At, len(b.Blocks))
		}
		if addrs, err = s.run(s.owner(b.Thread), b.Blocks[from:e.At], addrs); err != nil {
			return err
		}
		from = int(e.At)
		s.event(b.Thread, e)
	}
	_, err = s.run(s.owner(b.Thread), b.Blocks[from:], addrs)
	return err
}

// owner returns the strand that a thread runs at present.
func (s *Scout) owner(t event.ThreadID) scoutCell {
	stack := s.strands[t]
	return stack[len(stack)-1]
}

// run notes the accesses of blocks and returns the remaining addresses.
func (s *Scout) run(owner scoutCell, blocks []event.BlockID, addrs []uint64) ([]uint64, error) {
	for _, id := range blocks {
		if int(id) >= len(s.blocks) {
			return nil, fmt.Errorf("scout: block %d is not defined", id)
		}
		sizes := s.blocks[id]
		if len(addrs) < len(sizes) {
			return nil, errAddrs
		}
		for i, size := range sizes {
			s.touch(owner, addrs[i], uint64(size))
		}
		addrs = addrs[len(sizes):]
	}
	return addrs, nil
}

func (s *Scout) event(t event.ThreadID, e *event.Event) {
	switch e.Kind {
	case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
		s.touch(s.owner(t), e.Obj, uint64(e.Size))
	case event.Free, event.RangeRead, event.RangeWrite:
		s.free(s.owner(t), e.Obj, min(e.Arg, maxScoutFree))
	case event.StrandBegin, event.StrandResume:
		strand := event.MaxThreads + 1 + e.Obj%(scoutShared-event.MaxThreads-1)
		s.strands[t] = append(s.strands[t], scoutCell(strand))
	case event.StrandEnd, event.StrandSuspend:
		if n := len(s.strands[t]); n > 1 {
			s.strands[t] = s.strands[t][:n-1]
		}
	}
}

// Finish implements [event.Observer].
func (s *Scout) Finish(event.Outcome) error { return nil }

func (s *Scout) touch(owner scoutCell, addr, size uint64) {
	first := addr >> 3
	s.mark(owner, first)
	if last := (addr + max(size, 1) - 1) >> 3; last != first {
		s.mark(owner, last)
	}
}

func (s *Scout) mark(owner scoutCell, granule uint64) {
	p := s.last
	if no := granule >> scoutShift; p == nil || no != s.lastNo {
		p = s.page(no)
		if p == nil {
			return
		}
		s.last, s.lastNo = p, no
	}
	p[granule&(1<<scoutShift-1)].touch(owner)
}

// touch notes that owner used the memory of the cell.
func (c *scoutCell) touch(owner scoutCell) {
	switch *c {
	case owner:
	case 0:
		*c = owner
	default:
		*c = scoutShared
	}
}

// free marks the granules of a freed block. It adds no cells to pages that nobody
// touched.
func (s *Scout) free(owner scoutCell, addr, size uint64) {
	size = max(size, 1)
	if addr+size < addr {
		return
	}
	const page = 1 << scoutShift
	for g, end := addr>>3, (addr+size-1)>>3+1; g < end; {
		no, next := g>>scoutShift, min(end, (g>>scoutShift+1)<<scoutShift)
		if g%page == 0 && next-g == page && s.pages[no] == nil {
			s.freePage(owner, no)
			g = next
			continue
		}
		for ; g < next; g++ {
			s.mark(owner, g)
		}
	}
}

func (s *Scout) freePage(owner scoutCell, no uint64) {
	if !s.room(16) {
		return
	}
	if s.freed == nil {
		s.freed = map[uint64]scoutCell{}
	}
	c := s.freed[no]
	c.touch(owner)
	s.freed[no] = c
}

// page returns a page of the table, or nil when there is no room for it.
func (s *Scout) page(no uint64) *scoutPage {
	if p := s.pages[no]; p != nil {
		return p
	}
	const pageBytes = 4<<scoutShift + 64 // including its share of the map
	if !s.room(pageBytes) {
		return nil
	}
	if s.pages == nil {
		s.pages = map[uint64]*scoutPage{}
	}
	p := new(scoutPage)
	if c := s.freed[no]; c != 0 {
		for i := range p {
			p[i] = c
		}
	}
	s.pages[no] = p
	return p
}

// room reserves bytes of the table's memory. It reports whether there were enough.
func (s *Scout) room(bytes uint64) bool {
	limit := s.Limit
	if limit == 0 {
		limit = DefaultScoutLimit
	}
	if s.full || s.used+bytes > limit {
		s.full = true
		return false
	}
	s.used += bytes
	return true
}

// Keep reports whether a granule (address / 8) is shared, for [Options].Keep. It may be
// called once the run is over, by one goroutine at a time.
func (s *Scout) Keep(granule uint64) bool {
	p := s.last
	if no := granule >> scoutShift; p == nil || no != s.lastNo {
		p = s.pages[no]
		if p == nil {
			return s.full
		}
		s.last, s.lastNo = p, no
	}
	return p[granule&(1<<scoutShift-1)] == scoutShared
}
