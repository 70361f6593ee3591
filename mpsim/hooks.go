package mpsim

import (
	"math"

	"hindsight/mpsim/image"
	"hindsight/mpsim/mem"
	"hindsight/tracefmt/event"
)

// Follow is what a hook wants to know about a call that begins.
type Follow uint8

const (
	Pass  Follow = iota // nothing more
	Hide                // the hart is hidden until the function returns, and the hook is told of the return
	Watch               // what the function does is recorded as usual, and the hook is told of the return
)

// Hooks is told when harts enter and leave the functions of Config.HookAt. It is called on
// the goroutine of [Machine.Run].
//
// Enter is called before the first instruction of function fn runs, with the hart's
// registers as the caller left them. Unless it returns Pass, Exit is called with the
// content of a0 after the function has returned. If the function can no longer return,
// because it was left by a long jump, an exception or the cancellation of its thread,
// Abandon is called instead. Calls of a hart end in reverse order.
//
// While a hart is hidden, nothing of it is recorded. Hooked functions that it enters are
// part of the call and are not reported. Watched calls may nest to any depth and may
// contain a hidden call. When code of the program runs in the middle of a hidden call (a
// signal handler or a callback), the hart is not hidden during that time and may contain
// other calls.
//
// Created says that thread child was created during a hidden call. The machine emits
// event.Create next.
//
// Waits describes what a hart that does not return from fn is waiting for, for the report
// of a deadlock. "" means that the system call describes it.
type Hooks interface {
	Enter(h *Hart, fn int) Follow
	Exit(h *Hart, fn int, result uint64)
	Abandon(h *Hart, fn int)
	Created(h *Hart, fn int, child *Hart)
	// Loaded is called when a shared object was loaded. It returns where the hooked
	// functions in it are, as Config.HookAt does for what is present from the start.
	Loaded(img *image.Image) map[uint64]int
	// Started is called when a thread starts. Its thread pointer is tp.
	Started(tp uint64)
	// Gone is called when a thread has ended and makes no more calls.
	Gone(t event.ThreadID)
	// Silent reports whether an atomic access to addr by the library's instruction at pc,
	// or a fence there (addr is 0), is internal to the library. If so, it is not recorded.
	Silent(h *Hart, pc, addr uint64) bool
	// Promises reports whether the library's instruction at pc is in a function that
	// guarantees order to its caller, whatever the order of its own accesses.
	Promises(pc uint64) bool
	Waits(h *Hart, fn int) string
	// Args returns the number of integer arguments of fn.
	Args(fn int) int
	// Copies reports whether fn passes on to its caller what others left for it.
	Copies(fn int) bool
}

// SharedHooks are Hooks that know a C library that is loaded as a shared object.
type SharedHooks interface {
	Hooks
	// Linked is called in the main thread when the dynamic linker has started the program.
	Linked(h *Hart)
	// Housekeeping returns the number of the function that stands for the C library's own
	// work when a thread ends.
	Housekeeping() int
}

// hooked is a call of a hooked function in progress.
type hooked struct {
	active bool   // in progress and hidden
	at     uint64 // the function's address
	fn     int
	site   uint64    // pc of the call
	ret    uint64    // return address
	sp     uint64    // stack pointer at the call
	args   [8]uint64 // a0–a7 when it began
	depth  int       // number of frames when it began, including its own
	turn   bool      // others shall run after it has returned
	about  uint64    // because of this object
	marked bool      // this call emitted the last event of the batch
	waited uint64    // the condition variable that the call waits for
}

// Arg returns integer argument n (a0 is 0) of the hooked call, as it was when the call
// began, or 0 if there is no such register.
func (h *Hart) Arg(n int) uint64 {
	if n < 0 || n >= len(h.call.args) {
		return 0
	}
	return h.call.args[n]
}

// CallPC returns the address of the instruction that called the hooked function.
func (h *Hart) CallPC() uint64 { return h.call.site }

// Emit records an ordered event at the hooked call. Without an observer it does nothing.
func (h *Hart) Emit(kind event.Kind, obj, arg uint64) {
	if kind.Info().Class == event.ClassRange && h.m.threads < 2 {
		return // ordered before everything that a second thread does
	}
	switch kind.Info().Class {
	case event.ClassLock, event.ClassBarrier, event.ClassCond, event.ClassSem:
		obj = h.m.space.Object(obj)
	}
	h.emit(event.Event{Kind: kind, PC: h.call.site, Obj: obj, Arg: arg})
}

// EmitAs is like Emit for an event with a mode.
func (h *Hart) EmitAs(mode event.Mode, kind event.Kind, obj, arg uint64) {
	h.emit(event.Event{Kind: kind, Mode: mode, PC: h.call.site, Obj: obj, Arg: arg})
}

// EmitSized is like Emit for an event about size bytes.
func (h *Hart) EmitSized(kind event.Kind, size uint32, obj, arg uint64) {
	h.emit(event.Event{Kind: kind, Size: size, PC: h.call.site, Obj: obj, Arg: arg})
}

// Return returns the return address of the nth call in progress, counted from 0 for the
// innermost.
func (h *Hart) Return(n int) (pc uint64, ok bool) {
	n = len(h.frames) - 1 - n
	if n < 0 {
		return 0, false
	}
	return h.frames[n].ret, true
}

// EmitAtomic records an atomic access that the hooked call makes without an atomic
// instruction. Without an observer it does nothing.
func (h *Hart) EmitAtomic(kind event.Kind, mode event.Mode, addr uint64, size uint32) {
	e := event.Event{Kind: kind, Mode: mode, Size: size, PC: h.call.site, Obj: addr}
	h.emit(e)
	if h.m.rec == nil {
		return
	}
	h.m.noteAtomic(e)
}

// noteAtomic counts an atomic access that no instruction made.
func (m *Machine) noteAtomic(e event.Event) {
	v := m.noteObject(e.Obj)
	v.bytes |= touched(e)
	if e.Kind != event.AtomicLoad {
		v.writes++
	}
	m.versions[e.Obj&granuleMask] = v
}

// EmitStrand records that h starts or stops acting as a strand at the hooked call, together
// with how much of the stack below was ever used. Without an observer it does nothing.
func (h *Hart) EmitStrand(kind event.Kind, strand uint64) {
	e := event.Event{Kind: kind, PC: h.call.site, Obj: strand, Arg: h.call.sp}
	v, ok := h.m.space.Find(e.Arg - 1)
	if ok && v.Start == h.stackLow && (v.Kind == mem.Stack || v.Kind == mem.Anonymous) {
		lowest, _ := h.m.space.Lowest(v.Start, e.Arg)
		e.Size = uint32(min(e.Arg-max(lowest, v.Start), math.MaxUint32))
	}
	h.emit(e)
}

func (h *Hart) emit(e event.Event) {
	if switchKinds[e.Kind] {
		h.SwitchPoint(e.Obj)
	}
	if h.m.rec == nil {
		return
	}
	if h.fiber != nil && (e.Kind.Info().Class != event.ClassThread && e.Kind.Info().Class != event.ClassOrder || e.Kind == event.StrandCreate) {
		h.showStack()
	}
	h.m.rec.event(h, e)
	h.call.marked = true
	switch e.Kind.Info().Class {
	case event.ClassLock, event.ClassBarrier, event.ClassCond, event.ClassSem, event.ClassOnce, event.ClassObject:
		h.m.noteObject(e.Obj)
	}
	if h.m.values && (!h.recording || h.fiber != nil || h.unseen.begins || e.Kind == event.ThreadEnd || e.Kind == event.Create) {
		h.order(&e)
	}
}

// Carries says that the hooked call, which is hidden, copies or keeps the content of the n
// bytes at addr.
func (h *Hart) Carries(addr, n uint64) {
	switch {
	case !h.m.values:
	case h.fiber != nil:
		h.orderedBy(addr, n)
	default:
		h.unseen.reads = append(h.unseen.reads, bytesAt{addr, n})
	}
}

// Func returns the address of the hooked function.
func (h *Hart) Func() uint64 { return h.call.at }

// SP returns the stack pointer at the beginning of the hooked call.
func (h *Hart) SP() uint64 { return h.call.sp }

// TP returns the present thread pointer.
func (h *Hart) TP() uint64 { return h.X[regTP] }

// Handle returns a number for event.Publish, Observe and Forget that the run has not used
// yet.
func (h *Hart) Handle() uint64 { return h.m.Handle() }

// TID returns the thread's number as the guest knows it.
func (h *Hart) TID() int { return h.task.TID }

// enterHook tells the hooks that h is about to run the hooked block b.
func (h *Hart) enterHook(b *block) {
	h.leaveInterrupted()
	if h.fiber != nil {
		h.dropLeft()
	} else {
		h.dropWatched(h.X[regSP])
	}
	if h.fiber != nil && h.m.rec != nil && b.kept == Unrecorded {
		h.muted(b) // so that the hooks' records are placed at the call
	}
	marked := h.call.marked
	h.call = hooked{fn: int(b.hook), at: b.pc, site: b.pc, ret: h.X[regRA], sp: h.X[regSP], depth: len(h.frames)}
	if from := h.last; from != nil {
		if from.leads && h.caller != nil {
			from = h.caller
		}
		h.call.site = from.lastPC()
	}
	copy(h.call.args[:], h.X[regA0:regA0+8])
	if h.fiber != nil {
		h.call.site, h.call.marked = h.Site(), marked
	}
	reads, wrote := len(h.unseen.reads), len(h.unseen.wrote)
	h.unseen.begins = true
	follow := h.m.cfg.Hooks.Enter(h, h.call.fn)
	h.unseen.begins = false
	if follow != Hide { // a call that is not hidden is not a statement, so nothing about it is ordered
		h.unseen.reads, h.unseen.wrote = h.unseen.reads[:reads], h.unseen.wrote[:wrote]
	}
	switch follow {
	case Pass:
		return
	case Watch:
		h.watched = append(h.watched, h.call)
		h.watch = h.call.ret
		return
	}
	h.call.active = true
	h.lowest = h.call.depth
	h.hide()
}

// dropWatched drops the watched calls whose frames are gone, now that the stack pointer is
// at sp. Calls on other stacks are left alone.
func (h *Hart) dropWatched(sp uint64) {
	for n := len(h.watched) - 1; n >= 0 && h.watched[n].sp < sp && sp-h.watched[n].sp < maxFrame; n-- {
		h.abandonWatched()
	}
	h.watchTop()
}

// abandonWatched drops the innermost watched call.
func (h *Hart) abandonWatched() {
	n := len(h.watched) - 1
	h.call = h.watched[n]
	h.watched = h.watched[:n]
	h.m.cfg.Hooks.Abandon(h, h.call.fn)
}

// maxFrame is the distance beyond which two stack pointers are taken to be in different
// stacks.
const maxFrame = 1 << 20

// watchTop makes the hart, which is not hidden, stop where the innermost watched call
// returns, where a function called back by a hidden call returns, and where the interrupted
// hidden call would be left for good.
func (h *Hart) watchTop() {
	h.watch, h.unwound, h.hiding = unwatched, span{}, false
	from := 0
	if in := h.interruption(); in != nil {
		from, h.unwound = in.watched, h.above(in.call.sp)
		if in.callback {
			h.watch = in.pc
		}
	}
	if n := len(h.watched); n > from {
		h.watch = h.watched[n-1].ret
	}
}

// leaveWatched is called when a hart has jumped to the possible return address of its
// innermost watched call. Calls that were made by tail jumps return together.
func (h *Hart) leaveWatched() {
	for n := len(h.watched) - 1; n >= 0 && h.PC == h.watched[n].ret && h.X[regSP] == h.watched[n].sp; n-- {
		marked := h.call.marked
		h.call = h.watched[n]
		if h.fiber != nil {
			h.call.marked = marked
		}
		h.watched = h.watched[:n]
		h.watchTop()
		h.m.cfg.Hooks.Exit(h, h.call.fn, h.X[regA0])
	}
}

// leaveHook is called when a hidden hart jumps to the return address of its call, or
// returns to any address with a stack pointer at or above the call's on the same stack. In
// the first case, if the stack pointer matches, the function has returned. In the second it
// was left for good, by a long jump or because its thread is being cancelled (functions
// that the call itself calls return with a lower stack pointer); then there is no result.
// leaveHook is called in the same way when the hart runs code of the program inside hidden
// calls.
func (h *Hart) leaveHook() {
	if h.call.active {
		switch {
		case h.PC == h.call.ret && h.X[regSP] == h.call.sp:
			h.m.cfg.Hooks.Exit(h, h.call.fn, h.X[regA0])
		case !h.gone(h.call.sp):
			return
		default:
			h.m.cfg.Hooks.Abandon(h, h.call.fn)
		}
		h.reveal()
	}
	h.leaveInterrupted()
	h.leaveWatched()
}

// hide starts or resumes the hidden part of h.call.
func (h *Hart) hide() {
	h.recording, h.hiding = false, true
	if h.m.values {
		h.m.rec.hide(h)
	}
	h.watch = h.call.ret
	h.unwound = h.above(h.call.sp)
}

// reveal ends h.call, which was hidden.
func (h *Hart) reveal() {
	h.call.active = false
	h.watchTop()
	if h.call.turn {
		h.turn(h.call.about)
	}
	rec := h.m.rec
	if rec == nil {
		return
	}
	h.recording = true
	rec.unhide(h)
	if n := len(rec.batch.Events); h.call.marked && n > 0 {
		rec.batch.Events[n-1].Mode |= event.Returns
	} else {
		h.emit(event.Event{Kind: event.None, Mode: event.Returns, PC: h.call.site})
	}
	h.returned()
}

// above returns the part of the stack from sp up.
func (h *Hart) above(sp uint64) span {
	if v, ok := h.m.space.Find(sp - 1); ok {
		return span{sp, v.End - sp}
	}
	return span{}
}

// gone reports whether a call that began with stack pointer sp was left for good, judging
// by the present stack pointer.
func (h *Hart) gone(sp uint64) bool {
	now := h.X[regSP]
	if now-h.unwound.low >= h.unwound.span {
		return false
	}
	return h.task.OnAltStack(now) == h.task.OnAltStack(sp)
}
