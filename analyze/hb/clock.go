package hb

import (
	"slices"

	"hindsight/tracefmt/event"
)

// Clock is a vector clock. For each strand, it has the last epoch of the strand that
// happens before the point of the clock. Strands beyond its length are at 0, which is
// before their first epoch.
type Clock []uint64

// At returns the component of strand s.
func (c Clock) At(s event.StrandID) uint64 {
	if int(s) < len(c) {
		return c[s]
	}
	return 0
}

// join sets c to the least upper bound of c and d.
func (c *Clock) join(d Clock) {
	c.grow(len(d))
	own := (*c)[:len(d)]
	for i, v := range d {
		own[i] = max(own[i], v)
	}
}

// set copies d to c, in the storage of c.
func (c *Clock) set(d Clock) { *c = append((*c)[:0], d...) }

// grow extends c to at least n components.
func (c *Clock) grow(n int) {
	if have := len(*c); have < n {
		*c = slices.Grow(*c, n-have)[:n]
		clear((*c)[have:])
	}
}

// spares has the storage of clocks that are no longer used.
type spares []Clock

// maxSpares limits spares.
const maxSpares = 256

// copyOf returns a copy of c.
func (s *spares) copyOf(c Clock) (d Clock) {
	if n := len(*s); n > 0 {
		d = (*s)[n-1]
		*s = (*s)[:n-1]
	}
	d.set(c)
	return d
}

// put takes back the storage of a clock that is no longer used.
func (s *spares) put(c Clock) {
	if cap(c) > 0 && len(*s) < maxSpares {
		*s = append(*s, c)
	}
}
