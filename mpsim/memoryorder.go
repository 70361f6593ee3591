package mpsim

import (
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Memory orders as compilers number them in the arguments of library functions.
const (
	orderRelaxed = iota
	orderConsume
	orderAcquire
	orderRelease
	orderAcqRel
	orderSeqCst
)

const acquireRelease = event.Acquire | event.Release

// orderModes is what a memory order does for a read-modify-write. Consume is
// acquire, as all compilers have it.
var orderModes = [...]event.Mode{
	orderRelaxed: 0, orderConsume: event.Acquire, orderAcquire: event.Acquire, orderRelease: event.Release,
	orderAcqRel: acquireRelease, orderSeqCst: acquireRelease,
}

// OrderMode is what a value of type memory_order does for a read-modify-write;
// bits above it are hints of the compiler's. What is no order counts as the
// strongest.
func OrderMode(order uint64) event.Mode {
	order &= 0xffff
	if order < uint64(len(orderModes)) {
		return orderModes[order]
	}
	return acquireRelease
}

// sourceOrder is where the source's order of an atomic instruction is
// found. The code may have another: without optimisation gcc does not see that
// the parameter of a std::atomic function is constant, and takes the strongest;
// and gcc before version 14 writes a compare-and-swap that releases like one
// that does not.
type sourceOrder struct {
	known            bool
	success, failure image.Operand
	// fence is what a fence next to the access orders that may be a statement of
	// its own.
	fence event.Mode
	// mode is what the code says of an access whose order is not known, without what
	// the source does not mean by that fence.
	mode event.Mode
	// losesRelease says that the code of an SC does not tell whether it releases.
	losesRelease bool
	// private says that the access is to an object of the C++ library's own.
	private bool
	// counts says that it changes how many owners an exception has.
	counts bool
	// by is who wrote the operation; where nobody is known, the calls around it tell.
	by author
}

// firstKeeping is the first version of gcc that writes the release of a
// compare-and-swap.
const firstKeeping = 14

// source finds out, once for each instruction, what the source says of the
// order of the atomic access that ends b.
func (h *Hart) source(b *block) *sourceOrder {
	if b.order != nil {
		return b.order
	}
	d := h.m.same(b)
	if d != nil && d.block.order != nil {
		b.order = d.block.order
		return b.order
	}
	pc, img := b.lastPC(), h.m.cfg.Image
	s := &sourceOrder{losesRelease: true, by: byProgram, private: h.m.waits(pc)}
	if img.User(pc) && img.HasDebug() {
		v := img.GCC(pc)
		s.losesRelease = v > 0 && v < firstKeeping
	}
	if b.inLibrary && h.m.cfg.Hooks.Promises(pc) {
		s.by = byLibrary
	}
	if scope, ok := img.AtomicScope(pc); ok && len(scope.Orders) > 0 {
		s.by = h.m.author(pc)
		s.success = scope.Orders[0]
		s.failure = scope.Orders[len(scope.Orders)-1]
		s.known = s.success.Kind != image.OperandUnknown && s.failure.Kind != image.OperandUnknown
	}
	if success, failure, ok := h.m.intent.Orders(pc); ok && !s.known {
		s.known = true
		s.success = image.Operand{Kind: image.OperandConst, Value: success}
		s.failure = image.Operand{Kind: image.OperandConst, Value: failure}
	}
	s.mode = b.code.Mode
	s.counts = b.inLibrary && h.m.countsOwners(pc)
	if h.m.intent.Alien(pc) {
		beside := fenceMode(b)
		meant := beside & h.m.intent.NextFenceMode(pc)
		s.mode = s.mode&^beside | meant
		if s.known {
			s.fence = meant
		}
	}
	b.order = s
	if d != nil {
		d.block.order = s
	}
	return s
}

// fenceMode is what the fence next to the atomic access at the end of b orders.
func fenceMode(b *block) event.Mode {
	in := &b.code.Insts[len(b.code.Insts)-1]
	mode := b.code.Mode
	if in.Atomic() {
		mode &^= event.Acquire
		if in.Rl {
			mode = 0
		}
	}
	return mode
}

// mode reads a memory order. Registers are those before the instruction.
func (h *Hart) mode(o *image.Operand) event.Mode {
	v := o.Value
	switch o.Kind {
	case image.OperandSum:
		v = h.X[o.Reg&31] + uint64(o.Offset)
	case image.OperandMemory:
		var ok bool
		v, ok = h.Load(h.X[o.Reg&31]+uint64(o.Offset), 4)
		if !ok {
			return acquireRelease
		}
	}
	return OrderMode(v)
}
