package mpsim

import (
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Memory orders as compilers number them in arguments of library functions.
const (
	orderRelaxed = iota
	orderConsume
	orderAcquire
	orderRelease
	orderAcqRel
	orderSeqCst
)

const acquireRelease = event.Acquire | event.Release

// orderModes maps a memory order to its effect on a read-modify-write. Consume is acquire,
// as in all compilers.
var orderModes = [...]event.Mode{
	orderRelaxed: 0, orderConsume: event.Acquire, orderAcquire: event.Acquire, orderRelease: event.Release,
	orderAcqRel: acquireRelease, orderSeqCst: acquireRelease,
}

// OrderMode returns the effect of a memory_order value on a read-modify-write. Bits above
// the order are hints of the compiler. An invalid order counts as the strongest.
func OrderMode(order uint64) event.Mode {
	order &= 0xffff
	if order < uint64(len(orderModes)) {
		return orderModes[order]
	}
	return acquireRelease
}

// sourceOrder says where to find the memory order that the source specifies for an atomic
// instruction. The machine code may have a different one: without optimisation, gcc does
// not see that the parameter of a std::atomic function is constant, and uses the strongest
// order. And gcc before version 14 emits a compare-and-swap with release like one without.
type sourceOrder struct {
	known            bool
	success, failure image.Operand
	// fence is what a fence next to the access orders if it may be a statement of its own.
	fence event.Mode
	// mode is what the code says about an access whose order is not known, without what
	// only that fence contributes.
	mode event.Mode
	// losesRelease says that the code of an SC does not show whether it releases.
	losesRelease bool
	// private says that the access is to an object of the C++ library itself.
	private bool
	// counts says that the access changes the number of owners of an exception.
	counts bool
	// by is who wrote the operation. If it is unknown, the calls around it decide.
	by author
}

// firstKeeping is the first version of gcc that emits the release of a compare-and-swap.
const firstKeeping = 14

// source determines, once per instruction, what the source says about the memory order of
// the atomic access that ends b.
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

// fenceMode returns what the fence next to the atomic access at the end of b orders.
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

// mode evaluates a memory order. Registers have their values before the instruction.
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
