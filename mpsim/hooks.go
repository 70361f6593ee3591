package mpsim

import "hindsight/tracefmt/event"

// Hooks is told when harts enter and leave the functions of Config.HookAt. It
// is called on the goroutine of [Machine.Run].
//
// Enter is called before the first instruction of function fn runs; the hart's
// registers are as the caller left them. When it gives true, the hart is hidden
// until the function returns, and Exit is then called with what is in a0.
// Hooked functions that a hidden hart enters are part of the call and not told.
//
// Created tells that thread child was made during such a call; the machine has
// emitted event.Create.
//
// Waits describes what the hart, which does not come back from fn, waits for,
// for the report of a deadlock; "" leaves it to the system call.
type Hooks interface {
	Enter(h *Hart, fn int) (hide bool)
	Exit(h *Hart, fn int, result uint64)
	Created(h *Hart, fn int, child event.ThreadID)
	Waits(h *Hart, fn int) string
}

// hidden is the call of a hooked function in progress.
type hidden struct {
	active bool
	fn     int
	site   uint64    // pc of the call
	ret    uint64    // where the function returns to
	sp     uint64    // with which stack pointer
	args   [8]uint64 // a0–a7 when it began
	marked bool      // the last event of the batch was emitted by this call
}

// Arg gives integer argument n (a0 is 0) of the hooked call, as it was when the
// call began; 0 when there is no such register.
func (h *Hart) Arg(n int) uint64 {
	if n < 0 || n >= len(h.call.args) {
		return 0
	}
	return h.call.args[n]
}

// CallPC is the address of the instruction that called the hooked function.
func (h *Hart) CallPC() uint64 { return h.call.site }

// Emit records an ordered event at the hooked call. Without an observer it does
// nothing.
func (h *Hart) Emit(kind event.Kind, obj, arg uint64) {
	h.emit(event.Event{Kind: kind, PC: h.call.site, Obj: obj, Arg: arg})
}

func (h *Hart) emit(e event.Event) {
	if h.m.rec == nil {
		return
	}
	h.m.rec.event(h, e)
	h.call.marked = true
}

// enterHook tells the hooks that h is about to run the hooked block b.
func (h *Hart) enterHook(b *block) {
	h.call = hidden{fn: int(b.hook), site: b.pc, ret: h.X[regRA], sp: h.X[regSP]}
	if h.last != nil {
		h.call.site = h.last.lastPC()
	}
	copy(h.call.args[:], h.X[regA0:regA0+8])
	if !h.m.cfg.Hooks.Enter(h, h.call.fn) {
		return
	}
	h.call.active = true
	h.recording = false
	h.watch = h.call.ret
	if v, ok := h.m.space.Find(h.call.sp - 1); ok {
		h.unwound = span{h.call.sp, v.End - h.call.sp}
	}
}

// leaveHook is called when a hidden hart jumps to where its call returns to,
// or returns to anywhere with a stack pointer at or above the call's, on the
// same stack. In the first case, if the stack pointer is right, the function
// has returned; in the second it was left for good, by a long jump or because
// its thread is being cancelled (what it calls itself returns with a lower
// stack pointer): there is no result then, and the hook is not told.
func (h *Hart) leaveHook() {
	switch {
	case !h.call.active:
		return
	case h.PC == h.call.ret && h.X[regSP] == h.call.sp:
		h.m.cfg.Hooks.Exit(h, h.call.fn, h.X[regA0])
	case h.X[regSP]-h.unwound.low >= h.unwound.span:
		return
	}
	h.call.active = false
	h.watch, h.unwound = unwatched, span{}
	rec := h.m.rec
	if rec == nil {
		return
	}
	h.recording = true
	if n := len(rec.batch.Events); h.call.marked && n > 0 {
		rec.batch.Events[n-1].Mode |= event.Returns
		return
	}
	h.emit(event.Event{Kind: event.None, Mode: event.Returns, PC: h.call.site})
}
