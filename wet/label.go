package wet

// edge is a dependence between two statements: the instances of the one that has the
// label, and those of the producer.
type edge struct {
	edgeKey
	kc, kp seq
}

// edgeKey is a producer and, for an access, the bytes that come from it.
type edgeKey struct {
	from src // 0: none
	part part16
}

// slot is a place of a node at which the dependence must be recorded: a register that is
// live on entry, what an access reads, or the decision about some blocks. Each execution
// has one label in it.
type slot struct {
	last  *edge
	edges []*edge
	index map[edgeKey]*edge // once there are many edges
}

const edgeBytes = 160

// slotScan is the number of edges up to which they are searched one by one.
const slotScan = 8

// label adds the label of execution k.
func (b *Builder) label(s *slot, k uint64, key edgeKey, kp uint64) {
	e := s.last
	if e == nil || e.edgeKey != key {
		e = b.edge(s, key)
		s.last = e
	}
	grown := e.kc.add(k)
	if key.from != 0 {
		grown += e.kp.add(kp)
	}
	b.mem += grown
}

func (b *Builder) edge(s *slot, key edgeKey) *edge {
	if s.index != nil {
		if e := s.index[key]; e != nil {
			return e
		}
	} else {
		for _, e := range s.edges {
			if e.edgeKey == key {
				return e
			}
		}
	}
	e := &edge{edgeKey: key}
	s.edges = append(s.edges, e)
	b.mem += edgeBytes
	if s.index != nil {
		s.index[key] = e
	} else if len(s.edges) > slotScan {
		s.index = map[edgeKey]*edge{}
		for _, e := range s.edges {
			s.index[e.edgeKey] = e
		}
	}
	return e
}

// column has the values of a kept statement: those of the first full executions of the
// epoch, then those of the executions in ks.
//
// For a load, sparse says that only those values are stored that cannot be found through
// memory. The values of an anchor, a statement that can be computed, are stored when
// another path uses them: all of these or, with sparse, those that would take too long to
// compute.
type column struct {
	values seq
	ks     seq
	anchor bool
	sparse bool
	full   uint64
	found  uint64 // of a load: executions whose value could be found through memory
	check  uint64 // when to check whether it should be sparse
	seen   glance
}

// glance says how far a column or a group was at the last check.
type glance struct{ values, runs, found uint64 }

// storedValue is what an instance of a store wrote.
type storedValue struct{ k, value uint64 }

// The number of values after which a column or a group is first checked, and after which
// it is checked again.
const (
	firstCheck = 128
	checkEvery = 512
)

// group has the values of statements that depend on the same inputs: the unique tuples of
// section 3.2, and the pattern in which they occurred.
type group struct {
	members []int32 // indexes into template.kept
	pattern bool    // otherwise each member has its own column
	pat     seq
	uniq    []uint64 // tuples, one after the other
	table   []uint32 // open addressing: number of the tuple + 1
	check   uint64
	seen    glance // values: tuples, runs: executions
}

func (g *group) tuples() int { return len(g.uniq) / len(g.members) }

// hashValues mixes a tuple.
func hashValues(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

// find returns the number of the members' tuple in values, and adds the tuple if it is
// new.
func (g *group) find(values []uint64, where []int32) (i uint64, isNew bool) {
	m := len(g.members)
	h := uint64(0)
	for _, x := range where {
		h = hashValues(h, values[x])
	}
	if 2*g.tuples() >= len(g.table) {
		g.grow()
	}
	mask := uint64(len(g.table) - 1)
	for p := h & mask; ; p = (p + 1) & mask {
		x := g.table[p]
		if x == 0 {
			g.table[p] = uint32(g.tuples()) + 1
			for _, x := range where {
				g.uniq = append(g.uniq, values[x])
			}
			return uint64(g.tuples() - 1), true
		}
		t := g.uniq[int(x-1)*m : int(x)*m]
		same := true
		for j, x := range where {
			if t[j] != values[x] {
				same = false
				break
			}
		}
		if same {
			return uint64(x - 1), false
		}
	}
}

func (g *group) grow() {
	g.table = make([]uint32, max(16, 2*len(g.table)))
	mask := uint64(len(g.table) - 1)
	m := len(g.members)
	for i := range g.tuples() {
		h := uint64(0)
		for _, v := range g.uniq[i*m : (i+1)*m] {
			h = hashValues(h, v)
		}
		p := h & mask
		for g.table[p] != 0 {
			p = (p + 1) & mask
		}
		g.table[p] = uint32(i) + 1
	}
}

// outReg is a register as left by a statement that is not an ordinary instruction, with
// its values once they are used.
type outReg struct {
	reg        uint8
	ks, values seq
	last       uint64
	used       bool
}

// use stores the value of instance k.
func (b *Builder) use(o *outReg, k, value uint64) {
	if o.used && o.last == k {
		return
	}
	o.used, o.last = true, k
	b.mem += o.ks.add(k) + o.values.add(value)
}

// extra is a dependence in addition to those in slots: through memory or order.
type extra struct {
	row  uint32 // see rowOf
	k    uint64
	from ref
}

const extraBytes = 40

// rowOf numbers the lists of a statement: through memory, by order.
func rowOf(stmt uint32, kind DepKind) uint32 {
	if kind == DepSync {
		return stmt<<1 | 1
	}
	return stmt << 1
}

// kindOf returns the kind of the dependences in a list.
func kindOf(row uint32) DepKind {
	if row&1 != 0 {
		return DepSync
	}
	return DepMemory
}

// threadNode is a node as one thread executed it, with the labels of the open epoch.
type threadNode struct {
	home   []int32 // by kept statement: its group
	id     NodeID
	tmpl   *pathNode
	base   src // of statement 0
	k      uint64
	began  uint64     // k at the epoch's beginning
	in     bool       // listed among those used in the epoch
	slots  []slot     // of accesses that read
	more   [][7]*slot // by access, if there are any: the second producer of what it reads, the third, …
	groups []group
	where  [][]int32 // by group: positions of the members' values
	cols   []column
	stores [][]storedValue // by access: what stores wrote that would take too long to compute
	outs   []*outReg
	extras []extra
}

func (b *Builder) threadNode(t *thread, id NodeID) *threadNode {
	for int(id) >= len(t.nodes) {
		t.nodes = append(t.nodes, make([]*threadNode, max(256, int(id)+1-len(t.nodes)))...)
	}
	n := t.nodes[id]
	if n == nil {
		tmpl := b.nodes[id]
		n = &threadNode{id: id, tmpl: tmpl, base: srcOf(uint32(t.id), id, 0)}
		n.slots = make([]slot, tmpl.reads)
		n.cols = make([]column, len(tmpl.kept))
		n.home = make([]int32, len(tmpl.kept))
		for g, members := range tmpl.groups {
			n.groups = append(n.groups, group{members: members, pattern: len(members) > 1, check: firstCheck})
			where := make([]int32, len(members))
			for i, m := range members {
				where[i] = tmpl.info[tmpl.kept[m]].val
				n.home[m] = int32(g)
			}
			n.where = append(n.where, where)
		}
		for i := range n.cols {
			n.cols[i] = column{check: firstCheck, anchor: tmpl.anchors[i] != nil}
		}
		t.nodes[id] = n
	}
	if !n.in {
		n.in = true
		n.began = n.k
		t.used = append(t.used, n)
		b.mem += 64 + uint64(48*len(n.slots)+32*len(n.cols))
	}
	return n
}

// reset clears the labels of an epoch that was written. It keeps which columns are
// sparse, and which groups are patterns.
func (n *threadNode) reset() {
	n.in, n.extras, n.stores = false, nil, nil
	clear(n.slots)
	n.more = nil
	for i := range n.groups {
		g := &n.groups[i]
		g.pat, g.uniq, g.table = seq{}, nil, nil
		g.check, g.seen = firstCheck, glance{}
	}
	for i := range n.cols {
		c := &n.cols[i]
		*c = column{sparse: c.sparse, anchor: c.anchor, check: firstCheck}
	}
	for _, o := range n.outs {
		o.ks, o.values = seq{}, seq{}
	}
}

func (n *threadNode) out(r uint8) *outReg {
	for _, o := range n.outs {
		if o.reg == r {
			return o
		}
	}
	o := &outReg{reg: r}
	n.outs = append(n.outs, o)
	return o
}
