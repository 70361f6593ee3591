package arch

import "hindsight/tracefmt/archinfo"

// state is the state of a copy under MESI (Papamarcos and Patel, ISCA 1984).
type state uint8

const (
	invalid state = iota
	shared
	exclusive
	modified
)

// loss says why a hart does not hold a line.
type loss uint8

const (
	never       loss = iota // it has never held it
	evicted                 // another line took its way
	invalidated             // another hart wrote to it
)

// line is what is known about a line of memory that some hart has touched.
type line struct {
	number uint64
	copies []*copyOf // of the harts that ever held it, in the order of their first access
	shared *sharing  // nil as long as only one hart has touched it
}

// copyOf is a line as one hart sees it. Masks have one bit per granule of the line, which
// is a 64th of the line but at least one byte.
type copyOf struct {
	hart  *hart
	line  *line
	state state
	lost  loss

	read, written uint64 // what the hart touched during the whole run
	used          uint64 // what it has touched since it got the line
	fresh         uint64 // what it has written since it got the line exclusively
	// stale is what others have written since the hart's last essential miss on this line.
	// While the copy is valid, it is nonzero only after a miss by invalidation that may
	// still turn out to be essential.
	stale uint64
	miss  missAt // that miss

	counts archinfo.TouchCounts
}

// missAt is where a miss happened, to be counted when its kind is known.
type missAt struct {
	word int
	site *archinfo.Site
}

// reference is one access to one line.
type reference struct {
	number      uint64 // of the line
	first, last int    // first and last word of the line that it touches
	mask        uint64 // granules
	pc          uint64
	read, write bool
}

// access simulates one reference and reports whether it hit.
//
// The protocol, for hart p and the line's other copies:
//
//  1. Read with a valid copy: nothing. Write with a modified copy: nothing; with an
//     exclusive one: it becomes modified; with a shared one: an upgrade, which
//     invalidates the others.
//  2. Read miss: a bus read. A modified copy is written back, and all valid copies
//     become shared. p's copy is shared if there were any, and otherwise exclusive.
//  3. Write miss: a bus read for ownership. All valid copies are invalidated, and a
//     modified one passes on its data. p's copy is modified.
//  4. The line that a miss evicts is written back if it is modified.
//
// A miss on a line that p lost by invalidation is essential, i.e. a true-sharing miss, if
// during the lifetime of its new copy p touches something that others have written since
// p's last essential miss on the line. Otherwise it is a false-sharing miss.
func (m *Model) access(h *hart, r *reference) (hit bool) {
	s := &h.sets[r.number&m.setMask]
	c := s.find(r.number)
	hit = c != nil
	upgrade := false
	if hit {
		if r.write && c.state != modified {
			upgrade = c.state == shared
			if upgrade {
				m.invalidateOthers(c, r)
			}
			c.state = modified
		}
	} else {
		c = m.fetch(h, r)
	}
	c.used |= r.mask
	if r.read {
		c.read |= r.mask
	}
	if r.write {
		c.written |= r.mask
		c.fresh |= r.mask
	}
	if c.stale&r.mask != 0 {
		m.verdict(c, true)
	}
	if l := c.line; l.shared != nil {
		l.shared.reference(c, r)
		if upgrade {
			m.upgraded(c, r)
		}
	}
	count(&h.counts, r, hit)
	return hit
}

// fetch brings the line of r into h's cache.
func (m *Model) fetch(h *hart, r *reference) *copyOf {
	l := m.line(r.number)
	c := l.copyOf(h)
	if len(l.copies) > 1 && l.shared == nil {
		l.shared = m.newSharing(l)
	}
	from := false // another cache holds the line
	for _, o := range l.copies {
		if o != c && o.state != invalid {
			from = true
			if !r.write {
				m.downgrade(o)
			}
		}
	}
	if r.write {
		m.invalidateOthers(c, r)
	}
	switch {
	case r.write:
		c.state = modified
	case from:
		c.state = shared
	default:
		c.state = exclusive
	}
	m.missed(c, r, from)
	c.used, c.fresh = 0, 0
	if v := h.sets[r.number&m.setMask].put(r.number, c, m.cfg.Ways); v != nil {
		m.evict(v)
	}
	return c
}

// missed counts a miss of copy c, whose lost field still says which kind it is.
func (m *Model) missed(c *copyOf, r *reference, from bool) {
	k := &c.hart.counts
	if from {
		k.CacheToCache++
	}
	switch c.lost {
	case never:
		k.Cold++
		c.stale = 0
	case evicted:
		k.Replacement++
		c.stale = 0
	case invalidated:
		k.Coherence++
		c.counts.Misses++
	}
	if sh := c.line.shared; sh != nil {
		c.miss = sh.missed(c, r, from, c.lost == invalidated, m.seq)
	}
}

// verdict decides of which kind the pending miss of copy c was.
func (m *Model) verdict(c *copyOf, essential bool) {
	sh, k := c.line.shared, &c.hart.counts
	w := sh.word(c.miss.word)
	if essential {
		c.stale = 0 // the miss has fetched all of it
		k.TrueSharing++
		sh.counts.TrueSharing++
		w.counts.TrueSharing++
		c.miss.site.True++
		return
	}
	k.FalseSharing++
	sh.counts.FalseSharing++
	w.counts.FalseSharing++
	c.miss.site.False++
}

// ends is called when a valid copy ceases to exist. It decides a pending miss.
func (m *Model) ends(c *copyOf) {
	if c.stale != 0 {
		m.verdict(c, false)
	}
	m.publish(c)
}

// publish records in the other copies, which are invalid, what c wrote.
func (m *Model) publish(c *copyOf) {
	if c.fresh == 0 {
		return
	}
	for _, o := range c.line.copies {
		if o != c {
			o.stale |= c.fresh
		}
	}
	c.fresh = 0
}

// downgrade handles another hart's bus read.
func (m *Model) downgrade(c *copyOf) {
	if c.state == modified {
		m.publish(c)
		c.hart.counts.Writebacks++
		c.line.shared.counts.Writebacks++
	}
	c.state = shared
}

// invalidateOthers removes the line from all other harts for a write by c.
func (m *Model) invalidateOthers(c *copyOf, r *reference) {
	for _, o := range c.line.copies {
		if o == c || o.state == invalid {
			continue
		}
		m.ends(o)
		o.state, o.lost = invalid, invalidated
		o.hart.sets[r.number&m.setMask].drop(r.number)
		o.hart.counts.InvalidationsReceived++
		c.hart.counts.InvalidationsSent++
		o.counts.InvalidationsReceived++
		c.counts.InvalidationsSent++
		c.line.shared.invalidated(o, r, m)
	}
}

// evict is called for a copy that has left its cache.
func (m *Model) evict(c *copyOf) {
	m.ends(c)
	if c.state == modified {
		c.hart.counts.Writebacks++
		if c.line.shared != nil {
			c.line.shared.counts.Writebacks++
		}
	}
	c.state, c.lost = invalid, evicted
}

func (m *Model) upgraded(c *copyOf, r *reference) {
	c.hart.counts.Upgrades++
	c.line.shared.upgraded(c, r, m.seq)
}

// line returns what is known about a line of memory.
func (m *Model) line(number uint64) *line {
	l := m.lines[number]
	if l == nil {
		l = &line{number: number}
		m.lines[number] = l
	}
	return l
}

// copyOf returns h's copy of a line, valid or not.
func (l *line) copyOf(h *hart) *copyOf {
	for _, c := range l.copies {
		if c.hart == h {
			return c
		}
	}
	c := &copyOf{hart: h, line: l}
	l.copies = append(l.copies, c)
	return c
}
