package mpsim

import (
	"fmt"
	"slices"

	"hindsight/mpsim/linux"
	"hindsight/mpsim/rv"
	"hindsight/mpsim/schedule"
	"hindsight/tracefmt/event"
)

// A run that follows a schedule. The steps say exactly who runs and for how long. What the
// policy would do besides (lower priorities, hold threads, end sleeps early) does not
// happen until the last step is done; then the policy takes over.
//
// A step of a schedule that a run of the same program wrote ends at the end of a block of
// instructions. Other steps may end in the middle of a block. When the rest of a step is
// shorter than the longest block, it runs block by block, and the last block is cut to what
// is left (follow.more, Machine.fit). Steps that last until a number of events and accesses
// run block by block near their end. The recorder counts both, so a run with such steps has
// a recorder, if need be with an observer that does nothing.

// Divergence is where a run could not follow its schedule.
type Divergence struct {
	Schedule string        // name of the schedule
	Step     schedule.Step // the step that could not be followed; Line says where it is
	Done     uint64        // instructions of the step that ran
	Left     int           // steps that were not done, including this one
	What     string        // "T1 waits for …"
}

func (d *Divergence) String() string {
	name := d.Schedule
	if name == "" {
		name = "schedule"
	}
	where := name
	if d.Step.Line > 0 {
		where = fmt.Sprintf("%s:%d", name, d.Step.Line)
	}
	return fmt.Sprintf("%s: cannot follow %q: %s", where, d.Step.String(), d.What)
}

// follow is the state of a run that follows its schedule.
type follow struct {
	name  string
	steps []schedule.Step // the steps left, the present one first
	done  uint64          // instructions of the present step that ran in earlier slices
	comes uint64          // or how often the thread reached the place
	stops bool            // the machine stops at that place
	// owed is what threads have left of earlier steps, in a schedule that is
	// [schedule.Schedule.Lenient]; otherwise nil. steps is then a copy.
	owed map[event.ThreadID]uint64
}

func newFollow(s *schedule.Schedule) *follow {
	f := &follow{name: s.Name, steps: s.Steps}
	if s.Lenient {
		f.steps, f.owed = slices.Clone(s.Steps), map[event.ThreadID]uint64{}
	}
	return f
}

// owe moves the rest of the present step to the thread's next one.
func (f *follow) owe() {
	if step := &f.steps[0]; step.Kind == schedule.Run && step.Count > f.done {
		f.owed[step.Thread] += step.Count - f.done
	}
}

// settle adds to the starting step what its thread has left of earlier ones.
func (f *follow) settle() {
	if step := &f.steps[0]; step.Kind == schedule.Run && f.owed[step.Thread] > 0 {
		step.Count += f.owed[step.Thread]
		delete(f.owed, step.Thread)
	}
}

// following reports whether the schedule has steps left, so that the policy does not
// choose.
func (s *scheduler) following() bool { return s.follow != nil }

// advance starts the next step.
func (m *Machine) advance() {
	m.leaveStep()
	f := m.sched.follow
	f.steps, f.done, f.comes = f.steps[1:], 0, 0
	if len(f.steps) == 0 {
		m.sched.follow = nil
		return
	}
	f.settle()
}

// leaveStep ends the present step, if there is one.
func (m *Machine) leaveStep() {
	if f := m.sched.follow; f != nil && f.stops {
		f.stops = false
		m.unbreak(f.steps[0].PC)
	}
}

// followed chooses the hart of the present step. It returns nil when time has to pass
// first, or the run has ended. ok is false when no step is left.
func (s *scheduler) followed(m *Machine) (h *Hart, ok bool) {
	for s.follow != nil && !m.ended {
		step := &s.follow.steps[0]
		if step.Kind == schedule.Clock {
			m.kernel.AdvanceTo(step.Time)
			m.trail.clock(step.Time)
			m.settle(m.kernelCall(nil, event.EffectSignal, m.kernel.Expire))
			m.advance()
			continue
		}
		h := m.thread(step.Thread)
		switch {
		case h == nil:
			m.diverge(fmt.Sprintf("there is no thread T%d: it has ended, or has not begun", step.Thread))
		case h.runnable():
			if f := s.follow; step.Kind == schedule.To && !f.stops {
				f.stops = true
				m.breakAt(step.PC)
			}
			return h, true
		case step.Kind == schedule.Rest && s.follow.done > 0, step.Kind == schedule.Until && s.follow.reached(h):
			m.advance()
		case step.Kind == schedule.Until && h.task.Sleeps():
			// Whatever the others still have to do: they may be slow.
			m.kernel.AdvanceTo(h.task.Wait.Deadline)
			m.trail.clock(h.task.Wait.Deadline)
			m.settle(m.kernelCall(nil, event.EffectSignal, m.kernel.Expire))
		case m.anyRunnable():
			m.diverge(fmt.Sprintf("T%d waits for %s after %s", step.Thread, h.waitsFor(), s.follow.ran(h)))
		default:
			return nil, true
		}
	}
	return nil, m.ended
}

// ran describes how far h is in the present step.
func (f *follow) ran(h *Hart) string {
	if f.steps[0].Kind == schedule.Until {
		return fmt.Sprintf("%d events and %d accesses", h.pastEvents(), h.pastAccesses())
	}
	return fmt.Sprintf("%d instructions", f.done)
}

// diverge abandons the schedule, or only the present step if the schedule is lenient.
func (m *Machine) diverge(what string) {
	f := m.sched.follow
	if f.owed != nil {
		f.owe()
		m.advance()
		return
	}
	if m.result.Diverged == nil {
		m.result.Diverged = &Divergence{Schedule: f.name, Step: f.steps[0], Done: f.done, Left: len(f.steps), What: what}
	}
	m.leaveStep()
	m.sched.follow = nil
}

// grant returns how many instructions of the present step may run at full speed. An
// instruction makes at most one access.
func (f *follow) grant() int64 {
	step := &f.steps[0]
	switch step.Kind {
	case schedule.Run:
		return max(int64(step.Count-f.done)-rv.MaxBlock, 0)
	case schedule.Until:
		return 0
	}
	return DefaultQuantum
}

// rest returns how many instructions are left of a step that counts instructions.
func (f *follow) rest(h *Hart) int64 {
	step := &f.steps[0]
	if step.Kind != schedule.Run {
		return 0
	}
	return int64(step.Count-f.done) - (h.granted - h.left)
}

// more reports whether the slice continues for one more block after the grant is used up.
func (s *scheduler) more(m *Machine, h *Hart) bool {
	f := s.follow
	if f == nil || m.paused || f.rest(h) <= 0 && !f.before(h) {
		return false
	}
	if most := m.cfg.MaxInsts; most != 0 && m.result.Insts+uint64(h.granted-h.left-h.ticked) >= most {
		return false
	}
	n := int64(1)
	if f.steps[0].Kind == schedule.Until {
		n = max(n, f.accesses(h)-rv.MaxBlock)
	}
	h.granted += n - h.left
	h.left = n
	return true
}

// before reports whether h has to continue in a step that lasts until a number of events
// and accesses.
func (f *follow) before(h *Hart) bool {
	step := &f.steps[0]
	if step.Kind != schedule.Until || h.task.State != linux.Runnable {
		return false
	}
	return f.accesses(h) > 0 || h.pastEvents() < step.Events || h.call.active
}

// accesses returns how many accesses are missing in a step of that kind.
func (f *follow) accesses(h *Hart) int64 { return int64(f.steps[0].Accesses - h.pastAccesses()) }

// reached reports whether h has executed the events and accesses of such a step.
func (f *follow) reached(h *Hart) bool {
	return f.accesses(h) <= 0 && h.pastEvents() >= f.steps[0].Events
}

// fit cuts the block that h is about to execute to what is left of the step.
func (m *Machine) fit(h *Hart, b *block) *block {
	f := m.sched.follow
	if f == nil {
		return b
	}
	if step := &f.steps[0]; step.Kind == schedule.Until && !h.call.active && step.Events <= h.pastEvents() {
		if limit := throughAccess(b, f.accesses(h)); limit > 0 {
			return m.decode(b.pc, limit)
		}
		return b
	}
	if rest := f.rest(h); rest > 0 && int64(b.insts) > rest {
		return m.decode(b.pc, int(rest))
	}
	return b
}

// throughAccess returns the number of instructions of b up to and including its nth access.
// It returns 0 if that access ends the block or b has fewer.
func throughAccess(b *block, n int64) int {
	if n <= 0 || int64(b.sites) < n {
		return 0
	}
	for i, in := range b.code.Insts {
		if _, _, plain := in.Mem(); plain {
			if n--; n == 0 && i+1 < len(b.code.Insts) {
				return i + 1
			}
		}
	}
	return 0
}

// stepped accounts for what h ran in the slice that has ended.
func (s *scheduler) stepped(m *Machine, h *Hart, insts uint64) {
	f := s.follow
	step := &f.steps[0]
	f.done += insts
	over := false
	switch step.Kind {
	case schedule.Run:
		over = f.done >= step.Count
	case schedule.To:
		over = f.comes >= step.Count
	case schedule.Rest:
		over = h.task.State != linux.Runnable
	case schedule.Until:
		over = f.reached(h) && (!h.call.active || h.task.State != linux.Runnable)
	}
	switch {
	case !over:
	case step.At != 0 && step.At != h.PC:
		m.diverge(fmt.Sprintf("T%d stands at %#x after it", h.id, h.PC))
	default:
		m.advance()
	}
}

// unfollowed reports a divergence if the run ended before its schedule.
func (m *Machine) unfollowed() {
	if m.sched.following() && m.sched.follow.owed == nil && !m.result.Interrupted && !m.result.LimitReached {
		m.diverge("the run had ended")
	}
}

// came tells the schedule that h is about to execute an instruction that the run stops at.
// It reports whether the step is over.
func (f *follow) came(h *Hart) bool {
	step := &f.steps[0]
	if step.Kind != schedule.To || step.Thread != h.id || step.PC != h.PC {
		return false
	}
	f.comes++
	return f.comes >= step.Count
}

// thread returns the hart of a thread, or nil if the thread has not started or has ended.
func (m *Machine) thread(id event.ThreadID) *Hart {
	for _, h := range m.harts {
		if h.id == id {
			return h
		}
	}
	return nil
}

// anyRunnable reports whether some hart can run.
func (m *Machine) anyRunnable() bool {
	for _, h := range m.harts {
		if h.runnable() {
			return true
		}
	}
	return false
}

// waitsFor describes what a hart that cannot run is waiting for.
func (h *Hart) waitsFor() string {
	what := ""
	if h.call.active {
		what = h.m.cfg.Hooks.Waits(h, h.call.fn)
	}
	if what == "" {
		what = h.task.Wait.String()
	}
	return what
}
