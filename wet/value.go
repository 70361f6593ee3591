package wet

import (
	"errors"
	"fmt"
	"math/bits"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt"
)

// errDeep says that finding a value takes more steps than any recorder allows.
var errDeep = fmt.Errorf("a value that depends on too many others: %w", tracefmt.ErrMalformed)

// maxFollow limits the nodes that are examined for a value: one for each load, and at
// most two more for the registers between them.
const maxFollow = 4 * (maxChain + maxDepth)

// memo caches values that took steps to find. An instance has a few places, in which a
// new value replaces the oldest.
type memo []memoValue

type memoValue struct {
	ref
	value uint64
}

const (
	memoSize = 1 << 19
	memoWays = 4
)

func (m memo) places(r ref) []memoValue {
	h := hashValues(hashValues(0, uint64(r.src)), r.k) % (memoSize / memoWays)
	return m[h*memoWays : (h+1)*memoWays]
}

func (m memo) get(r ref) (uint64, bool) {
	if m == nil {
		return 0, false
	}
	for _, x := range m.places(r) {
		if x.ref == r {
			return x.value, true
		}
	}
	return 0, false
}

func (m *memo) put(r ref, v uint64) {
	if *m == nil {
		*m = make(memo, memoSize)
	}
	p := m.places(r)
	copy(p[1:], p[:memoWays-1])
	p[0] = memoValue{r, v}
}

// Value returns what an instance left in its destination register. ok is false if there
// is none. For an environment call and a call of a hooked function, it is the value of a0
// afterwards, if that is in the trace.
func (g *Graph) Value(i Instance) (v uint64, ok bool, err error) {
	r, err := g.instance(i)
	if err != nil {
		return 0, false, err
	}
	info := &r.tmpl.info[i.Stmt]
	if info.source == sourceNone {
		if r.tmpl.Kind == NodeCall || r.tmpl.Kind == NodePath && r.tmpl.Stmts[i.Stmt].Inst.Op == rv.OpECALL {
			return g.outside(r, 10, i.K)
		}
		return 0, false, nil
	}
	v, err = g.value(r, int32(i.Stmt), i.K, maxFollow)
	return v, err == nil, err
}

// instance returns the labels of an instance's node.
func (g *Graph) instance(i Instance) (*record, error) {
	s, err := g.find(i.Thread, i.Node, i.K)
	if err != nil {
		return nil, err
	}
	r, err := g.record(s)
	if err == nil && uint64(i.Stmt) >= uint64(len(r.tmpl.Stmts)) {
		err = fmt.Errorf("%w: statement %d of node %d", ErrNoSuch, i.Stmt, i.Node)
	}
	return r, err
}

// outside returns what a statement that is not an ordinary instruction left in a
// register. It was stored in the epoch of its first use.
func (g *Graph) outside(r *record, reg uint8, k uint64) (v uint64, ok bool, err error) {
	list := g.threads[r.span.thread].spans[r.span.node]
	for _, s := range list {
		if s.epoch < r.span.epoch {
			continue
		}
		x, err := g.record(s)
		if err != nil {
			return 0, false, err
		}
		for _, o := range x.outs {
			if o.reg != reg {
				continue
			}
			if err := errors.Join(g.open(x, o.ks), g.open(x, o.values)); err != nil {
				return 0, false, err
			}
			if i, found := o.ks.search(k + 1); i > 0 && o.ks.get(i-1) == k { // the last of several
				_ = found
				v, ok = o.values.get(i-1), true
			}
		}
	}
	return v, ok, nil
}

// value computes or looks up the value of statement s, which has one.
func (g *Graph) value(r *record, s int32, k uint64, follow int) (uint64, error) {
	if follow == 0 {
		return 0, g.damaged(r, errDeep)
	}
	info := &r.tmpl.info[s]
	switch info.source {
	case sourceStatic:
		st := &r.tmpl.Stmts[s]
		v, _ := st.Inst.Static(st.PC)
		return v, nil
	case sourceKept:
		return g.kept(r, s, k, follow)
	case sourceDerived:
		return g.derive(r, s, k, follow)
	}
	return 0, g.damaged(r, fmt.Errorf("value of a statement without one: %w", tracefmt.ErrMalformed))
}

// derive computes a statement, and what it needs inside its path, in order.
func (g *Graph) derive(r *record, s int32, k uint64, follow int) (uint64, error) {
	if g.opts.Evaluate == nil {
		return 0, ErrEvaluator
	}
	cone := r.tmpl.cone(s)
	var room [32]uint64
	values := room[:0]
	for _, c := range cone {
		var x [3]uint64
		for _, u := range r.tmpl.info[c].uses {
			v, err := g.operand(r, u, k, follow, cone, values)
			if err != nil {
				return 0, err
			}
			// One register may be several operands.
			x[u.pos] = v
		}
		st := &r.tmpl.Stmts[c]
		v, ok := g.opts.Evaluate(st.Inst, st.PC, x[0], x[1], x[2])
		if !ok {
			return 0, fmt.Errorf("%w: %v", ErrEvaluator, st.Inst.Op)
		}
		values = append(values, v)
	}
	return values[len(values)-1], nil
}

// operand returns the value of a register that a statement uses. cone and values are what
// was already computed.
func (g *Graph) operand(r *record, u operand, k uint64, follow int, cone []int32, values []uint64) (uint64, error) {
	if slot, comesIn := u.from.slot(); comesIn {
		return g.register(r, int(slot), u.reg, k, follow)
	}
	if r.tmpl.info[u.from].source == sourceDerived {
		for i := range values {
			if cone[i] == int32(u.from) {
				return values[i], nil
			}
		}
	}
	return g.value(r, int32(u.from), k, follow)
}

// register returns the value of a register that is live on entry to a path.
func (g *Graph) register(r *record, slot int, reg uint8, k uint64, follow int) (uint64, error) {
	by, err := g.label(r, slot, k)
	if err != nil || by.src == 0 {
		return 0, err
	}
	from, err := g.producer(r, by)
	if err != nil {
		return 0, err
	}
	s := by.src.stmt()
	if from.tmpl.info[s].source == sourceNone {
		v, ok, err := g.outside(from, reg, by.k)
		if err == nil && !ok {
			err = g.damaged(r, fmt.Errorf("register of an outside statement: %w", tracefmt.ErrMalformed))
		}
		return v, err
	}
	return g.value(from, int32(s), by.k, follow-1)
}

// producer returns the labels of a producer's node.
func (g *Graph) producer(r *record, by ref) (*record, error) {
	from, err := g.instance(by.instance())
	if errors.Is(err, ErrNoSuch) {
		err = g.damaged(r, fmt.Errorf("producer: %w", tracefmt.ErrMalformed))
	}
	return from, err
}

// kept looks up a value that is stored, or that can be found through memory.
func (g *Graph) kept(r *record, s int32, k uint64, follow int) (uint64, error) {
	m := r.where[r.tmpl.info[s].kept]
	group := &r.groups[m.group]
	values := group.values[m.index]
	i := k - r.span.began
	if err := g.open(r, values); err != nil {
		return 0, err
	}
	if group.pattern != nil {
		if err := g.open(r, group.pattern); err != nil {
			return 0, err
		}
		i = group.pattern.get(i)
		if i >= values.n {
			return 0, g.damaged(r, fmt.Errorf("pattern: %w", tracefmt.ErrMalformed))
		}
		return values.get(i), nil
	}
	c := &group.cols[m.index]
	if !c.sparse || i < c.full {
		return values.get(i), nil
	}
	if err := g.open(r, c.ks); err != nil {
		return 0, err
	}
	if j, ok := c.ks.search(k); ok {
		return values.get(c.full + j), nil
	}
	if r.tmpl.anchors[r.tmpl.info[s].kept] == nil {
		return g.stored(r, s, k, follow)
	}
	key := ref{srcOf(r.span.thread, r.span.node, uint32(s)), k}
	if v, ok := g.memo.get(key); ok {
		return v, nil
	}
	v, err := g.keptLater(r, m, k)
	if errors.Is(err, errNotKept) {
		v, err = g.derive(r, s, k, follow)
	}
	if err == nil {
		g.memo.put(key, v)
	}
	return v, err
}

var errNotKept = errors.New("a value that is not kept")

// keptLater looks up the value of an anchor that was first used in a later epoch.
func (g *Graph) keptLater(r *record, m member, k uint64) (uint64, error) {
	for _, s := range g.threads[r.span.thread].spans[r.span.node] {
		if s.epoch <= r.span.epoch {
			continue
		}
		x, err := g.record(s)
		if err != nil {
			return 0, err
		}
		v := &x.groups[m.group]
		if v.pattern != nil || !v.cols[m.index].sparse {
			break
		}
		c := &v.cols[m.index]
		if c.ks.n == 0 {
			continue
		}
		if err := errors.Join(g.open(x, c.ks), g.open(x, v.values[m.index])); err != nil {
			return 0, err
		}
		if j, ok := c.ks.search(k); ok {
			return v.values[m.index].get(c.full + j), nil
		}
		if c.ks.get(0) > k {
			break
		}
	}
	return 0, errNotKept
}

// stored returns the value of a load from the store that it reads from.
func (g *Graph) stored(r *record, s int32, k uint64, follow int) (uint64, error) {
	bad := func() error { return g.damaged(r, fmt.Errorf("value of a load: %w", tracefmt.ErrMalformed)) }
	info := &r.tmpl.info[s]
	if info.access == none || !r.tmpl.accesses[info.access].forward {
		return 0, bad()
	}
	by, part, err := g.readLabel(r, int(r.tmpl.accesses[info.access].slot), k)
	if err != nil {
		return 0, err
	}
	if by.src == 0 {
		return 0, bad()
	}
	v, err := g.wrote(r, by, follow)
	if err == nil && part != 0 {
		v, err = g.assemble(r, info.access, k, part.take(v), follow)
	}
	return r.tmpl.Stmts[s].Inst.Loaded(v), err
}

// assemble adds the bytes that come from further stores.
func (g *Graph) assemble(r *record, access int32, k, v uint64, follow int) (uint64, error) {
	for _, m := range r.more {
		if m.access != uint32(access) {
			continue
		}
		by, part, err := g.moreLabel(r, m, k)
		if err != nil {
			return 0, err
		}
		if by.src == 0 {
			continue
		}
		x, err := g.wrote(r, by, follow)
		if err != nil {
			return 0, err
		}
		v |= part.take(x)
	}
	return v, nil
}

// wrote returns what a store wrote to memory, in the low bits, as a load of r finds it.
func (g *Graph) wrote(r *record, by ref, follow int) (uint64, error) {
	if v, ok := g.memo.get(by); ok {
		return v, nil
	}
	from, err := g.producer(r, by)
	if err != nil {
		return 0, err
	}
	info := &from.tmpl.info[by.src.stmt()]
	if info.access == none || !from.tmpl.accesses[info.access].forward || !from.tmpl.accesses[info.access].write {
		return 0, g.damaged(r, fmt.Errorf("value of a load: %w", tracefmt.ErrMalformed))
	}
	v, ok, err := g.keptStore(from, info.access, by.k, r.span.epoch)
	if err != nil {
		return 0, err
	}
	if d := from.tmpl.accesses[info.access].data; !ok && d != none {
		if v, err = g.operand(from, info.uses[d], by.k, follow-1, nil, nil); err != nil {
			return 0, err
		}
	}
	g.memo.put(by, v)
	return v, nil
}

// keptStore looks up what a store wrote, if that is stored, in an epoch up to last.
func (g *Graph) keptStore(r *record, access int32, k uint64, last uint32) (v uint64, ok bool, err error) {
	for _, s := range g.threads[r.span.thread].spans[r.span.node] {
		if s.epoch < r.span.epoch || s.epoch > last {
			continue
		}
		x := r
		if s != r.span {
			if x, err = g.record(s); err != nil {
				return 0, false, err
			}
		}
		for i := range x.stores {
			if x.stores[i].access != uint32(access) {
				continue
			}
			if err := errors.Join(g.open(x, x.stores[i].ks), g.open(x, x.stores[i].values)); err != nil {
				return 0, false, err
			}
			if j, found := x.stores[i].ks.search(k); found {
				return x.stores[i].values.get(j), true, nil
			}
		}
	}
	return 0, false, nil
}

// Addr returns the address that an instance accessed, and the number of bytes. ok is
// false if the instance is not an access. The address is the sum of the base register and
// the immediate.
func (g *Graph) Addr(i Instance) (addr uint64, size uint8, ok bool, err error) {
	r, err := g.instance(i)
	if err != nil {
		return 0, 0, false, err
	}
	info := &r.tmpl.info[i.Stmt]
	if info.access == none {
		return 0, 0, false, nil
	}
	in := r.tmpl.Stmts[i.Stmt].Inst
	addr = uint64(int64(in.Imm))
	if in.Atomic() {
		addr = 0
	}
	for _, u := range info.uses {
		if u.pos == 0 {
			base, err := g.operand(r, u, i.K, maxFollow, nil, nil)
			if err != nil {
				return 0, 0, false, err
			}
			addr += base
		}
	}
	return addr, r.tmpl.accesses[info.access].size, true, nil
}

// cone returns the statements to compute for s, in order, with s last.
func (t *template) cone(s int32) []int32 {
	if t.cones == nil {
		t.cones = make([][]int32, len(t.Stmts))
	}
	if t.cones[s] != nil {
		return t.cones[s]
	}
	need := make([]uint64, s/64+1)
	need[s/64] |= 1 << (s % 64)
	var list []int32
	for w := len(need) - 1; w >= 0; w-- {
		for need[w] != 0 {
			top := 63 - bits.LeadingZeros64(need[w])
			x := int32(w*64 + top)
			need[w] &^= 1 << top
			list = append(list, x)
			for _, u := range t.info[x].uses {
				if _, comesIn := u.from.slot(); !comesIn && t.info[u.from].source == sourceDerived {
					need[u.from/64] |= 1 << (u.from % 64)
				}
			}
		}
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	t.cones[s] = list
	return list
}
