package order

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"math/bits"

	"hindsight/analyze/internal/layer"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/cdr/fold"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// compressed is a run whose segments tell what they touch without being walked.
type compressed interface {
	NextSegment(t event.ThreadID, sites []bool) func() (*cdr.Segment, error)
	StepsWithin(t event.ThreadID, keep func(lo, hi uint64) bool) iter.Seq2[cdr.Step, error]
}

// footprints is what the segments of a thread touch, one after another.
type footprints struct {
	kept  *replay.Footprints
	lists []replay.Footprint // of the segments to come, if they were kept
	known bool               // they were
	sites []bool             // wanted
	// read is next for a thread of which nothing was kept.
	read func(visit func(*fold.Extent) error) error
}

// list returns the list of the next segment. known is false if there are no lists;
// without further segments it is 0.
func (f *footprints) list() (n replay.Footprint, known bool) {
	if len(f.lists) > 0 {
		n = f.lists[0]
	}
	return n, f.known
}

// skip goes on to the segment after the next one.
func (f *footprints) skip() error {
	if !f.known {
		return f.read(nil)
	}
	if len(f.lists) > 0 {
		f.lists = f.lists[1:]
	}
	return nil
}

// next calls visit for the extents of the next segment, and goes on to the one after it.
func (f *footprints) next(visit func(*fold.Extent) error) (err error) {
	if !f.known {
		return f.read(visit)
	}
	n, _ := f.list()
	f.kept.Each(n, func(x *fold.Extent) bool {
		if f.sites[x.Site] {
			err = visit(x)
		}
		return err == nil
	})
	return cmp.Or(err, f.skip())
}

// feeds returns the footprints of all threads. Sites are those wanted.
func (w *walker) feeds(sites []bool) (all []*footprints, stop func()) {
	var stops []func()
	for t := range w.survey.Threads {
		f, stop := w.footprints(event.ThreadID(t), sites)
		all, stops = append(all, f), append(stops, stop)
	}
	return all, func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// notMuted returns the sites whose accesses may count.
func (w *walker) notMuted() []bool {
	sites := make([]bool, len(w.sites))
	for i := range sites {
		sites[i] = !w.sites[i].muted
	}
	return sites
}

// contest walks the run for the granules that matter and for the last uses of
// mutexes.
func (w *walker) contest(ctx context.Context) (*contest, error) {
	options := w.walkOptions()
	options.NoOrder = !w.survey.Tasks // then the strands are the threads
	c := &contest{atomic: w.survey.Atomic, lockset: w.opts.lockset(), states: cmp.Or(w.opts.states, manyStates), hard: w.survey.Order(), uses: map[uint64][]lockUse{},
		eraser: newEraser(), pages: map[uint64]*contestPage{}, run: w.survey.Walk(options),
		alive: len(w.survey.Roots), several: len(w.survey.Roots) > 1, sites: w.sites,
		mutexes: mutexUse{holder: map[uint64]event.StrandID{}, broken: map[uint64]bool{}, used: map[uint64]bool{}}}
	c.relate = c.stands
	if lists := w.kept.Lists(); lists > 0 {
		c.taken, c.sections = make([]taken, takenLists), make([]bool, lists)
	}
	feeds, stop := w.feeds(w.notMuted())
	defer stop()
	err := c.run.Run(ctx, w.src, &replay.Visitor{
		Segment: func(u *replay.Unit) error { return c.segment(feeds[u.Thread], u) },
		Event:   c.event,
		Access: func(u *replay.Unit, a *replay.Access) error {
			c.begin(u)
			c.unit.simple = false
			return c.extent(&fold.Extent{Base: a.Address, Len: a.Size, Count: 1}, a.Op.Writes())
		},
		Life: func(addr, size, at uint64) error { c.cut(addr, size, at); return nil },
		Done: c.done,
	})
	if err != nil {
		return nil, err
	}
	c.held.All(func(s event.StrandID, l replay.Lock) {
		if !l.RW {
			c.use(s, l.Obj, math.MaxUint64)
		}
	})
	return c, nil
}

// footprints returns those of a thread.
func (w *walker) footprints(t event.ThreadID, sites []bool) (*footprints, func()) {
	if lists := w.kept.Segments(t); lists != nil {
		return &footprints{kept: w.kept, lists: lists, known: true, sites: sites}, func() {}
	}
	read, stop := w.reader(t, sites)
	return &footprints{read: read}, stop
}

// reader tells what the next segment of a thread touches; if visit is nil it only
// goes on to the one after it.
func (w *walker) reader(t event.ThreadID, sites []bool) (func(visit func(*fold.Extent) error) error, func()) {
	src, ok := w.src.(compressed)
	if !ok {
		next, stop := iter.Pull2(w.src.Steps(t))
		present := new(fold.Extent) // one for all, which none need outlive
		return func(visit func(*fold.Extent) error) error {
			for {
				step, err, ok := next()
				if err != nil || !ok || step.IsEvent {
					return err
				}
				if visit == nil || !sites[step.Site] {
					continue
				}
				*present = fold.Extent{Site: step.Site, Base: step.Address + w.sites[step.Site].skip, Len: w.sites[step.Site].size, Count: 1}
				if err := visit(present); err != nil {
					return err
				}
			}
		}, stop
	}
	next := src.NextSegment(t, sites)
	return func(visit func(*fold.Extent) error) error {
		seg, err := next()
		if err != nil || seg == nil || visit == nil {
			return err
		}
		var stopped error
		err = seg.EachExtent(func(x *fold.Extent) bool {
			stopped = visit(x)
			return stopped == nil
		})
		return cmp.Or(stopped, err)
	}, func() {}
}

// begin makes u the present unit.
func (c *contest) begin(u *replay.Unit) {
	s, own := c.hard.Strand(u.Thread), c.own(u.Thread)
	held := c.held.Of(own)
	c.unit = contestUnit{thread: u.Thread, strand: s, access: layer.Access{ID: layer.NewStamp(s, c.hard.Epoch(s))},
		clock: c.hard.Clock(u.Thread), start: u.Start, own: own, mutex: c.eraser.held(held, isMutexLock)}
	if c.lockset {
		c.unit.locks = [2]int32{c.eraser.held(held, anyLock), c.eraser.held(held, forWriting)}
	}
}

// own returns the strand that a thread acts as.
func (c *contest) own(t event.ThreadID) event.StrandID {
	if c.run.Order == nil {
		return t.Strand()
	}
	return c.run.Order.Strand(t)
}

// taken says which unit has taken a list.
type taken struct {
	list  replay.Footprint
	lives uint32
	id    layer.Stamp
	own   event.StrandID
	mutex int32
	locks [2]int32
}

// takenLists is how many lists are known to have been taken, a power of two.
const takenLists = 1 << 13

// again reports whether the present unit takes a list that a unit with the same
// locks has taken in the same epoch of the hard order: it says nothing new. What others
// have done since did not come after an epoch that has not ended, so that it has
// been compared with what the first of the units did. Until the next call with the
// list, the unit has taken it.
func (c *contest) again(list replay.Footprint) bool {
	u := &c.unit
	now := taken{list: list, lives: c.lives, id: u.access.ID, own: u.own, mutex: u.mutex, locks: u.locks}
	at := &c.taken[(uint32(list)*0x9e3779b1^uint32(u.own)*0x85ebca6b)>>19%takenLists]
	if *at == now {
		return true
	}
	*at = now
	return false
}

func (c *contest) segment(feed *footprints, u *replay.Unit) error {
	list, begun := feed.list()
	if begun {
		if list == 0 {
			return feed.skip()
		}
		c.begin(u)
		if c.unit.mutex != 0 {
			c.sections[list] = true
		}
		if c.again(list) {
			return feed.skip()
		}
	}
	return feed.next(func(x *fold.Extent) error {
		if !begun {
			c.begin(u)
			begun = true
		}
		site := &c.sites[x.Site]
		c.unit.simple = site.user
		return c.extent(x, site.place.Op.Writes())
	})
}

// event takes the part of an event that orders it after others in the hard
// order, and the uses of mutexes.
func (c *contest) event(ev *format.Event) error {
	c.strand = c.own(ev.Thread)
	if ev.Kind == event.StrandBegin {
		c.held.Clear(c.strand)
	}
	c.mutexes.take(c.strand, &ev.Event)
	if isMutex(ev.Kind) {
		c.use(c.strand, ev.Obj, ev.Seq+1)
		return nil
	}
	return c.hard.Acquire(ev.Thread, &ev.Event)
}

// done takes the part that orders others after it.
func (c *contest) done(ev *format.Event) error {
	c.held.Apply(c.strand, &ev.Event)
	switch ev.Kind {
	case event.Create, event.StrandCreate:
		c.alive++
		c.several = true
		c.lives++
	case event.ThreadEnd, event.StrandEnd:
		c.alive--
		c.lives++
	}
	if isMutex(ev.Kind) {
		return nil
	}
	return c.hard.Release(ev.Thread, &ev.Event)
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

// maxBlocks and maxSpan bound the blocks of an extent, and the bytes between
// the first and the last.
const (
	maxBlocks = 1 << 28
	maxSpan   = 1 << 38
)

// checkExtent reports whether an extent is too large to look at.
func checkExtent(x *fold.Extent) error {
	apart := x.Stride
	if int64(apart) < 0 {
		apart = -apart
	}
	high, span := bits.Mul64(apart, max(x.Count, 1)-1)
	if high != 0 || span > maxSpan || x.Len > maxSpan || x.Count > maxBlocks && (x.Bits != nil || apart > x.Len+7) {
		return fmt.Errorf("%w: %d accesses at %#x, %d bytes apart", race.ErrLimit, x.Count, x.Base, int64(x.Stride))
	}
	return nil
}

// extent touches what an extent says.
func (c *contest) extent(x *fold.Extent, write bool) error {
	base, stride, count := x.Base, x.Stride, x.Count
	if count == 0 || x.Len == 0 {
		return nil
	}
	if err := checkExtent(x); err != nil {
		return err
	}
	if int64(stride) < 0 {
		stride = -stride
		base -= stride * (count - 1)
	}
	span := stride * (count - 1)
	if base+span+x.Len < base { // around the end of the address space
		return nil
	}
	p := painter{c: c, write: write}
	if x.Bits == nil && (count == 1 || stride <= x.Len+7) { // no granule is left out
		p.bytes(base, span+x.Len)
		return p.end()
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
