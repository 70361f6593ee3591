package count

import (
	"math"
	"slices"

	"hindsight/analyze/race/internal/pass"
)

// ColumnsLimit is the number of columns of a granule up to which none is searched for to
// merge or drop.
const ColumnsLimit = 16

// gone reports whether no access that follows can race with the column.
func (c *column) gone(h *pass.Horizon) bool { return h.Past(c.strand, c.newest.epoch, c.cut) }

// thin drops and merges what a class need not store.
func (s *Shard) thin(cl *class) {
	before := cl.weigh()
	cl.thin(s.horizon)
	s.records += cl.weigh() - before
	cl.limit = int32(min(2*len(cl.columns), math.MaxInt32))
}

// thin drops and merges what no later access can distinguish.
func (cl *class) thin(h *pass.Horizon) {
	kept := cl.columns[:0]
	for i := range cl.columns {
		c := cl.columns[i]
		if c.gone(h) {
			continue
		}
		c.shorten(h)
		if j := c.twin(kept, h); j >= 0 {
			kept[j] = kept[j].joined(&c, h)
			continue
		}
		kept = append(kept, c)
	}
	clear(cl.columns[len(kept):])
	cl.columns = kept
}

// twin returns a column in kept that cannot be distinguished from c, which is younger.
func (c *column) twin(kept []column, h *pass.Horizon) int {
	if c.cut == 0 {
		return -1
	}
	for i := range kept {
		k := &kept[i]
		if k.cut != 0 && k.manner == c.manner && k.thread == c.thread && k.strand == c.strand && h.SameCuts(min(k.cut, c.cut), max(k.cut, c.cut)) {
			return i
		}
	}
	return -1
}

// joined appends the series of the younger column c to that of k.
func (k *column) joined(c *column, h *pass.Horizon) column {
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
	out.shorten(h)
	return out
}

// shorten drops members that every thread has seen, and merges those that cannot be
// distinguished.
func (c *column) shorten(h *pass.Horizon) {
	if len(c.older) == 0 {
		return
	}
	c.older = append(c.older, c.newest)
	s := c.older
	if int(c.strand) < len(h.Least) {
		i := 0
		for i < len(s)-1 && s[i].epoch <= h.Least[c.strand] {
			c.before = s[i].total
			i++
		}
		s = s[i:]
	}
	n := 0
	for _, m := range s[1:] {
		if h.SameEpochs(c.strand, s[n].epoch, m.epoch) {
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

// trim thins the shadow if it has grown, and if more is known than last time about what
// threads have seen.
func (s *Shard) trim() {
	if s.records > s.sweepAt && s.horizon != s.swept {
		s.sweep()
	}
}

// sweep thins the whole shadow.
func (s *Shard) sweep() {
	s.swept = s.horizon
	s.Stats.Sweeps++
	s.records = 0
	for number, p := range s.shadow.pages {
		s.tidy(p)
		left := p.weigh()
		s.records += left
		if left == 0 {
			delete(s.shadow.pages, number)
		}
	}
	s.shadow.last = nil
	s.sweepAt = 2*s.records + s.SweepEvery
}

// tidy thins a page.
func (s *Shard) tidy(p *page) {
	for i := range p.classes {
		p.classes[i].thin(s.horizon)
	}
	p.join()
	p.tidied, p.work = s.horizon, 0
}

// tidyUsed thins a page of many classes that was used since, so that what is equal again
// is compared once.
func (s *Shard) tidyUsed(p *page) {
	n := len(p.classes)
	if n < fewClasses || p.work < n<<(2+p.idle) || p.tidied == s.horizon {
		return
	}
	s.records -= p.weigh()
	s.tidy(p)
	s.records += p.weigh()
	p.idle = min(p.idle+1, 20)
	if len(p.classes) <= n*3/4 {
		p.idle = 0
	}
}

// join drops classes without records, and merges those with the same records.
func (p *page) join() {
	kept, marks := p.classes[:0], make([]uint64, 0, len(p.classes))
	p.touched = Granules{}
	for i := range p.classes {
		c := p.classes[i]
		if len(c.columns) == 0 {
			continue
		}
		p.touched = p.touched.Or(c.set)
		mark := c.mark()
		j := 0
		for j < len(kept) && (marks[j] != mark || !kept[j].same(&c)) {
			j++
		}
		if j < len(kept) {
			kept[j].set = kept[j].set.Or(c.set)
			continue
		}
		kept, marks = append(kept, c), append(marks, mark)
	}
	clear(p.classes[len(kept):])
	p.classes = kept
	p.index()
}

// mark is equal for equal records.
func (c *class) mark() uint64 {
	h := uint64(len(c.columns))
	for i := range c.columns {
		d := &c.columns[i]
		h = (h ^ uint64(d.access) ^ uint64(d.strand)<<32 ^ d.newest.total<<16 ^ d.newest.epoch<<8) * 0x9e3779b97f4a7c15
	}
	return h
}

// same reports whether the same is remembered of both classes.
func (c *class) same(o *class) bool {
	return slices.EqualFunc(c.columns, o.columns, func(x, y column) bool {
		return x.manner == y.manner && x.thread == y.thread && x.strand == y.strand && x.cut == y.cut && x.before == y.before &&
			x.newest == y.newest && slices.Equal(x.older, y.older)
	})
}
