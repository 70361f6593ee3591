package wet

import (
	"fmt"

	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// record has a node's labels in memory. Each sequence is decoded when it is first used.
type record struct {
	span   *span
	tmpl   *template
	groups []groupView
	where  []member   // by kept statement
	slots  []slotView // after the node's own slots follow those of more
	more   []moreView
	extras []extraView
	stores []storeView
	outs   []outView
	cost   uint64
	used   uint64
}

// member is a kept statement's position in its group.
type member struct{ group, index int32 }

// groupView has the values of a group: unique tuples and a pattern, or columns.
type groupView struct {
	pattern *numbers // nil: columns
	values  []*numbers
	cols    []columnView
}

type columnView struct {
	sparse bool
	full   uint64
	ks     *numbers
}

// moreView is a slot for a further producer of what an access reads. Not all executions
// have one.
type moreView struct {
	access uint32
	slot   int // index into record.slots
}

type edgeView struct {
	from src
	part part16
	kc   *numbers // nil for the first edge
	kp   *numbers // nil if there is no producer
}

type slotView struct {
	edges []edgeView
	// Of a slot with several edges, once it is needed: by execution, the edge and the
	// position in its labels.
	owner, place []uint32
	rest         []uint32 // executions of the first edge, once they are needed
	flat         *flat    // set by the first call of Labels
}

type extraView struct {
	row  uint32 // see rowOf
	k    uint64
	from ref
}

// storeView is what a store wrote, of some instances.
type storeView struct {
	access     uint32
	ks, values *numbers
}

type outView struct {
	reg        uint8
	ks, values *numbers
}

// record loads the labels of a span into memory.
func (g *Graph) record(s *span) (*record, error) {
	g.cache.clock++
	if s.rec != nil {
		s.rec.used = g.cache.clock
		return s.rec, nil
	}
	e := g.epochs[s.epoch]
	p, err := g.part(e, s.place.part)
	if err != nil {
		return nil, err
	}
	h := e.parts[s.place.part]
	if s.place.offset > uint64(len(p.records)) {
		return nil, tracefmt.Corrupt(h.Offset, h.Kind, fmt.Errorf("place of labels: %w", tracefmt.ErrMalformed))
	}
	d := decode(p.records[s.place.offset:])
	r := d.record(p, s, g.template(s.node))
	if d.Err != nil {
		return nil, tracefmt.Corrupt(h.Offset, h.Kind, fmt.Errorf("labels of node %d: %w", s.node, d.Err))
	}
	r.used = g.cache.clock
	s.rec = r
	g.cache.recs = append(g.cache.recs, r)
	g.charge(r, uint64(200+120*(len(r.slots)+len(r.where))+48*len(r.extras)))
	return r, nil
}

// part loads a labels block of an epoch into memory.
func (g *Graph) part(e *epochView, number uint32) (*loaded, error) {
	if p := e.loaded[number]; p != nil {
		return p, nil
	}
	h := e.parts[number]
	payload, err := g.r.Read(h)
	if err != nil {
		return nil, err
	}
	p, err := decodePart(payload)
	if err != nil {
		return nil, tracefmt.Corrupt(h.Offset, h.Kind, err)
	}
	e.loaded[number] = p
	g.cache.used += p.size
	return p, nil
}

func (d *decoder) record(p *loaded, s *span, t *template) *record {
	limit := s.limit()
	r := &record{span: s, tmpl: t, where: make([]member, len(t.kept))}
	for i, members := range t.groups {
		for j, m := range members {
			r.where[m] = member{int32(i), int32(j)}
		}
		r.groups = append(r.groups, d.group(p, s, len(members)))
	}
	r.slots = make([]slotView, t.slots())
	for i := range t.reads {
		r.slots[len(t.liveIn)+i] = d.slot(p, s)
		if d.Err != nil {
			return r
		}
	}
	d.moreViews(p, r)
	d.extraViews(r)
	for range d.Count(3, "number of stores") {
		v := storeView{access: uint32(d.Max(uint64(len(t.accesses)), "access")), ks: d.numbers(p, limit), values: d.numbers(p, limit)}
		if v.ks.n != v.values.n {
			d.Fail("values of a store")
		}
		r.stores = append(r.stores, v)
	}
	for range d.Count(3, "number of registers") {
		o := outView{reg: uint8(d.Max(63, "register")), ks: d.numbers(p, limit), values: d.numbers(p, limit)}
		if o.ks.n != o.values.n {
			d.Fail("values of a register")
		}
		r.outs = append(r.outs, o)
	}
	return r
}

// limit returns the largest length of a sequence in a node's labels. An execution, of
// this epoch or an earlier one, has few numbers in each.
func (s *span) limit() uint64 { return 4*(s.began+s.n) + 16 }

func (d *decoder) group(p *loaded, s *span, members int) (g groupView) {
	limit := s.limit()
	if d.Max(1, "form of a group") == 1 {
		g.pattern = d.numbers(p, limit)
		if g.pattern.n != s.n {
			d.Fail("length of a pattern")
		}
		for i := range members {
			g.values = append(g.values, d.numbers(p, limit))
			if g.values[i].n != g.values[0].n {
				d.Fail("number of tuples")
			}
		}
		return g
	}
	for range members {
		c := columnView{sparse: d.Max(1, "form of a column") == 1}
		want := s.n
		if c.sparse {
			c.full = d.Max(s.n, "length of a column")
			c.ks = d.numbers(p, limit)
			want = c.full + c.ks.n
		}
		v := d.numbers(p, limit)
		if v.n != want {
			d.Fail("length of a column")
		}
		g.cols = append(g.cols, c)
		g.values = append(g.values, v)
		if d.Err != nil {
			return g
		}
	}
	return g
}

func (d *decoder) slot(p *loaded, s *span) (v slotView) {
	limit := s.limit()
	left := s.n
	for i := range d.Count(2, "number of edges") {
		e := edgeView{from: d.from(s)}
		if e.from != 0 {
			e.part = part16(d.Max(maxPart, "bytes of an edge"))
		}
		if i > 0 {
			e.kc = d.numbers(p, limit)
			if e.kc.n > left || e.kc.n == 0 {
				d.Fail("labels of an edge")
			}
			left -= e.kc.n
		}
		if e.from != 0 {
			e.kp = d.numbers(p, limit)
			if i > 0 && e.kp.n != e.kc.n {
				d.Fail("labels of an edge")
			}
		}
		v.edges = append(v.edges, e)
		if d.Err != nil {
			return v
		}
	}
	if len(v.edges) == 0 && s.n > 0 {
		d.Fail("number of edges")
	} else if len(v.edges) > 0 && v.edges[0].kp != nil && v.edges[0].kp.n != left {
		d.Fail("labels of an edge")
	}
	return v
}

func (d *decoder) moreViews(p *loaded, r *record) {
	limit := r.span.limit()
	for range d.Count(3, "number of further producers") {
		m := moreView{access: uint32(d.Uvarint()), slot: len(r.slots)}
		if uint64(m.access) >= uint64(len(r.tmpl.accesses)) || !r.tmpl.accesses[m.access].read {
			d.Fail("access")
			return
		}
		var v slotView
		left := r.span.n
		for range d.Count(4, "number of edges") {
			e := edgeView{from: d.from(r.span)}
			if e.from == 0 {
				d.Fail("producer")
				return
			}
			e.part = part16(d.Max(maxPart, "bytes of an edge"))
			e.kc, e.kp = d.numbers(p, limit), d.numbers(p, limit)
			if d.Err != nil || e.kc.n != e.kp.n || e.kc.n > left {
				d.Fail("labels of an edge")
				return
			}
			left -= e.kc.n
			v.edges = append(v.edges, e)
		}
		r.slots = append(r.slots, v)
		r.more = append(r.more, m)
	}
}

func (d *decoder) from(s *span) src {
	x := d.Uvarint()
	if x == 0 {
		return 0
	}
	x--
	thread := int64(s.thread) + (int64(x>>1) ^ -int64(x&1))
	node := int64(s.node) + d.Varint()
	stmt := d.Uvarint()
	if thread < 0 || thread >= event.MaxThreads || node < 0 || node >= maxNodes || stmt >= 1<<stmtBits {
		d.Fail("producer")
		return 0
	}
	return srcOf(uint32(thread), NodeID(node), uint32(stmt))
}

func (d *decoder) extraViews(r *record) {
	k := uint64(0)
	for range d.Count(4, "number of producers") {
		x := extraView{row: uint32(d.Max(1<<(stmtBits+1), "statement"))}
		k += uint64(d.Varint())
		x.k = k
		x.from = ref{d.from(r.span), d.Uvarint()}
		if n := len(r.extras); n > 0 && (r.extras[n-1].row > x.row || r.extras[n-1].row == x.row && r.extras[n-1].k > x.k) {
			d.Fail("order of producers")
		}
		r.extras = append(r.extras, x)
	}
}

// open makes sure that a sequence of the record can be read.
func (g *Graph) open(r *record, x *numbers) error {
	if x.form == formRuns || x.raw != nil || x.form == formColumns && x.runs != nil ||
		x.step != nil && (g.stepping > 0 && !x.step.wanders()) {
		return nil
	}
	open := x.open
	if g.stepping > 0 && x.form == formStream && x.n >= g.stepFrom && x.step == nil {
		open = x.openStep
	}
	bytes, err := open()
	if err != nil {
		return g.damaged(r, err)
	}
	g.charge(r, bytes)
	return nil
}

func (g *Graph) damaged(r *record, err error) error {
	h := g.epochs[r.span.epoch].parts[r.span.place.part]
	return tracefmt.Corrupt(h.Offset, h.Kind, fmt.Errorf("labels of node %d: %w", r.span.node, err))
}

// openAll decodes everything of a record.
func (g *Graph) openAll(r *record) error {
	var all []*numbers
	for i := range r.groups {
		v := &r.groups[i]
		if v.pattern != nil {
			all = append(all, v.pattern)
		}
		all = append(all, v.values...)
		for _, c := range v.cols {
			if c.ks != nil {
				all = append(all, c.ks)
			}
		}
	}
	for i := range r.slots {
		for _, e := range r.slots[i].edges {
			if e.kc != nil {
				all = append(all, e.kc)
			}
			if e.kp != nil {
				all = append(all, e.kp)
			}
		}
	}
	for _, v := range r.stores {
		all = append(all, v.ks, v.values)
	}
	for _, o := range r.outs {
		all = append(all, o.ks, o.values)
	}
	if _, err := g.infer(r.span.te); err != nil {
		return err
	}
	for _, x := range all {
		if err := g.open(r, x); err != nil {
			return err
		}
	}
	for i := range r.slots {
		if err := g.align(r, &r.slots[i], i >= r.tmpl.slots()); err != nil {
			return err
		}
	}
	return nil
}

// align finds for each execution the edge of a slot that has its label. With some, an
// execution may have none; edges are then counted from 1.
func (g *Graph) align(r *record, s *slotView, some bool) error {
	if s.owner != nil || len(s.edges) <= 1 && !some {
		return nil
	}
	n := r.span.n
	owner, place := make([]uint32, n), make([]uint32, n)
	for i := range s.edges {
		e := &s.edges[i]
		if e.kc == nil {
			continue
		}
		if err := g.open(r, e.kc); err != nil {
			return err
		}
		if some {
			i++
		}
		bad := false
		e.kc.each(func(j int, k uint64) {
			x := k - r.span.began
			if x >= n || owner[x] != 0 {
				bad = true
				return
			}
			owner[x], place[x] = uint32(i), uint32(j)
		})
		if bad {
			return g.damaged(r, fmt.Errorf("instances of an edge: %w", tracefmt.ErrMalformed))
		}
	}
	rest := uint32(0)
	for x, o := range owner {
		if o == 0 && !some {
			place[x] = rest
			rest++
		}
	}
	s.owner, s.place = owner, place
	g.charge(r, 8*n)
	return nil
}

// label returns the producer of execution k in a slot.
func (g *Graph) label(r *record, slot int, k uint64) (ref, error) {
	if r.tmpl.follows(slot) {
		return g.derivedLabel(r, slot, k)
	}
	by, _, err := g.readLabel(r, slot, k)
	return by, err
}

// readLabel returns a producer of what an access reads in execution k, and which bytes it
// produced.
func (g *Graph) readLabel(r *record, slot int, k uint64) (ref, part16, error) {
	e, x, err := g.edgeOf(r, &r.slots[slot], k-r.span.began)
	if err != nil {
		return ref{}, 0, err
	}
	return g.labelOf(r, e, x)
}

func (g *Graph) labelOf(r *record, e *edgeView, x uint64) (ref, part16, error) {
	if e.from == 0 {
		return ref{}, 0, nil
	}
	if err := g.open(r, e.kp); err != nil {
		return ref{}, 0, err
	}
	if x >= e.kp.n {
		return ref{}, 0, g.damaged(r, fmt.Errorf("labels of an edge: %w", tracefmt.ErrMalformed))
	}
	return ref{e.from, e.kp.get(x)}, e.part, nil
}

// moreLabel returns a further producer of what an access reads in execution k, or none if
// there is none.
func (g *Graph) moreLabel(r *record, m moreView, k uint64) (ref, part16, error) {
	s := &r.slots[m.slot]
	x := k - r.span.began
	if x >= r.span.n {
		return ref{}, 0, nil
	}
	if err := g.align(r, s, true); err != nil || s.owner[x] == 0 {
		return ref{}, 0, err
	}
	return g.labelOf(r, &s.edges[s.owner[x]-1], uint64(s.place[x]))
}
