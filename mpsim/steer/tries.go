package steer

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/minimize"
	"hindsight/mpsim/schedule"
	"hindsight/mpsim/session"
)

// tries are the runs of a search, on one machine. There are checkpoints along the best run
// so far. A run starts at the last of them before which its schedule is the same, so it
// costs only what comes after that.
type tries struct {
	m     *mpsim.Machine
	img   *image.Space
	seed  uint64
	out   *bytes.Buffer
	story minimize.Story

	points mpsim.Checkpoints // of the best run
	steps  []schedule.Step   // its schedule
	passed mpsim.Checkpoints // of the present or last run
	ran    uint64            // instructions of all runs
	whole  uint64            // those of the same runs from the beginning
}

func (m *minimization) newTries() (*tries, error) {
	r := m.run
	t := &tries{img: r.Image.Anew(), seed: r.Seed, out: new(bytes.Buffer), passed: mpsim.Checkpoints{Every: m.every}}
	r.Follow, r.Trail, r.MaxInsts = nil, true, m.limit
	r.Sliced = func(h *mpsim.Hart) {
		t.story.Heard(h)
		if t.passed.Due(t.m) {
			t.m.Pause()
		}
	}
	// Checkpoints do not copy a string.
	cfg := r.Config(t.img, session.Streams{In: strings.NewReader(string(m.input)), Out: t.out, Err: t.out})
	cfg.Hooks, cfg.HookAt = r.Hooks(t.img)
	var err error
	if t.m, err = mpsim.New(cfg); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Program, err)
	}
	return t, t.passed.Take(t.m, &t.story)
}

// run follows a schedule, and then the policy.
func (t *tries) run(ctx context.Context, s *schedule.Schedule, policy mpsim.Policy, quantum int, limit uint64) (*attempt, error) {
	rest := s
	if t.steps != nil {
		from := t.points.Last(func(c *mpsim.Checkpoint) (ok bool) {
			rest, ok = c.After(t.steps, s)
			return ok
		})
		from.Back()
		t.passed = t.points.UpTo(from)
	}
	t.m.Follow(rest, policy, quantum, t.seed)
	t.m.Limit(limit)
	before := t.m.Insts()
	for !t.m.Advance(ctx) {
		if err := t.passed.Take(t.m, &t.story); err != nil {
			return nil, err
		}
	}
	t.ran += t.m.Insts() - before
	t.whole += t.m.Insts()
	res, err := t.m.Finish()
	if err == nil {
		err = ctx.Err()
	}
	return &attempt{res: res, img: t.img, output: bytes.Clone(t.out.Bytes()), story: t.story.Copy()}, err
}

// take makes the last run the best one.
func (t *tries) take(a *attempt) {
	t.points, t.steps = t.passed, a.res.Schedule.Steps
}
