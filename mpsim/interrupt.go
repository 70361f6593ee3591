package mpsim

import "hindsight/tracefmt/event"

// interrupted is a hidden call in the middle of which code of the program runs: the handler
// of a signal, or a function that the call calls back, such as a new-handler. That code is
// recorded as usual, on top of the frames that were open in the call, and may make hooked
// calls itself. The hidden call continues when the handler or the function returns. A long
// jump or the end of the thread may leave it for good.
type interrupted struct {
	call     hooked
	atomic   outOfLine // the atomic access that the call makes
	pc, sp   uint64    // where it continues
	callback bool
	watched  int // number of watched calls when it was interrupted
}

// interruption returns the innermost interrupted call, or nil if there is none.
func (h *Hart) interruption() *interrupted {
	if n := len(h.interrupted); n > 0 {
		return &h.interrupted[n-1]
	}
	return nil
}

// interruptCall suspends the hidden call of h, which will continue at pc with stack pointer
// sp. What follows is recorded.
func (h *Hart) interruptCall(pc, sp uint64, callback bool) {
	h.interrupted = append(h.interrupted, interrupted{h.call, h.outOfLine, pc, sp, callback, len(h.watched)})
	h.outOfLine.active = false
	depth := h.call.depth
	h.call.active = false
	h.watchTop()
	rec := h.m.rec
	if rec == nil {
		return
	}
	rec.unhide(h)
	h.recording = true
	if h.lowest < depth || len(h.frames) != depth {
		h.record(min(h.lowest, len(h.frames)))
	}
}

// resumeCall continues the innermost interrupted call.
func (h *Hart) resumeCall() {
	in := *h.interruption()
	for len(h.watched) > in.watched {
		h.abandonWatched()
	}
	h.interrupted = h.interrupted[:len(h.interrupted)-1]
	h.call, h.outOfLine = in.call, in.atomic
	h.call.marked = false
	if rec := h.m.rec; rec != nil && len(h.frames) > h.call.depth {
		rec.event(h, event.Event{Kind: event.Unwound, Arg: uint64(h.call.depth)})
	}
	h.lowest = min(h.call.depth, len(h.frames))
	h.hide()
}

// leaveInterrupted is called when h may have left code that runs in the middle
// of hidden calls.
func (h *Hart) leaveInterrupted() {
	for {
		in := h.interruption()
		switch {
		case in == nil:
			return
		case in.callback && h.PC == in.pc && h.X[regSP] == in.sp:
			h.resumeCall()
			return
		case !h.gone(in.call.sp):
			return
		}
		for len(h.watched) > in.watched {
			h.abandonWatched()
		}
		h.call = in.call
		h.interrupted = h.interrupted[:len(h.interrupted)-1]
		h.m.cfg.Hooks.Abandon(h, h.call.fn)
		h.call.active = false
		h.watchTop()
	}
}

// returnedFromSignal is called when a handler has returned.
func (h *Hart) returnedFromSignal() {
	if in := h.interruption(); in != nil && !in.callback && h.X[regSP] == in.sp {
		h.resumeCall()
	}
}

// calls is called when hidden code, or code of a library, has called the function at PC.
// That function may be the program's and then has to be recorded.
func (h *Hart) calls() {
	if h.id != 0 && len(h.frames) == 2 && h.m.starter == 0 {
		h.m.starterCalls(h.frames[1].ret)
	}
	if h.call.active && h.m.cfg.Image.User(h.PC) {
		f := h.frames[len(h.frames)-1]
		h.interruptCall(f.ret, f.sp, true)
	}
}
