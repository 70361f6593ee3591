package race

import (
	"fmt"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"hindsight/analyze/replay"
	"hindsight/cdr"
)

// A pass over the run hands its accesses, in the order of units, to workers
// that each look at their own part of memory. All workers get all items.

type itemKind uint8

const (
	itemRun    itemKind = iota // executions of a site, times at each of count addresses
	itemExtent                 // bytes accessed
	itemEvent                  // an event that is an access
	itemCut                    // memory begins a new life
)

// item is something that happens to memory.
type item struct {
	kind   itemKind
	write  bool
	lane   lane
	unit   int32  // index of batch.units
	access uint32 // index of engine.accesses
	bits   int32  // 1 + index of batch.bits, of the one block of an extent, see cdr.Extent; 0: none
	base   uint64
	stride uint64
	count  uint64
	size   uint64 // bytes of each of count blocks, of an event or of what begins a new life
	// times of a run, index of the event, 1-based place of the cut in S_synch
	number uint64
}

// batch is a number of items in order, for each worker those that it must look
// at.
type batch struct {
	units   []unit
	clocks  []uint64
	bits    [][]uint64
	items   [][]item
	all     int          // items
	horizon *horizon     // of a moment before the first item
	left    atomic.Int32 // workers that have not taken it
}

func (b *batch) reset() {
	clear(b.bits)
	b.units, b.clocks, b.bits, b.all, b.horizon = b.units[:0], b.clocks[:0], b.bits[:0], 0, nil
	for i := range b.items {
		b.items[i] = b.items[i][:0]
	}
}

// batchItems is how many items a batch has at most.
const batchItems = 2048

// taker takes the items of a pass.
type taker interface {
	// take takes items of a batch, which belongs to others afterwards.
	take(b *batch, items []item) error
}

// crew is the workers of a pass.
type crew struct {
	takers  []taker
	in      []chan *batch
	free    chan *batch
	pending sync.WaitGroup // batches times workers
	workers sync.WaitGroup
	mu      sync.Mutex
	err     error
}

// ahead is how many batches a worker may be late.
const ahead = 4

// newCrew starts the workers; a single one works where it is called from.
func newCrew(takers []taker) *crew {
	c := &crew{takers: takers, free: make(chan *batch, ahead+2)}
	if len(takers) == 1 {
		return c
	}
	for i, t := range takers {
		in := make(chan *batch, ahead)
		c.in = append(c.in, in)
		c.workers.Go(func() {
			failed := false
			for b := range in {
				if !failed {
					if err := t.take(b, b.items[i]); err != nil {
						failed = true
						c.fail(err)
					}
				}
				c.release(b)
				c.pending.Done()
			}
		})
	}
	return c
}

// fresh is an empty batch.
func (c *crew) fresh() *batch {
	select {
	case b := <-c.free:
		b.reset()
		return b
	default:
		return &batch{items: make([][]item, len(c.takers))}
	}
}

// release says that a worker has taken the batch.
func (c *crew) release(b *batch) {
	if b.left.Add(-1) > 0 {
		return
	}
	select {
	case c.free <- b:
	default:
	}
}

func (c *crew) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

func (c *crew) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// put hands a batch to the workers. It must not be changed any more.
func (c *crew) put(b *batch) error {
	if len(c.takers) == 1 {
		b.left.Store(1)
		err := c.takers[0].take(b, b.items[0])
		c.release(b)
		return err
	}
	c.pending.Add(len(c.in))
	b.left.Store(int32(len(c.in)))
	for _, in := range c.in {
		in <- b
	}
	return c.failed()
}

// wait returns when everything has been taken.
func (c *crew) wait() { c.pending.Wait() }

// stop ends the workers.
func (c *crew) stop() error {
	for _, in := range c.in {
		close(in)
	}
	c.workers.Wait()
	return c.failed()
}

// add puts an item of the present unit into the batch, for the workers whose
// memory is in the bytes from low up to high, which is after the last.
func (e *engine) add(it *item, low, high uint64) error {
	b := e.begun()
	if it.kind != itemCut {
		if !e.unit.known {
			e.know()
		}
		if !e.unit.added {
			from := len(b.clocks)
			b.clocks = append(b.clocks, e.unit.clock...)
			u := e.unit
			u.clock = b.clocks[from:len(b.clocks):len(b.clocks)]
			b.units = append(b.units, u)
			e.unit.added = true
		}
		it.unit = int32(len(b.units) - 1)
	}
	if low>>sieveBits == (high-1)>>sieveBits && low < high {
		w := owner(low>>sieveBits, len(b.items))
		b.items[w] = append(b.items[w], *it)
	} else {
		for w := range b.items {
			b.items[w] = append(b.items[w], *it)
		}
	}
	b.all++
	e.fed++
	if b.all >= e.opts.batchItems || len(b.clocks) > maxClocks {
		return e.flush()
	}
	return nil
}

// begun is the batch being filled.
func (e *engine) begun() *batch {
	if e.batch == nil {
		if e.stale() {
			e.look()
		}
		e.batch, e.unit.added = e.crew.fresh(), false
		e.batch.horizon = e.horizon
	}
	return e.batch
}

// stale says whether a new horizon is worth what it costs: after many events,
// or many items.
func (e *engine) stale() bool {
	h := e.horizon
	return h == nil || e.run.Now >= h.at+e.opts.staleAfter+h.cost/4 || !e.sieving && e.run.Now > h.at && e.fed >= h.fed+h.cost
}

// maxClocks bounds the components of clocks in a batch.
const maxClocks = 1 << 17

// flush hands the batch to the workers.
func (e *engine) flush() error {
	b := e.batch
	if b == nil {
		return nil
	}
	e.batch = nil
	if err := e.canceled(); err != nil {
		return err
	}
	return e.crew.put(b)
}

// settle lets the workers finish what they have, before the state of the
// address space that they look at changes.
func (e *engine) settle() error {
	if err := e.flush(); err != nil {
		return err
	}
	e.crew.wait()
	return nil
}

// feedExtents hands out the bytes of a segment.
func (e *engine) feedExtents(seg Segment) error {
	fp, ok := seg.(compressed)
	if !ok || e.opts.plainRuns {
		for r, err := range seg.Runs() {
			if err != nil {
				return err
			}
			if err := e.feedExtent(cdr.Extent{Site: r.Site, Base: r.Base, Stride: uint64(r.Stride), Count: r.Count}, true); err != nil {
				return err
			}
		}
		return nil
	}
	for x, err := range fp.Footprint() {
		if err != nil {
			return err
		}
		if err := e.feedExtent(x, false); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) feedExtent(x cdr.Extent, single bool) error {
	if err := e.checkSite(x.Site); err != nil {
		return err
	}
	a := &e.accesses[x.Site]
	if single {
		x.Len = uint64(a.size)
	}
	if e.stats.Runs++; a.mute || x.Count == 0 {
		return nil
	}
	if !a.user && x.Count == 1 && x.Len <= fewBytes {
		if counts, end := e.business.CountsUntil(e.run.Memory, x.Base); !counts && (x.Len <= uint64(a.size) || end-x.Base >= x.Len) {
			return nil
		}
	}
	e.touches[x.Site].add(&x)
	it := item{kind: itemExtent, write: a.op.Writes(), lane: e.laneOf(a.atomic, a.op), base: x.Base, stride: x.Stride, count: x.Count, size: x.Len}
	if x.Bits != nil {
		b := e.begun()
		b.bits = append(b.bits, x.Bits)
		it.bits = int32(len(b.bits))
	}
	return e.addRun(&it)
}

// fewBytes is the length of extents of a library of which it is looked up whose
// memory they are: those that an allocator writes beside blocks and into free
// ones. Of others the exact pass finds out.
const fewBytes = 64

func (e *engine) checkSite(id SiteID) error {
	if int64(id) >= int64(e.sites) {
		return fmt.Errorf("%w: site %d of %d", ErrSource, id, e.sites)
	}
	return nil
}

// feedTallies hands out the executions of a segment that matter.
func (e *engine) feedTallies(seg Segment) error {
	c, ok := seg.(compressed)
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
	looks, stopped := uint64(0), error(nil)
	for t, err := range c.TallyWithin(func(lo, hi uint64) bool {
		if looks++; looks&0xffff == 0 && stopped == nil {
			if stopped = e.canceled(); looks > maxWork {
				stopped = fmt.Errorf("%w: a segment with too many accesses near memory that races", ErrLimit)
			}
		}
		return stopped == nil && e.suspects.meet(lo, hi)
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

// tallyOf is the executions of a run.
func tallyOf(r Run) cdr.Tally {
	t := cdr.Tally{Site: r.Site, Base: r.Base, Stride: uint64(r.Stride), Count: r.Count, Times: 1}
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

func (e *engine) feedTally(t cdr.Tally) error {
	if err := e.checkSite(t.Site); err != nil {
		return err
	}
	a := &e.accesses[t.Site]
	if e.stats.Runs++; a.mute || t.Count == 0 || t.Times == 0 {
		return nil
	}
	if e.work += t.Count; e.work > maxWork || t.Count > maxWork {
		return fmt.Errorf("%w: more than %d accesses to memory that races", ErrLimit, uint64(maxWork))
	}
	it := item{kind: itemRun, access: uint32(t.Site), base: t.Base, stride: t.Stride, count: t.Count, size: uint64(a.size), number: t.Times}
	if a.user {
		return e.addRun(&it)
	}
	for i := uint64(0); i < t.Count; { // as far as the memory is of one kind, at once
		one := it
		one.base, one.count = t.Base+i*t.Stride, 1
		user, end := e.business.CountsUntil(e.run.Memory, one.base)
		if t.Stride > 0 {
			one.count = min((end-1-one.base)/t.Stride+1, t.Count-i)
		}
		i += one.count
		if !user || e.suspects != nil && one.count == 1 && !e.suspects.meet(one.base, one.base+uint64(a.size)) {
			continue
		}
		if one.count == 1 {
			one.stride = 0
		}
		if err := e.addRun(&one); err != nil {
			return err
		}
	}
	return nil
}

// addRun adds an item of count blocks.
func (e *engine) addRun(it *item) error {
	if it.count == 1 {
		return e.add(it, it.base, it.base+it.size)
	}
	if over, span := bits.Mul64(it.stride, it.count-1); over == 0 && it.base+span >= it.base {
		return e.add(it, it.base, it.base+span+it.size)
	}
	return e.add(it, 0, 0) // backwards, or around the end of the address space
}

// maxWork bounds the accesses that are looked at one by one.
const maxWork = 1 << 38

// feedEvent hands out the present unit, an event that is an access and has that
// number among its thread's.
func (e *engine) feedEvent(a *replay.Access, index uint64) error {
	addr, size := a.Address, a.Size
	if size == 0 || addr+size < addr {
		return nil
	}
	id := e.eventAccess(Place{a.PC, a.Op})
	if !e.accesses[id].user && !e.business.Counts(e.run.Memory, a.PC, addr) {
		return nil
	}
	if e.sieving {
		return e.add(&item{kind: itemExtent, write: a.Op.Writes(), lane: e.laneOf(e.accesses[id].atomic, a.Op), base: addr, count: 1, size: size}, addr, addr+size)
	}
	if e.suspects != nil && !e.suspects.meet(addr, addr+size) {
		return nil
	}
	return e.add(&item{kind: itemEvent, access: id, base: addr, count: 1, size: size, number: index}, addr, addr+size)
}

// feedCut begins new lives of the memory in which [addr, addr+size) is.
func (e *engine) feedCut(addr, size, at uint64) error {
	if size == 0 || addr > math.MaxUint64-size {
		return nil
	}
	if e.suspects != nil && !e.suspects.meet(addr&^7, (addr+size+7)&^7) {
		return nil
	}
	return e.add(&item{kind: itemCut, base: addr, size: size, number: at}, 0, 0)
}
