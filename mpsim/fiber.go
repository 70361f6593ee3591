package mpsim

import (
	"slices"

	"hindsight/tracefmt/event"
)

// Fibers. The runtime of a language may have threads of its own, such as goroutines, that
// it runs on the kernel's threads. The part of a [Hart] that belongs to the running code
// rather than to the thread is set aside when the runtime switches. It follows the fiber to
// whichever hart resumes it. [FiberHooks] say when that happens.
//
// Neither the runtime's own code nor what a thread runs without a fiber is recorded. A
// stretch of runtime code that a call from recorded code leads to appears in the trace as
// that call, which has returned, together with the events that the hooks emitted in it,
// just as a hidden call does. The trace follows call stacks by the blocks that it sees.
// Other changes of the stack are recorded when recorded code runs again, or at an event
// before that.

// Recording says what is recorded of code.
type Recording uint8

const (
	Recorded   Recording = iota // blocks and accesses
	Unrecorded                  // nothing, except atomic accesses as FiberHooks.Atomic says
	Inherited                   // as the calling code: memory copying
)

// FiberHooks are the [Hooks] of a program whose runtime itself switches between stacks. All
// calls that such hooks follow are watched ([Watch]); none is hidden.
type FiberHooks interface {
	Hooks
	// Code says what is recorded of the code at pc. It is called once per block.
	Code(pc uint64) Recording
	// Atomic is called for the atomic access e, which is about to be recorded, with the old
	// and new content of the memory. It may record something else instead. It reports
	// whether e itself is to be recorded.
	Atomic(h *Hart, e *event.Event, old, now uint64) bool
	// Kernel reports whether an effect of the kernel on h (event.Publish, an access to
	// memory, …) concerns the program.
	Kernel(h *Hart, e *event.Event) bool
	// Signature returns where the function at pc has its arguments and results.
	Signature(pc uint64) Signature
	// Cloning and Cloned are called before and after the event.Create of a thread that the
	// runtime creates.
	Cloning(h *Hart)
	Cloned(h *Hart)
}

// Signature is where a function has its arguments and results.
type Signature struct {
	Known        bool
	Args         int // number of integer registers with arguments, from a0 on
	Ints, Floats int // number of registers of either kind with results
}

// fiber is the part of a hart's state that moves with the code that it runs.
type fiber struct {
	frames  []frame
	watched []hooked
	seen    map[uint64]uint64
	relaxed map[uint64]uint64
	mute    mute
	shownOn *Hart // the hart on which the trace has its stack, as far as the fiber knows
}

// mute is the stretch of unrecorded code that a fiber is in.
type mute struct {
	on     bool
	called bool   // called by recorded code
	depth  int    // number of frames when it began
	lowest int    // the smallest number of these frames left since
	site   uint64 // the call, or the place where recorded code was left
	// See carried.go.
	callee     uint64 // where the code starts
	interrupts bool   // it runs because a signal interrupted recorded code
	parked     bool   // the fiber left its hart inside it
}

// newFiber returns a fiber that runs nothing yet.
func newFiber() *fiber {
	return &fiber{seen: map[uint64]uint64{}, relaxed: map[uint64]uint64{}, mute: mute{on: true}}
}

// NewFiber sets the fiber with that key to one that has not run yet.
func (m *Machine) NewFiber(key uint64) {
	m.fibers[key] = newFiber()
}

// DropFiber forgets a fiber that has ended.
func (m *Machine) DropFiber(key uint64) { delete(m.fibers, key) }

// Machine returns the hart's machine.
func (h *Hart) Machine() *Machine { return h.m }

// Fiber returns the key of the fiber that h runs, or 0 if it runs none but the thread
// itself.
func (h *Hart) Fiber() uint64 { return h.fiberKey }

// SwitchFiber makes h continue with the fiber of that key. With key 0, h continues without
// a fiber, on an empty stack.
func (h *Hart) SwitchFiber(key uint64) {
	if h.fiberKey == key && key != 0 {
		return
	}
	f := h.fiber
	f.frames, f.watched, f.seen, f.relaxed = h.frames, h.watched, h.seen, h.relaxed
	to := h.own
	if key != 0 {
		to = h.m.fibers[key]
		if to == nil {
			to = newFiber()
			h.m.fibers[key] = to
		}
	} else {
		to.frames, to.watched, to.mute = to.frames[:0], to.watched[:0], mute{on: true}
	}
	h.keepLoad()
	if h.m.values {
		h.m.rec.park(h)
	}
	h.fiber, h.fiberKey = to, key
	h.frames, h.watched, h.seen, h.relaxed = to.frames, to.watched, to.seen, to.relaxed
	h.watchTop()
}

// CutFrames keeps those frames of the fiber that are still in progress when it continues at
// pc with stack pointer sp, on the stack from low to high.
func (h *Hart) CutFrames(pc, sp, low, high uint64) {
	n := len(h.frames)
	for i := n - 1; i >= 0; i-- {
		if h.frames[i] == (frame{pc, sp}) {
			h.cutFrames(i + 1)
			return
		}
	}
	for n > 0 && (h.frames[n-1].sp <= sp || h.frames[n-1].sp-low > high-low) {
		n--
	}
	h.cutFrames(n)
}

func (h *Hart) cutFrames(n int) {
	h.frames = h.frames[:n]
	h.fiber.mute.lowest = min(h.fiber.mute.lowest, n)
	h.dropLeft()
}

// dropLeft drops the watched calls whose frames are gone.
func (h *Hart) dropLeft() {
	for n := len(h.watched) - 1; n >= 0 && h.watched[n].depth > len(h.frames); n-- {
		h.abandonWatched()
	}
	h.watchTop()
}

// MoveStack says that the fiber's stack, from low to high, has moved by delta.
func (m *Machine) MoveStack(key, low, high, delta uint64) {
	f := m.fibers[key]
	if f == nil {
		return
	}
	frames, watched := f.frames, f.watched
	for _, h := range m.harts {
		if h.fiber == f {
			frames, watched = h.frames, h.watched
		}
	}
	for i := range frames {
		if sp := &frames[i].sp; *sp-low <= high-low {
			*sp += delta
		}
	}
	for i := range watched {
		if sp := &watched[i].sp; *sp-low <= high-low {
			*sp += delta
		}
	}
}

// leaveFiber does the work of [Hart.leave] where there are fibers: it pops the frame that
// expects the target at exactly this stack pointer.
func (h *Hart) leaveFiber(target uint64, returns bool) {
	here := frame{target, h.X[regSP]}
	n := len(h.frames)
	for i := n - 1; i >= 0; i-- {
		if h.frames[i] == here {
			h.frames = h.frames[:i]
			h.fiber.mute.lowest = min(h.fiber.mute.lowest, i)
			break
		}
	}
	if !h.fiber.mute.on && h.recording && (returns || len(h.frames) != n) {
		h.record(len(h.frames))
	}
}

// muted reports whether block b, which h is about to execute, is not recorded. If b is the
// first of a stretch of such code, muted starts the stretch.
func (h *Hart) muted(b *block) bool {
	mu := &h.fiber.mute
	if mu.on || b.kept == Inherited {
		return mu.on
	}
	*mu = mute{on: true, depth: len(h.frames), lowest: len(h.frames), site: b.pc, callee: b.pc, interrupts: h.carried.on}
	if prev := h.last; prev != nil {
		end := prev.code.End
		mu.site = prev.lastPC()
		mu.called = (end == event.EndCall || end == event.EndCallInd) && mu.depth > 0 && h.frames[mu.depth-1].ret == prev.next
	}
	h.call.marked = false
	if h.m.values {
		h.carried.fiber = nil
		h.m.rec.current(h)
	}
	return true
}

// unmute is called when recorded code runs again.
func (h *Hart) unmute() {
	mu := &h.fiber.mute
	mu.on = false
	depth := len(h.frames)
	h.showStack()
	returned := mu.called && depth == mu.depth-1 && mu.lowest >= depth
	if h.m.values {
		h.m.rec.handBack(h, returned)
	}
	switch {
	case returned:
		h.markReturn()
	case depth != mu.depth || mu.lowest < depth:
		h.record(min(mu.lowest, depth, mu.depth))
	}
}

// markReturn records that the call of unrecorded code has returned.
func (h *Hart) markReturn() {
	rec := h.m.rec
	if n := len(rec.batch.Events); h.call.marked && n > 0 {
		switch e := &rec.batch.Events[n-1]; e.Kind.Info().Class {
		case event.ClassStack, event.ClassAtomic, event.ClassThread:
		default:
			e.Mode |= event.Returns
			return
		}
	}
	rec.event(h, event.Event{Kind: event.None, Mode: event.Returns, PC: h.fiber.mute.site})
}

// showStack changes the stack that the trace has for h to that of the fiber, as it was when
// recorded code was left.
func (h *Hart) showStack() {
	f := h.fiber
	if h.m.rec == nil || h.shown == f && f.shownOn == h {
		return
	}
	h.shown, f.shownOn = f, h
	h.m.rec.event(h, event.Event{Kind: event.Unwound})
	for _, fr := range h.frames[:min(f.mute.depth, f.mute.lowest, len(h.frames))] {
		h.m.rec.event(h, event.Event{Kind: event.Rewound, Obj: fr.ret})
	}
	f.mute.depth = min(f.mute.depth, f.mute.lowest, len(h.frames))
}

// FromProgram reports whether recorded code itself made the hooked call.
func (h *Hart) FromProgram() bool {
	mu := &h.fiber.mute
	return !mu.on || mu.called && len(h.frames) == mu.depth
}

// Site returns the place where recorded code was left for the runtime's code.
func (h *Hart) Site() uint64 { return h.fiber.mute.site }

// Record records an event of the fiber, at the place where its code was left. It does not
// let another thread run because of it.
func (h *Hart) Record(e event.Event) {
	if h.m.rec == nil {
		return
	}
	h.showStack()
	if e.PC == 0 {
		e.PC = h.fiber.mute.site
	}
	h.m.rec.event(h, e)
	h.call.marked = true
	switch e.Kind.Info().Class {
	case event.ClassLock, event.ClassSem, event.ClassOnce:
		h.m.noteObject(e.Obj)
	}
	if h.m.values {
		h.order(&e)
	}
}

// EmitEvent records an ordered event at the place where recorded code was left. Without an
// observer it does nothing.
func (h *Hart) EmitEvent(e event.Event) {
	e.PC = h.fiber.mute.site
	h.emit(e)
}

// Frames yields the return addresses of the calls in progress, innermost first.
func (h *Hart) Frames(yield func(ret uint64) bool) {
	for _, f := range slices.Backward(h.frames) {
		if !yield(f.ret) {
			return
		}
	}
}

// wantsAtomic asks the hooks about an atomic access. A load that they replace does not
// count.
func (h *Hart) wantsAtomic(e *event.Event, old, now uint64) bool {
	if h.fiber == nil {
		return true
	}
	if !h.m.fiberHooks.Atomic(h, e, old, now) {
		return false
	}
	h.showStack()
	if h.m.values && h.fiber.mute.on && h.carried.open && e.Kind == event.AtomicRMW {
		h.m.rec.effect(event.Effect{Kind: event.EffectRead, Addr: e.Obj, Arg: uint64(e.Size)})
	}
	return true
}

// mutedBlock notes that h is about to execute b, which is not recorded. It returns the
// place for the addresses of its accesses.
func (r *recorder) mutedBlock(h *Hart, b *block) *[64]uint64 {
	if r.values {
		r.carriedBlock(h, b)
	}
	return &h.scrap
}
