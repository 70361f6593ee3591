package race

import (
	"fmt"
	"math"
	"sync"

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
	unit   int32  // index of batch.units
	access uint32 // index of engine.accesses
	base   uint64
	stride uint64
	count  uint64
	size   uint64   // bytes of each of count blocks, of an event or of what begins a new life
	bits   []uint64 // of the one block of an extent, see cdr.Extent
	times  uint64
	first  uint64 // index of the event, 1-based place of the cut in S_synch
}

// batch is a number of items in order.
type batch struct {
	units   []unit
	clocks  []uint64
	items   []item
	horizon *horizon // of a moment before the first item
}

// batchItems is how many items a batch has at most.
const batchItems = 2048

// taker takes the items of a pass.
type taker interface{ take(*batch) error }

// crew is the workers of a pass.
type crew struct {
	takers  []taker
	in      []chan *batch
	pending sync.WaitGroup // batches times workers
	workers sync.WaitGroup
	mu      sync.Mutex
	err     error
}

// newCrew starts the workers; a single one works where it is called from.
func newCrew(takers []taker) *crew {
	c := &crew{takers: takers}
	if len(takers) == 1 {
		return c
	}
	for _, t := range takers {
		in := make(chan *batch, 4)
		c.in = append(c.in, in)
		c.workers.Go(func() {
			failed := false
			for b := range in {
				if !failed {
					if err := t.take(b); err != nil {
						failed = true
						c.fail(err)
					}
				}
				c.pending.Done()
			}
		})
	}
	return c
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
		return c.takers[0].take(b)
	}
	c.pending.Add(len(c.in))
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

// add puts an item of the present unit into the batch.
func (e *engine) add(it item) error {
	b := e.batch
	if b == nil {
		if e.stale() {
			e.look()
		}
		b = &batch{horizon: e.horizon, items: make([]item, 0, e.opts.batchItems)}
		e.batch, e.unit.added = b, false
	}
	if it.kind != itemCut {
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
	b.items = append(b.items, it)
	e.fed++
	if len(b.items) >= e.opts.batchItems || len(b.clocks) > maxClocks {
		return e.flush()
	}
	return nil
}

// stale says whether a new horizon is worth what it costs: after many events,
// or many items.
func (e *engine) stale() bool {
	h := e.horizon
	return h == nil || e.now >= h.at+e.opts.staleAfter+h.cost/4 || e.now > h.at && e.fed >= h.fed+h.cost
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
	return e.add(item{kind: itemExtent, write: a.op.Writes(), base: x.Base, stride: x.Stride, count: x.Count, size: x.Len, bits: x.Bits})
}

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
	it := item{kind: itemRun, access: uint32(t.Site), base: t.Base, stride: t.Stride, count: t.Count, times: t.Times}
	if a.user {
		return e.add(it)
	}
	for i := range t.Count {
		one := it
		one.base, one.stride, one.count = t.Base+i*t.Stride, 0, 1
		if e.suspects != nil && !e.suspects.meet(one.base, one.base+uint64(a.size)) || !e.memory.User(e.opts.Program, one.base) {
			continue
		}
		if err := e.add(one); err != nil {
			return err
		}
	}
	return nil
}

// maxWork bounds the accesses that are looked at one by one.
const maxWork = 1 << 38

// feedEvent hands out the present unit, an event that is an access: size bytes
// at addr.
func (e *engine) feedEvent(p Place, addr, size, index uint64) error {
	if size == 0 || addr+size < addr {
		return nil
	}
	if e.sieving {
		return e.add(item{kind: itemExtent, write: p.Op.Writes(), base: addr, count: 1, size: size})
	}
	id := e.eventAccess(p)
	if !e.accesses[id].user && !e.memory.User(e.opts.Program, addr) {
		return nil
	}
	if e.suspects != nil && !e.suspects.meet(addr, addr+size) {
		return nil
	}
	return e.add(item{kind: itemEvent, access: id, base: addr, count: 1, size: size, first: index})
}

// feedCut begins new lives of the memory in which [addr, addr+size) is.
func (e *engine) feedCut(addr, size, at uint64) error {
	if size == 0 || addr > math.MaxUint64-size {
		return nil
	}
	if e.suspects != nil && !e.suspects.meet(addr&^7, (addr+size+7)&^7) {
		return nil
	}
	return e.add(item{kind: itemCut, base: addr, size: size, first: at})
}
