package wet

import (
	"fmt"
	"math/bits"

	"hindsight/tracefmt"
)

// Which statement last defined a register follows from the control flow, because the code
// of each path determines which registers it defines. The labels of registers are
// therefore not in the file. For each thread, the file has the control flow, the
// statements that had defined the registers before the epoch, and the registers that
// outside statements and environment calls set. A reader follows a thread through an
// epoch once.

// regSet has the registers that an outside statement or an environment call left defined.
type regSet struct {
	at    uint64 // timestamp of the first execution after it
	regs  uint64 // as bits
	group ref
	ran   uint64 // its timestamp
}

const regSetBytes = 40

// defined records that the thread's group set a register.
func (t *thread) defined(r uint8) (grown uint64) {
	t.fresh |= 1 << r
	if n := len(t.sets); n > 0 && t.sets[n-1].at == t.times && t.sets[n-1].group == t.group {
		t.sets[n-1].regs |= 1 << r
		return 0
	}
	t.sets = append(t.sets, regSet{t.times, 1 << r, t.group, t.groupRan})
	return regSetBytes
}

// hold records the state at the beginning of the next epoch.
func (t *thread) hold() {
	for r := range t.regs {
		t.held[r] = ref{t.regs[r].src, t.regs[r].k}
	}
	t.flow, t.sets, t.fresh, t.asked = t.flow[:0], t.sets[:0], 0, 0
	t.heldControl, t.oldControl, t.unusual = t.control, refSeq{}, t.unusual[:0]
}

// thread writes what a thread executed in the epoch, in order, and the registers
// that paths do not define.
//
//	thread = uvarint stream of the flow, held older sets controls
//	held   = uvarint n, each: uvarint register, from, uvarint producer
//	older  = uvarint n, each: from, uvarint producer
//	sets   = uvarint n, then of all the Δ timestamps, the registers and the lags
func (p *part) thread(t *thread, nodes map[NodeID]uint32, size *sizes) {
	before := len(p.records) + p.bytes
	flow := make([]uint32, len(t.flow))
	for i, n := range t.flow {
		flow[i] = nodes[n]
	}
	p.uvarint(uint64(len(p.streams)))
	code := encodeFlow(flow, len(nodes))
	p.streams = append(p.streams, code)
	p.bytes += len(code)
	size.times.Tier1 += 4 * uint64(len(flow))
	size.times.Tier2 += uint64(len(p.records) + p.bytes - before)

	before = len(p.records) + p.bytes
	n := 0
	for r := range t.held {
		if t.asked>>r&1 != 0 && t.held[r].src != 0 {
			n++
		}
	}
	p.uvarint(uint64(n))
	for r, by := range t.held {
		if t.asked>>r&1 != 0 && by.src != 0 {
			p.uvarint(uint64(r))
			p.from(uint32(t.id), 0, by.src)
			p.uvarint(by.k)
		}
	}
	p.sets(t)
	p.controls(t)
	size.edges.Tier2 += uint64(len(p.records) + p.bytes - before)
}

// sets writes the registers that outside statements set. The lag of a set is how long ago
// its statement ran. 0 stands for the next one of those that ran in earlier epochs.
func (p *part) sets(t *thread) {
	var times, regs, lags seq
	var older []ref
	at := t.began
	for _, s := range t.sets {
		if s.at == t.times {
			break // the next epoch has them
		}
		times.add(s.at - at)
		at = s.at
		regs.add(s.regs)
		if s.ran < t.began {
			older = append(older, s.group)
			lags.add(0)
		} else {
			lags.add(s.at - s.ran)
		}
	}
	p.uvarint(uint64(len(older)))
	for _, by := range older {
		p.from(uint32(t.id), 0, by.src)
		p.uvarint(by.k)
	}
	var none Size
	for _, x := range []*seq{&times, &regs, &lags} {
		p.seq(x, 8, &none)
	}
}

// flow is the control flow of a thread in an epoch.
type flow struct {
	steps   []flowStep // by execution
	times   []uint32   // node by node: when it was executed
	first   []uint32   // by node: where its part of times begins
	derived *derived
	used    uint64
}

// flowStep is an execution: its node, as an index into threadEpoch.spans, and the number
// of its earlier executions in the epoch.
type flowStep struct{ span, k uint32 }

func (f *flow) bytes() uint64 {
	n := flowNodeBytes * uint64(len(f.steps))
	if f.derived != nil {
		n += f.derived.bytes()
	}
	return n
}

// derived has the labels that follow from the control flow: of registers that are live on
// entry, and of what decides about blocks.
type derived struct {
	labels []uint32 // node by node, slot by slot, execution by execution
	first  []uint32 // by node: where its labels begin
	held   []ref    // by register, then further ones of earlier epochs
	from   []leaver // by node

	// For an execution that calls, when the thread continued in its frame (see
	// controlWalk.move); when frames of earlier epochs were left; and how many of this
	// epoch were open at its end.
	back    []uint32
	outer   []uint32
	open    int
	entered []int32 // what happened to frames before its first execution
}

// leaver leads from a label to a statement of a node.
type leaver struct {
	src    src // of statement 0
	began  uint64
	leaves *[64]uint32 // by register
	last   uint32      // statement
}

func (v *derived) bytes() uint64 { return 4 * uint64(len(v.labels)+len(v.back)+len(v.outer)) }

// A derived label is an execution in the epoch whose code left the register defined or
// made the decision, or after which an outside statement set the register, or which
// called. Or it is an index into what earlier epochs left.
const (
	regLeft   = 0 << 30
	regSetBy  = 1 << 30
	regHeld   = 2 << 30
	regNobody = 3 << 30
	regPlace  = 1<<30 - 1
)

// threadRecord is what a file has about a thread apart from its nodes.
func (g *Graph) threadRecord(te *threadEpoch) (*loaded, decoder, error) {
	e := g.epochs[te.epoch]
	p, err := g.part(e, te.place.part)
	if err != nil {
		return nil, decoder{}, err
	}
	if te.place.offset > uint64(len(p.records)) {
		return nil, decoder{}, g.damagedThread(te, fmt.Errorf("place of a thread: %w", tracefmt.ErrMalformed))
	}
	return p, decode(p.records[te.place.offset:]), nil
}

func (g *Graph) damagedThread(te *threadEpoch, err error) error {
	h := g.epochs[te.epoch].parts[te.place.part]
	return tracefmt.Corrupt(h.Offset, h.Kind, err)
}

// flow decodes the control flow of a thread in an epoch.
func (g *Graph) flow(te *threadEpoch) (*flow, error) {
	g.cache.clock++
	if te.flow != nil {
		te.flow.used = g.cache.clock
		return te.flow, nil
	}
	code, err := g.flowCode(te)
	if err != nil {
		return nil, err
	}
	f, err := te.decodeFlow(code)
	if err != nil {
		return nil, g.damagedThread(te, err)
	}
	f.used = g.cache.clock
	te.flow = f
	g.cache.used += f.bytes()
	return f, nil
}

// flowCode returns the code of a thread's control flow in an epoch.
func (g *Graph) flowCode(te *threadEpoch) ([]byte, error) {
	p, d, err := g.threadRecord(te)
	if err != nil {
		return nil, err
	}
	at := d.Uvarint()
	if d.Err != nil || at >= uint64(len(p.streams)) {
		return nil, g.damagedThread(te, fmt.Errorf("number of a stream: %w", tracefmt.ErrMalformed))
	}
	return p.streams[at], nil
}

func (te *threadEpoch) decodeFlow(code []byte) (*flow, error) {
	f := &flow{steps: make([]flowStep, te.n), times: make([]uint32, te.n), first: make([]uint32, len(te.spans)+1)}
	for i, s := range te.spans {
		f.first[i+1] = f.first[i] + uint32(s.n)
	}
	next := make([]uint32, len(te.spans))
	copy(next, f.first)
	x := uint32(0)
	err := decodeFlow(code, len(te.spans), te.n, func(i uint32) bool {
		k := next[i]
		if k >= f.first[i+1] {
			return false
		}
		next[i] = k + 1
		f.steps[x], f.times[k] = flowStep{i, k - f.first[i]}, x
		x++
		return true
	})
	return f, err
}

// time returns the timestamp of an execution of a node in the epoch.
func (f *flow) time(s *span, k uint64) uint64 {
	return s.te.began + uint64(f.times[uint64(f.first[s.index])+k-s.began])
}

// infer computes the labels of a thread in an epoch that follow from its control flow.
func (g *Graph) infer(te *threadEpoch) (*flow, error) {
	f, err := g.flow(te)
	if err != nil || f.derived != nil {
		return f, err
	}
	v, sets, ctl, err := g.readThread(te)
	if err != nil {
		return nil, err
	}
	total := uint64(0)
	regs := make([]regPlan, len(te.spans))
	w := controlWalk{plans: make([]controlPlan, len(te.spans)), unusual: ctl.unusual, last: regNobody}
	for i, s := range te.spans {
		t := g.template(s.node)
		v.first = append(v.first, uint32(total))
		at := total + s.n*uint64(len(t.liveIn))
		total = at + s.n*uint64(t.ctlSlots)
		if total > regPlace {
			return nil, g.damagedThread(te, fmt.Errorf("number of labels: %w", tracefmt.ErrMalformed))
		}
		regs[i] = regPlan{at: v.first[i], n: uint32(s.n), in: t.liveIn, out: t.outs()}
		row := &g.rows[s.node]
		w.plans[i] = controlPlan{
			at: uint32(at), n: uint32(s.n), path: t.Kind == NodePath, slots: t.ctlSlots,
			deciders: row.deciders, decides: row.decides, ops: t.frameOps(),
		}
	}
	if ctl.last.src != 0 {
		w.last = regHeld | uint32(len(v.held))
	}
	v.held = append(v.held, ctl.last)
	w.old = regHeld | uint32(len(v.held))
	v.held = append(v.held, ctl.old...)
	w.oldEnd = regHeld | uint32(len(v.held))
	v.from = g.leavers(te)
	v.labels = make([]uint32, total)
	w.labels, w.back = v.labels, make([]uint32, te.n)
	follow(f, v, regs, sets, &w)
	w.finish()
	v.back, v.outer, v.open, v.entered = w.back, w.outer, max(len(w.frames.list)-1, 0), ctl.entered
	if w.bad {
		return nil, g.damagedThread(te, fmt.Errorf("number of decisions: %w", tracefmt.ErrMalformed))
	}
	f.derived = v
	if te.flow == f {
		g.cache.used += v.bytes()
	}
	return f, nil
}

// leavers returns the leavers of the nodes of an epoch.
func (g *Graph) leavers(te *threadEpoch) []leaver {
	list := make([]leaver, len(te.spans))
	for i, s := range te.spans {
		t := g.template(s.node)
		list[i] = leaver{srcOf(te.thread, s.node, 0), s.began, &t.leaves, uint32(len(t.Stmts) - 1)}
	}
	return list
}

// regPlan is what the labels of registers need to know about a node.
type regPlan struct {
	at, n   uint32
	in, out []uint8
}

// setView is a regSet as in the file: at is counted from the epoch's beginning, and label
// is the label of the registers.
type setView struct {
	at    uint64
	regs  uint64
	label uint32
}

// regWalk follows which statement last defined each register.
type regWalk struct {
	last [64]uint32 // labels
	sets []setView  // sets that are still to come
}

func newRegWalk(v *derived, sets []setView) *regWalk {
	w := &regWalk{sets: sets}
	for r := range w.last {
		w.last[r] = regNobody
		if v.held[r].src != 0 {
			w.last[r] = regHeld | uint32(r)
		}
	}
	return w
}

// enter applies what was set before execution x.
func (w *regWalk) enter(x uint64) {
	for len(w.sets) > 0 && w.sets[0].at == x {
		for m := w.sets[0].regs; m != 0; m &= m - 1 {
			w.last[bits.TrailingZeros64(m)] = w.sets[0].label
		}
		w.sets = w.sets[1:]
	}
}

// follow walks over the epoch in the thread's order.
func follow(f *flow, v *derived, plans []regPlan, sets []setView, w *controlWalk) {
	regs := newRegWalk(v, sets)
	for x, at := range f.steps {
		regs.enter(uint64(x))
		p := &plans[at.span]
		to := p.at + at.k
		for _, r := range p.in {
			v.labels[to] = regs.last[r&63]
			to += p.n
		}
		for _, r := range p.out {
			regs.last[r&63] = uint32(x)
		}
		w.step(uint32(x), at.span, at.k)
	}
}

// readThread reads the statements that had defined registers before the epoch, what
// outside statements set in it, and what does not follow from the control flow about
// control dependences.
func (g *Graph) readThread(te *threadEpoch) (*derived, []setView, controlView, error) {
	var ctl controlView
	p, d, err := g.threadRecord(te)
	if err != nil {
		return nil, nil, ctl, err
	}
	v := &derived{held: make([]ref, 64)}
	own := &span{thread: te.thread}
	d.Uvarint() // the flow
	for range d.Count(5, "number of registers") {
		r := d.Max(63, "register")
		v.held[r] = ref{d.from(own), d.Uvarint()}
	}
	for range d.Count(4, "number of statements") {
		v.held = append(v.held, ref{d.from(own), d.Uvarint()})
	}
	sets, err := d.sets(p, te, len(v.held))
	if err == nil {
		ctl, err = d.controls(p, te, own)
	}
	if err == nil {
		err = d.Err
	}
	if err != nil {
		err = g.damagedThread(te, fmt.Errorf("thread %d: %w", te.thread, err))
	}
	return v, sets, ctl, err
}

// sets reads what outside statements set.
func (d *decoder) sets(p *loaded, te *threadEpoch, held int) ([]setView, error) {
	var cols [3]*numbers
	for i := range cols {
		cols[i] = d.numbers(p, 64*(te.n+1))
		if cols[i].n != cols[0].n {
			d.Fail("number of registers that were set")
		}
		if d.Err != nil {
			return nil, d.Err
		}
		if _, err := cols[i].open(); err != nil {
			return nil, err
		}
	}
	var sets []setView
	at, older := uint64(0), 64
	for i := range cols[0].n {
		at += cols[0].get(i)
		lag := cols[2].get(i)
		s := setView{at: at, regs: cols[1].get(i), label: regSetBy | uint32(at-lag)}
		if lag == 0 {
			s.label = regHeld | uint32(older)
			older++
		}
		if at >= te.n || cols[0].get(i) > te.n || lag > at || older > held {
			return nil, fmt.Errorf("registers that were set: %w", tracefmt.ErrMalformed)
		}
		sets = append(sets, s)
	}
	return sets, nil
}

// follows reports whether the labels of a slot follow from the control flow.
func (t *template) follows(slot int) bool {
	return slot < len(t.liveIn) || slot >= len(t.liveIn)+t.reads && slot < t.slots()
}

// derivedLabel returns label k of a slot whose labels follow from the control flow.
func (g *Graph) derivedLabel(r *record, slot int, k uint64) (ref, error) {
	te := r.span.te
	f := te.flow
	if f == nil && slot < len(r.tmpl.liveIn) {
		if w, err := g.steps(te); w != nil || err != nil {
			if err != nil {
				return ref{}, err
			}
			return g.stepLabel(w, r.span, slot, k)
		}
	}
	if f == nil || f.derived == nil {
		var err error
		if f, err = g.infer(te); err != nil {
			return ref{}, err
		}
	}
	f.used = g.cache.clock
	return g.derivedBy(f, r.span, r.tmpl, slot, k), nil
}

func (g *Graph) derivedBy(f *flow, s *span, t *template, slot int, k uint64) ref {
	v := f.derived
	row := slot
	if slot >= len(t.liveIn) {
		row -= t.reads
	}
	x := v.labels[uint64(v.first[s.index])+uint64(row)*s.n+k-s.began]
	switch x &^ regPlace {
	case regNobody:
		return ref{}
	case regHeld:
		return v.held[x&regPlace]
	}
	if slot >= len(t.liveIn) {
		return g.controlBy(f, s, t, slot, x)
	}
	step := f.steps[x&regPlace]
	by := &v.from[step.span]
	stmt := by.last
	if x < regSetBy {
		stmt = by.leaves[t.liveIn[slot]&63]
	}
	return ref{by.src + src(stmt), by.began + uint64(step.k)}
}

// outs returns the registers that the node leaves defined.
func (t *template) outs() []uint8 {
	list := make([]uint8, len(t.liveOuts))
	for i := range list {
		list[i] = t.liveOuts[i].reg
	}
	return list
}

// derivedEdges finds the edges of a slot whose labels follow from the control flow, to
// find the users of what a statement left.
func (g *Graph) derivedEdges(r *record, slot int) error {
	s := &r.slots[slot]
	if s.edges != nil {
		return nil
	}
	index := map[src]int{}
	for x := range r.span.n {
		by, err := g.derivedLabel(r, slot, r.span.began+x)
		if err != nil {
			return err
		}
		i, ok := index[by.src]
		if !ok {
			i = len(s.edges)
			index[by.src] = i
			s.edges = append(s.edges, edgeView{from: by.src, kc: &numbers{form: formStream}, kp: &numbers{form: formStream}})
		}
		e := &s.edges[i]
		e.kc.raw = append(e.kc.raw, r.span.began+x)
		e.kp.raw = append(e.kp.raw, by.k)
		e.kc.n++
		e.kp.n++
	}
	g.charge(r, 16*r.span.n)
	return nil
}
