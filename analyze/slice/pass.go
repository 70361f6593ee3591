package slice

import (
	"context"
	"errors"

	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// A forward slice that gets large is computed in one pass over the run, from the
// criterion on. For each execution, the pass reads the labels, which costs little in this
// order, and checks whether what they name is already in the slice. Looking up the
// readers of each instance instead costs several times as much per instance, but nothing
// for what is not in the slice. A slice therefore begins that way.

// patience is the number of lookups of readers before a pass is tried: this, and a
// fraction of the executions of the run.
const (
	patience     = 1 << 12
	patiencePart = 4
)

// errPatience ends the lookups.
var errPatience = errors.New("a pass is better")

// pass is a forward slice that is computed in one pass.
type pass struct {
	*sweep
	visitors map[home]*visitor
	position []uint64 // for each thread, its next timestamp
	ended    []bool
	late     []late
	at       *visitor // the current node
	k        uint64
	own      []own                                   // labels of the current execution that name the execution itself
	told     func(slot int, from wet.Instance) error // label
}

// visitor is a node of one thread during the pass: its relevant slots, each with those of
// its instances that were in the slice.
type visitor struct {
	*nodeSweep
	slots []int32
	ports []*port
}

// late is a label that names an execution which the pass has not reached.
type late struct {
	from wet.Instance
	to   *visitor
	k    uint64
	slot int
}

// own is a label that names a statement of its own execution, for example a load of what
// was stored there before.
type own struct {
	slot int
	stmt uint32
}

// passOver computes the slice of the criterion from the beginning.
func (w *sweep) passOver(ctx context.Context, criterion []wet.Instance) error {
	w.restart()
	p := &pass{sweep: w, visitors: map[home]*visitor{}}
	p.told = p.label
	w.quiet = true
	if err := p.begin(criterion); err != nil {
		return err
	}
	for {
		th, until, ok := p.turn()
		if !ok {
			break
		}
		if err := p.thread(ctx, th, until); err != nil {
			return err
		}
	}
	// What was not there yet when its label was read, and what follows from it.
	w.quiet = false
	found := p.late[:0]
	for _, l := range p.late {
		if n := w.node(homeOf(l.from)); n.masks[n.get(l.from.K)].has(l.from.Stmt) {
			found = append(found, l)
		}
	}
	for _, l := range found {
		w.lead(l.to.ports[l.slot], homeOf(l.from), l.from.Stmt)
		if err := w.push(l.to.nodeSweep, l.k, uint32(l.to.code.stmts)+uint32(l.to.slots[l.slot])); err != nil {
			return err
		}
	}
	if err := w.settle(ctx, false); err != nil {
		return err
	}
	w.tally()
	for _, v := range p.visitors {
		for i, port := range v.ports {
			for _, f := range port.far {
				w.tallyUsers(f.node, f.what, v.nodeSweep, uint32(v.code.stmts)+uint32(v.slots[i]), f.count)
			}
		}
	}
	return nil
}

// restart forgets what was found.
func (w *sweep) restart() {
	w.homes, w.index, w.count = nil, map[home]int{}, 0
	w.nodes, w.agenda.nodes = nil, nil
}

// begin puts each thread where the criterion's first execution began. A thread that was
// in the middle of an execution begins with that execution.
func (p *pass) begin(criterion []wet.Instance) error {
	first := ^uint64(0)
	for _, i := range criterion {
		t, err := p.g.Time(i.Thread, i.Node, i.K)
		if err != nil {
			return err
		}
		first = min(first, p.g.Order(i.Thread, t))
		p.node(homeOf(i)).pending.add(i.K, i.Stmt)
	}
	for _, t := range p.g.Threads() {
		low, high := uint64(0), t.Times
		for low < high {
			if mid := low + (high-low)/2; p.g.Order(t.ID, mid) < first {
				low = mid + 1
			} else {
				high = mid
			}
		}
		if low > 0 {
			low--
		}
		p.position = append(p.position, low)
		p.ended = append(p.ended, t.Times == 0)
	}
	return nil
}

// turn returns the next thread of the run, and the position in the run of the thread
// after it. ok is false when all threads are at their ends.
func (p *pass) turn() (th int, until uint64, ok bool) {
	best := ^uint64(0)
	until = ^uint64(0)
	for n := range p.position {
		if p.ended[n] {
			continue
		}
		switch o := p.g.Order(event.ThreadID(n), p.position[n]); {
		case !ok || o < best:
			until = best
			th, best, ok = n, o, true
		case o < until:
			until = o
		}
	}
	return th, until, ok
}

// thread visits a thread's executions up to a place in the run.
func (p *pass) thread(ctx context.Context, th int, until uint64) error {
	id := event.ThreadID(th)
	p.sweep.thread = id
	alone := until == ^uint64(0)
	for e, err := range p.g.Forward(id, p.position[th]) {
		if err != nil {
			return err
		}
		if !alone && p.g.Order(id, e.Time) >= until {
			return nil
		}
		if err := p.visit(ctx, home{id, e.Node}, e.K); err != nil {
			return err
		}
		p.position[th] = e.Time + 1
		p.steps++
		if p.steps%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	p.ended[th] = true
	return nil
}

// visit processes one execution.
func (p *pass) visit(ctx context.Context, h home, k uint64) error {
	v := p.visitors[h]
	if v == nil {
		v = &visitor{nodeSweep: p.node(h)}
		for slot := range v.code.slots {
			if len(v.code.users[v.code.stmts+slot]) > 0 {
				v.slots = append(v.slots, int32(slot))
				v.ports = append(v.ports, &port{what: uint32(slot)})
			}
		}
		p.visitors[h] = v
	}
	p.at, p.k, p.own = v, k, p.own[:0]
	if err := p.g.Labels(h.thread, h.node, k, v.slots, p.told); err != nil {
		return err
	}
	for {
		next, ok := v.pending.next()
		if !ok || next != k {
			return nil
		}
		if err := p.take(ctx, v.nodeSweep, k, v.pending.take(k)); err != nil {
			return err
		}
		p.passOn(v, k)
	}
}

// passOn passes what has come into the current execution on to where it is used in it.
func (p *pass) passOn(v *visitor, k uint64) {
	left := p.own[:0]
	for _, o := range p.own {
		if v.masks[v.get(k)].has(o.stmt) {
			p.lead(v.ports[o.slot], v.home, o.stmt)
			v.pending.add(k, uint32(v.code.stmts)+uint32(v.slots[o.slot]))
		} else {
			left = append(left, o)
		}
	}
	p.own = left
}

// label processes a label of the current execution.
func (p *pass) label(slot int, from wet.Instance) error {
	v := p.at
	if p.opts.OneThread && from.Thread != v.thread {
		return nil
	}
	if from.K == p.k && homeOf(from) == v.home {
		p.own = append(p.own, own{slot, from.Stmt})
		return nil
	}
	f := p.far(v.ports[slot], homeOf(from), from.Stmt)
	if f.node.masks[f.node.get(from.K)].has(from.Stmt) {
		f.count++
		v.pending.add(p.k, uint32(v.code.stmts)+uint32(v.slots[slot]))
		return nil
	}
	if from.Thread != v.thread {
		t, err := p.g.Time(from.Thread, from.Node, from.K)
		if err != nil {
			return err
		}
		if t >= p.position[from.Thread] {
			p.late = append(p.late, late{from, v, p.k, slot})
		}
	}
	return nil
}
