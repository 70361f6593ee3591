package slice

import (
	"cmp"
	"slices"
	"sort"

	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// Limits of the search for later writes: executions of each store that are looked at for one
// write, executions of all stores together, and searches.
const (
	laterExecutions = 4
	laterStores     = 1 << 20
	laterSearches   = 32
)

// later finds a write of another thread to an address that is after position read of the
// run: the earliest of those found. It looks at the first few executions of each of the
// program's own stores after that position, and not at those that are executed most often,
// so it may miss a write.
func (o *Origins) later(by event.ThreadID, addr, read uint64) (write wet.Instance, found bool, err error) {
	if o.searches++; len(o.g.Threads()) < 2 || o.searches > laterSearches {
		return write, false, nil
	}
	if o.stores == nil {
		o.stores = o.ownStores()
	}
	best := uint64(0)
	for _, p := range o.stores {
		if p.thread == by {
			continue
		}
		var failed error
		order := func(k uint64) uint64 {
			i := p.instance(k)
			at, err := o.order(i)
			if err != nil {
				failed = err
			}
			return at
		}
		end := o.g.Executions(p.thread, p.node)
		first := uint64(sort.Search(int(end), func(k int) bool { return order(uint64(k)) > read }))
		for k := first; k < min(end, first+laterExecutions) && failed == nil; k++ {
			to, size, ok, err := o.g.Addr(p.instance(k))
			if err != nil {
				return write, found, err
			}
			if at := order(k); ok && addr-to < uint64(size) && (!found || at < best) {
				write, best, found = p.instance(k), at, true
			}
		}
		if failed != nil {
			return write, found, failed
		}
	}
	return write, found, nil
}

// ownStores returns the stores of the program's own code, rare ones first, up to a limit.
func (o *Origins) ownStores() []place {
	places := []place{}
	for n := range o.g.NumNodes() {
		node := o.g.Node(wet.NodeID(n))
		if node.Kind != wet.NodePath || !o.img.User(node.Stmts[0].PC) {
			continue
		}
		for s := range node.Stmts {
			if stores(node.Stmts[s].Inst) && !housekeeping(node, uint32(s)) {
				places = append(places, placesAt(o.g, wet.Site{Node: wet.NodeID(n), Stmt: uint32(s)}, AllThreads)...)
			}
		}
	}
	executions := func(p place) uint64 { return o.g.Executions(p.thread, p.node) }
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(executions(a), executions(b)) })
	left := uint64(laterStores)
	for n, p := range places {
		if executions(p) > left {
			return places[:n]
		}
		left -= executions(p)
	}
	return places
}
