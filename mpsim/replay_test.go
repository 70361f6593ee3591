package mpsim_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/mpsim/mem"
	"hindsight/mpsim/schedule"
)

// journal runs a program and returns its journal and its result, with the schedule.
func journal(t testing.TB, img *image.Space, conf mpsim.Config) (*mpsim.Journal, *mpsim.Result) {
	t.Helper()
	conf.Journal, conf.Trail = new(mpsim.Journal), true
	return conf.Journal, plainRun(t, img, conf)
}

// until runs the beginning of a schedule and stops after insts instructions.
func until(t testing.TB, img *image.Space, conf mpsim.Config, s *schedule.Schedule, insts uint64) *mpsim.Machine {
	t.Helper()
	conf.Image, conf.Schedule = img.Anew(), &schedule.Schedule{}
	left := insts
	for _, step := range s.Steps {
		if left == 0 {
			break
		}
		if step.Kind == schedule.Run {
			if step.Count > left {
				step.Count, step.At = left, 0
			}
			left -= step.Count
		}
		conf.Schedule.Steps = append(conf.Schedule.Steps, step)
	}
	conf.Hooks, conf.HookAt = hook.New(conf.Image)
	var m *mpsim.Machine
	conf.Sliced = func(*mpsim.Hart) {
		if m.Insts() >= insts {
			m.Pause()
		}
	}
	var err error
	if m, err = mpsim.New(conf); err != nil {
		t.Fatal(err)
	}
	m.Advance(context.Background())
	if m.Insts() != insts {
		t.Fatalf("stopped after %d instructions, not %d", m.Insts(), insts)
	}
	return m
}

// state holds registers and memory.
type state struct {
	harts  []string
	memory map[uint64][]byte
}

func stateOf(harts []*mpsim.Hart, space *mem.Space) state {
	s := state{memory: map[uint64][]byte{}}
	for _, h := range harts {
		s.harts = append(s.harts, fmt.Sprintf("T%d pc %#x %x %x %x stack %x", h.ID(), h.PC, h.X, h.F, h.Float(), h.Stack()))
	}
	zero := make([]byte, mem.PageSize)
	for v := range space.VMAs() {
		for at := v.Start; at < v.End; at += mem.PageSize {
			page := make([]byte, mem.PageSize)
			if space.Content(at, page); !bytes.Equal(page, zero) {
				s.memory[at] = page
			}
			if v.End-v.Start > 1<<26 && at-v.Start > 1<<24 {
				break // stacks that no thread touches
			}
		}
	}
	return s
}

func (s state) differs(o state) string {
	if len(s.harts) != len(o.harts) {
		return fmt.Sprintf("%d threads, not %d", len(s.harts), len(o.harts))
	}
	for i := range s.harts {
		if s.harts[i] != o.harts[i] {
			return s.harts[i] + "\nnot\n" + o.harts[i]
		}
	}
	for at, page := range o.memory {
		for i := range page {
			if got := s.memory[at]; got == nil || got[i] != page[i] {
				return fmt.Sprintf("memory at %#x", at+uint64(i))
			}
		}
	}
	if len(s.memory) != len(o.memory) {
		return fmt.Sprintf("%d pages, not %d", len(s.memory), len(o.memory))
	}
	return ""
}

// TestReplayAgainstRun moves a replay back and forth and compares its states with those of
// runs that were stopped at the same instruction.
func TestReplayAgainstRun(t *testing.T) {
	for _, name := range []string{"bank", "race_cond_flag", "race_semaphore", "race_tls_leak", "race_double_checked", "norace_ring_buffer", "race_detached"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			img, _ := example(t, name)
			conf := mpsim.Config{Policy: mpsim.Random, Seed: 3}
			j, res := journal(t, img, conf)
			if j.Insts() != res.Insts {
				t.Fatalf("the journal has %d instructions, the run %d", j.Insts(), res.Insts)
			}
			r := mpsim.NewReplay(j, mpsim.ReplayOptions{Every: max(res.Insts/10, 1000)})
			rng := rand.New(rand.NewPCG(1, 1))
			for range 12 {
				at := 1 + rng.Uint64N(res.Insts-1)
				if err := r.Seek(t.Context(), at); err != nil {
					t.Fatal(err)
				}
				m := until(t, img, mpsim.Config{Policy: mpsim.Random, Seed: 3}, res.Schedule, at)
				if what := stateOf(r.Threads(), r.Space()).differs(stateOf(m.Threads(), m.Space())); what != "" {
					t.Fatalf("at %d of %d: %s", at, res.Insts, what)
				}
			}
		})
	}
}
