package wet

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

func (r ref) instance() Instance {
	return Instance{Thread: event.ThreadID(r.src.thread()), Node: r.src.node(), Stmt: r.src.stmt(), K: r.k}
}

// Deps returns what an instance depends on: the instances that defined the registers it
// uses, those that wrote the bytes it reads, and the one that decided that it runs. Each
// producer occurs once for each kind and register. What no instance produced is left out.
// The sequence ends after the first error.
func (g *Graph) Deps(i Instance) iter.Seq2[Dep, error] {
	return func(yield func(Dep, error) bool) {
		r, err := g.instance(i)
		if err != nil {
			yield(Dep{}, err)
			return
		}
		info := &r.tmpl.info[i.Stmt]
		for n, u := range info.uses {
			if slices.ContainsFunc(info.uses[:n], func(v operand) bool { return v.reg == u.reg }) {
				continue
			}
			d := Dep{Kind: DepRegister, Reg: u.reg, To: i}
			if slot, comesIn := u.from.slot(); !comesIn {
				d.From = i
				d.From.Stmt = uint32(u.from)
			} else if !g.dep(r, int(slot), &d, yield) {
				continue
			}
			if d.From == (Instance{}) && d.To == (Instance{}) {
				return
			}
			if !yield(d, nil) {
				return
			}
		}
		if !g.memoryDeps(r, i, yield) || !g.syncDeps(r, i, yield) {
			return
		}
		g.controlDep(r, i, yield)
	}
}

// dep completes a dependence from the label of a slot. It reports false if there
// is none. After an error, which it yields, d is empty.
func (g *Graph) dep(r *record, slot int, d *Dep, yield func(Dep, error) bool) bool {
	by, err := g.label(r, slot, d.To.K)
	if err != nil {
		yield(Dep{}, err)
		*d = Dep{}
		return true
	}
	if by.src == 0 {
		return false
	}
	d.From = by.instance()
	return true
}

// memoryDeps yields the dependences through memory. It returns false if the caller must
// stop.
func (g *Graph) memoryDeps(r *record, i Instance, yield func(Dep, error) bool) bool {
	tell := tellOnce(i, DepMemory, yield)
	info := &r.tmpl.info[i.Stmt]
	if info.access != none && r.tmpl.accesses[info.access].read {
		by, err := g.label(r, int(r.tmpl.accesses[info.access].slot), i.K)
		if err != nil {
			yield(Dep{}, err)
			return false
		}
		if by.src != 0 && !tell(by.instance(), nil) {
			return false
		}
		for _, m := range r.more {
			if m.access != uint32(info.access) {
				continue
			}
			by, _, err := g.moreLabel(r, m, i.K)
			if err != nil {
				yield(Dep{}, err)
				return false
			}
			if by.src != 0 && !tell(by.instance(), nil) {
				return false
			}
		}
	}
	return g.listed(r, i, DepMemory, tell)
}

// listed yields the dependences of an instance that are in a list. It returns false if
// the caller must stop.
func (g *Graph) listed(r *record, i Instance, kind DepKind, tell func(from Instance, err error) bool) bool {
	row := rowOf(i.Stmt, kind)
	list := g.spans(i.Thread, i.Node)
	late := r.tmpl.Kind != NodePath || r.tmpl.Stmts[i.Stmt].Inst.Op == rv.OpECALL // later epochs may have more of them
	for _, s := range list {
		if s.epoch < r.span.epoch || s.epoch > r.span.epoch && !late {
			continue
		}
		x, err := g.record(s)
		if err != nil {
			tell(Instance{}, err)
			return false
		}
		for n := x.firstExtra(row, i.K); n < len(x.extras) && x.extras[n].row == row && x.extras[n].k == i.K; n++ {
			if !tell(x.extras[n].from.instance(), nil) {
				return false
			}
		}
	}
	return true
}

// syncDeps yields the dependences by order. It returns false if the caller must stop.
func (g *Graph) syncDeps(r *record, i Instance, yield func(Dep, error) bool) bool {
	if !r.tmpl.takesBytes(i.Stmt) {
		return true
	}
	return g.listed(r, i, DepSync, tellOnce(i, DepSync, yield))
}

// tellOnce returns a function that yields dependences of a kind, each producer once.
func tellOnce(i Instance, kind DepKind, yield func(Dep, error) bool) func(from Instance, err error) bool {
	var seen []Instance
	return func(from Instance, err error) bool {
		if err != nil {
			return yield(Dep{}, err)
		}
		if slices.Contains(seen, from) {
			return true
		}
		seen = append(seen, from)
		return yield(Dep{Kind: kind, From: from, To: i}, nil)
	}
}

func (r *record) firstExtra(row uint32, k uint64) int {
	return sort.Search(len(r.extras), func(n int) bool {
		x := &r.extras[n]
		return x.row > row || x.row == row && x.k >= k
	})
}

func (g *Graph) controlDep(r *record, i Instance, yield func(Dep, error) bool) {
	t := r.tmpl
	d := Dep{Kind: DepControl, To: i}
	by := fromSlot(0) // of outside statements
	switch {
	case t.Kind == NodePath:
		by = t.ctl[t.Stmts[i.Stmt].Block]
	case t.ctlSlots == 0:
		return
	}
	if slot, before := by.slot(); !before {
		d.From = i
		d.From.Stmt = t.lastStmt(int(by))
	} else if !g.dep(r, t.ctlSlot(slot), &d, yield) || d.To != i {
		return
	}
	yield(d, nil)
}

// reverse leads from producers to the slots that name them. It consists of two lists in
// the order of producers.
type reverse struct {
	edges  []use
	extras []use // slot and edge are not used
}

type use struct {
	from src
	span *span
	slot int32
	edge int32
}

// of returns the part of a list for a producer.
func of(list []use, from src) []use {
	i := sort.Search(len(list), func(i int) bool { return list[i].from >= from })
	j := i
	for j < len(list) && list[j].from == from {
		j++
	}
	return list[i:j]
}

// index builds the lists of reverse, once.
func (g *Graph) index() error {
	if g.reverse != nil {
		return nil
	}
	v := &reverse{}
	for _, t := range g.threads {
		for i := range t.epochs {
			for _, s := range t.epochs[i].spans {
				if err := g.indexSpan(v, s); err != nil {
					return err
				}
			}
		}
	}
	for _, list := range [][]use{v.edges, v.extras} {
		slices.SortStableFunc(list, func(a, b use) int { return cmp.Compare(a.from, b.from) })
	}
	g.reverse = v
	return nil
}

func (g *Graph) indexSpan(v *reverse, s *span) error {
	r, err := g.record(s)
	if err != nil {
		return err
	}
	for j := range r.slots {
		if r.tmpl.follows(j) {
			if err := g.derivedEdges(r, j); err != nil {
				return err
			}
		}
		for k, e := range r.slots[j].edges {
			if e.from != 0 {
				v.edges = append(v.edges, use{e.from, s, int32(j), int32(k)})
			}
		}
	}
	if len(r.extras) > 0 {
		named := make([]src, len(r.extras))
		for i, x := range r.extras {
			named[i] = x.from.src
		}
		slices.Sort(named)
		for _, from := range slices.Compact(named) {
			v.extras = append(v.extras, use{from: from, span: s})
		}
	}
	return nil
}

// Users returns the dependences on what an instance produced, the reverse of
// [Graph.Deps]. The sequence ends after the first error.
func (g *Graph) Users(i Instance) iter.Seq2[Dep, error] {
	return func(yield func(Dep, error) bool) {
		r, err := g.instance(i)
		if err == nil {
			err = g.index()
		}
		if err != nil {
			yield(Dep{}, err)
			return
		}
		if !r.tmpl.localUsers(i, yield) {
			return
		}
		from := srcOf(uint32(i.Thread), i.Node, i.Stmt)
		for _, u := range of(g.reverse.edges, from) {
			more, err := g.users(u, i.K, func(r *record, k uint64) bool { return r.tellSlot(int(u.slot), i, k, yield) })
			if err != nil {
				yield(Dep{}, err)
			}
			if !more {
				return
			}
		}
		more, err := g.extraUsers(i, from, func(_ *record, to Instance, kind DepKind) bool {
			return yield(Dep{Kind: kind, From: i, To: to}, nil)
		})
		if more && err != nil {
			yield(Dep{}, err)
		}
	}
}

// extraUsers yields the instances that name i in a separate list. more is false
// if the caller must stop.
func (g *Graph) extraUsers(i Instance, from src, yield func(r *record, to Instance, kind DepKind) bool) (more bool, err error) {
	type user struct {
		to   Instance
		kind DepKind
	}
	var seen []user
	for _, u := range of(g.reverse.extras, from) {
		s := u.span
		r, err := g.record(s)
		if err != nil {
			return true, err
		}
		for _, x := range r.extras {
			u := user{Instance{event.ThreadID(s.thread), s.node, x.row >> 1, x.k}, kindOf(x.row)}
			if x.from.src != from || x.from.k != i.K || slices.Contains(seen, u) {
				continue
			}
			seen = append(seen, u)
			if !yield(r, u.to, u.kind) {
				return false, nil
			}
		}
	}
	return true, nil
}

// localUsers yields the dependences inside the path. It reports false if the
// caller must stop.
func (t *template) localUsers(i Instance, yield func(Dep, error) bool) bool {
	for s := int(i.Stmt) + 1; s < len(t.Stmts); s++ {
		uses := t.info[s].uses
		for n, u := range uses {
			if u.from != origin(i.Stmt) || slices.ContainsFunc(uses[:n], func(v operand) bool { return v.reg == u.reg }) {
				continue
			}
			to := i
			to.Stmt = uint32(s)
			if !yield(Dep{Kind: DepRegister, Reg: u.reg, From: i, To: to}, nil) {
				return false
			}
		}
	}
	if t.Kind != NodePath {
		return true
	}
	block := t.Stmts[i.Stmt].Block
	if t.lastStmt(block) != i.Stmt {
		return true
	}
	for b := block + 1; b < len(t.Blocks); b++ {
		if t.ctl[b] == origin(block) && !t.tellBlock(b, i, i, yield) {
			return false
		}
	}
	return true
}

// tellBlock yields the control dependences of a block's statements. It reports
// false if the caller must stop.
func (t *template) tellBlock(block int, from, to Instance, yield func(Dep, error) bool) bool {
	for s := uint32(t.Blocks[block].First); s <= t.lastStmt(block); s++ {
		to.Stmt = s
		if !yield(Dep{Kind: DepControl, From: from, To: to}, nil) {
			return false
		}
	}
	return true
}

// users yields the executions that an edge leads to from instance k of its producer. more
// is false if the caller must stop.
func (g *Graph) users(u use, k uint64, yield func(r *record, k uint64) bool) (more bool, err error) {
	r, err := g.record(u.span)
	if err != nil {
		return false, err
	}
	if r.tmpl.follows(int(u.slot)) {
		if err := g.derivedEdges(r, int(u.slot)); err != nil {
			return false, err
		}
	}
	s := &r.slots[u.slot]
	e := &s.edges[u.edge]
	if err = g.open(r, e.kp); err == nil {
		switch {
		case e.kc != nil:
			err = g.open(r, e.kc)
		case len(s.edges) > 1:
			err = g.rest(r, s)
		}
	}
	if err != nil {
		return false, err
	}
	more = true
	g.charge(r, e.kp.find(k, func(j uint64) bool {
		to := r.span.began + j
		switch {
		case e.kc != nil:
			to = e.kc.get(j)
		case len(s.edges) > 1:
			if j >= uint64(len(s.rest)) {
				err = g.damaged(r, fmt.Errorf("labels of an edge: %w", tracefmt.ErrMalformed))
				return false
			}
			to = r.span.began + uint64(s.rest[j])
		}
		more = yield(r, to)
		return more
	}))
	return more && err == nil, err
}

// rest returns the executions of a slot's first edge.
func (g *Graph) rest(r *record, s *slotView) error {
	if s.rest != nil {
		return nil
	}
	if err := g.align(r, s, false); err != nil {
		return err
	}
	for x, o := range s.owner {
		if o == 0 {
			s.rest = append(s.rest, uint32(x))
		}
	}
	g.charge(r, 4*uint64(len(s.rest)))
	return nil
}

// ownSlot returns the slot of the node that a slot of a record stands for.
func (r *record) ownSlot(slot int) int {
	if n := slot - r.tmpl.slots(); n >= 0 {
		return int(r.tmpl.accesses[r.more[n].access].slot)
	}
	return slot
}

// tellSlot yields the dependences that a label of a slot stands for. It reports
// false if the caller must stop.
func (r *record) tellSlot(slot int, from Instance, k uint64, yield func(Dep, error) bool) bool {
	t := r.tmpl
	slot = r.ownSlot(slot)
	to := Instance{Thread: event.ThreadID(r.span.thread), Node: r.span.node, K: k}
	switch {
	case slot < len(t.liveIn):
		reg := t.liveIn[slot]
		for s := range t.Stmts {
			if slices.ContainsFunc(t.info[s].uses, func(u operand) bool { return u.from == fromSlot(int32(slot)) }) {
				to.Stmt = uint32(s)
				if !yield(Dep{Kind: DepRegister, Reg: reg, From: from, To: to}, nil) {
					return false
				}
			}
		}
	case slot < len(t.liveIn)+t.reads:
		for _, a := range t.accesses {
			if a.read && int(a.slot) == slot {
				to.Stmt = a.stmt
				return yield(Dep{Kind: DepMemory, From: from, To: to}, nil)
			}
		}
	case t.Kind != NodePath:
		return yield(Dep{Kind: DepControl, From: from, To: to}, nil)
	default:
		for b, c := range t.ctl {
			if s, before := c.slot(); before && t.ctlSlot(s) == slot && !t.tellBlock(b, from, to, yield) {
				return false
			}
		}
	}
	return true
}
