package order

import (
	"hindsight/analyze/hb"
	"hindsight/tracefmt/event"
)

// vector is a clock with a component for each strand.
type vector []uint64

func (v vector) at(s event.StrandID) uint64 {
	if int(s) < len(v) {
		return v[s]
	}
	return 0
}

func (v *vector) set(s event.StrandID, n uint64) {
	for len(*v) <= int(s) {
		*v = append(*v, 0)
	}
	(*v)[s] = n
}

// join makes v the least upper bound of v and w; it reports whether v grew.
func (v *vector) join(w []uint64) (grew bool) {
	for len(*v) < len(w) {
		*v = append(*v, 0)
	}
	for i, n := range w {
		if n > (*v)[i] {
			(*v)[i], grew = n, true
		}
	}
	return grew
}

func (v vector) clone() vector { return append(vector(nil), v...) }

// carrier carries values along the edges of an order: the value of a strand at a release
// is passed to those that the order puts after it.
type carrier[T any] struct {
	order *hb.Order
	seen  []vector // of each strand: its clock when last looked at
	kept  map[epochOf]T
	limit int
}

type epochOf struct {
	strand event.StrandID
	epoch  uint64
}

func newCarrier[T any](order *hb.Order) *carrier[T] {
	return &carrier[T]{order: order, kept: map[epochOf]T{}, limit: 1 << 10}
}

// acquired calls take with the values of those after which an event has newly been
// ordered. The order has already applied the part of the event that orders it after
// others.
func (c *carrier[T]) acquired(t event.ThreadID, e *event.Event, take func(T)) {
	s := c.order.Strand(t)
	for len(c.seen) <= int(s) {
		c.seen = append(c.seen, nil)
	}
	if e.Kind == event.StrandBegin {
		c.seen[s] = c.seen[s][:0]
	}
	seen := &c.seen[s]
	for i, n := range c.order.Clock(t) {
		if u := event.StrandID(i); u != s && n > seen.at(u) {
			seen.set(u, n)
			if v, ok := c.kept[epochOf{u, n}]; ok {
				take(v)
			}
		}
	}
}

// released keeps what a strand had at an event, of which the order has taken the
// part that orders others after it, if that ended the given epoch of the strand
// or can be observed in it.
func (c *carrier[T]) released(s event.StrandID, epoch uint64, e *event.Event, value func() T) {
	if c.order.Epoch(s) == epoch && e.Kind != event.Publish && e.Kind != event.StrandCreate {
		return
	}
	c.kept[epochOf{s, epoch}] = value()
	if len(c.kept) > c.limit {
		c.sweep()
	}
}

// sweep removes what no strand can be ordered after directly any more.
func (c *carrier[T]) sweep() {
	held := map[epochOf]bool{}
	c.order.Held(func(clock hb.Clock) {
		for s, n := range clock {
			held[epochOf{event.StrandID(s), n}] = true
		}
	})
	for k := range c.kept {
		if !held[k] {
			delete(c.kept, k)
		}
	}
	c.limit = 2*len(c.kept) + 1<<10
}

// meet makes v the greatest lower bound of v and w.
func (v *vector) meet(w vector) {
	if len(*v) > len(w) {
		*v = (*v)[:len(w)]
	}
	for i := range *v {
		(*v)[i] = min((*v)[i], w[i])
	}
}

// below reports whether v is at most w.
func (v vector) below(w vector) bool {
	for i, n := range v {
		if n > w.at(event.StrandID(i)) {
			return false
		}
	}
	return true
}
