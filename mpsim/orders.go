package mpsim

import (
	"hindsight/mpsim/linux"
	"hindsight/mpsim/mem"
	"hindsight/tracefmt/event"
)

// Effects of system calls besides their results: order (linux.Tracer) and accesses to
// memory. If another thread completes the call of a thread that is not running, the effects
// are recorded when the thread runs again.

// Handle implements [linux.Tracer].
func (m *Machine) Handle() uint64 {
	m.handles++
	return m.handles
}

// Enter implements [linux.Tracer]. The handlers of the C library's own signals are part of
// the call that they interrupt.
func (m *Machine) Enter(t *linux.Task, signal int, handler uint64) {
	if signal == linux.SetID {
		m.setsID(handler)
	}
	h := m.hartOf[t]
	if h == nil || !h.call.active || linux.Internal(signal) {
		return
	}
	if m.values {
		m.rec.interrupts(h)
	}
	h.interruptCall(h.PC, h.X[regSP], false)
	if m.values {
		m.rec.open, m.rec.before = event.EffectSignal, h.registers()
	}
}

// Emit implements [linux.Tracer].
func (m *Machine) Emit(t *linux.Task, e event.Event) {
	h := m.hartOf[t]
	if h == nil {
		return
	}
	switch {
	case h.call.active:
		e.PC = h.call.site
	case h == m.calling:
		e.PC = m.place
	default:
		e.PC = h.PC - ecallBytes
	}
	if m.fiberHooks != nil {
		if !m.fiberHooks.Kernel(h, &e) {
			return
		}
		e.PC = h.Site()
	}
	if h != m.calling {
		h.owed = append(h.owed, e)
		return
	}
	h.emit(e)
	if m.rec != nil && e.Kind.Info().Class == event.ClassAtomic {
		m.noteAtomic(e)
	}
}

// ecallBytes is the length of the ecall instruction.
const ecallBytes = 4

// starters are the library functions that call the first function of a thread. That
// function may end with a tail call, which leaves no frame of it.
var starters = map[string]bool{"start_thread": true, "__libc_start_call_main": true, "execute_native_thread_routine": true}

// Own implements [linux.Tracer]. It reports whether the call is made by the program's code,
// or by a function of the C library that the program calls for this purpose.
func (m *Machine) Own(t *linux.Task) bool {
	h := m.hartOf[t]
	if h == nil || h.call.active || m.fiberHooks != nil {
		return false
	}
	if m.cfg.Image.User(h.PC - ecallBytes) {
		return true
	}
	n := len(h.frames)
	if n == 0 {
		return false
	}
	ret := h.frames[n-1].ret - 1
	if m.cfg.Image.User(ret) {
		return !m.waits(ret)
	}
	s, ok := m.cfg.Image.Func(ret)
	if !ok { // a shared object has no symbol for its starter, which is called only by the start of a thread
		return n <= outermostFrames && m.cfg.Image.At(ret) != nil
	}
	return starters[s.Name]
}

// outermostFrames is how many frames deep a starter may be in a thread: clone,
// start_thread, execute_native_thread_routine.
const outermostFrames = 3

// touched watches the guest's memory: it is called for what the kernel reads and writes.
func (m *Machine) touched(addr, n uint64, acc mem.Access) {
	if m.cfg.Journal != nil {
		m.cfg.Journal.touched(addr, n, acc)
	}
	if m.rec == nil {
		return
	}
	if m.values {
		m.rec.touched(addr, n, acc)
	}
	if acc == 0 || n == 0 || addr >= linux.StateBase || m.threads < 2 || m.kernel.Quiet() {
		return // what happens before there is a second thread is ordered before everything that one does
	}
	t := m.kernel.Acting()
	if t == nil {
		return
	}
	if h := m.hartOf[t]; h == nil || h.call.active {
		return // hooks report what hidden calls access
	}
	kind := event.RangeRead
	if acc&mem.Write != 0 {
		kind = event.RangeWrite
	}
	m.Emit(t, event.Event{Kind: kind, Obj: addr, Arg: n})
}

// moved is told of what mremap takes to another place.
func (m *Machine) moved(from, n, to uint64) {
	if m.cfg.Journal != nil {
		m.cfg.Journal.touched(from, n, mem.Read)
		m.cfg.Journal.touched(to, n, mem.Write)
	}
	if m.values {
		m.rec.moved(from, n, to)
	}
}

// actingFor returns the task on whose behalf the kernel works, or nil if that is the
// caller.
func (m *Machine) actingFor() *linux.Task {
	t := m.kernel.Acting()
	if m.calling != nil && t == m.calling.task {
		return nil
	}
	return t
}

// kernelCall lets the kernel work for h, which may be nil: on a system call or, with
// event.EffectSignal, on anything else.
func (m *Machine) kernelCall(h *Hart, open event.EffectKind, do func() linux.Outcome) linux.Outcome {
	m.calling = h
	if h != nil {
		m.place = h.PC
		if open == event.EffectSyscall {
			m.place -= ecallBytes
		}
	}
	work := do
	if m.values {
		work = func() linux.Outcome { return m.kernelValues(h, open, do) }
	}
	var out linux.Outcome
	if j := m.cfg.Journal; j != nil {
		out = j.call(h, work)
	} else {
		out = work()
	}
	m.calling = nil
	return out
}
