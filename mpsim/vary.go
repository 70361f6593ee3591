package mpsim

import (
	"math/bits"
	"math/rand/v2"

	"hindsight/mpsim/linux"
	"hindsight/tracefmt/event"
)

// The policy Random without a Config.Quantum: schedules that expose many kinds of bugs.
//
// Which lengths of slices expose a bug depends on the bug. Where threads share out work,
// slices of tens of instructions let each of them get some. Where one thread has to run far
// ahead of another, slices have to be as long as what it does. So the run goes through
// phases:
//
//   - Each phase has an octave: its slices have about 2^octave instructions, from
//     tens to tens of thousands. One slice in 16 has any octave. The length of a
//     phase in instructions does not depend on its octave, so that each octave gets
//     the same share of the run.
//   - At switch points, where a thread, a team, a task or a share of work begins
//     and where something is released or obtained, the slice ends with a probability
//     that is drawn for each phase.
//   - In half of the phases one thread is slow: others are preferred to it.
//   - Before some phases a sleep ends early, before the others have run for as
//     long, as on a machine that is busy with other things. It ends at most
//     mostHaste too early. A wait with a timeout for something else does not.
//
// A switch costs the recording of a batch, about as much as 90 instructions. A run has a
// credit of switches that grows as it runs. While the credit is used up, slices are long
// and switch points do nothing. So short runs, and the first part of long ones, are
// interleaved finely, and in the long run there is at most one switch per switchCost
// instructions.
type variety struct {
	rng    *rand.Rand
	octave int   // of the phase
	left   int64 // instructions of the phase that are still to run
	eager  int   // chance out of eagerOf that a switch point ends the slice
	slow   *Hart
	credit int64 // in instructions
	last   *Hart // the hart that ran last
	avoid  *Hart // the hart that ended its slice for others to run
	held   bool  // a thread may be waiting for another to reach an object
	now    int64 // instructions that ran while there was more than one thread
	can    []*Hart

	// See targets.go.
	targets  []Target // that have not been reached yet
	longHold bool     // a thread was held for a target
}

const (
	firstOctave = 4  // 16 to 31 instructions
	lastOctave  = 13 // 8,192 to 16,383
	farOctave   = 16 // for the slices of any length
	thriftyOne  = 11 // the first octave when there is no credit

	firstPhase = 8 // range of the octaves of phase lengths, in instructions
	lastPhase  = 16
	phaseShare = 3 // a phase lasts for an eighth of what ran before

	firstHold = 6
	lastHold  = 15

	mostHaste = 100_000_000 // nanoseconds that others may lose to a busy machine

	eagerOf     = 8
	slowOf      = 8 // a slow hart is chosen in one of slowOf cases in which it would otherwise be
	switchCost  = 5000
	firstCredit = 1024 * switchCost
)

func (v *variety) init(rng *rand.Rand) {
	v.rng, v.credit, v.octave, v.eager = rng, firstCredit, lastOctave, eagerOf
}

// varies reports whether the policy is the one in this file.
func (s *scheduler) varies() bool { return s.vary.rng != nil && s.follow == nil }

// within draws a number from octave k.
func (v *variety) within(k int) int64 { return 1<<k + v.rng.Int64N(1<<k) }

// between draws a number from low to high, inclusive.
func (v *variety) between(low, high int) int { return low + v.rng.IntN(high-low+1) }

// quantum returns the length of the next slice.
func (v *variety) quantum() int64 {
	k := v.between(max(firstOctave, v.octave-1), v.octave+1)
	if v.rng.IntN(16) == 0 {
		k = v.between(firstOctave, farOctave)
	}
	if v.credit <= 0 {
		k = max(k, thriftyOne)
	}
	return v.within(k)
}

// phase starts the next phase.
func (v *variety) phase(m *Machine) {
	long := bits.Len64(uint64(v.now)) - 1 - phaseShare
	long = min(max(long, firstPhase), lastPhase)
	v.left = v.within(long)
	v.octave = v.between(firstOctave, min(long+2, lastOctave))
	v.eager = 1 << v.rng.IntN(4)
	v.slow = nil
	if v.rng.IntN(2) == 0 {
		v.slow = m.harts[v.rng.IntN(len(m.harts))]
	}
	if v.rng.IntN(4) == 0 {
		v.wakeSleeper(m)
	}
}

// wakeSleeper lets the next sleep end, if it is the next thing to happen and is due soon.
func (v *variety) wakeSleeper(m *Machine) {
	if deadline, ok := m.kernel.NextSleeper(); ok && deadline-m.kernel.Now() <= mostHaste {
		m.kernel.AdvanceTo(deadline)
		m.trail.clock(deadline)
		m.settle(m.kernelCall(nil, event.EffectSignal, m.kernel.Expire))
	}
}

// choose chooses one of the runnable harts.
func (v *variety) choose(m *Machine) *Hart {
	if v.left <= 0 && len(m.harts) > 1 {
		v.phase(m)
	}
	v.runnable(m, func(h *Hart) bool { return !h.parked(v.now) })
	if len(v.can) == 0 && v.rng.IntN(2) == 0 {
		v.wakeSleeper(m)
		v.runnable(m, func(h *Hart) bool { return !h.parked(v.now) })
	}
	if len(v.can) == 0 {
		v.others(m)
	}
	if len(v.can) == 0 {
		v.runnable(m, func(*Hart) bool { return true })
	}
	if len(v.can) == 0 {
		return nil
	}
	v.without(v.avoid)
	v.avoid = nil
	if v.rng.IntN(slowOf) != 0 {
		v.without(v.slow)
	}
	h := v.can[v.rng.IntN(len(v.can))]
	h.parking.on = false
	if h != v.last {
		v.credit -= switchCost
		v.last = h
	}
	return h
}

// runnable collects the harts that could run and for which and returns true.
func (v *variety) runnable(m *Machine, and func(*Hart) bool) {
	v.can = v.can[:0]
	for _, h := range m.harts {
		if h.runnable() && and(h) {
			v.can = append(v.can, h)
		}
	}
}

// without excludes a hart from the choice, if there are others.
func (v *variety) without(h *Hart) {
	if h == nil || len(v.can) < 2 {
		return
	}
	for n, other := range v.can {
		if other == h {
			v.can = append(v.can[:n], v.can[n+1:]...)
			return
		}
	}
}

// ran accounts for the instructions that h ran.
func (v *variety) ran(h *Hart, insts int64, spins bool) {
	if len(h.m.harts) < 2 {
		return
	}
	v.left -= insts
	v.now += insts
	v.credit = min(v.credit+insts, firstCredit)
	switch {
	case spins:
		// It spins, or it has called sched_yield.
		v.avoid = h
		if h.spin.size != 0 {
			h.parking.words = append(h.parking.words[:0], polled{addr: h.spin.addr, size: h.spin.size})
			h.park(v.now)
		}
		h.spin = spinning{}
	case h.left <= 0 && h.task.State == linux.Runnable && h.polling():
		h.park(v.now)
	}
}

// SwitchPoint says that this is a good place to let others run, now or when the present
// hidden call returns. obj is the object concerned.
func (h *Hart) SwitchPoint(obj uint64) {
	s := &h.m.sched
	if !s.varies() || len(h.m.harts) < 2 {
		return
	}
	s.vary.reached(h, obj)
	if len(s.vary.targets) > 0 && !h.call.active && h.target(obj) {
		return
	}
	if s.vary.credit <= 0 || s.vary.rng.IntN(eagerOf) >= s.vary.eager {
		return
	}
	if h.call.active {
		h.call.turn, h.call.about = true, obj
		return
	}
	h.turn(obj)
}

// turn ends the slice at the end of the present block, so that another can run, and may
// hold the thread for a while.
func (h *Hart) turn(obj uint64) {
	v := &h.m.sched.vary
	v.avoid = h
	switch v.rng.IntN(4) {
	case 0:
		v.hold(h, anywhere, v.between(firstHold, lastHold))
	case 1, 2:
		v.hold(h, obj, lastHold)
	}
	if h.left > 1 {
		// The hooks have been told of the block that begins a hooked function, so it has to
		// run.
		h.granted -= h.left - 1
		h.left = 1
	}
}

// hold keeps the thread from being chosen until others have run about 2^octave
// instructions, or one of them has reached a switch point with object obj.
func (v *variety) hold(h *Hart, obj uint64, octave int) {
	h.parking = parking{on: true, until: v.now + v.within(octave), obj: obj, words: h.parking.words[:0]}
	v.held = v.held || obj != anywhere
}

// reached releases the threads that wait for another to reach obj.
func (v *variety) reached(h *Hart, obj uint64) {
	if !v.held {
		return
	}
	v.held = false
	for _, other := range h.m.harts {
		if p := &other.parking; p.on && p.obj != anywhere {
			if p.obj == obj && other != h {
				p.on = false
			} else {
				v.held = true
			}
		}
	}
}

// Pseudo-objects of holds that are not objects of the program.
const (
	anywhere = 0 // no object
	birth    = 1 // the start of a thread
)

// born handles a new thread, which may start late, or together with the next.
func (v *variety) born(h *Hart) {
	v.reached(h, birth)
	switch v.rng.IntN(4) {
	case 0:
		v.hold(h, anywhere, v.between(firstHold, lastHold))
	case 1, 2:
		v.hold(h, birth, lastHold)
	}
}

// switchKinds are the kinds of events at which it is good to let others run.
var switchKinds = [event.NumKinds]bool{
	event.MutexLock: true, event.MutexUnlock: true,
	event.ReadLock: true, event.ReadUnlock: true, event.WriteLock: true, event.WriteUnlock: true,
	event.BarrierEnter: true, event.BarrierLeave: true,
	event.CondWait: true, event.CondSignal: true, event.CondBroadcast: true,
	event.SemWait: true, event.SemPost: true, event.OnceDone: true, event.OnceSeen: true,
	event.Create: true, event.Join: true, event.Free: true,
	event.Publish: true, event.Observe: true, event.StrandCreate: true, event.StrandBegin: true, event.StrandEnd: true,
}
