package wet

import (
	"cmp"
	"encoding/binary"
	"slices"

	"hindsight/tracefmt"
)

// Counts say how much a graph contains.
type Counts struct {
	Stmts      uint64 // instances of statements
	Executions uint64 // of nodes, which is the number of timestamps
	Blocks     uint64 // executions of basic blocks
	Values     uint64 // instances of statements with a value
	Deps       uint64 // instances of dependences
}

func (c *Counts) fields() []*uint64 {
	return []*uint64{&c.Stmts, &c.Executions, &c.Blocks, &c.Values, &c.Deps}
}

// tablesWritten counts the rows of the tables that are already in the file.
type tablesWritten struct {
	pieces, nodes int
	counts        Counts
}

// sizes are the components of an epoch.
type sizes struct {
	times, patterns, values, edges Size
}

func (s *sizes) fields() []*Size { return []*Size{&s.times, &s.patterns, &s.values, &s.edges} }

// place says where the labels of a node are.
type place struct {
	part   uint32
	offset uint64 // in the part's records
}

// closeEpoch writes the open epoch and begins another. No path is open in it.
func (b *Builder) closeEpoch() {
	if b.err != nil || !slices.ContainsFunc(b.threads, func(t *thread) bool { return t != nil && len(t.used) > 0 }) {
		return
	}
	var p part
	var size sizes
	p.reset(0)
	places := map[*threadNode]place{}
	for _, t := range b.threads {
		if t == nil {
			continue
		}
		slices.SortFunc(t.used, func(x, y *threadNode) int { return int(x.id) - int(y.id) })
		index := map[NodeID]uint32{}
		for i, n := range t.used {
			index[n.id] = uint32(i)
		}
		t.place = place{p.number, uint64(len(p.records))}
		p.thread(t, index, &size)
		for _, n := range t.used {
			places[n] = place{p.number, uint64(len(p.records))}
			p.node(uint32(t.id), n, &size)
			if len(p.records)+p.bytes > partPayload {
				b.append(tracefmt.KindWetLabels, p.number, p.payload())
				p.reset(p.number + 1)
			}
		}
	}
	b.append(tracefmt.KindWetLabels, p.number, p.payload())
	b.append(tracefmt.KindWetTables, 0, b.tables(places, &size))
	for _, t := range b.threads {
		if t == nil {
			continue
		}
		for _, n := range t.used {
			n.reset()
		}
		t.used, t.began = t.used[:0], t.times
		t.hold()
		if t.ended && t != b.running { // what other threads find out about it later begins anew
			*t = thread{id: t.id, times: t.times, stmts: t.stmts, began: t.times, ended: true, released: true}
		}
	}
	b.order, b.executed, b.mem = b.order[:0], 0, 0
	b.epoch++
}

func (b *Builder) append(kind tracefmt.Kind, thread uint32, payload []byte) {
	if b.err != nil {
		return
	}
	b.err = b.sink.Append(kind, thread, payload)
}

// node writes the labels of a node.
//
//	node   = group* slot* more extras stores outs; of slots those of accesses
//	group  = 1 pattern uvarint tuples values*member | 0 column*member
//	column = 0 values | 1 uvarint full, instances, values
//	slot   = uvarint edges, edge*
//	edge   = from, which bytes and producers (unless from nobody), instances (not of the first edge)
//	more   = uvarint n, each: access, uvarint edges, edge*: with instances
//	extras = uvarint n, rows: statement and kind, Δ instance, from, producer
//	stores = uvarint n, each: access, instances, values
//	outs   = uvarint n, each: register, instances, values
//
// The first edge of a slot is the one with the most labels. It has all executions that
// the others leave.
func (p *part) node(thread uint32, n *threadNode, size *sizes) {
	for i := range n.groups {
		g := &n.groups[i]
		if !g.pattern {
			p.uvarint(0)
			for _, m := range g.members {
				p.column(&n.cols[m], size)
			}
			continue
		}
		p.uvarint(1)
		p.seq(&g.pat, 4, &size.patterns)
		for j := range g.members {
			var s seq
			for x := j; x < len(g.uniq); x += len(g.members) {
				s.add(g.uniq[x])
			}
			p.seq(&s, 8, &size.values)
		}
	}
	for i := range n.slots {
		p.slot(thread, n, &n.slots[i], size)
	}
	p.more(thread, n, size)
	p.extras(thread, n, size)
	p.stores(n, size)
	p.uvarint(uint64(len(n.outs)))
	for _, o := range n.outs {
		p.uvarint(uint64(o.reg))
		p.seq(&o.ks, 4, &size.values)
		p.seq(&o.values, 8, &size.values)
	}
}

func (p *part) column(c *column, size *sizes) {
	if !c.sparse && !c.anchor {
		p.uvarint(0)
		p.seq(&c.values, 8, &size.values)
		return
	}
	p.uvarint(1)
	p.uvarint(c.full)
	p.seq(&c.ks, 4, &size.values)
	p.seq(&c.values, 8, &size.values)
}

func (p *part) slot(thread uint32, n *threadNode, s *slot, size *sizes) {
	before := len(p.records)
	p.uvarint(uint64(len(s.edges)))
	most := 0
	for i, e := range s.edges {
		if e.kc.n > s.edges[most].kc.n {
			most = i
		}
	}
	if len(s.edges) > 0 {
		s.edges[0], s.edges[most] = s.edges[most], s.edges[0]
	}
	for i, e := range s.edges {
		p.edge(thread, n.id, e)
		size.edges.Tier2 += uint64(len(p.records) - before)
		if i > 0 {
			p.seq(&e.kc, 4, &size.edges)
		}
		if e.from != 0 {
			var complete Size // every execution at a constant distance: no label
			to := &size.edges
			if len(s.edges) == 1 && e.kp.regular() && (e.kp.n < 2 || e.kp.runs[0].stride == 1) {
				to = &complete
			}
			p.seq(&e.kp, 4, to)
			if to == &complete {
				size.edges.Tier2 += complete.Tier2
			}
		}
		before = len(p.records)
	}
	size.edges.Tier2 += uint64(len(p.records) - before)
}

// edge writes the producer of an edge.
func (p *part) edge(thread uint32, node NodeID, e *edge) {
	p.from(thread, node, e.from)
	if e.from != 0 {
		p.uvarint(uint64(e.part))
	}
}

// more writes the further producers of what accesses read.
func (p *part) more(thread uint32, n *threadNode, size *sizes) {
	before := len(p.records) + p.bytes
	count := 0
	for i := range n.more {
		for _, s := range n.more[i] {
			if s != nil {
				count++
			}
		}
	}
	p.uvarint(uint64(count))
	var labels Size
	for i := range n.more {
		for _, s := range n.more[i] {
			if s == nil {
				continue
			}
			p.uvarint(uint64(i))
			p.uvarint(uint64(len(s.edges)))
			for _, e := range s.edges {
				p.edge(thread, n.id, e)
				p.seq(&e.kc, 4, &labels)
				p.seq(&e.kp, 4, &labels)
			}
		}
	}
	size.edges.Tier1 += labels.Tier1
	size.edges.Tier2 += uint64(len(p.records) + p.bytes - before)
}

// from writes a producer.
func (p *part) from(thread uint32, node NodeID, from src) {
	if from == 0 {
		p.uvarint(0)
		return
	}
	d := int64(from.thread()) - int64(thread)
	p.uvarint(uint64(d<<1^d>>63) + 1)
	p.varint(int64(from.node()) - int64(node))
	p.uvarint(uint64(from.stmt()))
}

func (p *part) extras(thread uint32, n *threadNode, size *sizes) {
	before := len(p.records)
	slices.SortStableFunc(n.extras, func(x, y extra) int {
		if x.row != y.row {
			return int(x.row) - int(y.row)
		}
		if x.k < y.k {
			return -1
		}
		if x.k > y.k {
			return 1
		}
		return 0
	})
	p.uvarint(uint64(len(n.extras)))
	k := uint64(0)
	for _, x := range n.extras {
		p.uvarint(uint64(x.row))
		p.varint(int64(x.k - k))
		k = x.k
		p.from(thread, n.id, x.from.src)
		p.uvarint(x.from.k)
	}
	size.edges.Tier1 += 8 * uint64(len(n.extras))
	size.edges.Tier2 += uint64(len(p.records) - before)
}

func (p *part) stores(n *threadNode, size *sizes) {
	used := 0
	for _, list := range n.stores {
		if len(list) > 0 {
			used++
		}
	}
	p.uvarint(uint64(used))
	for i, list := range n.stores {
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(a, b storedValue) int { return cmp.Compare(a.k, b.k) })
		var ks, values seq
		for _, x := range list {
			ks.add(x.k)
			values.add(x.value)
		}
		p.uvarint(uint64(i))
		p.seq(&ks, 4, &size.values)
		p.seq(&values, 8, &size.values)
	}
}

// tables encodes the block that ends an epoch: the new code and nodes, what each thread
// executed, and where its labels are.
func (b *Builder) tables(places map[*threadNode]place, size *sizes) []byte {
	w := &b.written
	var e []byte
	u := func(v uint64) { e = binary.AppendUvarint(e, v) }
	u(tablesVersion)
	u(b.epoch)
	u(uint64(len(b.ops)))
	for _, x := range b.ops {
		u(x)
	}
	pieces := b.pieces[w.pieces:]
	u(uint64(len(pieces)))
	pc := uint64(0)
	for i := range pieces {
		q := &pieces[i]
		e = binary.AppendVarint(e, int64(q.pc-pc))
		e = append(e, byte(q.end))
		u(uint64(len(q.raw)))
		e = append(e, q.raw...)
		pc = q.next
	}
	nodes := b.nodes[w.nodes:]
	u(uint64(len(nodes)))
	for _, n := range nodes {
		e = n.encode(e)
	}
	e = b.directory(e, places)
	u(uint64(len(b.order)))
	for _, o := range b.order {
		u(uint64(o.thread))
		u(o.n)
	}
	last, now := w.counts.fields(), b.total.fields()
	for i := range now {
		u(*now[i] - *last[i])
	}
	size.times.Orig = 4 * (b.total.Stmts - w.counts.Stmts)
	size.values.Orig = 8 * (b.total.Values - w.counts.Values)
	size.edges.Orig = 8 * (b.total.Deps - w.counts.Deps)
	for _, s := range size.fields() {
		u(s.Orig)
		u(s.Tier1)
		u(s.Tier2)
	}
	*w = tablesWritten{len(b.pieces), len(b.nodes), b.total}
	return e
}

// encode appends a node's row.
func (n *pathNode) encode(e []byte) []byte {
	e = append(e, byte(n.Kind))
	if n.Kind != NodePath {
		e = binary.AppendUvarint(e, n.Stmts[0].PC)
		e = binary.AppendUvarint(e, n.Callee)
		return append(e, n.Args)
	}
	strict := uint64(0)
	if n.strict {
		strict = 1
	}
	e = binary.AppendUvarint(e, uint64(n.Func)<<1|strict)
	e = append(e, n.args)
	e = binary.AppendUvarint(e, uint64(len(n.pieces)))
	at := int64(0)
	for _, id := range n.pieces {
		e = binary.AppendVarint(e, int64(id)-at)
		at = int64(id) + 1
	}
	for i, c := range n.ctl {
		if slot, before := c.slot(); before {
			e = binary.AppendUvarint(e, uint64(slot)<<1)
		} else {
			e = binary.AppendUvarint(e, uint64(origin(i)-c)<<1|1)
		}
	}
	for _, list := range n.deciders {
		e = binary.AppendUvarint(e, uint64(len(list)))
		for _, d := range list {
			e = binary.AppendUvarint(e, uint64(d))
		}
	}
	next := 0
	for i := range n.pieces {
		if next < len(n.decides) && int(n.decides[next].block) == i {
			e = binary.AppendUvarint(e, uint64(n.decides[next].decider)+1)
			next++
		} else {
			e = append(e, 0)
		}
	}
	return e
}

// directory appends what each thread executed.
func (b *Builder) directory(e []byte, places map[*threadNode]place) []byte {
	active := 0
	for _, t := range b.threads {
		if t != nil && len(t.used) > 0 {
			active++
		}
	}
	e = binary.AppendUvarint(e, uint64(active))
	for _, t := range b.threads {
		if t == nil || len(t.used) == 0 {
			continue
		}
		e = binary.AppendUvarint(e, uint64(t.id))
		e = binary.AppendUvarint(e, t.times-t.began)
		e = binary.AppendUvarint(e, t.stmts)
		e = binary.AppendUvarint(e, uint64(len(t.used)))
		id := NodeID(0)
		for _, n := range t.used {
			e = binary.AppendUvarint(e, uint64(n.id-id))
			id = n.id
		}
		for _, n := range t.used {
			e = binary.AppendUvarint(e, n.k-n.began)
		}
		e = binary.AppendUvarint(e, uint64(t.place.part))
		e = binary.AppendUvarint(e, t.place.offset)
		at := place{}
		for _, n := range t.used {
			x := places[n]
			e = binary.AppendUvarint(e, uint64(x.part-at.part))
			if x.part != at.part {
				at = place{x.part, 0}
			}
			e = binary.AppendUvarint(e, x.offset-at.offset)
			at = x
		}
	}
	return e
}

const tablesVersion = 3

// maxExecutions limits the executions of nodes in an epoch, because a reader that walks
// along the control flow holds them in memory.
const maxExecutions = 1 << 24

// full reports whether the epoch must be closed.
func (b *Builder) full() bool { return b.mem > b.opts.Budget || b.executed >= maxExecutions }

// Block is a block for the file.
type Block struct {
	Kind    tracefmt.Kind
	Thread  uint32
	Payload []byte
}

// Queue is a [Sink] that holds blocks until they are taken, so that another recorder can
// write them to its file.
type Queue struct {
	blocks []Block
}

// Append implements [Sink].
func (q *Queue) Append(kind tracefmt.Kind, thread uint32, payload []byte) error {
	q.blocks = append(q.blocks, Block{kind, thread, slices.Clone(payload)})
	return nil
}

// Take returns the blocks that were appended since the last call.
func (q *Queue) Take() []Block {
	blocks := q.blocks
	q.blocks = nil
	return blocks
}
