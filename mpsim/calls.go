package mpsim

import (
	"slices"

	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Call stacks. A call pushes where it returns to and the stack pointer with
// which it was made; a return to that place with that stack pointer pops it.
// Whatever else happens shows by the stack pointer:
//
//   - a long jump, an exception that comes to a landing pad, the cancellation of
//     a thread: frames with a stack pointer at or below the new one are gone,
//   - a switch of stacks (swapcontext and its like): the frames wait under their
//     innermost one, until a jump goes just there.
//
// The recorder sees blocks and no stack pointers. It takes each return for a pop
// of one frame, and is told where the truth differs (event.Unwound and
// event.Rewound).

// frame is a call in progress.
type frame struct{ ret, sp uint64 }

// maxSuspended bounds the stacks that wait for a switch back. At the bound all
// are forgotten.
const maxSuspended = 1 << 14

// switchers are the functions of glibc that switch stacks by a jump that is no
// return.
var switchers = [...]string{"setcontext", "swapcontext"}

// findSwitchers finds the code of switchers in an image, and that of exit.
func (m *Machine) findSwitchers(img *image.Image) {
	if s, ok := img.Lookup("exit"); ok && m.exit.span == 0 {
		m.exit = span{s.Addr, s.Size + 1} // it does not return: its call may be its end
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

// Exiting reports whether the thread has called exit, which runs what was registered
// with atexit and destroys static objects.
func (h *Hart) Exiting() bool {
	return slices.ContainsFunc(h.frames, func(f frame) bool { return f.ret-h.m.exit.low < h.m.exit.span })
}

// begins reports whether a function begins at pc.
func (m *Machine) begins(pc uint64) bool {
	s, ok := m.cfg.Image.Func(pc)
	return ok && s.Addr == pc
}

// leave follows a jump to target that is not just the return of the innermost
// call. returns says that the recorder takes it for a return.
func (h *Hart) leave(target uint64, returns bool) {
	if h.fiber != nil {
		h.leaveFiber(target, returns)
		return
	}
	sp, depth := h.X[regSP], len(h.frames)
	if depth > 0 && returns {
		if top := h.frames[depth-1]; top.ret == target && top.sp-sp-1 < maxFrame {
			h.frames = h.frames[:depth-1] // from a routine that makes room on the stack for its caller
			return
		}
	}
	here := frame{target, sp}
	keep, exact := depth, target == h.m.trampoline // at the end of a signal handler nothing is left
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
		return // a pop of an empty stack does nothing, here and for the recorder
	}
	switch top := h.frames[depth-1]; {
	case !exact && (!returns || top.sp-sp > maxFrame) && h.m.begins(target):
		h.suspend()
		h.tell(0, nil) // the first function of a new stack
	case returns && keep == depth-1 && target == top.ret:
		h.frames = h.frames[:keep] // as the recorder has it
	case returns || keep < depth:
		h.tell(keep, nil)
	}
}

// remaining is how many frames are left when a jump has gone to here: those
// that were made above it on the same stack. When the innermost frames are on
// another stack (a signal handler's), and here is on one from before, they are
// all gone. exact: here is just where one of the calls returns to.
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

// suspend lays the frames by until a jump goes to where the innermost returns.
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

// tell cuts the stack down to the outermost frames, keep of them, puts others on
// top, and says so to the recorder; a hidden call waits with that until it ends.
func (h *Hart) tell(keep int, others []frame) {
	h.lowest = min(h.lowest, keep)
	h.frames = append(h.frames[:min(keep, len(h.frames))], others...)
	if h.recording {
		h.record(keep)
	}
}

// record tells the recorder the frames from the outermost keep on.
func (h *Hart) record(keep int) {
	h.m.rec.event(h, event.Event{Kind: event.Unwound, Arg: uint64(keep)})
	for _, f := range h.frames[keep:] {
		h.m.rec.event(h, event.Event{Kind: event.Rewound, Obj: f.ret})
	}
}

// returned is called when a hidden call has ended, which the recorder takes for
// the pop of one frame.
func (h *Hart) returned() {
	if left := max(h.call.depth-1, 0); h.lowest < left || len(h.frames) != left || h.PC != h.call.ret {
		h.record(min(h.lowest, len(h.frames)))
	}
}
