package app

import (
	"slices"
)

// Limits of memory; see the package comment.
const (
	MaxDepth     = 1 << 16 // frames of call stack
	unwindLimit  = 1 << 12 // frames that are searched for a long jump
	maxUnknown   = 1 << 18 // blocks that the shell does not know
	maxLearnings = 1 << 18 // targets of exceptions, all together
)

// frame is an activation's caller.
type frame struct {
	ret    uint64
	call   *node  // nil when the frame comes from a checkpoint
	global uint32 // the caller's history, in intraprocedural mode
}

// walker follows control flow through the shell, coding each choice that the shell leaves
// open. Encoder and decoder take the same steps. The encoder is given the next block, and
// the decoder finds it.
type walker struct {
	opts  Options
	shell Shell
	m     *model

	nodes     map[uint64]*node
	unknown   int
	learnings int

	cur   *node // nil before the first block
	stack []frame

	ids   []uint64 // targets by identifier, in the asymmetric scheme
	idsOf map[uint64]uint32

	branches, exceptions uint64
}

func newWalker(shell Shell, opts Options, decoding bool) *walker {
	return &walker{
		opts: opts, shell: shell, m: newModel(&opts, decoding),
		nodes: map[uint64]*node{}, idsOf: map[uint64]uint32{},
	}
}

// restart discards what was learned, for a checkpoint. The current block and the return
// addresses stay.
func (w *walker) restart() {
	w.m.reset()
	for _, n := range w.nodes {
		n.forget()
	}
	for i := range w.stack {
		w.stack[i].global = w.m.globalMask
	}
	w.learnings, w.ids = 0, w.ids[:0]
	clear(w.idsOf)
}

// at returns the node of a block. It returns nil if too many blocks are unknown to the
// shell.
func (w *walker) at(pc uint64) *node {
	if n := w.nodes[pc]; n != nil {
		return n
	}
	b, ok := w.shell.Block(pc)
	if !ok {
		if w.unknown == maxUnknown {
			return nil
		}
		w.unknown++
	}
	n := &node{pc: pc, kind: b.Kind, ret: b.Return, outside: w.opts.Functions != nil && (!ok || !w.opts.chosen(b.Func))}
	switch need := targetsOf(b.Kind); {
	case !ok || b.Kind >= numKinds || len(b.Targets) < need:
		n.kind = Indirect
	case need > 0:
		copy(n.to[:], b.Targets)
	default:
		n.targets = slices.Compact(slices.Sorted(slices.Values(b.Targets)))
	}
	if w.opts.Functions != nil {
		w.narrow(n)
	}
	w.nodes[pc] = n
	return n
}

// admits reports whether there is room for a block.
func (w *walker) admits(pc uint64) bool {
	if w.unknown < maxUnknown || w.nodes[pc] != nil {
		return true
	}
	_, ok := w.shell.Block(pc)
	return ok
}

func targetsOf(k Kind) int {
	switch k {
	case Next, Call:
		return 1
	case Branch:
		return 2
	}
	return 0
}

// narrow removes functions that were not chosen from the shell: a call of one continues
// after the call, and a jump to one returns.
func (w *walker) narrow(n *node) {
	if n.kind != Call && n.kind != Next {
		return
	}
	b, ok := w.shell.Block(n.to[0])
	switch {
	case ok && w.opts.chosen(b.Func):
	case n.kind == Call:
		n.kind, n.to[0] = Next, n.ret
	default:
		n.kind = Return
	}
}

// reachable reports whether control can go from the current block to pc without
// an exception.
func (w *walker) reachable(pc uint64) bool {
	n := w.cur
	if n == nil {
		return false
	}
	switch n.kind {
	case Indirect, CallIndirect:
		if w.opts.Scheme == Asymmetric {
			_, ok := w.idsOf[pc]
			return ok
		}
		if _, ok := slices.BinarySearch(n.targets, pc); ok {
			return true
		}
	default:
		if w.foreseen(n, pc) {
			return true
		}
	}
	return slices.Contains(n.learned, pc)
}

// foreseen reports whether the shell lets control go from n, which is not of an
// indirect kind, to pc.
func (w *walker) foreseen(n *node, pc uint64) bool {
	switch n.kind {
	case Branch:
		return pc == n.to[0] || pc == n.to[1]
	case Return:
		return len(w.stack) > 0 && w.stack[len(w.stack)-1].ret == pc
	}
	return pc == n.to[0]
}

// quick does what reachable and step do in the simple case: from a block without
// exceptions, along an edge that was taken before. Otherwise it does nothing and
// returns false. Only encoders call it.
func (w *walker) quick(pc uint64) bool {
	n := w.cur
	if n == nil || len(n.learned) > 0 {
		return false
	}
	switch n.kind {
	case Branch:
		side, y := 0, uint32(1)
		if pc != n.to[0] {
			side, y = 1, 0
		}
		to := n.toNode[side]
		if pc != n.to[side] || to == nil || n.cond == nil {
			return false
		}
		w.branches++
		w.m.decide(n.cond, y)
		w.cur = to
	case Next, Call:
		to := n.toNode[0]
		if pc != n.to[0] || to == nil {
			return false
		}
		if n.kind == Call {
			w.push(n)
		}
		w.cur = to
	case Return:
		return len(w.stack) > 0 && w.stack[len(w.stack)-1].ret == pc && w.pop()
	default:
		return false
	}
	return true
}

// step codes where control goes from the current block, and goes there. In an encoder, pc
// must be reachable. In a decoder, step reports false if the input leads nowhere.
func (w *walker) step(pc uint64) bool {
	n := w.cur
	if n == nil {
		return false
	}
	if n.kind == Indirect || n.kind == CallIndirect {
		pc, ok := w.indirect(n, pc)
		return ok && w.enter(n, pc)
	}
	if len(n.learned) > 0 && w.m.decide(n.flag, truth(!w.m.decoding && w.foreseen(n, pc))) == 0 {
		return w.stray(n, w.cascade(n, pc))
	}
	side := 0
	switch n.kind {
	case Branch:
		if n.cond == nil {
			n.cond = w.m.conditional()
		}
		w.branches++
		if w.m.decide(n.cond, truth(pc == n.to[0])) == 0 {
			side = 1
		}
	case Call:
		w.push(n)
	case Return:
		return w.pop()
	}
	if n.toNode[side] == nil {
		n.toNode[side] = w.at(n.to[side])
	}
	w.cur = n.toNode[side]
	return w.cur != nil
}

func truth(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// indirect codes the target of an indirect jump.
func (w *walker) indirect(n *node, pc uint64) (uint64, bool) {
	if w.opts.Scheme == Asymmetric {
		return w.identified(n, pc)
	}
	if len(n.targets) == 0 {
		if len(n.learned) == 0 {
			return 0, false
		}
		return w.cascade(n, pc), true
	}
	lo, hi := 0, len(n.targets)
	if len(n.learned) > 0 {
		_, ok := slices.BinarySearch(n.targets, pc)
		if w.m.decide(n.flag, truth(ok)) == 0 {
			return w.cascade(n, pc), true
		}
	}
	if n.search == nil {
		n.search = make([]*conditional, hi)
	}
	for hi-lo > 1 {
		mid := int(uint(lo+hi) / 2)
		if n.search[mid] == nil {
			n.search[mid] = w.m.conditional()
		}
		if w.m.decide(n.search[mid], truth(pc >= n.targets[mid])) == 1 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return n.targets[lo], true
}

// identified codes the target of an indirect jump by the asymmetric scheme.
func (w *walker) identified(n *node, pc uint64) (uint64, bool) {
	if len(w.ids) == 0 {
		return 0, false
	}
	if n.site == 0 {
		w.m.idSite++
		n.site = w.m.idSite
	}
	width := 0
	for 1<<width < len(w.ids) {
		width++
	}
	id := w.m.identifier(n.site, w.idsOf[pc], width)
	if int(id) >= len(w.ids) {
		return 0, false
	}
	return w.ids[id], true
}

// cascade codes which of the learned targets is taken, by comparing one after the other.
// The last one needs no comparison.
func (w *walker) cascade(n *node, pc uint64) uint64 {
	last := len(n.learned) - 1
	for i, target := range n.learned[:last] {
		if w.m.decide(n.tests[i], truth(pc == target)) == 1 {
			return target
		}
	}
	return n.learned[last]
}

// exception goes to a block that was not reachable, and learns it.
func (w *walker) exception(pc uint64) bool {
	w.exceptions++
	n := w.cur
	if n == nil {
		w.cur = w.at(pc)
		return w.cur != nil
	}
	indirect := n.kind == Indirect || n.kind == CallIndirect
	if indirect && w.opts.Scheme == Asymmetric {
		if _, known := w.idsOf[pc]; !known && len(w.ids) < maxLearnings {
			w.idsOf[pc] = uint32(len(w.ids))
			w.ids = append(w.ids, pc)
		}
	} else if len(n.learned) < maxLearned && w.learnings < maxLearnings {
		if n.flag == nil && (!indirect || len(n.targets) > 0) {
			n.flag = w.m.conditional()
		}
		n.learned = append(n.learned, pc)
		n.tests = append(n.tests, w.m.conditional())
		w.learnings++
	}
	if indirect {
		return w.enter(n, pc)
	}
	return w.stray(n, pc)
}

// enter goes from a block of an indirect kind to pc. A call whose target is its own
// return address has already returned.
func (w *walker) enter(n *node, pc uint64) bool {
	if n.kind == CallIndirect && pc != n.ret {
		w.push(n)
	}
	w.cur = w.at(pc)
	return w.cur != nil
}

// stray goes from n to pc, against the shell: back to an activation that expects pc, or
// into a function that was called.
func (w *walker) stray(n *node, pc uint64) bool {
	if n.kind != Call || pc != n.ret {
		if !w.unwind(pc) && n.kind == Call {
			w.push(n)
		}
	}
	w.cur = w.at(pc)
	return w.cur != nil
}

// push enters a function.
func (w *walker) push(n *node) {
	if len(w.stack) == MaxDepth {
		w.stack = w.stack[:copy(w.stack, w.stack[MaxDepth/2:])]
	}
	w.stack = append(w.stack, frame{ret: n.ret, call: n, global: w.m.global})
	if w.opts.Intraprocedural {
		w.m.global = w.m.globalMask
	}
}

// pop returns from a function.
func (w *walker) pop() bool {
	if len(w.stack) == 0 {
		return false
	}
	f := &w.stack[len(w.stack)-1]
	w.restore(f)
	if f.call == nil {
		w.cur = w.at(f.ret)
	} else {
		if f.call.retNode == nil {
			f.call.retNode = w.at(f.ret)
		}
		w.cur = f.call.retNode
	}
	w.stack = w.stack[:len(w.stack)-1]
	return w.cur != nil
}

// restore restores the history of the caller.
func (w *walker) restore(f *frame) {
	if w.opts.Intraprocedural {
		w.m.global = f.global
	}
}

// unwind leaves the activations up to the innermost one that returns to pc, if there is
// one.
func (w *walker) unwind(pc uint64) bool {
	for i := len(w.stack) - 1; i >= 0 && len(w.stack)-i <= unwindLimit; i-- {
		if w.stack[i].ret == pc {
			w.restore(&w.stack[i])
			w.stack = w.stack[:i]
			return true
		}
	}
	return false
}
