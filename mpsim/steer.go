package mpsim

import (
	"slices"

	"hindsight/mpsim/linux"
	"hindsight/mpsim/rv"
	"hindsight/mpsim/schedule"
)

// Steering: a run stops at chosen instructions, and threads are held there while others
// continue. Blocks are cut so that one begins at each place to stop at. Such blocks are
// never linked to others, so that code elsewhere runs at full speed.

// breaks maps each place to stop at to the number of requests for it.
type breaks map[uint64]int

// BreakAt makes the run stop before each execution of the instruction at pc, to call
// Config.Stop. It may be called before the run and whenever the run is paused.
func (m *Machine) BreakAt(pc uint64) { m.breakAt(pc) }

// Unbreak undoes one [Machine.BreakAt].
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

// cut returns the number of instructions to which straight-line code has to be shortened so
// that it contains no place to stop at except at its beginning.
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

// reached is called when h is about to execute an instruction to stop at. It reports
// whether to end the slice before it. The hart passes the instruction when it is chosen
// again.
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

// Pause makes [Machine.Advance] return at the end of the slice. It is for use in
// Config.Stop and Config.Stuck.
func (m *Machine) Pause() { m.paused = true }

// Hold keeps the thread from running while on is true.
func (h *Hart) Hold(on bool) { h.held = on }

// Accesses returns the address and size in bytes of the memory that the instruction at PC
// is about to access. It reports false unless that is a load, store or atomic access.
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

// Runnable reports whether the thread could run if it were not held.
func (h *Hart) Runnable() bool { return h.task.State == linux.Runnable }

// Hidden reports whether the thread is inside a hooked call, which stands for everything
// that it does.
func (h *Hart) Hidden() bool { return h.call.active }

// WaitsFor describes what a thread that is not [Hart.Runnable] is waiting for.
func (h *Hart) WaitsFor() string { return h.waitsFor() }

// runnable reports whether the scheduler may choose the hart.
func (h *Hart) runnable() bool { return h.task.State == linux.Runnable && !h.held }

// Threads returns the live threads, in order of their ids. The slice belongs to the
// machine.
func (m *Machine) Threads() []*Hart { return m.harts }

// Instruction decodes the instruction at pc. It reports false if there is none.
func (m *Machine) Instruction(pc uint64) (rv.Inst, bool) { return m.instruction(pc) }

// Follow makes the run, which is paused, follow a schedule from here on. The rest of an
// earlier schedule is discarded. After the last step, the scheduler of the policy continues
// with random numbers from seed.
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

// Limit makes the run, which is paused, end after about insts instructions. 0 means no
// limit.
func (m *Machine) Limit(insts uint64) { m.cfg.MaxInsts = insts }

// Interrupt ends the run, which is paused, as cancelling its context would.
func (m *Machine) Interrupt() { m.interrupt() }

// Trail returns the schedule of the run so far, if Config.Trail asked for it.
func (m *Machine) Trail() *schedule.Schedule {
	return &schedule.Schedule{Steps: slices.Clone(m.trail.steps)}
}

// Insts returns how many instructions the run had retired at the end of the last slice.
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

// UserPC returns the innermost address in the thread's call stack that is in the program's
// own code: the next instruction or a call. If there is none, it returns the former.
func (h *Hart) UserPC() uint64 {
	for i, pc := range h.Stack() {
		if i > 0 {
			pc-- // from a return address back to the call
		}
		if h.m.cfg.Image.User(pc) {
			return pc
		}
	}
	return h.PC
}

// Dead reports whether the thread has ended.
func (h *Hart) Dead() bool { return h.task.State == linux.Dead }
