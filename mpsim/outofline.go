package mpsim

import "hindsight/tracefmt/event"

// AtomicCall is the atomic access that a function makes for its caller, such as libatomic's
// __atomic_fetch_add_1. The function's arguments determine its size and memory order. How
// the function implements it, mostly by a compare-and-swap of the whole word, does not
// matter.
type AtomicCall struct {
	Kind event.Kind // AtomicLoad, AtomicStore or AtomicRMW
	Addr uint64
	Size uint32
	Mode event.Mode // of the access
	Else event.Mode // of the load that a failed compare-and-swap is
	// Conditional says that the access may turn out to be only a load.
	Conditional bool
}

// locked reports whether libatomic has no instruction for the access and takes a lock.
func (a *AtomicCall) locked() bool {
	return a.Size > 8 || a.Size&(a.Size-1) != 0 || a.Addr&uint64(a.Size-1) != 0
}

// outOfLine is the AtomicCall of the present hooked call.
type outOfLine struct {
	AtomicCall
	active bool
	done   bool // its event was emitted
}

// Atomically says that the hooked call, which begins, makes an atomic access. The event of
// a read-modify-write is emitted when its instruction runs. If it has no instruction
// because it is done under a lock, its event is emitted twice, here and when the call ends:
// what the program did before is released to whoever comes later, and what others did is
// acquired. A store takes part in the release sequence from here on, so that what it
// replaces stays ordered for those who still read it.
func (h *Hart) Atomically(a AtomicCall) {
	h.outOfLine = outOfLine{AtomicCall: a, active: true}
	if a.Kind == event.AtomicStore || a.Kind == event.AtomicRMW && a.locked() {
		h.EmitAtomic(event.AtomicRMW, a.Mode&event.Release, a.Addr, a.Size)
		h.outOfLine.done = a.Kind == event.AtomicStore
	}
}

// wroteOutOfLine is called for atomic writes in hidden code.
func (h *Hart) wroteOutOfLine(e event.Event) {
	o := &h.outOfLine
	if o.active && !o.done && e.Obj < o.Addr+uint64(o.Size) && o.Addr < e.Obj+uint64(e.Size) {
		o.done = true
		h.EmitAtomic(event.AtomicRMW, o.Mode, o.Addr, o.Size)
	}
}

// AtomicallyDone says that the call of Atomically has ended. wrote says whether a
// conditional access without its own instruction wrote.
func (h *Hart) AtomicallyDone(wrote bool) {
	o := &h.outOfLine
	o.active = false
	switch {
	case o.done:
	case o.Kind == event.AtomicRMW && (wrote || !o.Conditional):
		h.EmitAtomic(event.AtomicRMW, o.Mode, o.Addr, o.Size)
	default:
		mode := o.Else
		if !o.Conditional {
			mode = o.Mode & event.Acquire
		}
		h.EmitAtomic(event.AtomicLoad, mode, o.Addr, o.Size)
	}
}
