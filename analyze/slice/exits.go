package slice

import (
	"slices"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
	"hindsight/wpp/cfg"
)

// The decision that ended a loop. What follows a loop is not control dependent
// on it, however it ends; but which of the values that its turns made is the one
// that is used afterwards, the decision to leave says. So a use outside of a
// loop of what was defined in it depends on the branch by which the thread left
// that loop, in the frame of the definition: in `while (v[i] != key) i++; out =
// i;` on the comparison with the v[i] that is key. Of memory that counts for
// what each turn writes at the same place; a loop over an array makes each
// element once, and how it ended says nothing about one of them.

// exits finds the decisions that ended loops.
type exits struct {
	g     Graph
	prog  *cfg.Program
	loops map[definition][]*cfg.Loop
	known map[activation]map[uint64]wet.Instance // by time of a definition
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
	return &exits{g, prog, map[definition][]*cfg.Loop{}, map[activation]map[uint64]wet.Instance{}}
}

// blockOf is the static block that a statement of a path is in.
func (x *exits) blockOf(n *wet.Node, stmt uint32) (cfg.Ref, bool) {
	return x.prog.Find(n.Blocks[n.Stmts[stmt].Block].PC)
}

// around are the loops that a definition is in and that say which of its values
// remains, inner ones first.
func (x *exits) around(node wet.NodeID, stmt uint32, memory bool) []*cfg.Loop {
	d := definition{wet.Site{Node: node, Stmt: stmt}, memory}
	loops, ok := x.loops[d]
	if !ok {
		loops = x.find(d)
		x.loops[d] = loops
	}
	return loops
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
	at, ok := x.blockOf(n, d.site.Stmt)
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

// samePlace tells whether a store writes to the same place in each turn of a
// loop: its base register is not written in the loop, or by the code alone.
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

// constant tells whether a register has a value at pc that the instructions of
// its block make from nothing.
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

// preserved tells the registers that a call leaves as they are.
func preserved(reg uint8) bool {
	return reg == 2 || reg == 3 || reg == 4 || reg == 8 || reg == 9 || reg >= 18 && reg <= 27
}

// decided calls tell with the decisions that ended the loops, from inner to
// outer ones, in which from defined what to uses.
func (x *exits) decided(from, to wet.Instance, kind wet.DepKind, tell func(wet.Instance) error) error {
	if kind != wet.DepRegister && kind != wet.DepMemory {
		return nil
	}
	loops := x.around(from.Node, from.Stmt, kind == wet.DepMemory)
	if len(loops) == 0 {
		return nil
	}
	toNode := x.g.Node(to.Node)
	fromAt, _ := x.blockOf(x.g.Node(from.Node), from.Stmt)
	var toAt cfg.Ref
	inside := false
	if toNode.Kind == wet.NodePath {
		toAt, inside = x.blockOf(toNode, to.Stmt)
		inside = inside && toAt.Func == fromAt.Func
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

// left finds the statement by which a thread left a loop after an instance in
// it, in the same frame; not ok when it did not before the place limit of the
// run, or by no edge of the function.
func (x *exits) left(from wet.Instance, fn uint32, l *cfg.Loop, limit uint64) (wet.Instance, bool, error) {
	began, err := x.g.Time(from.Thread, from.Node, from.K)
	if err != nil {
		return wet.Instance{}, false, err
	}
	known := x.known[activation{from.Thread, l}]
	if known == nil {
		known = map[uint64]wet.Instance{}
		x.known[activation{from.Thread, l}] = known
	}
	f := follower{x: x, fn: fn, loop: l}
	block := x.g.Node(from.Node).Stmts[from.Stmt].Block
	for e, err := range x.g.Forward(from.Thread, began) {
		if err != nil {
			return wet.Instance{}, false, err
		}
		if x.g.Order(from.Thread, e.Time) > limit {
			return wet.Instance{}, false, nil
		}
		if exit, ok := known[e.Time]; ok && f.inFrame(x.g.Node(e.Node)) && block < 0 {
			known[began] = exit
			return exit, true, nil
		}
		stmt, state := f.step(x.g.Node(e.Node), block)
		block = -1
		switch state {
		case gone:
			return wet.Instance{}, false, nil
		case leftHere:
			f.last = wet.Instance{Thread: from.Thread, Node: e.Node, K: e.K, Stmt: stmt}
			fallthrough
		case leftBefore:
			if f.last.Node != from.Node || f.last.K != from.K {
				known[began] = f.last // of another execution: every definition of this one in the loop has it
			}
			return f.last, true, nil
		case inLoop:
			f.last = wet.Instance{Thread: from.Thread, Node: e.Node, K: e.K, Stmt: stmt}
		}
	}
	return wet.Instance{}, false, nil
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

// inFrame tells whether an execution that begins now is of the frame itself.
func (f *follower) inFrame(n *wet.Node) bool {
	if n.Kind != wet.NodePath {
		return false
	}
	if f.returns {
		return len(f.stack.Frames) > 0 && f.stack.Frames[0] == n.Blocks[0].PC && len(f.stack.Frames) == 1
	}
	return len(f.stack.Frames) == 0
}

// step follows an execution of a node, from one of its blocks on (below 0: the
// first).
func (f *follower) step(n *wet.Node, block int) (uint32, progress) {
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
		at, state = f.blocks(n, max(block, 0))
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
func (f *follower) blocks(n *wet.Node, from int) (uint32, progress) {
	for b := from; b < len(n.Blocks); b++ {
		ref, ok := f.x.prog.Find(n.Blocks[b].PC)
		if !ok || ref.Func != f.fn {
			return 0, gone
		}
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

// local are the decisions that ended loops between two statements of one
// execution: known from the code.
func (x *exits) local(node wet.NodeID, from, to uint32) (stmts []uint32) {
	n := x.g.Node(node)
	at, ok := x.blockOf(n, to)
	for _, l := range x.around(node, from, false) {
		if fromAt, _ := x.blockOf(n, from); ok && at.Func == fromAt.Func && l.Has(int(at.Block)) {
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
