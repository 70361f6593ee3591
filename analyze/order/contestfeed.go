package order

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"

	"hindsight/analyze/hb"
	"hindsight/analyze/place"
	"hindsight/analyze/race"
	"hindsight/cdr"
	"hindsight/tracefmt/event"
)

// compressed is a run whose segments tell what they touch without being walked.
type compressed interface {
	Segments(event.ThreadID) iter.Seq2[*cdr.Segment, error]
	StepsWithin(t event.ThreadID, keep func(lo, hi uint64) bool) iter.Seq2[cdr.Step, error]
}

// footprints gives what the next segment of a thread touches.
type footprints func(visit func(*cdr.Extent) error) error

// contest walks the run for the granules that matter and for the last uses of
// mutexes.
func (w *walker) contest(ctx context.Context) (*contest, error) {
	c := &contest{src: w.src, lockset: w.opts.lockset(), hard: hb.New(), all: hb.New(), held: map[event.StrandID][]uint64{}, uses: map[uint64][]lockUse{},
		eraser: newEraser(), pages: map[uint64]*contestPage{}, starts: make([]uint64, w.threads), mute: w.runtime, strict: w.atomic == nil,
		memory: place.NewMap(w.opts.TLSSize)}
	for _, o := range []*hb.Order{c.hard, c.all} {
		o.Threads(w.threads)
		for _, t := range w.roots {
			o.Root(t)
		}
	}
	feeds := make([]footprints, w.threads)
	for t := range feeds {
		var stop func()
		feeds[t], stop = w.footprints(event.ThreadID(t))
		defer stop()
	}
	err := events(ctx, w.src, w.threads, func(ev *cdr.Event) error {
		if err := c.segment(feeds[ev.Thread], ev.Thread); err != nil {
			return err
		}
		return c.event(ev)
	})
	if err != nil {
		return nil, err
	}
	for t := range feeds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := c.segment(feeds[t], event.ThreadID(t)); err != nil {
			return nil, err
		}
	}
	for s, held := range c.held {
		for _, obj := range held {
			c.use(s, obj, math.MaxUint64)
		}
	}
	return c, nil
}

func (w *walker) footprints(t event.ThreadID) (footprints, func()) {
	src, ok := w.src.(compressed)
	if !ok {
		next, stop := iter.Pull2(w.src.Steps(t))
		return func(visit func(*cdr.Extent) error) error {
			for {
				step, err, ok := next()
				if err != nil || !ok || step.IsEvent {
					return err
				}
				if err := visit(&cdr.Extent{Site: step.Site, Base: step.Address, Len: uint64(w.src.Site(step.Site).Size), Count: 1}); err != nil {
					return err
				}
			}
		}, stop
	}
	next, stop := iter.Pull2(src.Segments(t))
	present := new(cdr.Extent) // one for all, which none need outlive
	return func(visit func(*cdr.Extent) error) error {
		seg, err, ok := next()
		if err != nil || !ok {
			return err
		}
		for x, err := range seg.Footprint() {
			if err != nil {
				return err
			}
			*present = x
			if err := visit(present); err != nil {
				return err
			}
		}
		return nil
	}, stop
}

// begin makes a thread's present segment, or an event at that place, the unit.
func (c *contest) begin(t event.ThreadID, start uint64) {
	s, own := c.hard.Strand(t), c.all.Strand(t)
	c.unit = contestUnit{thread: t, strand: s, epoch: c.hard.Epoch(s), clock: c.hard.Clock(t),
		held: len(c.held[own]) > 0, start: start, own: own}
	if c.lockset {
		held := c.locks.held[own]
		c.unit.locks = [2]int32{c.eraser.id(locks(held, false)), c.eraser.id(locks(held, true))}
	}
}

func (c *contest) segment(next footprints, t event.ThreadID) error {
	begun := false
	return next(func(x *cdr.Extent) error {
		site := c.src.Site(x.Site)
		if c.mute != nil && c.mute(site.PC) {
			return nil
		}
		if !begun {
			c.begin(t, c.starts[t])
			begun = true
		}
		return c.extent(x, site.Access == event.Write)
	})
}

// event takes an event.
func (c *contest) event(ev *cdr.Event) error {
	t, at := ev.Thread, ev.Seq+1
	mutex := ev.Kind == event.MutexLock || ev.Kind == event.MutexUnlock
	err := c.all.Acquire(t, &ev.Event)
	if err == nil && !mutex {
		err = c.hard.Acquire(t, &ev.Event)
	}
	if err != nil {
		return err
	}
	own := c.all.Strand(t)
	switch ev.Kind {
	case event.MutexLock:
		c.held[own] = append(c.held[own], ev.Obj)
		c.use(own, ev.Obj, at)
	case event.MutexUnlock:
		if held := c.held[own]; slices.Contains(held, ev.Obj) {
			i := len(held) - 1
			for held[i] != ev.Obj {
				i--
			}
			c.held[own] = slices.Delete(held, i, i+1)
		}
		c.use(own, ev.Obj, at)
	case event.StrandBegin:
		delete(c.held, own)
	}
	if err := c.touchMemory(ev, at); err != nil {
		return err
	}
	c.memory.Apply(t, ev.Index, &ev.Event)
	c.locks.event(own, &ev.Event)
	err = c.all.Release(t, &ev.Event)
	if err == nil && !mutex {
		err = c.hard.Release(t, &ev.Event)
	}
	c.starts[t] = at
	if ev.Kind == event.Create && ev.Obj < uint64(len(c.starts)) {
		c.starts[ev.Obj] = at
	}
	return err
}

func (c *contest) use(s event.StrandID, obj, at uint64) {
	uses := c.uses[obj]
	for i := range uses {
		if uses[i].strand == s {
			uses[i].last = at
			return
		}
	}
	c.uses[obj] = append(uses, lockUse{s, at})
}

func (c *contest) touchMemory(ev *cdr.Event, at uint64) error {
	switch ev.Kind {
	case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
		if c.strict {
			c.begin(ev.Thread, at)
			return c.extent(&cdr.Extent{Base: ev.Obj, Len: uint64(min(ev.Size, maxAtomic)), Count: 1}, ev.Kind != event.AtomicLoad)
		}
	case event.Free:
		c.begin(ev.Thread, at)
		return c.extent(&cdr.Extent{Base: ev.Obj, Len: freedBytes(c.memory, ev), Count: 1}, true)
	default:
		if addr, size, ok := renewed(ev); ok {
			c.cut(addr, size, at)
		}
	}
	return nil
}

// freedBytes is how many bytes of a block its free is taken for.
func freedBytes(memory *place.Map, ev *cdr.Event) uint64 {
	size := ev.Arg
	if b, ok := memory.Block(ev.Obj); ok && size == 0 && b.Addr == ev.Obj && !b.Freed {
		size = b.Size
	}
	return min(size, maxFree)
}

// renewed gives the memory that an event begins a new life of.
func renewed(ev *cdr.Event) (addr, size uint64, ok bool) {
	switch ev.Kind {
	case event.Alloc, event.Map, event.StackMap, event.Renew:
		return ev.Obj, ev.Arg, true
	case event.StrandBegin, event.StrandEnd:
		low := ev.Arg - min(ev.Arg, taskFrames)
		return low, ev.Arg - low, true
	}
	return 0, 0, false
}

// maxBlocks and maxSpan bound the blocks of an extent, and the bytes between
// the first and the last.
const (
	maxBlocks = 1 << 28
	maxSpan   = 1 << 38
)

// extent touches what an extent says.
func (c *contest) extent(x *cdr.Extent, write bool) error {
	base, stride, count := x.Base, x.Stride, x.Count
	if count == 0 || x.Len == 0 {
		return nil
	}
	if int64(stride) < 0 {
		stride = -stride
		base -= stride * (count - 1)
	}
	high, span := bits.Mul64(stride, count-1)
	if high != 0 || span > maxSpan || x.Len > maxSpan {
		return fmt.Errorf("%w: %d accesses at %#x, %d bytes apart", race.ErrLimit, count, base, int64(x.Stride))
	}
	if base+span+x.Len < base { // around the end of the address space
		return nil
	}
	p := painter{c: c, write: write}
	if x.Bits == nil && (count == 1 || stride <= x.Len+7) { // no granule is left out
		p.bytes(base, span+x.Len)
		return p.end()
	}
	if count > maxBlocks {
		return fmt.Errorf("%w: %d accesses at %#x, %d bytes apart", race.ErrLimit, count, base, int64(x.Stride))
	}
	for i := range count {
		if at := base + i*stride; x.Bits == nil {
			p.bytes(at, x.Len)
		} else {
			p.bits(at, x.Bits)
		}
		if p.err != nil {
			return p.err
		}
	}
	return p.end()
}

// painter gathers the granules of an extent, page by page.
type painter struct {
	c      *contest
	write  bool
	number uint64
	in     granules
	begun  bool
	err    error
}

// bytes takes size bytes.
func (p *painter) bytes(addr, size uint64) {
	lo, hi := addr>>3, (addr+size-1)>>3
	for lo <= hi && p.err == nil {
		number := lo / pageGranules
		if number != p.number || !p.begun {
			p.err = p.end()
			p.number, p.begun = number, true
		}
		end := min(hi, number*pageGranules+pageGranules-1)
		p.in.set(lo&(pageGranules-1), end&(pageGranules-1))
		lo = end + 1
	}
}

// bits takes the bytes from addr on of which the bit is set.
func (p *painter) bits(addr uint64, set []uint64) {
	for _, w := range set {
		for at := addr; w != 0; {
			n := uint64(bits.TrailingZeros64(w))
			w >>= n
			at += n
			// The rest of the granule is looked at no more.
			next := (at &^ 7) + 8
			p.bytes(at, 1)
			w >>= next - at
			at = next
		}
		addr += 64
	}
}

// end touches what was gathered.
func (p *painter) end() error {
	if !p.begun {
		return nil
	}
	in := p.in
	p.in, p.begun = granules{}, false
	if p.err != nil {
		return p.err
	}
	return p.c.touch(p.number, in, p.write)
}
