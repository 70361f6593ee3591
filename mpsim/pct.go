package mpsim

import (
	"cmp"
	"math"
	"slices"

	"hindsight/mpsim/linux"
	"hindsight/tracefmt/event"
)

// Probabilistic concurrency testing: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A
// Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010, section
// 3.
//
//   1. Each thread gets a random priority above d when it is created.
//   2. d-1 of the k steps of the run are chosen uniformly. The ith of them gives
//      the thread that reaches it priority i, which is below all initial ones.
//   3. The runnable thread with the highest priority runs.
//
// A bug that needs d ordering constraints is found with a probability of at least
// 1/(n·k^(d-1)) for n threads.
//
// A step is an instruction that runs while there is more than one thread. k is
// Config.Steps. The run with the same seed at depth 1 counts it (Result.Steps): up to the
// first change of a priority, the run at depth d is the same. Counting only the steps
// during which more than one thread could run would give too few, since a run at depth 1
// has few of them and another run has more.
//
// The paper assumes that a thread of high priority eventually ends or waits. A thread that
// spins until a lower one does something would not. It is therefore lowered below all
// others, as the paper's section 3.4 does for yields:
//
//   - at sched_yield,
//   - after spinTurns atomic accesses in a row that found the same value at the
//     same address and did not change it,
//   - when, at the ends of two of a few successive slices, it is about to load the
//     same values from the same addresses by the same instructions, as loops do
//     that spin on plain memory (to the machine, a relaxed atomic load is plain),
//   - after a long stretch of successive steps, whatever the thread does. The
//     stretch is k steps, which a thread that makes progress rarely reaches, and
//     half as many each time that this happens, down to minStretch. Spinning thus
//     costs a run at most 2k steps, and minStretch for each wait.
//
// The thread rises again as the others are lowered in their turn, so no thread starves.

const (
	// DefaultDepth is the depth of a Config that sets none.
	DefaultDepth = 3
	// maxDepth bounds the depth. Known bugs have small depths.
	maxDepth = 1 << 10
	// defaultSteps is k if the Config sets none.
	defaultSteps = 1 << 20

	spinTurns  = 64
	samples    = 4    // number of samples of a hart that are compared
	sampleStep = 1000 // minimum instructions of a slice for a sample
	minStretch = 50_000
)

// pct is the state of the scheduler under the policy PCT.
type pct struct {
	depth   int
	points  []changePoint // the ones to come, in order of step
	steps   uint64        // that have run
	lowest  int64         // the lowest priority assigned so far
	top     *Hart         // the hart that runs
	stretch int64         // steps that it has run in a row
	longest int64         // the longest stretch allowed
	shared  bool          // there are other harts
	choice  bool          // and they could run as well
}

// changePoint is a step that changes the priority of the thread that reaches it.
type changePoint struct {
	step     uint64
	priority int64
}

// spinning is what a hart's last atomic access found, if it changed nothing.
type spinning struct {
	addr, value uint64
	size        uint8
	turns       int // how many times in a row it has found that
}

func (s *scheduler) initPCT(cfg *Config) {
	p := &s.pct
	p.depth = cfg.Depth
	if p.depth == 0 {
		p.depth = DefaultDepth
	}
	k := cfg.Steps
	if k == 0 {
		k = defaultSteps
	}
	p.longest = int64(min(max(k, defaultSteps), math.MaxInt64))
	// The points have a random stream of their own, so that threads get the same priorities
	// at any depth.
	rng := newRand(cfg.Seed, pointStream)
	for i := 1; i < p.depth; i++ {
		p.points = append(p.points, changePoint{1 + rng.Uint64N(k), int64(i)})
	}
	slices.SortFunc(p.points, func(a, b changePoint) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.priority, b.priority))
	})
}

// priority returns the priority of a new thread.
func (s *scheduler) priority() int64 {
	if s.policy != PCT {
		return 0
	}
	return maxDepth + s.rng.Int64N(1<<62)
}

// highest returns the runnable hart with the highest priority.
func (s *scheduler) highest(m *Machine) *Hart {
	p := &s.pct
	var best *Hart
	runnable := 0
	for _, h := range m.harts {
		if !h.runnable() {
			continue
		}
		runnable++
		if best == nil || h.priority > best.priority {
			best = h
		}
	}
	p.shared, p.choice = len(m.harts) > 1, runnable > 1
	if best != p.top || !p.choice {
		p.top, p.stretch = best, 0
	}
	return best
}

// quantumPCT returns the length of the next slice, which ends at the next change of a
// priority at the latest.
func (s *scheduler) quantumPCT() int64 {
	p := &s.pct
	q := s.mean
	if p.choice {
		q = min(q, p.longest-p.stretch)
	}
	if p.shared && len(p.points) > 0 {
		q = int64(min(uint64(q), p.points[0].step-p.steps))
	}
	return max(q, 1)
}

// ran accounts for the instructions that h ran, and lowers its priority when that is due.
func (s *scheduler) ran(h *Hart, insts int64) {
	p := &s.pct
	spins := h.spin.turns >= spinTurns
	if s.varies() {
		s.vary.ran(h, insts, spins)
		return
	}
	if spins {
		h.spin = spinning{}
	}
	if s.policy != PCT || !p.shared {
		return
	}
	if p.choice {
		if insts >= sampleStep && h.left <= 0 && h.polls() {
			spins = true
		}
		p.stretch += insts
		long := p.stretch >= p.longest
		if long {
			p.longest = max(p.longest/2, minStretch)
		}
		if spins || long {
			p.lowest--
			h.priority = p.lowest
		}
	}
	p.steps += uint64(insts)
	for len(p.points) > 0 && p.points[0].step <= p.steps {
		h.priority = min(h.priority, p.points[0].priority)
		p.points = p.points[1:]
	}
}

// woke reports whether the slice has to end because a system call made others runnable,
// which may have a higher priority.
func (s *scheduler) woke(m *Machine, h *Hart, out *linux.Outcome) bool {
	if s.following() {
		return false
	}
	if s.varies() {
		if len(m.kernel.Woken()) > 0 {
			h.SwitchPoint(anywhere)
		}
		return false
	}
	return s.policy == PCT && (len(m.kernel.Woken()) > 0 || out.Action == linux.Clone)
}

// spun counts an atomic access to size bytes that found value at addr and left it
// unchanged.
func (h *Hart) spun(addr, value, size uint64) {
	if h.spin.turns == 0 || addr != h.spin.addr || value != h.spin.value {
		h.spin = spinning{addr, value, uint8(size), 1}
		if !h.call.active {
			h.SwitchPoint(addr & granuleMask)
		}
		return
	}
	if h.spin.turns++; h.spin.turns == spinTurns && !h.m.sched.following() && (h.m.sched.policy == PCT || h.m.sched.varies()) {
		h.cutSlice()
	}
}

// polls reports whether the hart is about to make the same loads, with the same results, as
// at the end of one of the last slices.
func (h *Hart) polls() bool {
	b := h.m.lookup(h.PC)
	if b == nil || h.last == nil {
		return false
	}
	sum, loads := uint64(14695981039346656037), 0 // FNV-1a, by words
	add := func(v uint64) { sum = (sum ^ v) * 1099511628211 }
	for _, part := range []*block{h.last, b} {
		add(part.pc)
		for i := range part.code.Insts {
			in := &part.code.Insts[i]
			access, size, ok := in.Mem()
			if !ok || access != event.Read {
				continue
			}
			loads++
			addr := h.X[in.Rs1&31] + uint64(int64(in.Imm))
			value, _ := h.Load(addr, int(size))
			add(addr)
			add(value)
		}
	}
	if loads == 0 {
		return false
	}
	if slices.Contains(h.sampled[:], sum) {
		h.sampled = [samples]uint64{}
		return true
	}
	copy(h.sampled[1:], h.sampled[:])
	h.sampled[0] = sum
	return false
}

// yielded makes the hart count as spinning.
func (h *Hart) yielded() { h.spin = spinning{turns: spinTurns} }

// cutSlice ends the slice at the end of the present block.
func (h *Hart) cutSlice() {
	if h.left > 0 {
		h.granted -= h.left
		h.left = 0
	}
}
