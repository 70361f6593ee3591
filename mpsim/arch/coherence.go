package arch

import "hindsight/tracefmt/archinfo"

// state of a copy under MESI (Papamarcos and Patel, ISCA 1984).
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
	never       loss = iota // it has not held it yet
	evicted                 // another line took its way
	invalidated             // another hart wrote to it
)

// line is what is known of a line of memory that some hart has touched.
type line struct {
	number uint64
	copies []*copyOf // of the harts that ever held it, in the order in which they came
	shared *sharing  // nil while only one hart has touched it
}

// copyOf is a line as one hart sees it. Masks have a bit for every granule of
// the line: a 64th of it, but a byte at least.
type copyOf struct {
	hart  *hart
	line  *line
	state state
	lost  loss

	read, written uint64 // what the hart touched, in the whole run
	used          uint64 // what it touched since it got the line
	fresh         uint64 // what it wrote since it got the line for itself
	// stale is what others wrote since the hart's last essential miss on this
	// line. While the copy is valid it is not 0 only after a miss by
	// invalidation of which is not known yet whether it was essential.
	stale uint64
	miss  missAt // that miss

	counts archinfo.TouchCounts
}

// missAt is where a miss happened, to be told when its kind is known.
type missAt struct {
	word int
	site *archinfo.Site
}

// reference is one access to one line.
type reference struct {
	number      uint64 // of the line
	first, last int    // words of the line that it touches
	mask        uint64 // granules
	pc          uint64
	read, write bool
}

// access plays one reference and says whether it hit.
//
// The protocol, for hart p and the line's other copies:
//
//  1. read, valid copy: nothing. Write, modified: nothing; exclusive: becomes
//     modified; shared: an upgrade, which invalidates the others.
//  2. read miss: a bus read. A modified copy is written back, all valid copies
//     become shared; p's is shared if there were any, else exclusive.
//  3. write miss: a bus read for ownership. All valid copies are invalidated,
//     a modified one hands its data on; p's is modified.
//  4. The line that a miss drives out is written back if modified.
//
// A miss on a line that p lost by invalidation is essential, a true-sharing
// miss, if p touches during the lifetime of its new copy something that others
// wrote since p's last essential miss on the line; else it is a false-sharing
// miss.
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

// missed counts a miss of copy c, whose lost still says of which kind.
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

// verdict says of which kind the pending miss of copy c was.
func (m *Model) verdict(c *copyOf, essential bool) {
	sh, k := c.line.shared, &c.hart.counts
	w := sh.word(c.miss.word)
	if essential {
		c.stale = 0 // the miss has brought all of it
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

// ends is called when a valid copy goes: it settles what is open.
func (m *Model) ends(c *copyOf) {
	if c.stale != 0 {
		m.verdict(c, false)
	}
	m.publish(c)
}

// publish tells the other copies, which are invalid, what c wrote.
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

// downgrade answers another hart's bus read.
func (m *Model) downgrade(c *copyOf) {
	if c.state == modified {
		m.publish(c)
		c.hart.counts.Writebacks++
		c.line.shared.counts.Writebacks++
	}
	c.state = shared
}

// invalidateOthers takes the line from all other harts for a write by c.
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

// line returns what is known of a line of memory.
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
