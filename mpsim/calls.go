package mpsim

import (
	"slices"

	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Call stacks. A call pushes its return address and its stack pointer. A return to that
// address with that stack pointer pops it. All other changes show in the stack pointer:
//
//   - After a long jump, an exception that reaches a landing pad, or the
//     cancellation of a thread, frames with a stack pointer at or below the new
//     one are gone.
//   - When stacks are switched (swapcontext and similar functions), the frames
//     are kept under their innermost frame, until a jump goes exactly there.
//
// The recorder sees blocks but no stack pointers. It takes each return for a pop of one
// frame. Where that is wrong, the machine emits event.Unwound and event.Rewound.

// frame is a call in progress.
type frame struct{ ret, sp uint64 }

// maxSuspended is the maximum number of stacks that wait for a switch back. When it is
// reached, all of them are dropped.
const maxSuspended = 1 << 14

// switchers are the functions of glibc that switch stacks by a jump that is not a return.
var switchers = [...]string{"setcontext", "swapcontext"}

// findSwitchers finds the code of the switchers and of exit in an image.
func (m *Machine) findSwitchers(img *image.Image) {
	if s, ok := img.Lookup("exit"); ok && m.exit.span == 0 {
		m.exit = span{s.Addr, s.Size + 1} // exit does not return, so its call may be the end of the caller
	}
	for _, name := range switchers {
		if s, ok := img.Lookup(name); ok {
			m.switchers = append(m.switchers, span{s.Addr, s.Size})
		}
	}
}

// switches reports whether an indirect jump at pc may switch stacks.
func (m *Machine) switches(pc uint64) bool {
	return slices.ContainsFunc(m.switchers, func(s span) bool { return pc-s.low < s.span })
}

// Exiting reports whether the thread has called exit, which runs the functions registered
// with atexit and destroys static objects.
func (h *Hart) Exiting() bool {
	return slices.ContainsFunc(h.frames, func(f frame) bool { return f.ret-h.m.exit.low < h.m.exit.span })
}

// begins reports whether a function starts at pc.
func (m *Machine) begins(pc uint64) bool {
	s, ok := m.cfg.Image.Func(pc)
	return ok && s.Addr == pc
}

// leave updates the frames after a jump to target that is not just the return of the
// innermost call. returns says that the recorder takes the jump for a return.
func (h *Hart) leave(target uint64, returns bool) {
	if h.fiber != nil {
		h.leaveFiber(target, returns)
		return
	}
	sp, depth := h.X[regSP], len(h.frames)
	if depth > 0 && returns {
		if top := h.frames[depth-1]; top.ret == target && top.sp-sp-1 < maxFrame {
			h.frames = h.frames[:depth-1] // return from a routine that makes room on the stack for its caller
			return
		}
	}
	here := frame{target, sp}
	keep, exact := depth, target == h.m.trampoline // nothing is left at the end of a signal handler
	if !exact {
		keep, exact = h.remaining(here)
	}
	if to, ok := h.m.suspended[here]; ok && !exact {
		delete(h.m.suspended, here)
		h.suspend()
		h.tell(0, to[:len(to)-1])
		return
	}
	if depth == 0 {
		return // popping an empty stack does nothing, here and in the recorder
	}
	switch top := h.frames[depth-1]; {
	case !exact && (!returns || top.sp-sp > maxFrame) && h.m.begins(target):
		h.suspend()
		h.tell(0, nil) // the first function of a new stack
	case returns && keep == depth-1 && target == top.ret:
		h.frames = h.frames[:keep] // as the recorder already has it
	case returns || keep < depth:
		h.tell(keep, nil)
	}
}

// remaining returns the number of frames that are left after a jump to here: those pushed
// above it on the same stack. If the innermost frames are on another stack (a signal
// handler's) and here is on an earlier one, all innermost frames are gone. exact reports
// whether here is exactly where one of the calls returns to.
func (h *Hart) remaining(here frame) (keep int, exact bool) {
	n := len(h.frames)
	stack, ok := h.m.space.Find(here.sp - 1)
	if n == 0 || !ok {
		return n, false
	}
	on := func(f frame) bool { return f.sp-1-stack.Start < stack.Len() }
	keep = n
	for keep > 0 && !on(h.frames[keep-1]) {
		keep--
	}
	if keep == 0 {
		return n, false
	}
	for keep > 0 && on(h.frames[keep-1]) && h.frames[keep-1].sp <= here.sp {
		keep--
		if h.frames[keep] == here {
			return keep, true
		}
	}
	return keep, false
}

// suspend sets the frames aside until a jump goes to where the innermost one returns.
func (h *Hart) suspend() {
	if n := len(h.frames); n > 0 {
		if len(h.m.suspended) >= maxSuspended {
			clear(h.m.suspended)
		}
		if h.m.suspended == nil {
			h.m.suspended = map[frame][]frame{}
		}
		h.m.suspended[h.frames[n-1]] = h.frames
		h.frames = nil
	}
}

// tell cuts the stack to its keep outermost frames, pushes others, and records the change.
// In a hidden call the recording waits until the call ends.
func (h *Hart) tell(keep int, others []frame) {
	h.lowest = min(h.lowest, keep)
	h.frames = append(h.frames[:min(keep, len(h.frames))], others...)
	if h.recording {
		h.record(keep)
	}
}

// record records the frames from index keep on.
func (h *Hart) record(keep int) {
	h.m.rec.event(h, event.Event{Kind: event.Unwound, Arg: uint64(keep)})
	for _, f := range h.frames[keep:] {
		h.m.rec.event(h, event.Event{Kind: event.Rewound, Obj: f.ret})
	}
}

// returned is called after a hidden call has ended. The recorder takes its end for a pop of
// one frame.
func (h *Hart) returned() {
	if left := max(h.call.depth-1, 0); h.lowest < left || len(h.frames) != left || h.PC != h.call.ret {
		h.record(min(h.lowest, len(h.frames)))
	}
}
