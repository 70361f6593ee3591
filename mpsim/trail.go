package mpsim

import "hindsight/mpsim/schedule"

// The schedule of a run, collected while it runs. Successive slices of a thread are one
// step, unless something happened between them that a run without that boundary would not
// see: a deadline that passed, or a wait.

// trail collects the steps of a run.
type trail struct {
	on    bool
	open  bool // the last step grows when its thread continues
	steps []schedule.Step
}

// ran notes that h ran insts instructions.
func (t *trail) ran(h *Hart, insts uint64) {
	if !t.on {
		return
	}
	n := len(t.steps)
	if !t.open || t.steps[n-1].Thread != h.id {
		t.steps = append(t.steps, schedule.Step{Kind: schedule.Run, Thread: h.id})
		n++
		t.open = true
	}
	step := &t.steps[n-1]
	step.Count += insts
	step.At = h.PC
}

// cut ends the last step. What runs next is a separate one.
func (t *trail) cut() { t.open = false }

// waits notes that the thread that ran cannot continue.
func (t *trail) waits() {
	if t.on {
		t.steps[len(t.steps)-1].Waits = true
	}
	t.cut()
}

// clock notes that the scheduler set the time to ns.
func (t *trail) clock(ns uint64) {
	if t.on {
		t.steps = append(t.steps, schedule.Step{Kind: schedule.Clock, Time: ns})
		t.open = false
	}
}
