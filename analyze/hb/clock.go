package hb

import (
	"slices"

	"hindsight/tracefmt/event"
)

// Clock is a vector clock: for each strand, the last of its epochs that
// happens before the point the clock belongs to. Strands beyond its length
// are at 0, which is before their first epoch.
type Clock []uint64

// At is the component of strand s.
func (c Clock) At(s event.StrandID) uint64 {
	if int(s) < len(c) {
		return c[s]
	}
	return 0
}

// join makes c the least upper bound of c and d.
func (c *Clock) join(d Clock) {
	c.grow(len(d))
	own := (*c)[:len(d)]
	for i, v := range d {
		own[i] = max(own[i], v)
	}
}

// set makes c a copy of d, in c's storage.
func (c *Clock) set(d Clock) { *c = append((*c)[:0], d...) }

// grow makes c have n components at least.
func (c *Clock) grow(n int) {
	if have := len(*c); have < n {
		*c = slices.Grow(*c, n-have)[:n]
		clear((*c)[have:])
	}
}

// spares is storage of clocks that are no longer used.
type spares []Clock

// maxSpares bounds them.
const maxSpares = 256

// copyOf is a copy of c.
func (s *spares) copyOf(c Clock) (d Clock) {
	if n := len(*s); n > 0 {
		d = (*s)[n-1]
		*s = (*s)[:n-1]
	}
	d.set(c)
	return d
}

// put takes the storage of a clock that nobody uses any more.
func (s *spares) put(c Clock) {
	if cap(c) > 0 && len(*s) < maxSpares {
		*s = append(*s, c)
	}
}
