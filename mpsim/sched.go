package mpsim

import (
	"math/rand/v2"
	"slices"
)

// scheduler chooses who runs next and for how long. It considers harts in the order of
// their ids.
type scheduler struct {
	policy Policy
	mean   int64
	rng    *rand.Rand
	slices int64
	at     int // index in Machine.harts of the hart that ran last
	pct    pct
	vary   variety
	follow *follow // nil: the policy chooses
}

// Streams distinguish the scheduler's random numbers from others that come from the same
// seed.
const (
	schedulerStream = 0x5ced
	pointStream     = 0x5cee
	varietyStream   = 0x5cef
)

func newRand(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

func (s *scheduler) init(cfg *Config) {
	s.policy, s.mean = cfg.Policy, int64(QuantumOf(cfg.Policy, cfg.Quantum))
	s.rng = newRand(cfg.Seed, schedulerStream)
	s.at = -1
	if cfg.Schedule != nil && len(cfg.Schedule.Steps) > 0 {
		s.follow = newFollow(cfg.Schedule)
	}
	switch {
	case s.policy == PCT:
		s.initPCT(cfg)
	case s.mean == 0:
		s.vary.init(newRand(cfg.Seed, varietyStream))
		if s.policy == Coverage {
			s.vary.targets = slices.Clone(cfg.Targets)
		}
	}
}

// quantum returns the length of the next slice, in instructions.
func (s *scheduler) quantum() int64 {
	if s.following() {
		return s.follow.grant()
	}
	switch s.policy {
	case Random, Coverage:
		if s.varies() {
			return s.vary.quantum()
		}
		return 1 + s.rng.Int64N(2*s.mean)
	case PCT:
		return s.quantumPCT()
	}
	// Equal quanta could fall into step with a loop of the guest. It would then always be
	// interrupted at the same place, perhaps while it holds a lock that others wait for. A
	// fixed pattern of slightly longer quanta prevents that.
	s.slices++
	return s.mean + s.slices*stride%(s.mean/16+2)
}

// stride is a prime, so that the pattern includes all lengths.
const stride = 7919

// next chooses a runnable hart. It returns nil if there is none.
func (s *scheduler) next(m *Machine) *Hart {
	m.kernel.Woken() // their State already says so
	if s.following() {
		if h, ok := s.followed(m); ok {
			return h
		}
	}
	switch s.policy {
	case Random, Coverage:
		if s.varies() {
			return s.vary.choose(m)
		}
		return s.any(m)
	case PCT:
		return s.highest(m)
	}
	for n := range m.harts {
		at := (s.at + 1 + n) % len(m.harts)
		if m.harts[at].runnable() {
			s.at = at
			return m.harts[at]
		}
	}
	return nil
}

// any chooses one of the runnable harts at random.
func (s *scheduler) any(m *Machine) *Hart {
	runnable := 0
	for _, h := range m.harts {
		if h.runnable() {
			runnable++
		}
	}
	if runnable == 0 {
		return nil
	}
	choice := 0
	if runnable > 1 {
		choice = s.rng.IntN(runnable)
	}
	for _, h := range m.harts {
		if h.runnable() {
			if choice == 0 {
				return h
			}
			choice--
		}
	}
	return nil
}

// removed adapts the scheduler to the removal of the hart at index n.
func (s *scheduler) removed(n int) {
	if n <= s.at {
		s.at--
	}
}
