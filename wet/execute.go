package wet

import "hindsight/tracefmt/event"

// Values that are not stored are derived from others: a loaded value from the stored one,
// and what a path leaves in a register from what came into the path. maxDepth limits the
// steps for loaded values, and maxChain those for computed ones. If they were equal, a
// sum over values that are many steps away would be stored at each step.
const (
	maxDepth = 16
	maxChain = 32
)

// execute records one execution of a node.
func (b *Builder) execute(t *thread, n *threadNode, values, addrs []uint64) {
	p := n.tmpl
	k := n.k
	n.k++
	b.moved(t)
	b.count(t, n)
	t.usual = p.frameOps()
	t.flow = append(t.flow, n.id)
	b.mem += flowEntryBytes
	t.times++
	b.liveIn(t, n)
	b.access(n, k, values, addrs)
	b.control(t, n, k)
	if p.rounding {
		t.setRounding(p.template, values)
	}
	for i := range p.liveOuts {
		o := &p.liveOuts[i]
		r := &t.regs[o.reg]
		*r = reg{src: n.base + src(o.stmt), k: k, value: o.static}
		r.depth = b.deepest(o.roots)
		if o.val != none {
			r.value = values[o.val]
		}
		if o.kept != none && p.anchors[o.kept] != nil && !n.groups[n.home[o.kept]].pattern {
			r.col = &n.cols[o.kept]
		}
	}
	t.fresh |= p.outMask
	b.keep(n, values)
}

// flowEntryBytes is the memory of an execution in a thread's flow.
const flowEntryBytes = 4

// count counts an execution.
func (b *Builder) count(t *thread, n *threadNode) {
	p := n.tmpl
	if k := len(b.order) - 1; k >= 0 && b.order[k].thread == uint32(t.id) {
		b.order[k].n++
	} else {
		b.order = append(b.order, stretch{uint32(t.id), 1})
		b.mem += 16
	}
	b.executed++
	t.stmts += uint64(len(p.Stmts))
	b.total.Stmts += uint64(len(p.Stmts))
	b.total.Executions++
	b.total.Blocks += uint64(max(len(p.Blocks), 1))
	b.total.Values += uint64(p.valued)
	b.total.Deps += uint64(p.deps)
}

// liveIn follows the registers that are live on entry.
func (b *Builder) liveIn(t *thread, n *threadNode) {
	t.asked |= n.tmpl.inMask &^ t.fresh
	for i, r := range n.tmpl.liveIn {
		d := &t.regs[r]
		if d.out != nil {
			b.threadNode(t, d.src.node())
			b.use(d.out, d.k, d.value)
		}
		if d.col != nil && (!d.col.sparse || d.depth >= maxChain) {
			b.threadNode(t, d.src.node())
			b.mem += d.col.ks.add(d.k) + d.col.values.add(d.value)
			if d.col.values.n >= d.col.check {
				d.col.look()
			}
			d.col, d.depth = nil, 0
		}
		if i == len(b.live) {
			b.live = append(b.live, 0)
		}
		b.live[i] = d.depth
	}
}

// access follows the accesses to memory in order.
func (b *Builder) access(n *threadNode, k uint64, values, addrs []uint64) {
	p := n.tmpl
	for len(b.depth) < len(p.kept) {
		b.depth = append(b.depth, 0)
	}
	clear(b.depth[:len(p.kept)])
	next := 0 // the next anchor
	for i := range p.accesses {
		a := &p.accesses[i]
		next = b.deepen(n, next, a.stmt)
		var addr uint64
		if a.plain != none {
			addr = addrs[a.plain]
		} else {
			addr = values[a.addrVal]
		}
		if a.read {
			b.load(n, a, k, addr, values)
		}
		if !a.write || a.sc && values[p.info[a.stmt].val] != 0 {
			continue
		}
		depth := uint8(unknown)
		if a.forward {
			depth = b.deepest(a.dataFrom)
		}
		b.shadow.write(addr, uint64(a.size), cell{n.base + src(a.stmt), markOf(k, depth, a.size)})
	}
	b.deepen(n, next, uint32(len(p.Stmts)))
}

// deepest returns the greatest depth among the values that something is computed from.
func (b *Builder) deepest(from []origin) (depth uint8) {
	for _, x := range from {
		if slot, comesIn := x.slot(); comesIn {
			depth = max(depth, b.live[slot])
		} else {
			depth = max(depth, b.depth[x])
		}
	}
	return depth
}

// deepen computes the depths of the anchors before a statement, from anchor next on.
func (b *Builder) deepen(n *threadNode, next int, before uint32) int {
	p := n.tmpl
	for ; next < len(p.kept) && uint32(p.kept[next]) < before; next++ {
		roots := p.anchors[next]
		if roots == nil || n.groups[n.home[next]].pattern {
			continue
		}
		b.depth[next] = min(b.deepest(roots)+1, unknown)
	}
	return next
}

// load labels what a load reads, and decides whether its value is stored.
func (b *Builder) load(n *threadNode, a *access, k, addr uint64, values []uint64) {
	by := &b.by
	b.shadow.read(addr, uint64(a.size), by)
	b.total.Deps += uint64(by.n)
	var c *column // of values that may be found through memory
	if a.kept != none && a.forward {
		c = &n.cols[a.kept]
	}
	depth, found := by.depth()
	b.labels(n, a, k, found && c != nil && c.sparse)
	switch {
	case c == nil:
	case !found && c.sparse:
		b.mem += c.ks.add(k) + c.values.add(values[n.tmpl.info[a.stmt].val])
	case !found:
	case !c.sparse:
		c.found++
	case depth < maxDepth:
		b.depth[a.kept] = depth + 1
	case by.n == 1 && by.cells[0].mark.size() == a.size && by.parts[0] == 0:
		b.keepStore(addr, values[n.tmpl.info[a.stmt].val])
		b.depth[a.kept] = 1
	default:
		b.mem += c.ks.add(k) + c.values.add(values[n.tmpl.info[a.stmt].val])
	}
}

// labels adds the producers of what an access reads. With parts, it also says which bytes
// each of them produced, so that the value can be derived from them.
func (b *Builder) labels(n *threadNode, a *access, k uint64, parts bool) {
	by := &b.by
	if by.n == 0 {
		b.label(&n.slots[n.tmpl.readSlot(a)], k, edgeKey{}, 0)
		return
	}
	if !parts {
		by.parts = [8]part16{}
	}
	for i, c := range by.cells[:by.n] {
		s := &n.slots[n.tmpl.readSlot(a)]
		if i > 0 {
			s = b.moreSlot(n, a, i-1)
		}
		b.label(s, k, edgeKey{c.src, by.parts[i]}, c.mark.k())
	}
}

// moreSlot returns the slot for producer i+1 of what an access reads.
func (b *Builder) moreSlot(n *threadNode, a *access, i int) *slot {
	if n.more == nil {
		n.more = make([][7]*slot, len(n.tmpl.accesses))
	}
	at := &n.more[n.tmpl.info[a.stmt].access][i]
	if *at == nil {
		*at = &slot{}
		b.mem += edgeBytes
	}
	return *at
}

// keepStore stores what the store in b.by wrote to addr, so that from now on the value is
// found in one step.
func (b *Builder) keepStore(addr, value uint64) {
	c := b.by.cells[0]
	t := b.threads[c.src.thread()]
	n := b.threadNode(t, c.src.node())
	i := n.tmpl.info[c.src.stmt()].access
	if n.stores == nil {
		n.stores = make([][]storedValue, len(n.tmpl.accesses))
	}
	n.stores[i] = append(n.stores[i], storedValue{c.mark.k(), value})
	b.mem += 16
	b.shadow.write(addr, uint64(c.mark.size()), cell{c.src, markOf(c.mark.k(), 0, c.mark.size())})
}

// control labels the decision by which the blocks run, and records what they decide.
func (b *Builder) control(t *thread, n *threadNode, k uint64) {
	p := n.tmpl
	var by ref
	if p.Kind != NodePath {
		if t.control.src == 0 {
			b.total.Deps--
		}
		return
	}
	last := p.ctl[len(p.ctl)-1]
	for i, deciders := range p.deciders {
		x := b.decider(t, deciders)
		if fromSlot(int32(i)) == last {
			by = x
		}
	}
	if _, before := last.slot(); !before {
		by = ref{n.base + src(p.lastStmt(int(last))), k}
	}
	t.control = by
	for _, d := range p.decides {
		t.frames.decide(d.decider, t.times<<orderBits|uint64(d.block), ref{n.base + src(d.stmt), k})
	}
}

// keep records the values that are stored.
func (b *Builder) keep(n *threadNode, values []uint64) {
	for i := range n.groups {
		g := &n.groups[i]
		where := n.where[i]
		if g.pattern {
			x, isNew := g.find(values, where)
			b.mem += g.pat.add(x)
			if isNew {
				b.mem += uint64(16 + 8*len(where))
			}
			if g.pat.n >= g.check {
				b.checkGroup(n, g)
			}
			continue
		}
		for j, m := range g.members {
			c := &n.cols[m]
			if c.sparse || c.anchor {
				continue
			}
			b.mem += c.values.add(values[where[j]])
			if c.values.n >= c.check {
				c.look()
			}
		}
	}
}

// look makes a column sparse if its latest values are irregular and, for a load, if most
// of them can be found through memory.
func (c *column) look() {
	values, runs := c.values.n-c.seen.values, uint64(len(c.values.runs))-c.seen.runs
	if (c.anchor || 2*(c.found-c.seen.found) >= values) && 4*runs >= values {
		c.sparse = true
		if !c.anchor {
			c.full = c.values.n
		}
	}
	c.check = c.values.n + checkEvery
	c.seen = glance{c.values.n, uint64(len(c.values.runs)), c.found}
}

// checkGroup moves the members of a group to separate columns if many of its latest
// tuples were new, because a pattern then saves nothing.
func (b *Builder) checkGroup(n *threadNode, g *group) {
	few := 4*(uint64(g.tuples())-g.seen.values) <= g.pat.n-g.seen.runs
	g.check = g.pat.n + checkEvery
	g.seen = glance{values: uint64(g.tuples()), runs: g.pat.n}
	if few {
		return
	}
	m := len(g.members)
	g.pat.each(func(x uint64) {
		for j, v := range g.uniq[int(x)*m : (int(x)+1)*m] {
			b.mem += n.cols[g.members[j]].values.add(v)
		}
	})
	for _, j := range g.members {
		c := &n.cols[j]
		if c.anchor {
			c.full = c.values.n
		}
		c.look()
	}
	b.mem -= min(b.mem, uint64(g.tuples()*(16+8*m)+runBytes*len(g.pat.runs)))
	g.pattern, g.pat, g.uniq, g.table = false, seq{}, nil, nil
}

// effect records one effect.
func (b *Builder) effect(t *thread, e *event.Effect, w *window) {
	b.endPath(t, w)
	switch e.Kind {
	case event.EffectStart:
		b.happen(t, outsideKey{kind: NodeStart})
	case event.EffectCall:
		b.happen(t, outsideKey{NodeCall, e.PC, e.Addr, uint8(min(e.Arg, 8))})
		t.returned = true
	case event.EffectSignal:
		b.happen(t, outsideKey{kind: NodeSignal})
	case event.EffectSyscall:
		t.group, t.groupRan = t.ecall, t.ecallRan
	case event.EffectReg:
		b.setReg(t, e.Reg&63, e.Arg)
	case event.EffectRead:
		b.reads(t, e.Addr, e.Arg)
	case event.EffectWrote:
		if t.group.src != 0 {
			b.shadow.write(e.Addr, e.Arg, cell{t.group.src, markOf(t.group.k, unknown, 1)})
		}
	case event.EffectFresh:
		b.shadow.forget(e.Addr, e.Arg)
	case event.EffectMoved:
		b.shadow.move(e.PC, e.Addr, e.Arg)
	case event.EffectRuntime:
		b.happen(t, outsideKey{NodeCall, e.PC, e.Addr, uint8(min(e.Arg, 8))})
	case event.EffectTake, event.EffectKeep, event.EffectPass:
		b.carry(t, e)
	}
	if b.full() {
		b.closeEpoch()
	}
}

// happen executes an outside statement.
func (b *Builder) happen(t *thread, key outsideKey) {
	id, ok := b.outside[key]
	if !ok {
		id = b.addNode(&pathNode{template: newOutside(key.kind, key.pc, key.callee, key.args)})
		b.outside[key] = id
	}
	n := b.threadNode(t, id)
	t.group, t.groupRan = ref{n.base, n.k}, t.times
	b.execute(t, n, nil, nil)
}

// setReg sets a register to the value that an outside statement left.
func (b *Builder) setReg(t *thread, r uint8, value uint64) {
	if t.group.src == 0 {
		return
	}
	b.mem += t.defined(r)
	out := t.nodes[t.group.src.node()].out(r)
	if d := &t.regs[r]; d.out == out && d.k == t.group.k && d.src == t.group.src {
		out.used = false // its value is needed again
	}
	t.regs[r] = reg{src: t.group.src, k: t.group.k, out: out, value: value}
	if r == 10 {
		b.threadNode(t, t.group.src.node())
		b.use(out, t.group.k, value)
	}
}

// reads records what an outside statement reads, or what it is ordered after.
func (b *Builder) reads(t *thread, addr, size uint64) {
	if t.group.src == 0 {
		return
	}
	kind := DepMemory
	if addr >= event.SyncBase {
		kind = DepSync
	}
	seen := map[ref]bool{}
	b.shadow.scan(addr, size, func(c cell) { b.readsFrom(t, c, kind, seen) })
}

// readsFrom records that the thread's group depends on the writer of a cell.
func (b *Builder) readsFrom(t *thread, c cell, kind DepKind, seen map[ref]bool) {
	from := ref{c.src, c.mark.k()}
	if c.src == 0 || seen[from] {
		return
	}
	seen[from] = true
	n := b.threadNode(t, t.group.src.node())
	n.extras = append(n.extras, extra{rowOf(t.group.src.stmt(), kind), t.group.k, from})
	b.mem += extraBytes
	b.total.Deps++
}
