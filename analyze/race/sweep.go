package race

import (
	"math"
	"slices"
	"sort"

	"hindsight/analyze/hb"
	"hindsight/tracefmt/event"
)

// columnsLimit is the number of columns of a granule up to which none is looked
// for that could be merged or dropped.
const columnsLimit = 16

// staleAfter is the least number of events after which a horizon is made anew.
const staleAfter = 1024

// horizon is what threads can still tell apart, at a moment of the run. It
// remains true later: what has been learnt since lies above own and at.
type horizon struct {
	at    uint64     // place in S_synch, 1-based
	cost  uint64     // values looked at to make it
	fed   uint64     // items before
	own   []uint64   // each strand's epoch at the moment
	least []uint64   // for each strand, its least component in the clocks of other live strands
	held  [][]uint64 // for each strand, its components in the clocks held by anyone, sorted
	start []uint64   // where the current segments of live threads start, sorted
}

// look makes the horizon of the present moment.
func (e *engine) look() {
	n := e.run.Order.Strands()
	h := &horizon{at: e.run.Now, fed: e.fed, own: make([]uint64, n), least: make([]uint64, n), held: make([][]uint64, n)}
	for t := range n {
		h.own[t] = e.run.Order.Epoch(event.StrandID(t))
		h.least[t] = h.own[t] // what a thread that t makes later will have seen at least
	}
	e.run.Order.Live(func(u event.StrandID, c hb.Clock) {
		h.cost += uint64(n)
		for t := range n {
			if event.StrandID(t) != u {
				h.least[t] = min(h.least[t], c.At(event.StrandID(t)))
			}
		}
	})
	e.run.Order.Running(func(t event.ThreadID) {
		if int(t) < len(e.run.Starts) { // or the run ended before it did anything
			h.start = append(h.start, e.run.Starts[t])
		}
	})
	hold := func(s event.StrandID, epoch uint64) {
		if epoch < h.own[s] {
			h.held[s] = append(h.held[s], epoch)
		}
	}
	e.run.Order.Held(func(c hb.Clock) {
		h.cost += uint64(len(c))
		for s, epoch := range c {
			hold(event.StrandID(s), epoch)
		}
	})
	e.run.Order.Ends(func(s event.StrandID, epoch uint64) {
		h.cost++
		hold(s, epoch)
	})
	for t := range h.held {
		slices.Sort(h.held[t])
		h.held[t] = slices.Compact(h.held[t])
	}
	slices.Sort(h.start)
	e.horizon = h
}

// sameEpochs says whether nobody can tell epochs a < b of strand s apart.
func (h *horizon) sameEpochs(s event.StrandID, a, b uint64) bool {
	if int(s) >= len(h.own) || b > h.own[s] {
		return false
	}
	held := h.held[s]
	i := sort.Search(len(held), func(i int) bool { return held[i] >= a })
	return i == len(held) || held[i] >= b
}

// sameCuts says whether nobody can tell allocations at a < b apart.
func (h *horizon) sameCuts(a, b uint64) bool {
	if b > h.at {
		return false
	}
	i := sort.Search(len(h.start), func(i int) bool { return h.start[i] >= a })
	return i == len(h.start) || h.start[i] >= b
}

// gone says whether no access still to come can race with c.
func (h *horizon) gone(c *column) bool {
	if int(c.strand) < len(h.least) && c.newest.epoch <= h.least[c.strand] {
		return true
	}
	return c.cut != 0 && c.cut <= h.at && (len(h.start) == 0 || c.cut <= h.start[0])
}

// thin drops and merges what a class need not remember.
func (s *shard) thin(cl *class) {
	before := cl.weigh()
	s.horizon.thin(cl)
	s.records += cl.weigh() - before
	cl.limit = int32(min(2*len(cl.columns), math.MaxInt32))
}

func (h *horizon) thin(cl *class) {
	kept := cl.columns[:0]
	for i := range cl.columns {
		c := cl.columns[i]
		if h.gone(&c) {
			continue
		}
		h.shorten(&c)
		if j := h.twin(kept, &c); j >= 0 {
			kept[j] = h.joined(&kept[j], &c)
			continue
		}
		kept = append(kept, c)
	}
	clear(cl.columns[len(kept):])
	cl.columns = kept
}

// twin finds a column in kept that nobody can tell from c, which is younger.
func (h *horizon) twin(kept []column, c *column) int {
	if c.cut == 0 {
		return -1
	}
	for i := range kept {
		k := &kept[i]
		if k.cut != 0 && k.manner == c.manner && k.thread == c.thread && k.strand == c.strand && h.sameCuts(min(k.cut, c.cut), max(k.cut, c.cut)) {
			return i
		}
	}
	return -1
}

// joined puts the series of the younger column c after that of k.
func (h *horizon) joined(k, c *column) column {
	out := *c
	out.before = k.before
	k.older = append(k.older, k.newest)
	all := k.older
	base := c.before
	for i := range len(c.older) + 1 {
		m := c.newest
		if i < len(c.older) {
			m = c.older[i]
		}
		last := &all[len(all)-1]
		count := m.total - base
		base = m.total
		if last.epoch == m.epoch {
			last.total += count
			last.last = m.last
			continue
		}
		m.total = last.total + count
		all = append(all, m)
	}
	out.older, out.newest = all[:len(all)-1], all[len(all)-1]
	h.shorten(&out)
	return out
}

// shorten drops members that everybody has seen and merges those that nobody
// can tell apart.
func (h *horizon) shorten(c *column) {
	if len(c.older) == 0 {
		return
	}
	c.older = append(c.older, c.newest)
	s := c.older
	if int(c.strand) < len(h.least) {
		i := 0
		for i < len(s)-1 && s[i].epoch <= h.least[c.strand] {
			c.before = s[i].total
			i++
		}
		s = s[i:]
	}
	n := 0
	for _, m := range s[1:] {
		if h.sameEpochs(c.strand, s[n].epoch, m.epoch) {
			s[n].epoch, s[n].total, s[n].last = m.epoch, m.total, m.last
			continue
		}
		n++
		s[n] = m
	}
	c.newest = s[n]
	switch s = s[:n]; {
	case n == 0:
		s = nil
	case cap(s) > 4*n:
		s = slices.Clone(s)
	}
	c.older = s
}

// trim thins the shadow when it has grown, if more is known of who has seen
// what than the last time.
func (s *shard) trim() {
	if s.records > s.sweepAt && s.horizon != s.swept {
		s.sweep()
	}
}

// sweep thins the whole shadow.
func (s *shard) sweep() {
	s.swept = s.horizon
	s.stats.Sweeps++
	s.records = 0
	for number, p := range s.shadow.pages {
		s.tidy(p)
		left := p.weigh()
		if s.records += left; left == 0 {
			delete(s.shadow.pages, number)
		}
	}
	s.shadow.last = nil
	s.sweepAt = 2*s.records + s.e.opts.SweepEvery
}

// tidy thins a page.
func (s *shard) tidy(p *page) {
	for i := range p.classes {
		s.horizon.thin(&p.classes[i])
	}
	p.join()
	p.tidied, p.work = s.horizon, 0
}

// tidyUsed thins a page of many classes that has been in use since, so that
// what is alike again is compared once.
func (s *shard) tidyUsed(p *page) {
	n := len(p.classes)
	if n < fewClasses || p.work < n<<(2+p.idle) || p.tidied == s.horizon {
		return
	}
	s.records -= p.weigh()
	s.tidy(p)
	s.records += p.weigh()
	if p.idle = min(p.idle+1, 20); len(p.classes) <= n*3/4 {
		p.idle = 0
	}
}

// join drops classes of which nothing is remembered and makes one of those of
// which the same is.
func (p *page) join() {
	kept, marks := p.classes[:0], make([]uint64, 0, len(p.classes))
	p.touched = granules{}
	for i := range p.classes {
		c := p.classes[i]
		if len(c.columns) == 0 {
			continue
		}
		p.touched = p.touched.or(c.set)
		mark := c.mark()
		j := 0
		for j < len(kept) && (marks[j] != mark || !kept[j].same(&c)) {
			j++
		}
		if j < len(kept) {
			kept[j].set = kept[j].set.or(c.set)
			continue
		}
		kept, marks = append(kept, c), append(marks, mark)
	}
	clear(p.classes[len(kept):])
	p.classes = kept
	p.index()
}

// mark is equal where what is remembered is.
func (c *class) mark() uint64 {
	h := uint64(len(c.columns))
	for i := range c.columns {
		d := &c.columns[i]
		h = (h ^ uint64(d.access) ^ uint64(d.strand)<<32 ^ d.newest.total<<16 ^ d.newest.epoch<<8) * 0x9e3779b97f4a7c15
	}
	return h
}

// same says whether the same is remembered of both classes.
func (c *class) same(o *class) bool {
	return slices.EqualFunc(c.columns, o.columns, func(x, y column) bool {
		return x.manner == y.manner && x.thread == y.thread && x.strand == y.strand && x.cut == y.cut && x.before == y.before &&
			x.newest == y.newest && slices.Equal(x.older, y.older)
	})
}
