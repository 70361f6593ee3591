package hb

import "hindsight/tracefmt/event"

// Clock is a vector clock: for each thread, the last of its epochs that
// happens before the point the clock belongs to. Threads beyond its length
// stand at 0, which is before their first epoch.
type Clock []uint64

// At is the component of thread t.
func (c Clock) At(t event.ThreadID) uint64 {
	if int(t) < len(c) {
		return c[t]
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
