package mpsim

import (
	"hindsight/mpsim/linux"
	"hindsight/mpsim/mem"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// slice runs h until its quantum is used up, or it cannot or should not continue.
func (m *Machine) slice(h *Hart) {
	h.granted = m.sched.quantum()
	if max := m.cfg.MaxInsts; max != 0 {
		h.granted = int64(min(uint64(h.granted), max-m.result.Insts))
	}
	h.left = h.granted
	if m.values {
		m.rec.woken(h)
	}
	for _, e := range h.owed {
		h.emit(e)
	}
	h.owed = h.owed[:0]
	if h.task.Pending() {
		h.settle()
		m.resume(h, m.kernelCall(h, event.EffectSignal, func() linux.Outcome { return m.kernel.Deliver(h.task, &h.Context) }))
	}
	if m.cfg.Journal != nil {
		m.cfg.Journal.registers(h)
	}
	m.refresh(h)
	for !m.ended && (h.left > 0 || m.sched.more(m, h)) {
		b := m.lookup(h.PC)
		if b == nil {
			m.unfetchable(h)
			continue
		}
		if b.stops && m.reached(h) {
			return
		}
		b = m.fit(h, b)
		switch {
		case b.hook == noHook || h.call.active:
		case b.hook == stubHook:
			h.caller = h.last
		case b.hook == mainHook:
			m.linked(h)
		default:
			h.enterHook(b)
		}
		switch h.exec(b) {
		case stopWatch:
			h.leaveHook()
		case stopCall:
			h.calls()
		case stopSyscall:
			if !m.syscall(h) {
				return
			}
		case stopFault:
			m.fault(h, h.fault)
		case stopAlign:
			m.raise(h, linux.SIGBUS, linux.CodeMisaligned, h.fault.Addr, "misaligned atomic access")
		case stopIllegal:
			m.raise(h, linux.SIGILL, linux.CodeIllegal, h.PC, m.illegal(h.PC))
		case stopZero:
			m.zeroBlock(h)
		case stopBreak:
			m.raise(h, linux.SIGTRAP, linux.CodeBreakpoint, h.PC, "breakpoint")
		}
	}
}

// illegal describes the invalid instruction at pc.
func (m *Machine) illegal(pc uint64) string {
	low, _ := m.fetch(pc)
	high, ok := m.fetch(pc + 2)
	if ext := rv.Missing(uint32(high)<<16 | uint32(low)); ok && ext != "" {
		return "instruction of extension " + ext + ", which is not simulated; compile with -march=rv64gc"
	}
	return "illegal instruction"
}

// refresh discards what changes of the guest's mappings have made stale.
func (m *Machine) refresh(h *Hart) {
	if g := m.space.CodeGeneration(); g != m.code.generation {
		m.flushCode()
		m.code.generation = g
	}
	if h.generation != m.space.Generation() {
		h.flush()
	}
}

// syscall executes the system call that h has just requested. It reports false if the slice
// has to end.
func (m *Machine) syscall(h *Hart) bool {
	m.tick(h)
	h.settle()
	out := m.kernelCall(h, event.EffectSyscall, func() linux.Outcome { return m.kernel.Syscall(h.task, &h.Context) })
	h.setExact()
	switch out.Action {
	case linux.Return:
	case linux.SigReturn:
		h.returnedFromSignal()
	case linux.Block:
		h.blocked = true
		return false
	case linux.Yield:
		h.yielded()
		return false
	case linux.Exit:
		h.emit(event.Event{Kind: event.ThreadEnd, PC: h.PC - 4})
		m.remove(h)
		return false
	case linux.ExitGroup:
		m.end(out)
		return false
	case linux.Clone:
		m.clone(h, &out)
	}
	if m.sched.woke(m, h, &out) {
		return false
	}
	m.refresh(h)
	return true
}

// clone creates a hart for a new task.
func (m *Machine) clone(parent *Hart, out *linux.Outcome) {
	child := m.newHart(out.Child, out.ChildContext)
	if m.cfg.Journal != nil {
		m.cfg.Journal.born(child)
	}
	pc := parent.PC - 4
	if parent.call.active {
		pc = parent.call.site
		m.cfg.Hooks.Created(parent, parent.call.fn, child)
	}
	if m.fiberHooks != nil {
		m.fiberHooks.Cloning(parent)
	}
	parent.emit(event.Event{Kind: event.Create, PC: pc, Obj: uint64(child.id)})
	if m.fiberHooks != nil {
		m.fiberHooks.Cloned(parent)
	}
	m.start(child, parent.id)
	if m.sched.varies() {
		m.sched.vary.born(child)
	}
}

// remove removes a hart whose thread has ended from the machine.
func (m *Machine) remove(h *Hart) {
	h.forgetObjects(0)
	delete(m.hartOf, h.task)
	if m.cfg.Journal != nil {
		m.cfg.Journal.left(h)
	}
	if m.cfg.Hooks != nil {
		m.cfg.Hooks.Gone(h.id)
	}
	for n, other := range m.harts {
		if other == h {
			m.harts = append(m.harts[:n], m.harts[n+1:]...)
			m.sched.removed(n)
			break
		}
	}
}

// unfetchable handles a hart whose PC does not point to an instruction.
func (m *Machine) unfetchable(h *Hart) {
	at := h.PC
	_, fault := m.space.Page(at>>mem.PageShift, mem.Exec)
	if fault == nil {
		at += 2 // the instruction crosses a page boundary
		_, fault = m.space.Page(at>>mem.PageShift, mem.Exec)
	}
	if fault == nil {
		m.raise(h, linux.SIGBUS, linux.CodeMisaligned, h.PC, "misaligned instruction")
		return
	}
	fault.Addr = at
	m.fault(h, fault)
}

// stackReach is the maximum distance between the stack pointer and an access to the stack.
const stackReach = 1 << 20

// fault delivers the signal for a failed access.
func (m *Machine) fault(h *Hart, f *mem.Fault) {
	h.settle()
	pc, stack, reason := h.PC, h.Stack(), f.Error()
	if below := h.X[regSP] - f.Addr; f.Cause != mem.OverLimit && below+stackReach < 2*stackReach && f.Access&mem.Exec == 0 {
		if _, fault := m.space.Page(h.X[regSP]>>mem.PageShift, mem.Write); fault != nil {
			reason += ": stack overflow"
		}
	}
	out := m.kernelCall(h, event.EffectSignal, func() linux.Outcome { return m.kernel.RaiseFault(h.task, f, &h.Context) })
	m.faulted(h, out, Fault{PC: pc, Addr: f.Addr, Reason: reason, Stack: stack})
}

// raise delivers a signal that the instruction at h.PC caused.
//
//nolint:unparam // the codes of different signals happen to be the same number
func (m *Machine) raise(h *Hart, sig, code int, addr uint64, reason string) {
	h.settle()
	pc, stack := h.PC, h.Stack()
	out := m.kernelCall(h, event.EffectSignal, func() linux.Outcome { return m.kernel.Raise(h.task, sig, code, addr, &h.Context) })
	m.faulted(h, out, Fault{PC: pc, Addr: addr, Reason: reason, Stack: stack})
}

func (m *Machine) faulted(h *Hart, out linux.Outcome, f Fault) {
	if out.Action == linux.ExitGroup {
		f.Thread, f.Signal = h.id, out.Signal
		m.result.Fault = &f
		if out.Message == "" || out.Signal != linux.SIGKILL {
			out.Message = f.String()
		}
	}
	m.resume(h, out)
}

// resume continues after the kernel may have changed the registers.
func (m *Machine) resume(h *Hart, out linux.Outcome) {
	h.setExact()
	m.settle(out)
	m.refresh(h)
}
