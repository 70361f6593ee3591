package slice

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// sweep computes a slice node by node. For an execution of a node, it knows which
// statements are in the slice, as a mask. When others are added (through dependences from
// elsewhere, the roots), the code alone determines which statements they bring along
// inside the execution, and which slots have labels to read. Each such step between two
// masks is computed once, as a move, and then applied to all executions with it.
//
//	roots of an execution → move → labels of slots → roots of other executions
//
// Executions are processed in the order of the run, backward for a backward slice.
type sweep struct {
	*Slice
	g      slotted
	nodes  []*nodeSweep // as Slice.homes
	agenda agenda
	codes  map[wet.NodeID]*nodeCode
	to     []wet.Reader
	steps  uint64
	asked  uint64 // times that readers were asked for
	quiet  bool   // a pass finds the users

	tell   func(i int, from wet.Instance) error // producer
	thread event.ThreadID                       // of the current execution
	ports  []*port

	// Of loops that ended: what of which execution is looked at, the decisions
	// that it was led to, and all such links.
	taken  *nodeSweep
	takenK uint64
	fresh  mask
	ended  []ended
	exited tally
}

// nodeCode is what a node's code determines about its dependences.
type nodeCode struct {
	stmts  int
	slots  int
	inputs [][]wet.Input // of each statement, those of the kinds that are followed
	passed []bool        // statements that are housekeeping, and passed through
	users  [][]uint32    // statements that depend on each statement of the same execution, and after them on each slot
	closed []mask        // of each root, what it brings along; nil: not computed yet
}

// nodeSweep is a node of one thread.
type nodeSweep struct {
	*nodeSet
	code   *nodeCode
	index  map[moveKey]*move
	recent *move

	pending pending
	at      int    // on the agenda
	first   uint64 // the execution that it is there for
	order   uint64 // and its place in the run
}

type moveKey struct {
	mask, combo uint32
	quiet       bool // its ports are not read
}

// move is a step from one mask to another, by a combination of roots.
type move struct {
	moveKey
	to    uint32
	fresh mask    // statements that are added
	size  uint64  // number of these
	ports []*port // what to read: slots or (forward) statements
	slots []int32 // the same, when they are slots
	made  uint64  // executions
}

// port is a slot through which a move's statements depend on others or, in a forward
// slice, a statement that others may depend on.
type port struct {
	what uint32
	far  []far
}

// far is where a port leads, with the number of executions.
type far struct {
	node  *nodeSweep
	what  uint32
	count uint64
}

func newSweep(s *Slice, g slotted) *sweep {
	w := &sweep{Slice: s, g: g, codes: map[wet.NodeID]*nodeCode{}, exited: tally{}}
	w.agenda.ascending = s.opts.Direction == Forward
	w.tell = w.producer
	return w
}

func (w *sweep) run(ctx context.Context, criterion []wet.Instance) error {
	for _, i := range criterion {
		if err := w.push(w.node(homeOf(i)), i.K, i.Stmt); err != nil {
			return err
		}
	}
	err := w.settle(ctx, w.opts.Direction == Forward)
	if errors.Is(err, errPatience) {
		return w.passOver(ctx, criterion)
	}
	if err != nil {
		return err
	}
	w.tally()
	return nil
}

// settle processes the agenda until it is empty. If impatient is set, it may give up with
// errPatience.
func (w *sweep) settle(ctx context.Context, impatient bool) error {
	limit := w.opts.patience
	if limit == 0 {
		limit = patience
		for _, t := range w.g.Threads() {
			limit += t.Times / patiencePart
		}
	}
	for w.asked = 0; len(w.agenda.nodes) > 0; {
		n := w.agenda.nodes[0]
		k := n.first
		if err := w.take(ctx, n, k, n.pending.take(k)); err != nil {
			return err
		}
		if err := w.schedule(n); err != nil {
			return err
		}
		if impatient && w.asked > limit {
			return errPatience
		}
	}
	return nil
}

// code computes what a node's code determines.
func (w *sweep) code(n wet.NodeID) *nodeCode {
	c := w.codes[n]
	if c != nil {
		return c
	}
	c = &nodeCode{stmts: len(w.g.Node(n).Stmts), slots: w.g.Slots(n)}
	c.inputs = make([][]wet.Input, c.stmts)
	c.passed = make([]bool, c.stmts)
	c.users = make([][]uint32, c.stmts+c.slots)
	c.closed = make([]mask, c.stmts+c.slots)
	for s := range c.inputs {
		c.passed[s] = w.opts.passed(w.g.Node(n), uint32(s))
		for _, in := range w.g.Inputs(n, uint32(s)) {
			if !w.opts.followsFrom(w.g.Node(n), uint32(s), in.Kind, in.Reg) {
				continue
			}
			c.add(s, in)
			if w.exits != nil && !c.passed[s] && in.Kind == wet.DepRegister && in.Stmt >= 0 {
				for _, e := range w.exits.local(n, uint32(in.Stmt), uint32(s)) {
					if x := (wet.Input{Kind: wet.DepExit, Stmt: int32(e)}); !slices.Contains(c.inputs[s], x) {
						c.add(s, x)
					}
				}
			}
		}
	}
	w.codes[n] = c
	return c
}

// add adds an input of a statement.
func (c *nodeCode) add(s int, in wet.Input) {
	c.inputs[s] = append(c.inputs[s], in)
	at := c.producer(in)
	if u := c.users[at]; len(u) == 0 || u[len(u)-1] != uint32(s) {
		c.users[at] = append(u, uint32(s))
	}
}

// producer numbers what an input comes from, as roots are numbered.
func (c *nodeCode) producer(in wet.Input) uint32 {
	if in.Stmt >= 0 {
		return uint32(in.Stmt)
	}
	return uint32(c.stmts) + uint32(in.Slot)
}

// closure returns what a root brings along inside its execution.
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
		w.nodes = append(w.nodes, &nodeSweep{
			nodeSet: w.homes[at], code: c, index: map[moveKey]*move{},
			pending: newPending(w.agenda.ascending, c.stmts+c.slots), at: outside,
		})
	}
	return w.nodes[at]
}

// push adds a root to execution k of a node: a statement or, with numbers after those of
// statements, a slot (in a forward slice, if what the slot depends on is in the slice).
func (w *sweep) push(n *nodeSweep, k uint64, root uint32) error {
	n.pending.add(k, root)
	if n.at != outside && (k <= n.first) != w.agenda.ascending {
		return nil // not the next one
	}
	return w.schedule(n)
}

// take adds a combination of roots to execution k.
func (w *sweep) take(ctx context.Context, n *nodeSweep, k uint64, combo uint32) error {
	slot := n.slot(k)
	m := n.recent
	if m == nil || m.mask != *slot || m.combo != combo || m.quiet != w.quiet {
		var err error
		if m, err = w.move(n, moveKey{*slot, combo, w.quiet}); err != nil {
			return err
		}
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
	w.steps++
	if w.steps%4096 == 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	if w.opts.Direction == Backward {
		w.thread, w.ports = n.thread, m.ports
		w.taken, w.takenK, w.fresh, w.ended = n, k, m.fresh, w.ended[:0]
		return w.g.Labels(n.thread, n.node, k, m.slots, w.tell)
	}
	for _, p := range m.ports {
		if err := w.readers(n, p, k); err != nil {
			return err
		}
	}
	return nil
}

// move computes the step from a mask with some roots.
func (w *sweep) move(n *nodeSweep, key moveKey) (*move, error) {
	if m := n.index[key]; m != nil {
		return m, nil
	}
	forward := w.opts.Direction == Forward
	m := &move{moveKey: key, fresh: make(mask, n.words)}
	for _, root := range n.pending.combos[key.combo].roots {
		for i, word := range n.code.closure(root, forward) {
			m.fresh[i] |= word &^ n.masks[key.mask][i]
		}
	}
	m.size = uint64(m.fresh.count())
	m.to = n.join(key.mask, m.fresh)
	seen := map[uint32]bool{}
	add := func(what uint32) {
		if !seen[what] {
			seen[what] = true
			m.ports = append(m.ports, &port{what: what})
			m.slots = append(m.slots, int32(what))
		}
	}
	for s := range m.fresh.all {
		if key.quiet {
			break
		}
		if forward {
			ok, err := w.g.HasReaders(n.thread, n.node, s)
			if err != nil {
				return nil, err
			}
			if ok {
				add(s)
			}
			continue
		}
		for _, in := range n.code.inputs[s] {
			if in.Stmt < 0 {
				add(uint32(in.Slot))
			}
		}
	}
	n.index[key] = m
	return m, nil
}

// producer follows a port of the current execution backward to what it depends on.
func (w *sweep) producer(i int, from wet.Instance) error {
	if w.opts.OneThread && from.Thread != w.thread {
		return nil
	}
	if err := w.push(w.lead(w.ports[i], homeOf(from), from.Stmt), from.K, from.Stmt); err != nil || w.exits == nil {
		return err
	}
	return w.leave(w.ports[i].what, from)
}

// ended is a use and the decision that it depends on.
type ended struct {
	stmt uint32
	by   wet.Instance
}

// leave follows the statements that have a slot's label to the decisions that
// ended the loops in which it was defined.
func (w *sweep) leave(slot uint32, from wet.Instance) error {
	c := w.taken.code
	for _, u := range c.users[uint32(c.stmts)+slot] {
		if !w.fresh.has(u) || c.passed[u] {
			continue
		}
		at := slices.IndexFunc(c.inputs[u], func(in wet.Input) bool { return in.Stmt < 0 && uint32(in.Slot) == slot })
		to := wet.Instance{Thread: w.taken.thread, Node: w.taken.node, Stmt: u, K: w.takenK}
		err := w.exits.decided(from, to, c.inputs[u][at].Kind, func(e wet.Instance) error {
			if e.Node == to.Node && e.K == to.K && slices.Contains(c.inputs[u], wet.Input{Kind: wet.DepExit, Stmt: int32(e.Stmt)}) || slices.Contains(w.ended, ended{u, e}) {
				return nil
			}
			w.ended = append(w.ended, ended{u, e})
			w.exited[link{placeOf(e), placeOf(to), wet.DepExit, 0}]++
			return w.push(w.node(homeOf(e)), e.K, e.Stmt)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readers follows a statement of execution k forward.
func (w *sweep) readers(n *nodeSweep, p *port, k uint64) (err error) {
	w.asked++
	w.to, err = w.g.Readers(wet.Instance{Thread: n.thread, Node: n.node, Stmt: p.what, K: k}, w.to[:0])
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
		if err := w.push(w.lead(p, home{r.Thread, r.Node}, what), r.K, what); err != nil {
			return err
		}
	}
	return nil
}

// lead counts one more execution in which a port leads to a place, and returns that
// place's node.
func (w *sweep) lead(p *port, h home, what uint32) *nodeSweep {
	f := w.far(p, h, what)
	f.count++
	return f.node
}

// far finds the count of a port and a place.
func (w *sweep) far(p *port, h home, what uint32) *far {
	for n := range p.far {
		if f := &p.far[n]; f.what == what && f.node.home == h {
			if n > 0 { // towards the front, because few of them have most of the dependences
				p.far[n], p.far[n-1] = p.far[n-1], p.far[n]
				n--
			}
			return &p.far[n]
		}
	}
	p.far = append(p.far, far{node: w.node(h), what: what})
	return &p.far[len(p.far)-1]
}

// tally converts the counts of the moves to counts of dependences.
func (w *sweep) tally() {
	w.links = tally{}
	for _, n := range w.nodes {
		for _, m := range n.index {
			if m.made > 0 {
				w.tallyMove(n, m)
			}
		}
	}
	for l, count := range w.exited {
		w.links[l] += count
	}
}

func (w *sweep) tallyMove(n *nodeSweep, m *move) {
	ports := map[uint32]*port{}
	for _, p := range m.ports {
		ports[p.what] = p
	}
	of := func(n *nodeSweep, stmt uint32) place { return place{n.thread, n.node, stmt} }
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
		if p := ports[s]; p != nil {
			for _, f := range p.far {
				w.tallyUsers(n, s, f.node, f.what, f.count)
			}
		}
	}
}

// tallyUsers counts the dependences on statement s of n of those statements of
// to that use what.
func (w *sweep) tallyUsers(n *nodeSweep, s uint32, to *nodeSweep, what uint32, count uint64) {
	if count == 0 {
		return
	}
	for _, u := range to.code.users[what] {
		for _, in := range to.code.inputs[u] {
			if to.code.producer(in) == what {
				l := link{place{n.thread, n.node, s}, place{to.thread, to.node, u}, in.Kind, in.Reg}
				w.links[l] += count
			}
		}
	}
}
