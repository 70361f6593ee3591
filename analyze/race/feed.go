package race

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"

	"hindsight/analyze/race/internal/pass"
	"hindsight/analyze/replay"
	"hindsight/cdr/fold"
)

// batchItems is the largest number of items in a batch.
const batchItems = 2048

// staleAfter is the smallest number of events after which a new horizon is computed.
const staleAfter = 1024

// add adds an item of the current unit to the batch, for the workers whose memory
// includes bytes from low up to high (exclusive).
func (e *engine) add(it *pass.Item, low, high uint64) error {
	b := e.begun()
	if it.Kind != pass.ItemCut {
		if !e.unit.Known {
			e.know()
		}
		if !e.unit.Added {
			from := len(b.Clocks)
			b.Clocks = append(b.Clocks, e.unit.Clock...)
			u := e.unit
			u.Clock = b.Clocks[from:len(b.Clocks):len(b.Clocks)]
			b.Units = append(b.Units, u)
			e.unit.Added = true
		}
		it.Unit = int32(len(b.Units) - 1)
	}
	if low>>pass.PageBits == (high-1)>>pass.PageBits && low < high {
		w := pass.Owner(low>>pass.PageBits, len(b.Items))
		b.Items[w] = append(b.Items[w], *it)
	} else {
		for w := range b.Items {
			b.Items[w] = append(b.Items[w], *it)
		}
	}
	b.All++
	e.fed++
	if b.All >= e.opts.batchItems || len(b.Clocks) > maxClocks {
		return e.flush()
	}
	return nil
}

// begun returns the batch that is being filled.
func (e *engine) begun() *pass.Batch {
	if e.batch == nil {
		if e.stale() {
			e.horizon = pass.NewHorizon(e.run, e.fed)
		}
		e.batch, e.unit.Added = e.crew.Fresh(), false
		e.batch.Horizon = e.horizon
	}
	return e.batch
}

// stale reports whether a new horizon is worth its cost: after many events, or many
// items.
func (e *engine) stale() bool {
	h := e.horizon
	return h == nil || e.run.Now >= h.At+e.opts.staleAfter+h.Cost/4 || !e.sieving && e.run.Now > h.At && e.fed >= h.Fed+h.Cost
}

// maxClocks limits the components of clocks in a batch.
const maxClocks = 1 << 17

// flush passes the batch to the workers.
func (e *engine) flush() error {
	b := e.batch
	if b == nil {
		return nil
	}
	e.batch = nil
	if err := e.canceled(); err != nil {
		return err
	}
	return e.crew.Put(b)
}

// settle lets the workers finish what they have, before the state of the address space
// that they use changes.
func (e *engine) settle() error {
	if err := e.flush(); err != nil {
		return err
	}
	e.crew.Wait()
	return nil
}

// feedExtents passes on the bytes of a segment.
func (e *engine) feedExtents(seg replay.Segment) error {
	fp, ok := seg.(replay.Compressed)
	if !ok || e.opts.plainRuns {
		for r, err := range seg.Runs() {
			if err != nil {
				return err
			}
			if err := e.checkSite(r.Site); err != nil {
				return err
			}
			x := fold.Extent{Site: r.Site, Base: r.Base, Len: uint64(e.accesses[r.Site].Size), Stride: uint64(r.Stride), Count: r.Count}
			if err := e.feedExtent(&x); err != nil {
				return err
			}
		}
		return e.release()
	}
	e.failed = nil
	if err := fp.EachExtent(e.eachExtent); err != nil || e.failed != nil {
		return cmp.Or(e.failed, err)
	}
	return e.release()
}

// takeExtent processes an extent of the current segment. It returns false after an error,
// which is in e.failed.
func (e *engine) takeExtent(x *fold.Extent) bool {
	e.failed = e.feedExtent(x)
	return e.failed == nil
}

func (e *engine) feedExtent(x *fold.Extent) error {
	if err := e.checkSite(x.Site); err != nil {
		return err
	}
	a := &e.accesses[x.Site]
	e.stats.Runs++
	if a.Mute || x.Count == 0 {
		return nil
	}
	if !a.User && x.Count == 1 && x.Len <= fewBytes {
		if counts, end := e.business.CountsUntil(e.run.Memory, x.Base); !counts && (x.Len <= uint64(a.Size) || end-x.Base >= x.Len) {
			return nil
		}
	}
	e.touches[x.Site].Add(x)
	it := pass.Item{Kind: pass.ItemExtent, Write: a.Op.Writes(), Lane: e.laneOf(a.Atomic, a.Op), Base: x.Base, Stride: x.Stride, Count: x.Count, Size: x.Len}
	if x.Bits != nil {
		b := e.begun()
		b.Bits = append(b.Bits, x.Bits)
		it.Bits = int32(len(b.Bits))
	}
	if x.Count == 1 && x.Bits == nil {
		return e.hold(&it)
	}
	return e.addRun(&it)
}

// hold adds an item of one block to the batch, later and combined with other items of its
// segment that do the same to adjacent bytes. When a structure is copied or summed up,
// there is an instruction for each of its members.
func (e *engine) hold(it *pass.Item) error {
	h := &e.held[0]
	if it.Write {
		h = &e.held[1]
	}
	if h.Count != 0 && h.Lane == it.Lane {
		end, itsEnd := h.Base+h.Size, it.Base+it.Size
		if it.Base <= end && h.Base <= itsEnd && max(end, itsEnd)-min(h.Base, it.Base) <= heldBytes {
			h.Base, h.Size = min(h.Base, it.Base), max(end, itsEnd)-min(h.Base, it.Base)
			return nil
		}
	}
	full := *h
	*h = *it
	if full.Count == 0 {
		return nil
	}
	return e.addRun(&full)
}

// heldBytes limits what is held back of reads, and of writes.
const heldBytes = 1 << pass.PageBits

// release adds what was held back.
func (e *engine) release() error {
	for i := range e.held {
		it := e.held[i]
		e.held[i].Count = 0
		if it.Count == 0 {
			continue
		}
		if err := e.addRun(&it); err != nil {
			return err
		}
	}
	return nil
}

// fewBytes is the largest length of extents of a library for which the owner of the
// memory is looked up: those that an allocator writes next to blocks and in free ones.
// The exact pass looks up the others.
const fewBytes = 64

func (e *engine) checkSite(id replay.SiteID) error {
	if int64(id) >= int64(e.sites) {
		return fmt.Errorf("%w: site %d of %d", ErrSource, id, e.sites)
	}
	return nil
}

// feedTallies passes on the relevant executions of a segment.
func (e *engine) feedTallies(seg replay.Segment) error {
	c, ok := seg.(replay.Compressed)
	if !ok || e.suspects == nil || e.opts.plainRuns {
		for r, err := range seg.Runs() {
			if err != nil {
				return err
			}
			if err := e.feedTally(tallyOf(r)); err != nil {
				return err
			}
		}
		return nil
	}
	if c.Empty() {
		return nil
	}
	looks, stopped := uint64(0), error(nil)
	for t, err := range c.TallyWithin(func(lo, hi uint64) bool {
		if looks++; looks&0xffff == 0 && stopped == nil {
			stopped = e.canceled()
			if looks > maxWork {
				stopped = fmt.Errorf("%w: a segment with too many accesses near memory that races", pass.ErrTooLarge)
			}
		}
		return stopped == nil && e.suspects.Meet(lo, hi)
	}) {
		if err != nil {
			return err
		}
		if err := e.feedTally(t); err != nil {
			return err
		}
	}
	return stopped
}

// tallyOf returns the executions of a run.
func tallyOf(r replay.Run) fold.Tally {
	t := fold.Tally{Site: r.Site, Base: r.Base, Stride: uint64(r.Stride), Count: r.Count, Times: 1}
	switch {
	case r.Count <= 1:
		t.Stride = 0
	case r.Stride == 0:
		t.Count, t.Times = 1, r.Count
	case r.Stride < 0:
		t.Stride = -t.Stride
		t.Base -= t.Stride * (r.Count - 1)
	}
	return t
}

func (e *engine) feedTally(t fold.Tally) error {
	if err := e.checkSite(t.Site); err != nil {
		return err
	}
	a := &e.accesses[t.Site]
	e.stats.Runs++
	if a.Mute || t.Count == 0 || t.Times == 0 {
		return nil
	}
	if e.work += t.Count; e.work > maxWork || t.Count > maxWork {
		return fmt.Errorf("%w: more than %d accesses to memory that races", pass.ErrTooLarge, uint64(maxWork))
	}
	it := pass.Item{Kind: pass.ItemRun, Access: uint32(t.Site), Base: t.Base, Stride: t.Stride, Count: t.Count, Size: uint64(a.Size), Number: t.Times}
	if a.User {
		return e.addRun(&it)
	}
	for i := uint64(0); i < t.Count; { // as far as the memory is of one kind, in one go
		one := it
		one.Base, one.Count = t.Base+i*t.Stride, 1
		user, end := e.business.CountsUntil(e.run.Memory, one.Base)
		if t.Stride > 0 {
			one.Count = min((end-1-one.Base)/t.Stride+1, t.Count-i)
		}
		i += one.Count
		if !user || e.suspects != nil && one.Count == 1 && !e.suspects.Meet(one.Base, one.Base+uint64(a.Size)) {
			continue
		}
		if one.Count == 1 {
			one.Stride = 0
		}
		if err := e.addRun(&one); err != nil {
			return err
		}
	}
	return nil
}

// addRun adds an item of count blocks.
func (e *engine) addRun(it *pass.Item) error {
	if it.Count == 1 {
		return e.add(it, it.Base, it.Base+it.Size)
	}
	if over, span := bits.Mul64(it.Stride, it.Count-1); over == 0 && it.Base+span >= it.Base {
		return e.add(it, it.Base, it.Base+span+it.Size)
	}
	return e.add(it, 0, 0) // backward, or around the end of the address space
}

// maxWork limits the accesses that are processed one by one.
const maxWork = 1 << 38

// feedEvent passes on the current unit, an event that is an access and has that number
// among its thread's events.
func (e *engine) feedEvent(a *replay.Access, index uint64) error {
	addr, size := a.Address, a.Size
	if size == 0 || addr+size < addr {
		return nil
	}
	if !e.sieving && e.suspects != nil && !e.suspects.Meet(addr, addr+size) {
		return nil
	}
	id := e.eventAccess(Place{a.PC, a.Op})
	if !e.accesses[id].User && !e.business.Counts(e.run.Memory, a.PC, addr) {
		return nil
	}
	if e.sieving {
		return e.add(&pass.Item{Kind: pass.ItemExtent, Write: a.Op.Writes(), Lane: e.laneOf(e.accesses[id].Atomic, a.Op), Base: addr, Count: 1, Size: size}, addr, addr+size)
	}
	return e.add(&pass.Item{Kind: pass.ItemEvent, Access: id, Base: addr, Count: 1, Size: size, Number: index}, addr, addr+size)
}

// feedCut begins new lives of the memory that contains [addr, addr+size).
func (e *engine) feedCut(addr, size, at uint64) error {
	if size == 0 || addr > math.MaxUint64-size {
		return nil
	}
	if e.suspects != nil && !e.suspects.Meet(addr&^7, (addr+size+7)&^7) {
		return nil
	}
	return e.add(&pass.Item{Kind: pass.ItemCut, Base: addr, Size: size, Number: at}, 0, 0)
}
