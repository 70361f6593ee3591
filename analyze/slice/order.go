package slice

import (
	"container/heap"
	"iter"
	"slices"

	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// AllThreads stands for every thread.
const AllThreads = -1

// at is an instance and its position in the run.
type at struct {
	wet.Instance
	Time  uint64
	Order uint64
}

func (a *at) before(b *at) bool {
	if a.Order != b.Order {
		return a.Order < b.Order
	}
	return a.Stmt < b.Stmt
}

// cursor is at one instance of a place.
type cursor struct {
	at
	end uint64 // executions of the node
}

// cursors is a heap with the first instance of the run on top.
type cursors []*cursor

func (c cursors) Len() int           { return len(c) }
func (c cursors) Less(i, j int) bool { return c[i].before(&c[j].at) }
func (c cursors) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *cursors) Push(x any)        { *c = append(*c, x.(*cursor)) }
func (c *cursors) Pop() any {
	old := *c
	last := old[len(old)-1]
	*c = old[:len(old)-1]
	return last
}

// settle moves the cursor to the first instance, from its position on, for which keep
// holds. It returns false if there is none.
func (c *cursor) settle(g Graph, keep func(wet.Instance) (bool, error)) (bool, error) {
	for ; c.K < c.end; c.K++ {
		if keep != nil {
			if ok, err := keep(c.Instance); err != nil {
				return false, err
			} else if !ok {
				continue
			}
		}
		t, err := g.Time(c.Thread, c.Node, c.K)
		if err != nil {
			return false, err
		}
		c.Time, c.Order = t, g.Order(c.Thread, t)
		return true, nil
	}
	return false, nil
}

// inOrder returns the instances of places for which keep holds (nil: all of them), in the
// order of the run. It holds one instance of each place in memory.
func inOrder(g Graph, places []place, keep func(wet.Instance) (bool, error)) iter.Seq2[at, error] {
	return func(yield func(at, error) bool) {
		var h cursors
		for _, p := range places {
			c := &cursor{at: at{Instance: p.instance(0)}, end: g.Executions(p.thread, p.node)}
			ok, err := c.settle(g, keep)
			if err != nil {
				yield(at{}, err)
				return
			}
			if ok {
				h = append(h, c)
			}
		}
		heap.Init(&h)
		for len(h) > 0 {
			c := h[0]
			if !yield(c.at, nil) {
				return
			}
			c.K++
			ok, err := c.settle(g, keep)
			if err != nil {
				yield(at{}, err)
				return
			}
			if ok {
				heap.Fix(&h, 0)
			} else {
				heap.Pop(&h)
			}
		}
	}
}

// placesOf returns the places at which a thread (AllThreads: every thread) executed
// statements at the given addresses.
func placesOf(g Graph, pcs []uint64, thread int) (places []place) {
	for _, pc := range pcs {
		for _, s := range g.Sites(pc) {
			places = append(places, placesAt(g, s, thread)...)
		}
	}
	slices.SortFunc(places, place.compare)
	return slices.Compact(places)
}

func placesAt(g Graph, s wet.Site, thread int) (places []place) {
	for _, t := range g.Threads() {
		if (thread == AllThreads || event.ThreadID(thread) == t.ID) && g.Executions(t.ID, s.Node) > 0 {
			places = append(places, place{t.ID, s.Node, s.Stmt})
		}
	}
	return places
}
