package slice

import (
	"slices"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
	"hindsight/wpp/cfg"
)

// The decision that ended a loop. What follows a loop is not control dependent on it,
// however it ends. But the decision to leave determines which of the values computed in
// the iterations is used afterwards. A use outside of a loop of what was defined in it
// therefore depends on the branch by which the thread left that loop, in the frame of the
// definition. In `while (v[i] != key) i++; out = i;` that is the comparison with the v[i]
// that is key. For memory, this applies to what each iteration writes at the same place.
// A loop over an array writes each element once, and how it ended says nothing about any
// of them.

// exits finds the decisions that ended loops.
type exits struct {
	g     Graph
	calls framed // nil if the graph does not implement it
	prog  *cfg.Program
	loops map[wet.NodeID][2][]loopsOf // by statement, for registers and for memory
	known map[activation]*turns
	nodes map[wet.NodeID][]cfg.Ref // their blocks; fewer if one is not the program's
}

// turns is what is known of a loop by the times of definitions in it: how it was left, or
// up to which later execution in the same frame it was not. A walk ends or jumps ahead
// where it meets one, so that all walks together visit each execution only a few times.
type turns struct {
	exit map[uint64]wet.Instance
	upTo map[uint64]uint64
}

// definition is a statement that defines something.
type definition struct {
	site   wet.Site
	memory bool
}

type activation struct {
	thread event.ThreadID
	loop   *cfg.Loop
}

func newExits(g Graph, prog *cfg.Program) *exits {
	if prog == nil {
		return nil
	}
	calls, _ := g.(framed)
	return &exits{g, calls, prog, map[wet.NodeID][2][]loopsOf{}, map[activation]*turns{}, map[wet.NodeID][]cfg.Ref{}}
}

// blockOf returns the static block of a statement of a path.
func (x *exits) blockOf(id wet.NodeID, stmt uint32) (cfg.Ref, bool) {
	n := x.g.Node(id)
	refs := x.blocks(id)
	if b := n.Stmts[stmt].Block; n.Kind == wet.NodePath && b < len(refs) {
		return refs[b], true
	}
	return cfg.Ref{}, false
}

// around returns the loops that contain a definition and determine which of its values
// remains, the inner ones first.
func (x *exits) around(node wet.NodeID, stmt uint32, memory bool) []*cfg.Loop {
	of, ok := x.loops[node]
	if !ok {
		n := len(x.g.Node(node).Stmts)
		of = [2][]loopsOf{make([]loopsOf, n), make([]loopsOf, n)}
		x.loops[node] = of
	}
	d := definition{wet.Site{Node: node, Stmt: stmt}, memory}
	l := &of[0][stmt]
	if memory {
		l = &of[1][stmt]
	}
	if !l.known {
		*l = loopsOf{x.find(d), true}
	}
	return l.list
}

type loopsOf struct {
	list  []*cfg.Loop
	known bool
}

func (x *exits) find(d definition) (loops []*cfg.Loop) {
	n := x.g.Node(d.site.Node)
	if n.Kind != wet.NodePath {
		return nil
	}
	s := &n.Stmts[d.site.Stmt]
	if _, static := s.Inst.Static(s.PC); static && !d.memory {
		return nil
	}
	at, ok := x.blockOf(d.site.Node, d.site.Stmt)
	if !ok {
		return nil
	}
	for _, l := range slices.Backward(x.prog.Func(at.Func).Loops()) {
		if l.Has(int(at.Block)) && (!d.memory || x.samePlace(at, s, l)) {
			loops = append(loops, l)
		}
	}
	return loops
}

// samePlace reports whether a store writes to the same place in each iteration of a loop:
// its base register is not written in the loop, or only with constants.
func (x *exits) samePlace(at cfg.Ref, s *wet.Stmt, l *cfg.Loop) bool {
	base := s.Inst.Rs1
	if x.constant(at, s.PC, base) {
		return true
	}
	blocks := x.prog.Func(at.Func).Blocks()
	for _, b := range l.Blocks {
		if end := blocks[b].End; (end == event.EndCall || end == event.EndCallInd) && !preserved(base) {
			return false
		}
		for _, i := range x.prog.Insts(cfg.Ref{Func: at.Func, Block: uint32(b)}) {
			if i.Defs().Has(int(base)) {
				return false
			}
		}
	}
	return true
}

// constant reports whether the value of a register at pc depends only on the code of its
// block.
func (x *exits) constant(at cfg.Ref, pc uint64, reg uint8) bool {
	var known rv.RegSet
	here := x.prog.Block(at).PC
	for _, i := range x.prog.Insts(at) {
		if here >= pc {
			break
		}
		_, static := i.Static(here)
		if rd, ok := i.Dest(); ok {
			if static || i.Op == rv.OpADDI && known.Has(int(i.Rs1)) {
				known.Regs |= 1 << rd
			} else {
				known.Regs &^= 1 << rd
			}
		}
		here += uint64(i.Len)
	}
	return known.Has(int(reg))
}

// preserved reports whether a call preserves a register.
func preserved(reg uint8) bool {
	return reg == 2 || reg == 3 || reg == 4 || reg == 8 || reg == 9 || reg >= 18 && reg <= 27
}

// decided calls tell with the decisions that ended the loops, from inner to outer ones,
// in which from defined what to uses.
func (x *exits) decided(from, to wet.Instance, kind wet.DepKind, tell func(wet.Instance) error) error {
	if kind != wet.DepRegister && kind != wet.DepMemory {
		return nil
	}
	loops := x.around(from.Node, from.Stmt, kind == wet.DepMemory)
	if len(loops) == 0 {
		return nil
	}
	fromAt, _ := x.blockOf(from.Node, from.Stmt)
	toAt, inside := x.blockOf(to.Node, to.Stmt)
	inside = inside && toAt.Func == fromAt.Func
	if inside && loops[0].Has(int(toAt.Block)) {
		return nil
	}
	end, err := x.g.Time(to.Thread, to.Node, to.K)
	if err != nil {
		return err
	}
	limit := x.g.Order(to.Thread, end)
	var last wet.Instance
	for _, l := range loops {
		if inside && l.Has(int(toAt.Block)) {
			return nil
		}
		e, ok, err := x.left(from, fromAt.Func, l, limit)
		if err != nil || !ok {
			return err
		}
		at, err := x.g.Time(e.Thread, e.Node, e.K)
		if err != nil {
			return err
		}
		o := x.g.Order(e.Thread, at)
		if o > limit || o == limit && e.Stmt >= to.Stmt {
			return nil
		}
		if e != last {
			if err := tell(e); err != nil {
				return err
			}
		}
		last = e
	}
	return nil
}

// left returns the statement by which a thread left a loop after an instance in it, in
// the same frame. ok is false if the thread did not leave it before position limit of the
// run, or not by an edge of the function.
func (x *exits) left(from wet.Instance, fn uint32, l *cfg.Loop, limit uint64) (wet.Instance, bool, error) {
	began, err := x.g.Time(from.Thread, from.Node, from.K)
	if err != nil {
		return wet.Instance{}, false, err
	}
	a := activation{from.Thread, l}
	known := x.known[a]
	if known == nil {
		known = &turns{map[uint64]wet.Instance{}, map[uint64]uint64{}}
		x.known[a] = known
	}
	w := loopWalk{
		turns: known, limit: limit, from: from, block: x.g.Node(from.Node).Stmts[from.Stmt].Block, passed: []uint64{began},
		follower: follower{x: x, fn: fn, loop: l},
	}
	for at := began; ; at = w.leap {
		exit, state, err := w.stretch(at)
		switch {
		case err != nil:
			return wet.Instance{}, false, err
		case state == elsewhere: // a leap
			continue
		case state == inLoop:
			for _, t := range w.passed {
				known.upTo[t] = w.lastTime
			}
			return wet.Instance{}, false, nil
		case state == gone:
			return wet.Instance{}, false, nil
		}
		if exit.Node != from.Node || exit.K != from.K {
			known.exit[began] = exit // of another execution: every definition of this one in the loop has it
		}
		for _, t := range w.passed[1:] {
			known.exit[t] = exit
		}
		return exit, true, nil
	}
}

// loopWalk walks from a definition to where its loop was left.
type loopWalk struct {
	*turns
	follower
	limit    uint64
	from     wet.Instance
	block    int      // of the first execution; then negative
	passed   []uint64 // executions in the frame, in the loop, from which the walk went on
	leap     uint64   // the execution to go on with
	lastTime uint64   // the last execution in the frame that was in the loop
}

// stretch walks until it knows how the loop was left, that it was not left up to the
// limit (inLoop), that this cannot be known (gone), or where to continue (elsewhere).
func (w *loopWalk) stretch(at uint64) (exit wet.Instance, state progress, err error) {
	if w.x.calls != nil {
		return w.inFrames(at)
	}
	for e, err := range w.x.g.Forward(w.from.Thread, at) {
		if err != nil {
			return exit, gone, err
		}
		if w.x.g.Order(w.from.Thread, e.Time) > w.limit {
			return exit, inLoop, nil
		}
		if exit, state, ok := w.met(e); ok {
			return exit, state, nil
		}
		stmt, state := w.step(w.x.g.Node(e.Node), e.Node, w.block)
		w.block = -1
		here := wet.Instance{Thread: w.from.Thread, Node: e.Node, K: e.K, Stmt: stmt}
		switch state {
		case gone, leftBefore:
			return w.last, state, nil
		case leftHere:
			return here, state, nil
		case inLoop:
			w.last, w.lastTime = here, e.Time
		}
	}
	return exit, gone, nil
}

// met uses what is known about the loop from an execution on.
func (w *loopWalk) met(e wet.Execution) (exit wet.Instance, state progress, ok bool) {
	if w.block >= 0 || e.Time == w.leap {
		return exit, state, false
	}
	if exit, ok := w.exit[e.Time]; ok && w.inTurn(e.Node) {
		return exit, leftHere, true
	}
	t, ok := w.upTo[e.Time]
	if !ok || t <= e.Time || !w.inTurn(e.Node) {
		return exit, state, false
	}
	w.passed = append(w.passed, e.Time)
	w.leap, w.lastTime = t, t
	if w.x.g.Order(w.from.Thread, t) > w.limit {
		return exit, inLoop, true
	}
	w.stack.Frames, w.returns = w.stack.Frames[:0], false
	return exit, elsewhere, true
}

// inFrames is stretch without the executions of callees.
func (w *loopWalk) inFrames(at uint64) (exit wet.Instance, state progress, err error) {
	th := w.from.Thread
	for {
		if w.x.g.Order(th, at) > w.limit {
			return exit, inLoop, nil
		}
		e, err := w.x.calls.Executed(th, at)
		if err != nil {
			return exit, gone, err
		}
		if exit, state, ok := w.met(e); ok {
			return exit, state, nil
		}
		n := w.x.g.Node(e.Node)
		if n.Kind != wet.NodePath {
			return exit, gone, nil
		}
		stmt, state := w.blocks(n, e.Node, max(w.block, 0))
		w.block = -1
		here := wet.Instance{Thread: th, Node: e.Node, K: e.K, Stmt: stmt}
		switch state {
		case gone, leftBefore:
			return w.last, state, nil
		case leftHere:
			return here, state, nil
		}
		w.last, w.lastTime = here, at
		ok := true
		switch n.Stmts[len(n.Stmts)-1].Inst.End() {
		case event.EndCall, event.EndCallInd:
			at, ok, err = w.x.calls.Returned(th, at)
		case event.EndReturn:
			ok = false
		default:
			at++
			if at >= w.times() {
				ok = false
			}
		}
		if err != nil || !ok {
			return exit, gone, err
		}
	}
}

// times returns the number of the thread's timestamps.
func (w *loopWalk) times() uint64 { return w.x.g.Threads()[w.from.Thread].Times }

// inTurn reports whether an execution that begins now is of the frame itself, and
// in the loop.
func (w *loopWalk) inTurn(id wet.NodeID) bool {
	refs := w.x.blocks(id)
	return w.inFrame(w.x.g.Node(id)) && len(refs) > 0 && refs[0].Func == w.fn && w.loop.Has(int(refs[0].Block))
}

// blocks returns the static blocks of a path.
func (x *exits) blocks(id wet.NodeID) []cfg.Ref {
	refs, ok := x.nodes[id]
	if !ok {
		for _, b := range x.g.Node(id).Blocks {
			ref, ok := x.prog.Find(b.PC)
			if !ok {
				break
			}
			refs = append(refs, ref)
		}
		x.nodes[id] = refs
	}
	return refs
}

// follower follows a frame through the executions of a thread.
type follower struct {
	x       *exits
	fn      uint32
	loop    *cfg.Loop
	stack   event.CallStack
	returns bool
	last    wet.Instance // the last statement of the frame in the loop
}

type progress uint8

const (
	elsewhere  progress = iota // in another frame
	inLoop                     // up to the statement at the end
	leftHere                   // by that statement
	leftBefore                 // by the last statement before the execution
	gone                       // the frame cannot be followed
)

// inFrame reports whether an execution that begins now is of the frame itself.
func (f *follower) inFrame(n *wet.Node) bool {
	if n.Kind != wet.NodePath {
		return false
	}
	if f.returns {
		return len(f.stack.Frames) > 0 && f.stack.Frames[0] == n.Blocks[0].PC && len(f.stack.Frames) == 1
	}
	return len(f.stack.Frames) == 0
}

// step follows an execution of a node from one of its blocks on; a negative block means
// the first.
func (f *follower) step(n *wet.Node, id wet.NodeID, block int) (uint32, progress) {
	if n.Kind == wet.NodeCall {
		f.returns = true
		return 0, elsewhere
	}
	if n.Kind != wet.NodePath {
		return 0, gone
	}
	if f.returns {
		f.returns = false
		if f.stack.Return(n.Blocks[0].PC) == 0 {
			return 0, gone
		}
	}
	at, state := uint32(len(n.Stmts)-1), elsewhere
	if len(f.stack.Frames) == 0 {
		at, state = f.blocks(n, id, max(block, 0))
		if state == leftHere || state == leftBefore || state == gone {
			return at, state
		}
	}
	last := &n.Stmts[len(n.Stmts)-1]
	switch last.Inst.End() {
	case event.EndCall, event.EndCallInd:
		f.stack.Call(last.PC + uint64(last.Inst.Len))
	case event.EndReturn:
		if len(f.stack.Frames) == 0 {
			return 0, gone
		}
		f.returns = true
	}
	return at, state
}

// blocks looks where the frame's path leaves the loop.
func (f *follower) blocks(n *wet.Node, id wet.NodeID, from int) (uint32, progress) {
	refs := f.x.blocks(id)
	for b := from; b < len(n.Blocks); b++ {
		if b >= len(refs) || refs[b].Func != f.fn {
			return 0, gone
		}
		ref := refs[b]
		if f.loop.Has(int(ref.Block)) {
			continue
		}
		if b == 0 {
			return 0, leftBefore
		}
		return uint32(n.Blocks[b].First - 1), leftHere
	}
	return uint32(len(n.Stmts) - 1), inLoop
}

// local calls tell with the decisions that ended loops between two statements of one
// execution, which are known from the code.
func (x *exits) local(node wet.NodeID, from, to uint32) (stmts []uint32) {
	n := x.g.Node(node)
	at, ok := x.blockOf(node, to)
	for _, l := range x.around(node, from, false) {
		if fromAt, _ := x.blockOf(node, from); ok && at.Func == fromAt.Func && l.Has(int(at.Block)) {
			return stmts
		}
		for b := n.Stmts[from].Block + 1; b <= n.Stmts[to].Block; b++ {
			ref, ok := x.prog.Find(n.Blocks[b].PC)
			if !ok {
				return stmts
			}
			if !l.Has(int(ref.Block)) {
				if s := uint32(n.Blocks[b].First - 1); !slices.Contains(stmts, s) {
					stmts = append(stmts, s)
				}
				break
			}
		}
	}
	return stmts
}
