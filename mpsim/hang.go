package mpsim

import (
	"fmt"

	"hindsight/mpsim/linux"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// A run hangs when every thread that can run is in a loop that writes nothing and returns
// to the same registers, and no other thread will ever run, because the others are blocked
// and no deadline is due. This is not a guess. Two iterations of each loop are evaluated
// with the present registers and memory. If the second ends in the state in which it began,
// so do all later ones, since only another thread could write what they read. A loop that
// counts, sleeps, yields or calls anything is never taken for such a loop.

// hangProbe is the number of instructions between two checks.
const hangProbe = 1 << 22

// hanging is the state of the search for hangs.
type hanging struct {
	next  uint64 // instructions retired at the next check
	since uint64 // instructions retired at the first check that found the hang; 0: the last check found none
}

// hung reports whether the run has hung for Config.HangInsts instructions.
func (m *Machine) hung() bool {
	now := m.result.Insts
	m.hang.next = now + min(hangProbe, m.cfg.HangInsts)
	if !m.stuck() {
		m.hang.since = 0
		return false
	}
	if m.hang.since == 0 {
		m.hang.since = now
	}
	return now-m.hang.since >= m.cfg.HangInsts
}

// stuck reports whether the run hangs now.
func (m *Machine) stuck() bool {
	if _, due := m.kernel.NextDeadline(); due {
		return false
	}
	for _, h := range m.harts {
		if h.task.State != linux.Runnable {
			continue
		}
		if _, ok := h.looping(); !ok {
			return false
		}
	}
	return true
}

// stopHung ends a run that hangs.
func (m *Machine) stopHung() {
	m.result.Hung, m.result.LimitReached, m.result.Stood = true, true, m.standing()
	m.end(linux.Outcome{Status: 128 + linux.SIGKILL,
		Message: fmt.Sprintf("it hangs: since instruction %d threads only wait, or go round loops that no other thread will end", m.hang.since)})
}

// looping reports whether the hart is in a loop that only another thread can end, and the
// first word that the loop reads. The address is 0 if it reads none, so that nothing can
// end it.
func (h *Hart) looping() (word polled, ok bool) {
	words := h.parking.words
	h.parking.words = nil
	defer func() { h.parking.words = words }()
	once, ok := h.around(h.X)
	if !ok {
		return polled{}, false
	}
	if len(h.parking.words) > 0 {
		word = h.parking.words[0]
	}
	twice, ok := h.around(once)
	return word, ok && once == twice
}

// around evaluates one iteration of the loop at whose beginning the hart is, starting with
// registers x. It returns the registers after it, and false if this is not such a loop or
// leads elsewhere.
func (h *Hart) around(x [32]uint64) (after [32]uint64, ok bool) {
	turn, pc := turnOf{x: x}, h.PC
	for range pollBlocks {
		b := h.m.lookup(pc)
		if b == nil || !b.polls() {
			return x, false
		}
		at := b.pc
		for _, in := range b.code.Insts {
			if !h.turnOn(&turn, in, at) || turn.unknown != 0 {
				return x, false
			}
			at += uint64(in.Len)
		}
		pc = b.next
		switch b.code.End {
		case event.EndJump:
			pc = b.target
		case event.EndBranch:
			if branches(b.code.Insts[len(b.code.Insts)-1], &turn.x) {
				pc = b.target
			}
		}
		if pc == h.PC {
			return turn.x, true
		}
	}
	return x, false
}

// branches reports whether a branch is taken.
func branches(in rv.Inst, x *[32]uint64) bool {
	a, b := x[in.Rs1&31], x[in.Rs2&31]
	switch in.Op {
	case rv.OpBEQ:
		return a == b
	case rv.OpBNE:
		return a != b
	case rv.OpBLT:
		return int64(a) < int64(b)
	case rv.OpBGE:
		return int64(a) >= int64(b)
	case rv.OpBLTU:
		return a < b
	}
	return a >= b
}
