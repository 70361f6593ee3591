package slice

import (
	"container/heap"
	"context"
	"fmt"

	"hindsight/wet"
)

// sweep finds a slice node by node. Of an execution of a node it knows which
// statements are in the slice, as a mask; when another one comes in (through a
// dependence from elsewhere, a root), the statements that it brings along
// inside the execution are known from the code alone, and so are the slots
// whose labels have to be looked at. Each such step between two masks is worked
// out once, as a move, and then made for as many executions as there are.
//
//	roots of an execution → moves → labels of slots → roots of other executions
type sweep struct {
	*Slice
	ctx   context.Context
	g     slotted
	nodes []*nodeSweep // as Slice.homes
	queue []*nodeSweep
	codes map[wet.NodeID]*nodeCode
	from  []wet.Instance
	to    []wet.Reader
	steps uint64
}

// nodeCode is what a node's code tells about its dependences.
type nodeCode struct {
	stmts  int
	slots  int
	inputs [][]wet.Input // of each statement, those of the kinds that are followed
	users  [][]uint32    // statements that depend on each statement of the same execution, and behind them on each slot
	closed []mask        // of each root, what it brings along; nil: not worked out
}

// nodeSweep is a node of one thread.
type nodeSweep struct {
	*nodeSet
	code    *nodeCode
	moves   []*move
	index   map[moveKey]*move
	recent  *move
	pushed  []set // of each root, executions that it came to
	pending roots
	queued  bool
}

// root is what comes into an execution from elsewhere: a statement, or behind
// the statements a slot (forward, when what the slot depends on is in the slice).
type root struct {
	k    uint64
	what uint32
}

// roots is a heap, the latest execution on top.
type roots []root

func (r roots) Len() int           { return len(r) }
func (r roots) Less(i, j int) bool { return r[i].k > r[j].k }
func (r roots) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *roots) Push(x any)        { *r = append(*r, x.(root)) }
func (r *roots) Pop() any {
	old := *r
	last := old[len(old)-1]
	*r = old[:len(old)-1]
	return last
}

type moveKey struct {
	mask, root uint32
}

// move is a step from one mask to another.
type move struct {
	moveKey
	to    uint32
	fresh mask    // statements that come in
	size  uint64  // how many
	ports []*port // what has to be looked at: slots, or (forward) statements
	made  uint64  // executions
}

// port is a slot through which a move's statements depend on others; forward, a
// statement that others may depend on.
type port struct {
	what uint32
	far  []far
}

// far is what a port leads to, with the number of executions.
type far struct {
	node  *nodeSweep
	what  uint32
	count uint64
}

func newSweep(ctx context.Context, s *Slice, g slotted) *sweep {
	return &sweep{Slice: s, ctx: ctx, g: g, codes: map[wet.NodeID]*nodeCode{}}
}

func (w *sweep) run(criterion []wet.Instance) error {
	for _, i := range criterion {
		w.push(w.node(homeOf(i)), root{i.K, i.Stmt})
	}
	for len(w.queue) > 0 {
		n := w.queue[0]
		w.queue = w.queue[1:]
		n.queued = false
		for len(n.pending) > 0 {
			if err := w.take(n, heap.Pop(&n.pending).(root)); err != nil {
				return err
			}
		}
	}
	w.tally()
	return nil
}

// code works out what a node's code tells.
func (w *sweep) code(n wet.NodeID) *nodeCode {
	c := w.codes[n]
	if c != nil {
		return c
	}
	c = &nodeCode{stmts: len(w.g.Node(n).Stmts), slots: w.g.Slots(n)}
	c.inputs = make([][]wet.Input, c.stmts)
	c.users = make([][]uint32, c.stmts+c.slots)
	c.closed = make([]mask, c.stmts+c.slots)
	for s := range c.inputs {
		for _, in := range w.g.Inputs(n, uint32(s)) {
			if !w.opts.Kinds.follows(in.Kind) {
				continue
			}
			c.inputs[s] = append(c.inputs[s], in)
			at := c.producer(in)
			if u := c.users[at]; len(u) == 0 || u[len(u)-1] != uint32(s) {
				c.users[at] = append(u, uint32(s))
			}
		}
	}
	w.codes[n] = c
	return c
}

// producer numbers what an input comes from, as roots are numbered.
func (c *nodeCode) producer(in wet.Input) uint32 {
	if in.Stmt >= 0 {
		return uint32(in.Stmt)
	}
	return uint32(c.stmts) + uint32(in.Slot)
}

// closure is what a root brings along inside its execution.
func (c *nodeCode) closure(what uint32, forward bool) mask {
	if c.closed[what] != nil {
		return c.closed[what]
	}
	m := make(mask, (c.stmts+63)/64)
	var todo []uint32
	add := func(s uint32) {
		if !m.has(s) {
			m[s/64] |= 1 << (s % 64)
			todo = append(todo, s)
		}
	}
	if what < uint32(c.stmts) {
		add(what)
	} else {
		for _, u := range c.users[what] {
			add(u)
		}
	}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if forward {
			for _, u := range c.users[s] {
				add(u)
			}
			continue
		}
		for _, in := range c.inputs[s] {
			if in.Stmt >= 0 {
				add(uint32(in.Stmt))
			}
		}
	}
	c.closed[what] = m
	return m
}

func (w *sweep) node(h home) *nodeSweep {
	at := w.homeIndex(h)
	if at == len(w.nodes) {
		c := w.code(h.node)
		w.nodes = append(w.nodes, &nodeSweep{nodeSet: w.homes[at], code: c, index: map[moveKey]*move{}, pushed: make([]set, c.stmts+c.slots)})
	}
	return w.nodes[at]
}

// push notes a root that is to be looked at.
func (w *sweep) push(n *nodeSweep, r root) {
	if !n.pushed[r.what].add(r.k) {
		return
	}
	heap.Push(&n.pending, r)
	if !n.queued {
		n.queued = true
		w.queue = append(w.queue, n)
	}
}

// take lets a root into its execution.
func (w *sweep) take(n *nodeSweep, r root) error {
	slot := n.slot(r.k)
	m := n.recent
	if m == nil || m.mask != *slot || m.root != r.what {
		m = w.move(n, moveKey{*slot, r.what})
		n.recent = m
	}
	if m.size == 0 {
		return nil
	}
	n.set(slot, m.to)
	m.made++
	w.count += m.size
	if w.opts.MaxInsts != 0 && w.count > w.opts.MaxInsts {
		return fmt.Errorf("%w: %d", ErrTooBig, w.opts.MaxInsts)
	}
	if w.steps++; w.steps%4096 == 0 && w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	for _, p := range m.ports {
		var err error
		if w.opts.Direction == Forward {
			err = w.readers(n, p, r.k)
		} else {
			err = w.producers(n, p, r.k)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// move works out the step that a root makes from a mask.
func (w *sweep) move(n *nodeSweep, key moveKey) *move {
	if m := n.index[key]; m != nil {
		return m
	}
	forward := w.opts.Direction == Forward
	m := &move{moveKey: key, fresh: make(mask, n.words)}
	all := n.code.closure(key.root, forward)
	for i, word := range all {
		m.fresh[i] = word &^ n.masks[key.mask][i]
	}
	m.size = uint64(m.fresh.count())
	m.to = n.join(key.mask, all)
	seen := map[uint32]bool{}
	add := func(what uint32) {
		if !seen[what] {
			seen[what] = true
			m.ports = append(m.ports, &port{what: what})
		}
	}
	for s := range m.fresh.all {
		if forward {
			add(s)
			continue
		}
		for _, in := range n.code.inputs[s] {
			if in.Stmt < 0 {
				add(uint32(in.Slot))
			}
		}
	}
	n.index[key] = m
	return m
}

// producers follows a slot of execution k back.
func (w *sweep) producers(n *nodeSweep, p *port, k uint64) (err error) {
	w.from, err = w.g.Label(n.thread, n.nodeSet.node, int32(p.what), k, w.from[:0])
	if err != nil {
		return err
	}
	for _, i := range w.from {
		if w.opts.OneThread && i.Thread != n.thread {
			continue
		}
		w.push(w.lead(p, homeOf(i), i.Stmt), root{i.K, i.Stmt})
	}
	return nil
}

// readers follows a statement of execution k on.
func (w *sweep) readers(n *nodeSweep, p *port, k uint64) (err error) {
	w.to, err = w.g.Readers(wet.Instance{Thread: n.thread, Node: n.nodeSet.node, Stmt: p.what, K: k}, w.to[:0])
	if err != nil {
		return err
	}
	for _, r := range w.to {
		if w.opts.OneThread && r.Thread != n.thread {
			continue
		}
		c := w.code(r.Node)
		what := uint32(c.stmts) + uint32(r.Slot)
		if len(c.users[what]) == 0 {
			continue // of a kind that is not followed
		}
		w.push(w.lead(p, home{r.Thread, r.Node}, what), root{r.K, what})
	}
	return nil
}

// lead counts one more execution in which a port leads to a place, and gives
// that place's node.
func (w *sweep) lead(p *port, h home, what uint32) *nodeSweep {
	for n := range p.far {
		if f := &p.far[n]; f.what == what && f.node.home == h {
			f.count++
			if n > 0 { // towards the front: few of them take most of the dependences
				p.far[n], p.far[n-1] = p.far[n-1], p.far[n]
				n--
			}
			return p.far[n].node
		}
	}
	node := w.node(h)
	p.far = append(p.far, far{node, what, 1})
	return node
}

// tally turns the counts of the moves into counts of dependences.
func (w *sweep) tally() {
	w.links = tally{}
	for _, n := range w.nodes {
		for _, m := range n.index {
			if m.made > 0 {
				w.tallyMove(n, m)
			}
		}
	}
}

func (w *sweep) tallyMove(n *nodeSweep, m *move) {
	ports := map[uint32]*port{}
	for _, p := range m.ports {
		ports[p.what] = p
	}
	of := func(n *nodeSweep, stmt uint32) place { return place{n.thread, n.nodeSet.node, stmt} }
	for s := range m.fresh.all {
		if w.opts.Direction == Backward {
			for _, in := range n.code.inputs[s] {
				if in.Stmt >= 0 {
					w.links[link{of(n, uint32(in.Stmt)), of(n, s), in.Kind, in.Reg}] += m.made
					continue
				}
				for _, f := range ports[uint32(in.Slot)].far {
					w.links[link{of(f.node, f.what), of(n, s), in.Kind, in.Reg}] += f.count
				}
			}
			continue
		}
		w.tallyUsers(n, s, n, s, m.made)
		for _, f := range ports[s].far {
			w.tallyUsers(n, s, f.node, f.what, f.count)
		}
	}
}

// tallyUsers counts the dependences on statement s of n of those statements of
// to that use what.
func (w *sweep) tallyUsers(n *nodeSweep, s uint32, to *nodeSweep, what uint32, count uint64) {
	for _, u := range to.code.users[what] {
		for _, in := range to.code.inputs[u] {
			if to.code.producer(in) == what {
				l := link{place{n.thread, n.nodeSet.node, s}, place{to.thread, to.nodeSet.node, u}, in.Kind, in.Reg}
				w.links[l] += count
			}
		}
	}
}
