package wet

import (
	"fmt"
	"math/bits"
	"slices"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// Input is one dependence of a statement, according to its node's code: on a statement of
// the same execution, or through a slot, which has a label for each execution. Statements
// share slots: those of a block share its control dependence, and those that use a
// register share the register.
type Input struct {
	Kind DepKind
	Reg  uint8 // of DepRegister
	Stmt int32 // a statement of the node, or negative: none, see Slot
	Slot int32
}

// Reader is a slot of an execution, through which it depends on something.
type Reader struct {
	Thread event.ThreadID
	Node   NodeID
	Slot   int32
	K      uint64
}

// Inputs returns what a statement depends on, according to the code: [Graph.Deps] without
// the labels. The result is the same each time.
func (g *Graph) Inputs(n NodeID, stmt uint32) []Input {
	t := g.template(n)
	var list []Input
	info := &t.info[stmt]
	for i, u := range info.uses {
		if slices.ContainsFunc(info.uses[:i], func(v operand) bool { return v.reg == u.reg }) {
			continue
		}
		in := Input{Kind: DepRegister, Reg: u.reg, Stmt: int32(u.from)}
		if slot, comesIn := u.from.slot(); comesIn {
			in.Stmt, in.Slot = -1, slot
		}
		list = append(list, in)
	}
	if slot, ok := t.memorySlot(stmt); ok {
		list = append(list, Input{Kind: DepMemory, Stmt: -1, Slot: slot})
	}
	if slot, ok := t.listSlot(rowOf(stmt, DepSync)); ok {
		list = append(list, Input{Kind: DepSync, Stmt: -1, Slot: slot})
	}
	switch {
	case t.Kind != NodePath:
		if t.ctlSlots > 0 {
			list = append(list, Input{Kind: DepControl, Stmt: -1, Slot: int32(t.ctlSlot(0))})
		}
	default:
		by := t.ctl[t.Stmts[stmt].Block]
		if slot, before := by.slot(); before {
			list = append(list, Input{Kind: DepControl, Stmt: -1, Slot: int32(t.ctlSlot(slot))})
		} else {
			list = append(list, Input{Kind: DepControl, Stmt: int32(t.lastStmt(int(by)))})
		}
	}
	return list
}

// takesBytes reports whether a statement may depend on any number of bytes, as
// environment calls and outside statements do. What they read, and what orders them, is
// in lists. Each list has a slot, after the slots with labels.
func (t *template) takesBytes(stmt uint32) bool {
	return t.Kind != NodePath || t.Stmts[stmt].Inst.Op == rv.OpECALL
}

// memorySlot returns the slot of a statement's memory dependences.
func (t *template) memorySlot(stmt uint32) (int32, bool) {
	if a := t.info[stmt].access; a != none && t.accesses[a].read {
		return t.accesses[a].slot, true
	}
	return t.listSlot(rowOf(stmt, DepMemory))
}

// listSlot returns the slot of a list.
func (t *template) listSlot(row uint32) (int32, bool) {
	if !t.takesBytes(row >> 1) {
		return 0, false
	}
	slot := int32(t.slots()) + int32(row&1)
	for s := range row >> 1 {
		if t.takesBytes(s) {
			slot += 2
		}
	}
	return slot, true
}

// Slots returns the number of slots of a node.
func (g *Graph) Slots(n NodeID) int {
	t := g.template(n)
	slots := t.slots()
	for s := range t.Stmts {
		if t.takesBytes(uint32(s)) {
			slots += 2
		}
	}
	return slots
}

// slotRow returns the list whose dependences a slot has. ok is false if the slot has no
// list.
func (t *template) slotRow(slot int32) (uint32, bool) {
	switch {
	case int(slot) < len(t.liveIn):
		return 0, false
	case int(slot) < len(t.liveIn)+t.reads:
		for _, a := range t.accesses {
			if a.read && a.slot == slot {
				return rowOf(a.stmt, DepMemory), true
			}
		}
	case int(slot) >= t.slots():
		n := uint32(t.slots())
		for s := range t.Stmts {
			if t.takesBytes(uint32(s)) {
				if x := uint32(slot) - n; x < 2 {
					return uint32(s)<<1 | x, true
				}
				n += 2
			}
		}
	}
	return 0, false
}

// Labels calls tell with the instances that execution k of a node depends on through the
// slots. A slot has at most one instance, or several for bytes that were written
// separately. The first argument of tell is an index into slots. If tell returns an
// error, the calls end.
func (g *Graph) Labels(th event.ThreadID, n NodeID, k uint64, slots []int32, tell func(i int, from Instance) error) error {
	s, err := g.find(th, n, k)
	if err != nil {
		return err
	}
	r, err := g.record(s)
	if err != nil {
		return err
	}
	t := r.tmpl
	for i, slot := range slots {
		if int(slot) < t.slots() {
			by, err := g.flatLabel(r, int(slot), k)
			if err != nil {
				return err
			}
			if len(r.extras)+len(r.more) == 0 || int(slot) < len(t.liveIn) || int(slot) >= len(t.liveIn)+t.reads {
				if by.src != 0 {
					if err := tell(i, by.instance()); err != nil {
						return err
					}
				}
				continue
			}
		}
		if err := g.lists(r, slot, k, i, tell); err != nil {
			return err
		}
	}
	return nil
}

// lists calls tell for the labels of a slot that are in a list.
func (g *Graph) lists(r *record, slot int32, k uint64, i int, tell func(i int, from Instance) error) error {
	t := r.tmpl
	var all []Instance
	if int(slot) < t.slots() {
		by, err := g.flatLabel(r, int(slot), k)
		if err != nil {
			return err
		}
		if by.src != 0 {
			all = append(all, by.instance())
		}
	}
	for _, m := range r.more {
		if t.accesses[m.access].slot != slot {
			continue
		}
		by, _, err := g.moreLabel(r, m, k)
		if err != nil {
			return err
		}
		if i := by.instance(); by.src != 0 && !slices.Contains(all, i) {
			all = append(all, i)
		}
	}
	row, ok := t.slotRow(slot)
	if !ok {
		return nil
	}
	add := func(r *record) {
		for n := r.firstExtra(row, k); n < len(r.extras) && r.extras[n].row == row && r.extras[n].k == k; n++ {
			if i := r.extras[n].from.instance(); !slices.Contains(all, i) {
				all = append(all, i)
			}
		}
	}
	add(r)
	if t.takesBytes(row >> 1) {
		for _, later := range g.spans(event.ThreadID(r.span.thread), r.span.node) { // later epochs have labels of a call that blocks, too
			if later.epoch > r.span.epoch {
				x, err := g.record(later)
				if err != nil {
					return err
				}
				add(x)
			}
		}
	}
	for _, from := range all {
		if err := tell(i, from); err != nil {
			return err
		}
	}
	return nil
}

// flat has the labels of a slot by execution: each is the number of an edge and, in the
// low bits, the producer's instance. Most fit into 32 bits.
type flat struct {
	shift  uint8
	narrow []uint32
	wide   []uint64 // used if 32 bits are too few; if both are nil, 64 are too few
}

// The number of bits for the instance until all labels are known.
const (
	flatBits = 44
	maxFlat  = 1<<flatBits - 1
)

// flatLabel is label for callers that need many. It takes one access to memory.
func (g *Graph) flatLabel(r *record, slot int, k uint64) (ref, error) {
	if r.tmpl.follows(slot) {
		return g.derivedLabel(r, slot, k)
	}
	s := &r.slots[slot]
	if s.flat == nil {
		if e := &s.edges[0]; len(s.edges) == 1 && (e.from == 0 || e.kp.form == formRuns && len(e.kp.runs) <= 2) {
			return g.label(r, slot, k)
		}
		labels, err := g.flatten(r, s)
		if err != nil {
			return ref{}, err
		}
		s.flat = pack(labels, len(s.edges))
		g.charge(r, 4*uint64(len(s.flat.narrow))+8*uint64(len(s.flat.wide)))
	}
	f := s.flat
	x := k - r.span.began
	var v uint64
	switch {
	case f.narrow != nil:
		v = uint64(f.narrow[x])
	case f.wide != nil:
		v = f.wide[x]
	default:
		return g.label(r, slot, k)
	}
	by := ref{s.edges[v>>f.shift].from, v & (1<<f.shift - 1)}
	if by.src == 0 {
		by.k = 0
	}
	return by, nil
}

// pack makes labels as small as possible. It returns nil if they do not fit.
func pack(labels []uint64, edges int) *flat {
	greatest := uint64(0)
	for _, v := range labels {
		greatest = max(greatest, v&maxFlat)
	}
	shift := bits.Len64(greatest)
	if labels == nil || shift+bits.Len(uint(edges-1)) > 32 {
		return &flat{shift: flatBits, wide: labels}
	}
	narrow := make([]uint32, len(labels))
	for x, v := range labels {
		narrow[x] = uint32(v>>flatBits<<shift | v&maxFlat)
	}
	return &flat{shift: uint8(shift), narrow: narrow}
}

// flatten lays out the labels of a slot. It returns nil if they do not fit.
func (g *Graph) flatten(r *record, s *slotView) ([]uint64, error) {
	n := r.span.n
	const nobody = ^uint64(0)
	flat := make([]uint64, n)
	for x := range flat {
		flat[x] = nobody
	}
	for i := range s.edges {
		e := &s.edges[i]
		if i >= 1<<(64-flatBits)-1 {
			return nil, nil
		}
		if e.kc == nil {
			continue
		}
		closing, err := g.briefly(r, e.kc, e.kp)
		if err != nil {
			return nil, err
		}
		var at []uint64
		bad := false
		e.kc.each(func(_ int, k uint64) {
			if x := k - r.span.began; x >= n || flat[x] != nobody {
				bad = true
			} else {
				flat[x] = uint64(i) << flatBits
				at = append(at, x)
			}
		})
		fits := true
		if e.kp != nil && !bad {
			e.kp.each(func(j int, k uint64) {
				fits = fits && k <= maxFlat
				flat[at[j]] |= k & maxFlat
			})
		}
		closing()
		if bad {
			return nil, g.damaged(r, fmt.Errorf("instances of an edge: %w", tracefmt.ErrMalformed))
		}
		if !fits {
			return nil, nil
		}
	}
	return g.flattenRest(r, s, flat, nobody)
}

// flattenRest lays out the first edge, which has the remaining executions.
func (g *Graph) flattenRest(r *record, s *slotView, flat []uint64, nobody uint64) ([]uint64, error) {
	e := &s.edges[0]
	closing, err := g.briefly(r, e.kp)
	if err != nil {
		return nil, err
	}
	defer closing()
	x, fits := 0, true
	skip := func() {
		for x < len(flat) && flat[x] != nobody {
			x++
		}
	}
	if e.kp == nil {
		for skip(); x < len(flat); skip() {
			flat[x] = 0
		}
	} else {
		e.kp.each(func(_ int, k uint64) {
			skip()
			if x < len(flat) {
				fits = fits && k <= maxFlat
				flat[x] = k & maxFlat
			}
		})
		skip()
		if x < len(flat) {
			return nil, g.damaged(r, fmt.Errorf("labels of an edge: %w", tracefmt.ErrMalformed))
		}
	}
	if !fits {
		return nil, nil
	}
	return flat, nil
}

// briefly decodes sequences, which may be nil, for one walk over them. The returned
// function releases those that were not decoded before.
func (g *Graph) briefly(r *record, list ...*numbers) (closing func(), err error) {
	var opened []*numbers
	for _, x := range list {
		if x == nil || x.raw != nil || x.runs != nil || x.step != nil {
			continue
		}
		if _, err := x.open(); err != nil {
			return nil, g.damaged(r, err)
		}
		if x.form != formRuns {
			opened = append(opened, x)
		}
	}
	return func() {
		for _, x := range opened {
			x.raw, x.runs, x.starts = nil, nil, nil
		}
	}, nil
}

// HasReaders reports whether anything outside its execution depends on any instance of a
// statement, so that [Graph.Readers] may return something.
func (g *Graph) HasReaders(th event.ThreadID, n NodeID, stmt uint32) (bool, error) {
	if err := g.index(); err != nil {
		return false, err
	}
	from := srcOf(uint32(th), n, stmt)
	return len(of(g.reverse.edges, from))+len(of(g.reverse.extras, from)) > 0, nil
}

// Readers appends to dst the slots through which other executions depend on an
// instance: [Graph.Users] without those inside its own execution.
func (g *Graph) Readers(i Instance, dst []Reader) ([]Reader, error) {
	if err := g.index(); err != nil {
		return dst, err
	}
	first := len(dst)
	from := srcOf(uint32(i.Thread), i.Node, i.Stmt)
	for _, u := range of(g.reverse.edges, from) {
		_, err := g.users(u, i.K, func(r *record, k uint64) bool {
			x := Reader{event.ThreadID(u.span.thread), u.span.node, int32(r.ownSlot(int(u.slot))), k}
			if !slices.Contains(dst[first:], x) {
				dst = append(dst, x)
			}
			return true
		})
		if err != nil {
			return dst, err
		}
	}
	_, err := g.extraUsers(i, from, func(r *record, to Instance, kind DepKind) bool {
		slot, ok := r.tmpl.memorySlot(to.Stmt)
		if kind == DepSync {
			slot, ok = r.tmpl.listSlot(rowOf(to.Stmt, kind))
		}
		if ok {
			if x := (Reader{to.Thread, to.Node, slot, to.K}); !slices.Contains(dst[first:], x) {
				dst = append(dst, x)
			}
		}
		return true
	})
	return dst, err
}
