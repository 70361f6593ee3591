package mpsim

import (
	"slices"

	"hindsight/mpsim/linux"
	"hindsight/mpsim/rv"
	"hindsight/mpsim/schedule"
)

// Steering: a run that stops at chosen instructions, with threads held there while
// others go on. Blocks of instructions are cut so that one begins at each place to
// stop at, and such blocks are never linked to others: code elsewhere runs as fast as
// ever.

// breaks are the places to stop at, and how many want it.
type breaks map[uint64]int

// BreakAt makes the run stop before each execution of the instruction at pc, to tell
// Config.Stop. It may be called before the run and whenever the run is paused.
func (m *Machine) BreakAt(pc uint64) { m.breakAt(pc) }

// Unbreak takes a [Machine.BreakAt] back.
func (m *Machine) Unbreak(pc uint64) { m.unbreak(pc) }

func (m *Machine) breakAt(pc uint64) {
	if m.breaks == nil {
		m.breaks = breaks{}
	}
	if m.breaks[pc]++; m.breaks[pc] == 1 {
		m.flushCode()
	}
}

func (m *Machine) unbreak(pc uint64) {
	if m.breaks[pc]--; m.breaks[pc] <= 0 {
		delete(m.breaks, pc)
		m.flushCode()
	}
}

// cut shortens straight-line code so that it has no place to stop at but its
// beginning.
func (b breaks) cut(code rv.Block) (limit int) {
	pc := code.PC
	for n, in := range code.Insts {
		if n > 0 && b[pc] > 0 {
			return n
		}
		pc += uint64(in.Len)
	}
	return 0
}

// reached is called when h is about to execute an instruction to stop at; true ends
// the slice before it. The hart passes when it is chosen again.
func (m *Machine) reached(h *Hart) bool {
	if h.passing {
		h.passing = false
		return false
	}
	over := false
	if f := m.sched.follow; f != nil {
		over = f.came(h)
	}
	if m.cfg.Stop != nil && m.cfg.Stop(h) {
		over = true
	}
	h.passing = over
	return over
}

// Pause makes [Machine.Advance] return at the end of the slice. It is for Config.Stop
// and Config.Stuck.
func (m *Machine) Pause() { m.paused = true }

// Hold keeps the thread from running until it is let go.
func (h *Hart) Hold(on bool) { h.held = on }

// Accesses is the memory that the instruction at PC, a load, store or atomic access,
// is about to access: address and bytes. false when it is another instruction.
func (h *Hart) Accesses() (addr, size uint64, ok bool) {
	in, ok := h.m.instruction(h.PC)
	if !ok {
		return 0, 0, false
	}
	if _, bytes, plain := in.Mem(); plain {
		return h.X[in.Rs1&31] + uint64(int64(in.Imm)), uint64(bytes), true
	}
	if in.Atomic() {
		return h.X[in.Rs1&31], uint64(in.AtomicSize()), true
	}
	return 0, 0, false
}

// Held reports whether the thread is kept from running.
func (h *Hart) Held() bool { return h.held }

// Runnable reports whether the thread could run, were it not held.
func (h *Hart) Runnable() bool { return h.task.State == linux.Runnable }

// Hidden reports whether the thread is inside a hooked call, which represents all it does.
func (h *Hart) Hidden() bool { return h.call.active }

// WaitsFor describes what a thread that is not [Hart.Runnable] waits for.
func (h *Hart) WaitsFor() string { return h.waitsFor() }

// runnable reports whether the scheduler may choose the hart.
func (h *Hart) runnable() bool { return h.task.State == linux.Runnable && !h.held }

// Threads are the threads that are alive, in order of their ids. The slice is the
// machine's.
func (m *Machine) Threads() []*Hart { return m.harts }

// Instruction decodes the instruction at pc; false when there is none.
func (m *Machine) Instruction(pc uint64) (rv.Inst, bool) { return m.instruction(pc) }

// Follow makes the run, which is paused, follow a schedule from here on. What is left
// of an earlier one is given up. After its last step the scheduler of the policy goes
// on, with random numbers of that seed.
func (m *Machine) Follow(s *schedule.Schedule, policy Policy, quantum int, seed uint64) {
	cfg := Config{Policy: policy, Quantum: quantum, Seed: seed, Schedule: s}
	m.leaveStep()
	at := m.sched.at
	m.sched = scheduler{}
	m.sched.init(&cfg)
	m.sched.at = at
	m.trail.cut()
	for _, h := range m.harts {
		h.parking, h.spin = parking{}, spinning{}
		h.priority = m.sched.priority()
	}
}

// Limit makes the run, which is paused, end after about so many instructions; 0: there
// is no limit.
func (m *Machine) Limit(insts uint64) { m.cfg.MaxInsts = insts }

// Interrupt ends the run, which is paused, as cancelling its context does.
func (m *Machine) Interrupt() { m.interrupt() }

// Trail is the schedule of the run so far, if Config.Trail asked for it.
func (m *Machine) Trail() *schedule.Schedule {
	return &schedule.Schedule{Steps: slices.Clone(m.trail.steps)}
}

// Insts is how many instructions the run has retired, at the end of the last slice.
func (m *Machine) Insts() uint64 { return m.result.Insts }

// Ended reports whether the run has ended.
func (m *Machine) Ended() bool { return m.ended }

// held reports whether the run cannot continue only because threads are held.
func (m *Machine) held() bool {
	for _, h := range m.harts {
		if h.held {
			return true
		}
	}
	return false
}

// UserPC is the innermost place of the program's own code in the thread: the
// instruction that it executes next, or a call. Without one it is the former.
func (h *Hart) UserPC() uint64 {
	for i, pc := range h.Stack() {
		if i > 0 {
			pc-- // a return address: the call is before it
		}
		if h.m.cfg.Image.User(pc) {
			return pc
		}
	}
	return h.PC
}

// Dead reports whether the thread has ended.
func (h *Hart) Dead() bool { return h.task.State == linux.Dead }
