package order

import (
	"math/bits"
	"slices"
	"sort"

	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// granule is what is stored about eight bytes.
type granule struct {
	entries []entry
	many    int       // of entries
	written []written // the last writes, with disjoint masks
	states  []state   // of the lock sets, with disjoint masks
}

// entry is the last execution by a strand of a place, touching the same bytes.
type entry struct {
	access Access
	strand event.StrandID
	epoch  uint64 // of happens-before
	shb    uint64
	mask   uint8
	atomic uint8  // of these, bytes to which it counts as an atomic access
	cut    uint64 // 1-based place of the first allocation since, or 0
}

type written struct {
	mask uint8
	lastWrite
}

// instance is a pair of executions, one of which is the current access.
type instance struct {
	place   race.Place
	strand  event.StrandID
	ordinal uint64
}

// access processes an access of unit u by an instruction.
func (w *walker) access(a *Access, u *replay.Unit, by *code) error {
	if a.Size == 0 || a.Address+a.Size < a.Address {
		return nil
	}
	s := w.run.Order.Strand(a.Thread)
	if !by.user && !w.business.Counts(w.run.Memory, a.PC, a.Address) {
		if a.Op.Atomic() && w.survey.Atomic != nil && w.watch == nil { // something may read from it
			w.readsFrom(a.Op, s, a.Address, a.Size)
		}
		return nil
	}
	if w.watch != nil {
		return w.watchedAccess(a, u, by)
	}
	end := a.Address + a.Size
	w.remember = w.remember[:0]
	several := a.Address>>3 != (end-1)>>3
	w.wanted.within(a.Address, a.Size, func(g uint64, gr *granule) {
		mask := maskOf(g, a.Address, end)
		if gr == nil {
			if w.inMixed(a.Thread) && !w.alone {
				w.wcp.access(s, touch{g, mask, a.Op.Writes()})
			}
			return
		}
		w.touch(a, s, g, gr, mask, w.atomic(g, mask, u, by), u.Start, several)
	})
	if several {
		clear(w.seen)
	}
	// What it reads from orders later accesses, and not the access itself.
	own := w.readsFrom(a.Op, s, a.Address, a.Size)
	for _, e := range w.remember {
		e.shb = own
	}
	return nil
}

// atomic returns which bytes of a mask of granule g count as accessed atomically by an
// instruction in unit u.
func (w *walker) atomic(g uint64, mask uint8, u *replay.Unit, by *code) uint8 {
	switch by.atomicity {
	case replay.IsAtomic:
		return mask
	case replay.MaybeAtomic:
		return mask & w.survey.Atomic.Of(g, u.Start, w.ends(u))
	}
	return 0
}

// maskOf returns the bytes of granule g in [addr, end).
func maskOf(g, addr, end uint64) uint8 {
	lo, hi := max(addr, g<<3), min(end, (g+1)<<3)
	return uint8((1<<(hi-lo) - 1) << (lo & 7))
}

// ends returns where the segment or event of an access ends. In the order of execution,
// the access is in the life of the moment.
func (w *walker) ends(u *replay.Unit) uint64 {
	if u.Part > 0 {
		return w.run.Now + 1
	}
	return u.End()
}

// touch processes the part of an access in granule g: bytes mask of it, some of which
// count as accessed atomically. Unless the rules are strict, the other orders and lock
// sets ignore those.
func (w *walker) touch(a *Access, s event.StrandID, g uint64, gr *granule, mask, atomic uint8, start uint64, several bool) {
	writes := a.Op.Writes()
	known := mask
	if w.survey.Atomic != nil && !a.Op.Call() {
		known &^= atomic
	}
	var shared uint8
	if !w.alone {
		w.wcp.strand(s)
		if known != 0 {
			w.wcp.access(s, touch{g, known, writes})
		}
	}
	if known != 0 && w.opts.lockset() {
		shared = gr.lockset(w.held.Of(s), s, known, writes)
	}
	own := -1
	for i := range gr.entries {
		e := &gr.entries[i]
		if e.strand == s {
			if e.mask == mask && e.atomic == atomic && e.cut == 0 && e.access.Place == a.Place {
				own = i
			}
			continue
		}
		common := e.mask & mask
		if !a.Op.Call() || !e.access.Op.Call() {
			common &^= e.atomic & atomic
		}
		if common == 0 || !writes && !e.access.Op.Writes() || e.cut != 0 && e.cut <= start {
			continue
		}
		if e.access.Thread == a.Thread && w.run.Own(a.Thread, g<<3) {
			continue
		}
		w.report(e, a, s, g<<3+uint64(bits.TrailingZeros8(common)), shared&common != 0, several)
	}
	n := entry{access: *a, strand: s, epoch: w.run.Order.Epoch(s), mask: mask, atomic: atomic}
	if own < 0 {
		own = len(gr.entries)
		gr.entries = append(gr.entries, n)
	} else {
		gr.entries[own] = n
	}
	w.remember = append(w.remember, &gr.entries[own])
}

// report adds a pair to the result for the orders that do not order it.
func (w *walker) report(e *entry, a *Access, s event.StrandID, at uint64, bare, several bool) {
	var orders Set
	if e.epoch > w.run.Order.Clock(a.Thread).At(e.strand) {
		orders.add(HB)
	}
	if w.ordered && e.shb > w.shb.clock(s).at(e.strand) {
		orders.add(SHB)
	}
	if w.alone && orders.Has(HB) || !w.alone && !w.wcp.ordered(s, e.strand, e.epoch) {
		orders.add(WCP)
	}
	if bare {
		orders.add(Lockset)
	}
	if several { // each pair counts once
		in := instance{e.access.Place, e.strand, e.access.Ordinal}
		orders &^= w.seen[in]
		w.seen[in] |= orders
	}
	if orders == 0 {
		return
	}
	k := keyOf(e.access.Place, a.Place)
	p := w.pairs[k]
	if p == nil {
		p = &Pair{}
		w.pairs[k] = p
	}
	for o := range NumOrders {
		if orders.Has(o) && !p.Orders.Has(o) {
			p.First[o], p.At[o] = [2]Access{e.access, *a}, at
		}
		if orders.Has(o) {
			p.Count[o]++
		}
	}
	p.Orders |= orders
}

// readsFrom orders strand s, which does op to size bytes at addr, after the
// writes that it reads from, and makes its write the last one there. It returns
// the strand's own component of the clock of schedulable happens-before at the
// access. Accesses to atomic variables count for this too: another schedule of
// the same run must let them read the same.
func (w *walker) readsFrom(op replay.Op, s event.StrandID, addr, size uint64) (own uint64) {
	w.shb.clock(s)
	if op == replay.Free || size == 0 || addr+size < addr { // a free stores nothing that could be read
		return w.shb.clock(s).at(s)
	}
	if op.Reads() {
		w.wanted.within(addr, size, func(g uint64, gr *granule) {
			if gr == nil {
				return
			}
			mask := maskOf(g, addr, addr+size)
			for i := range gr.written {
				if l := &gr.written[i]; l.mask&mask != 0 {
					w.shb.read(s, &l.lastWrite)
				}
			}
		})
	}
	own = w.shb.clock(s).at(s)
	if !op.Writes() {
		return own
	}
	w.wanted.within(addr, size, func(g uint64, gr *granule) {
		if gr == nil {
			return
		}
		mask := maskOf(g, addr, addr+size)
		kept := gr.written[:0]
		for _, l := range gr.written {
			if l.mask &^= mask; l.mask != 0 {
				kept = append(kept, l)
			}
		}
		kept = append(kept, written{mask, w.shb.write(s)})
		gr.written = kept
	})
	w.shb.tick(s)
	return own
}

// cut begins new lives of the granules that [addr, addr+size) touches.
func (w *walker) cut(addr, size, at uint64) {
	w.wanted.within(addr, size, func(_ uint64, gr *granule) {
		if gr == nil {
			return
		}
		for i := range gr.entries {
			if e := &gr.entries[i]; e.cut == 0 && !w.open(e) {
				e.cut = at
			}
		}
		gr.written, gr.states = nil, nil
		w.forget(gr)
	})
}

// open reports whether the segment of an access still goes on after the present
// event: only what began after the end of a segment is in another life of memory
// than what the segment did.
func (w *walker) open(e *entry) bool {
	t := e.access.Thread
	return t != w.thread && e.access.Op.Plain() && e.access.Segment == w.run.Index[t]
}

// manyEntries is how many entries a granule has before there is a look at which of
// them are needed.
const manyEntries = 16

// forget drops entries that nothing to come can race with. Of executions of a place by
// a strand in lives that no open segment can tell apart it keeps the last: what races
// with one before races with that too.
func (w *walker) forget(gr *granule) {
	if len(gr.entries) < max(gr.many, manyEntries) {
		return
	}
	starts := slices.Sorted(w.run.Open)
	before := func(cut uint64) int { return sort.Search(len(starts), func(i int) bool { return starts[i] >= cut }) }
	var kept []entry // the last one first
	for i := len(gr.entries) - 1; i >= 0; i-- {
		e := &gr.entries[i]
		if e.cut != 0 {
			n := before(e.cut)
			if n == 0 || slices.ContainsFunc(kept, func(o entry) bool { return o.cut != 0 && o.alike(e) && before(o.cut) == n }) {
				continue
			}
		}
		kept = append(kept, *e)
	}
	slices.Reverse(kept)
	gr.entries, gr.many = kept, 2*len(kept)
}

// alike reports whether two entries are of the same strand, place and bytes.
func (e *entry) alike(o *entry) bool {
	return e.strand == o.strand && e.mask == o.mask && e.atomic == o.atomic && e.access.Place == o.access.Place
}
