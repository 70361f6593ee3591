package session_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/examples/golang"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/schedule"
	"hindsight/mpsim/session"
)

// ending is everything observable at the end of a run.
type ending struct {
	out, errs string
	status    int
	message   string
	insts     uint64
	files     map[string][sha256.Size]byte
	steps     []schedule.Step
	memory    [sha256.Size]byte
}

// stepwise is a machine that is stopped after some of its slices.
type stepwise struct {
	m         *mpsim.Machine
	out, errs bytes.Buffer
	slices    int
	stop      func(slices int) bool
}

func newStepwise(t *testing.T, img *image.Space, args []string, env []string) *stepwise {
	t.Helper()
	s := &stepwise{stop: func(int) bool { return false }}
	space := img.Anew()
	r := &session.Run{Image: img, Program: "program", Args: args, Env: env, Policy: mpsim.Random, Seed: 3, Trail: true, MaxInsts: 30_000_000}
	conf := r.Config(space, session.Streams{In: strings.NewReader("1 2 3\n"), Out: &s.out, Err: &s.errs})
	conf.Hooks, conf.HookAt = r.Hooks(space)
	conf.Sliced = func(*mpsim.Hart) {
		if s.slices++; s.stop(s.slices) {
			s.m.Pause()
		}
	}
	var err error
	if s.m, err = mpsim.New(conf); err != nil {
		t.Fatal(err)
	}
	return s
}

// end continues to the end of the run.
func (s *stepwise) end(t *testing.T) ending {
	t.Helper()
	s.stop = func(int) bool { return false }
	for !s.m.Advance(context.Background()) {
	}
	res, err := s.m.Finish()
	if err != nil {
		t.Fatal(err)
	}
	e := ending{out: s.out.String(), errs: s.errs.String(), status: res.Status, message: res.Message, insts: res.Insts, files: res.Written.Digests(), steps: res.Schedule.Steps}
	h := sha256.New()
	for v := range s.m.Space().VMAs() {
		b := make([]byte, min(v.Len(), 16<<20))
		h.Write(b[:s.m.Space().Content(v.Start, b)])
	}
	h.Sum(e.memory[:0])
	return e
}

func (e *ending) compare(t *testing.T, what string, want *ending) {
	t.Helper()
	if e.out != want.out || e.errs != want.errs || e.status != want.status || e.message != want.message || e.insts != want.insts || e.memory != want.memory {
		t.Errorf("%s: status %d %q, %d instructions, output %q %q; want %d %q, %d, %q %q (memory same: %v)", what,
			e.status, e.message, e.insts, e.out, e.errs, want.status, want.message, want.insts, want.out, want.errs, e.memory == want.memory)
	}
	if !reflect.DeepEqual(e.steps, want.steps) || !reflect.DeepEqual(e.files, want.files) {
		t.Errorf("%s: another schedule or other files", what)
	}
}

// TestCheckpoints returns to checkpoints of runs, in any order and after different
// continuations, and compares how the runs end with a run that was never stopped.
func TestCheckpoints(t *testing.T) {
	type program struct {
		name string
		img  func(t *testing.T) *image.Space
		args []string
		env  []string
	}
	var all []program
	for i, p := range examples.Programs() {
		if cross.Long() || i%12 == 0 {
			all = append(all, program{p.Name, func(t *testing.T) *image.Space { return cross.Image(t, p.Name) }, p.Args, nil})
		}
	}
	names, err := golang.Programs()
	if err != nil {
		t.Fatal(err)
	}
	gallery := func(t *testing.T) *image.Space {
		elf, err := golang.ELF()
		if err != nil {
			t.Fatal(err)
		}
		img, err := image.Parse(elf)
		if err != nil {
			t.Fatal(err)
		}
		return img
	}
	for i, p := range names {
		if cross.Long() || i%20 == 0 {
			all = append(all, program{p.Name, gallery, []string{p.Name}, nil})
		}
	}
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			whole := newStepwise(t, p.img(t), p.args, p.env)
			want := whole.end(t)
			s := newStepwise(t, p.img(t), p.args, p.env)
			points := visit(t, s, whole.slices)
			got := s.end(t)
			got.compare(t, "after all checkpoints", &want)
			rng := rand.New(rand.NewPCG(1, 1))
			for range 2 * len(points) {
				n := rng.IntN(len(points))
				points[n].Back()
				if rng.IntN(2) == 0 { // continue differently, and forget that
					s.m.Follow(nil, mpsim.Random, 0, rng.Uint64())
					s.stop = func(int) bool { return rng.IntN(100) == 0 }
					s.m.Advance(t.Context())
					points[n].Back()
				}
				got := s.end(t)
				got.compare(t, "from a checkpoint", &want)
			}
			if err := s.m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// visit takes checkpoints at some slices of a run that has the given number of slices.
func visit(t *testing.T, s *stepwise, slices int) []*mpsim.Checkpoint {
	t.Helper()
	rng := rand.New(rand.NewPCG(2, 2))
	next := 1
	s.stop = func(n int) bool { return n == next }
	var points []*mpsim.Checkpoint
	for {
		c, err := s.m.Checkpoint(&s.slices)
		if err != nil && !errors.Is(err, mpsim.ErrCheckpoint) {
			t.Fatal(err)
		}
		if err == nil {
			points = append(points, c)
		}
		next = s.slices + 1 + rng.IntN(max(slices/6, 1))
		if s.m.Advance(t.Context()) {
			return points
		}
	}
}
