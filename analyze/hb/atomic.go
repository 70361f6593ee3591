package hb

import "hindsight/tracefmt/event"

// cell is the clock that an acquire load of some bytes of a granule receives: the join of
// the release operations of the release sequence that contains the bytes. Cells of a
// granule have disjoint masks.
type cell struct {
	mask  uint8
	clock Clock
}

// parts calls yield for the granules that size bytes at addr touch, with the
// bytes touched in each; at most three.
func parts(addr uint64, size uint32, yield func(granule uint64, mask uint8)) {
	size = min(max(size, 1), 16)
	for size > 0 {
		lo := uint32(addr & 7)
		n := min(8-lo, size)
		yield(addr>>3, uint8((1<<n-1)<<lo))
		addr += uint64(n)
		size -= n
	}
}

// loadAtomic joins the clocks of the bytes: at once if the access acquires, and otherwise
// at the thread's next acquire fence.
func (o *Order) loadAtomic(st *strand, e *event.Event) {
	to := &st.acquire
	if e.Mode&event.Acquire != 0 {
		to = &st.clock
	}
	parts(e.Obj, e.Size, func(granule uint64, mask uint8) {
		for _, c := range o.atomics[granule] {
			if c.mask&mask != 0 {
				to.join(c.clock)
			}
		}
	})
}

// storeAtomic begins or continues the release sequence of the bytes. It reports whether
// it published the thread's clock.
func (o *Order) storeAtomic(st *strand, e *event.Event) bool {
	release := e.Mode&event.Release != 0
	clock := st.release
	if release {
		clock = st.clock
	}
	parts(e.Obj, e.Size, func(granule uint64, mask uint8) {
		cells := o.atomics[granule]
		if e.Kind == event.AtomicStore {
			cells = replace(cells, mask, clock)
		} else {
			cells = extend(cells, mask, clock)
		}
		if len(cells) == 0 {
			delete(o.atomics, granule)
		} else {
			o.atomics[granule] = cells
			o.places.Add(granule << granuleShift)
		}
	})
	return release
}

// replace begins a release sequence with clock, which is empty if there is nothing to
// acquire.
func replace(cells []cell, mask uint8, clock Clock) []cell {
	kept := cells[:0]
	var storage Clock
	for _, c := range cells {
		if c.mask &^= mask; c.mask != 0 {
			kept = append(kept, c)
		} else {
			storage = c.clock
		}
	}
	if len(clock) > 0 {
		kept = append(kept, cell{mask, append(storage[:0], clock...)})
	}
	return kept
}

// extend joins clock into the release sequences of the bytes.
func extend(cells []cell, mask uint8, clock Clock) []cell {
	if len(clock) == 0 {
		return cells
	}
	for i := range cells {
		c := &cells[i]
		common := c.mask & mask
		if common == 0 {
			continue
		}
		mask &^= common
		if common != c.mask { // the other bytes keep the old clock
			cells = append(cells, cell{c.mask &^ common, append(Clock(nil), c.clock...)})
			c = &cells[i]
			c.mask = common
		}
		c.clock.join(clock)
	}
	if mask != 0 {
		cells = append(cells, cell{mask, append(Clock(nil), clock...)})
	}
	return cells
}
