package artifact

import (
	"errors"

	"hindsight/cdr"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// point is an executed instruction.
type point struct {
	thread event.ThreadID
	block  uint64 // block execution of the thread
	inst   int
}

// nodeKey is an executed instruction and the part of it that matters: everything, or only
// the address it accessed.
type nodeKey struct {
	point
	address bool
}

// node is an instruction in the dependence graph. Its dependences are found when they are
// first needed.
type node struct {
	nodeKey
	data    []edge
	control []edge
	// read is the execution, if this is a racy read. The value it obtained is not
	// followed.
	read *exec
	// missing says why its data flow is incomplete, or is "".
	missing             string
	hasData, hasControl bool
	addr, size          uint64 // that it accesses; 0 if unknown
}

// edge leads to what an instruction depends on.
type edge struct {
	to    int32
	kind  edgeKind
	doubt bool // the dependence may not exist
}

type edgeKind uint8

const (
	viaRegister edgeKind = iota
	viaMemory
	viaControl
)

// graph is the part of the run's dependences that was examined. An instruction depends on
// those that computed its operands, a load on the stores that it read from, and every
// instruction on the branch that led to it. The graph grows as it is walked. Edges lead
// into the past.
type graph struct {
	// canceled says why to stop looking, nil: go on.
	canceled func() error
	trace    *cdr.Trace
	code     *code
	index    *index
	history  []*cdr.History
	nodes    []node
	ids      map[nodeKey]int32
	budget   int // searches left for the present race
	steps    int
	counted  int // of index.compared
}

// comparedStep is the number of records that may be compared for one step.
const comparedStep = 256

var errBudget = errors.New("the data flow is too long")

// maxNodes limits the memory of the graph.
const maxNodes = 2 << 20

func newGraph(canceled func() error, t *cdr.Trace, c *code, x *index) (*graph, error) {
	g := &graph{canceled: canceled, trace: t, code: c, index: x, ids: map[nodeKey]int32{}}
	for _, th := range t.Threads() {
		h, err := t.History(th.ID, c.marks)
		if err != nil {
			return nil, err
		}
		g.history = append(g.history, h)
	}
	return g, nil
}

// spend counts a search in the trace.
func (g *graph) spend() error {
	if g.steps++; g.steps&0xff == 0 {
		if err := g.canceled(); err != nil {
			return err
		}
	}
	if g.index.compared > g.counted+comparedStep { // comparing records takes time too
		n := (g.index.compared - g.counted) / comparedStep
		g.counted += n * comparedStep
		g.steps, g.budget = g.steps+n, g.budget-n
	}
	if g.budget--; g.budget < 0 || len(g.nodes) > maxNodes {
		return errBudget
	}
	return nil
}

func (g *graph) id(k nodeKey) int32 {
	id, ok := g.ids[k]
	if !ok {
		id = int32(len(g.nodes))
		g.nodes = append(g.nodes, node{nodeKey: k})
		g.ids[k] = id
	}
	return id
}

// block returns a block execution and its code.
func (g *graph) block(th event.ThreadID, n uint64) (cdr.CodeBlock, *block, error) {
	b, err := g.history[th].Block(n)
	if err != nil {
		return b, nil, err
	}
	return b, g.code.block(&b), nil
}

// start returns the node of an access whose address matters.
func (g *graph) start(x *exec) (int32, error) {
	p, err := g.place(x)
	if err != nil {
		return 0, err
	}
	return g.id(nodeKey{p, true}), nil
}

// place finds the instruction of an execution.
func (g *graph) place(x *exec) (point, error) {
	th := x.thread()
	if err := g.spend(); err != nil {
		return point{}, err
	}
	if x.event {
		p, ok, err := g.eventPoint(th, x.ordinal)
		if err == nil && !ok {
			err = errCode
		}
		return p, err
	}
	n, err := g.history[th].Execution(x.site, x.ordinal)
	if err != nil {
		return point{}, err
	}
	b, d, err := g.block(th, n)
	if err != nil {
		return point{}, err
	}
	for i, at := range d.sites {
		if at >= 0 && b.Sites[at] == x.site {
			return point{th, n, i}, nil
		}
	}
	return point{}, errCode
}

var errCode = errors.New("the program in the trace is not the one that was recorded")

// dataOf returns the edges of a node along data.
func (g *graph) dataOf(id int32) ([]edge, error) {
	if !g.nodes[id].hasData {
		out, err := g.findData(id)
		if err != nil {
			return nil, err
		}
		g.nodes[id].data, g.nodes[id].hasData = out, true
	}
	return g.nodes[id].data, nil
}

// findData finds what the operands of an instruction depend on.
func (g *graph) findData(id int32) ([]edge, error) {
	k := g.nodes[id].nodeKey
	b, d, err := g.block(k.thread, k.block)
	if err != nil {
		return nil, err
	}
	if d.bad || k.inst >= len(d.insts) {
		g.nodes[id].missing = errCode.Error()
		return nil, nil
	}
	i := d.insts[k.inst]
	var out []edge
	uses := i.Uses().Regs
	access, size, plain := i.Mem()
	switch {
	case plain && k.address:
		uses = 1 << i.Rs1 &^ 1
	case k.address && i.Atomic():
		uses = 1 << i.Rs1 &^ 1
	case k.address: // the call of free
		uses = 1 << regA0
	case i.Atomic():
		return nil, nil // values that pass through atomic variables are not followed
	case plain && access == event.Read:
		if out, err = g.loaded(id, &b, d, uint64(size)); err != nil {
			return nil, err
		}
	}
	for r := 1; uses>>r != 0; r++ {
		if uses>>r&1 == 0 {
			continue
		}
		to, ok, err := g.definition(k.point, r)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, edge{to: g.id(nodeKey{point: to}), kind: viaRegister})
		}
	}
	return out, nil
}

// definition returns the instruction that computed the value of register r at a point. ok
// is false if no instruction in the trace did.
func (g *graph) definition(p point, r int) (point, bool, error) {
	h := g.history[p.thread]
	_, d, err := g.block(p.thread, p.block)
	if err != nil {
		return point{}, false, err
	}
	if i := d.lastDef(p.inst, r); i >= 0 {
		return point{p.thread, p.block, i}, true, nil
	}
	n := p.block
	for {
		if err := g.spend(); err != nil {
			return point{}, false, err
		}
		m, ok, err := h.LastMarked(n, wpp.Marks{1 << r, 0})
		if err != nil {
			return point{}, false, err
		}
		if !ok {
			return g.argument(p.thread, r)
		}
		_, d, err := g.block(p.thread, m)
		if err != nil {
			return point{}, false, err
		}
		hooked, err := g.hookedAt(p.thread, m, d)
		if err != nil {
			return point{}, false, err
		}
		if hooked && clobbered>>r&1 != 0 {
			return point{}, false, nil // the result of a lock or of malloc
		}
		if i := d.lastDef(len(d.insts), r); i >= 0 {
			return point{p.thread, m, i}, true, nil
		}
		n = m
	}
}

// lastDef returns the last instruction before index that defines r, or -1.
func (d *block) lastDef(before, r int) int {
	for i := min(before, len(d.insts)) - 1; i >= 0; i-- {
		if defs(d.insts[i])>>r&1 != 0 {
			return i
		}
	}
	return -1
}

// hookedAt reports whether block execution n ended with a call of a hooked function,
// which is an event without blocks.
func (g *graph) hookedAt(th event.ThreadID, n uint64, d *block) (bool, error) {
	if len(d.pcs) == 0 || !g.code.hooked[d.pcs[len(d.pcs)-1]] {
		return false, nil
	}
	h := g.history[th]
	before, err := h.Segment(n)
	if err != nil {
		return false, err
	}
	after, err := h.Segment(n + 1)
	return after > before, err
}

// argument returns the argument of a thread: the value of its creator's a3 when it called
// pthread_create.
func (g *graph) argument(th event.ThreadID, r int) (point, bool, error) {
	if r != regA0 {
		return point{}, false, nil
	}
	p, ok, err := g.creation(th)
	if !ok || err != nil {
		return point{}, false, err
	}
	return g.definition(p, regA0+3)
}

// creation returns the call that created a thread.
func (g *graph) creation(th event.ThreadID) (point, bool, error) {
	c, ok := g.index.creates[th]
	if !ok || int(c.thread) >= len(g.history) {
		return point{}, false, nil
	}
	return g.eventPoint(c.thread, c.index)
}

// eventPoint returns the instruction of an event: an atomic access, or the call of a
// hooked function.
func (g *graph) eventPoint(th event.ThreadID, index uint64) (point, bool, error) {
	n, err := g.history[th].EventPoint(index)
	if err != nil || n == 0 {
		return point{}, false, err
	}
	return g.last(th, n-1)
}

// controlOf returns the edge of a node to what it is control dependent on.
func (g *graph) controlOf(id int32) ([]edge, error) {
	if !g.nodes[id].hasControl {
		p, ok, err := g.decider(g.nodes[id].point)
		if err != nil {
			return nil, err
		}
		var out []edge
		if ok {
			out = []edge{{to: g.id(nodeKey{point: p}), kind: viaControl}}
		}
		g.nodes[id].control, g.nodes[id].hasControl = out, true
	}
	return g.nodes[id].control, nil
}

// maxMismatch is the number of executions of deciding branches that went the other way
// and are skipped.
const maxMismatch = 64

// decider returns what decided that the instruction at a point was executed: the last
// branch before it, in the same activation of the function, on which it is control
// dependent. If there is none, that is the call of the function, and for the first
// function of a thread the call that created the thread.
func (g *graph) decider(p point) (point, bool, error) {
	h := g.history[p.thread]
	_, d, err := g.block(p.thread, p.block)
	if err != nil || p.inst >= len(d.pcs) {
		return point{}, false, err
	}
	list := g.code.deciders(d.pcs[p.inst])
	call, called, err := h.Caller(p.block)
	if err != nil {
		return point{}, false, err
	}
	if len(list) > 0 {
		q, ok, err := g.branch(p, list, call, called)
		if ok || err != nil {
			return q, ok, err
		}
	}
	if q, ok, err := g.tail(p, d.pcs[p.inst], call, called); ok || err != nil {
		return q, ok, err
	}
	if !called {
		return g.creation(p.thread)
	}
	return g.last(p.thread, call)
}

// last returns the last instruction of a block execution.
func (g *graph) last(th event.ThreadID, n uint64) (point, bool, error) {
	_, d, err := g.block(th, n)
	if err != nil || len(d.insts) == 0 {
		return point{}, false, err
	}
	return point{th, n, len(d.insts) - 1}, true, nil
}

// tail returns the jump from another function by which the function of p was entered
// within the activation that call began.
func (g *graph) tail(p point, pc, call uint64, called bool) (point, bool, error) {
	h, f := g.history[p.thread], g.code.flow.FuncAt(pc)
	n := p.block
	for range maxMismatch {
		if err := g.spend(); err != nil {
			return point{}, false, err
		}
		m, ok, err := g.lastTail(p.thread, n)
		if err != nil || !ok || called && m <= call {
			return point{}, false, err
		}
		n = m
		q, _, err := g.last(p.thread, m)
		if err != nil {
			return point{}, false, err
		}
		next, err := h.Block(m + 1)
		if err != nil {
			return point{}, false, err
		}
		_, d, err := g.block(p.thread, m)
		if err != nil {
			return point{}, false, err
		}
		if g.code.flow.FuncAt(next.PC) != f || g.code.flow.FuncAt(d.pcs[q.inst]) == f {
			continue
		}
		c, ok, err := h.Caller(m)
		if err != nil {
			return point{}, false, err
		}
		if ok == called && c == call {
			return q, true, nil
		}
	}
	return point{}, false, errBudget
}

// lastTail returns the last block execution before n that may have jumped to another
// function.
func (g *graph) lastTail(th event.ThreadID, n uint64) (uint64, bool, error) {
	h := g.history[th]
	want := wpp.Marks{0, tailMark}
	m, ok, err := h.LastMarked(n, want)
	if !ok || err != nil {
		return m, ok, err
	}
	b, err := h.Block(m)
	if err != nil || !g.code.imprecise(&b) {
		return m, ok, err
	}
	for _, h := range g.history {
		h.Remark()
	}
	return h.LastMarked(n, want)
}

// branch finds the last execution of one of the branches before p in the
// activation that call began.
func (g *graph) branch(p point, list []decider, call uint64, called bool) (point, bool, error) {
	h := g.history[p.thread]
	want := wpp.Marks{}
	for _, x := range list {
		want[1] |= branchMark(x.pc)
	}
	n := p.block
	for range maxMismatch {
		if err := g.spend(); err != nil {
			return point{}, false, err
		}
		m, ok, err := h.LastMarked(n, want)
		if err != nil {
			return point{}, false, err
		}
		if !ok || called && m <= call {
			return point{}, false, nil
		}
		n = m
		match, err := g.decides(p.thread, m, list)
		if err != nil {
			return point{}, false, err
		}
		if !match {
			continue
		}
		c, ok, err := h.Caller(m)
		if err != nil {
			return point{}, false, err
		}
		if ok == called && c == call {
			return g.last(p.thread, m)
		}
	}
	return point{}, false, errBudget
}

// decides reports whether block execution m ended with one of the branches, and went in
// the deciding direction.
func (g *graph) decides(th event.ThreadID, m uint64, list []decider) (bool, error) {
	_, d, err := g.block(th, m)
	if err != nil || len(d.pcs) == 0 {
		return false, err
	}
	next, err := g.history[th].Block(m + 1)
	if err != nil {
		return false, err
	}
	for _, x := range list {
		if x.pc == d.pcs[len(d.pcs)-1] && x.to == next.PC {
			return true, nil
		}
	}
	return false, nil
}

// instruction returns the instruction of a node.
func (g *graph) instruction(id int32) (pc uint64, i rv.Inst, err error) {
	k := g.nodes[id].nodeKey
	_, d, err := g.block(k.thread, k.block)
	if err != nil || k.inst >= len(d.insts) {
		return 0, i, err
	}
	return d.pcs[k.inst], d.insts[k.inst], nil
}
