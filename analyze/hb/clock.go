package hb

import "hindsight/tracefmt/event"

// Clock is a vector clock: for each strand, the last of its epochs that
// happens before the point the clock belongs to. Strands beyond its length
// stand at 0, which is before their first epoch.
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

func (c *Clock) grow(n int) {
	for len(*c) < n {
		*c = append(*c, 0)
	}
}
