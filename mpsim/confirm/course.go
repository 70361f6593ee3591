package confirm

import (
	"context"
	"errors"
	"strings"

	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// course is the recorded run on a machine, with checkpoints on the way. All runs of a
// Confirmer start at one of them.
type course struct {
	m         *mpsim.Machine
	img       *image.Space
	out, errs *output
	names     names

	breaks   map[uint64]bool  // places of the pairs' accesses
	count    map[visit]uint64 // number of their executions so far; checkpoints save it
	at       func(h *mpsim.Hart, n uint64) bool
	stuck    func()
	walks    bool // it runs from the beginning and takes checkpoints
	points   mpsim.Checkpoints
	prepared map[Pair]bool
	first    map[Pair]uint64 // number of instructions before a pair's first access

	// Instructions that ran, and those of the same runs from the beginning.
	ran, whole uint64
}

type visit struct {
	thread event.ThreadID
	pc     uint64
}

// execution is one execution of an instruction by a thread, counted from 0.
type execution struct {
	visit
	n uint64
}

func (a *Access) execution() execution { return execution{visit{a.Thread, a.PC}, a.Ordinal} }

// makes reports whether a thread is about to make an access of the pair with its nth
// execution of the instruction. It returns which of the two, and the memory that it
// accesses.
func (p *Pair) makes(h *mpsim.Hart, n uint64) (side int, at, size uint64, ok bool) {
	for i, a := range []*Access{&p.A, &p.B} {
		if h.PC != a.PC || h.ID() != a.Thread || n != a.Ordinal {
			continue
		}
		if a.Call {
			return i, a.Address, a.Size, true
		}
		if at, size, ok = h.Accesses(); ok && at == a.Address {
			return i, at, size, true
		}
	}
	return 0, 0, 0, false
}

// newCourse creates the machine, at the beginning of the run.
func (c *Confirmer) newCourse() (*course, error) {
	w := &course{
		img: c.opts.Image.Anew(), out: new(output), errs: new(output),
		breaks: map[uint64]bool{}, count: map[visit]uint64{}, prepared: map[Pair]bool{}, first: map[Pair]uint64{}, points: mpsim.Checkpoints{Every: mpsim.EveryOf(c.opts.Insts)},
	}
	conf := c.opts.Config
	conf.Image, conf.Stdout, conf.Stderr = w.img, w.out, w.errs
	conf.Stdin = strings.NewReader(string(c.opts.Input)) // checkpoints do not copy a string
	conf.Hooks, conf.HookAt = c.opts.Hooks(w.img)
	conf.Trail, conf.MaxInsts = true, c.limit()
	conf.Stop = w.stop
	conf.Stuck = func() {
		if w.stuck != nil {
			w.stuck()
		}
	}
	conf.Sliced = func(*mpsim.Hart) {
		if w.walks && w.points.Due(w.m) {
			w.m.Pause()
		}
	}
	var err error
	if w.m, err = mpsim.New(conf); err != nil {
		return nil, err
	}
	w.m.Follow(c.opts.Schedule, c.opts.Config.Policy, c.opts.Config.Quantum, c.opts.Config.Seed)
	return w, nil
}

// stop is called when a hart is about to execute an instruction of the pairs.
func (w *course) stop(h *mpsim.Hart) bool {
	if h.Hidden() {
		return false
	}
	v := visit{h.ID(), h.PC}
	n := w.count[v]
	w.count[v]++
	return w.at != nil && w.at(h, n)
}

// advance continues the run.
func (w *course) advance(ctx context.Context) (ended bool) {
	before := w.m.Insts()
	ended = w.m.Advance(ctx)
	w.ran += w.m.Insts() - before
	return ended
}

// checkpoint takes a checkpoint. It returns nil if none can be taken here.
func (w *course) checkpoint() (*mpsim.Checkpoint, error) {
	c, err := w.m.Checkpoint(&w.count)
	if errors.Is(err, mpsim.ErrCheckpoint) {
		return nil, nil
	}
	return c, err
}

// Prepare runs the recorded run once, until the first access of each pair has been reached,
// and takes checkpoints on the way. After that, examining these pairs costs only what
// follows. It is not needed for pairs that are examined one by one.
func (c *Confirmer) Prepare(ctx context.Context, pairs []Pair) error {
	if len(pairs) == 0 {
		return nil
	}
	if err := c.close(); err != nil {
		return err
	}
	w, err := c.newCourse()
	if err != nil {
		return err
	}
	c.course = w
	for i := range pairs {
		for _, pc := range []uint64{pairs[i].A.PC, pairs[i].B.PC} {
			if !w.breaks[pc] {
				w.breaks[pc] = true
				w.m.BreakAt(pc)
			}
		}
	}
	left := map[Pair]bool{}
	sides := map[execution][]Pair{}
	for _, p := range pairs {
		left[p], w.prepared[p] = true, true
		for _, a := range []*Access{&p.A, &p.B} {
			sides[a.execution()] = append(sides[a.execution()], p)
		}
	}
	w.at = func(h *mpsim.Hart, n uint64) bool {
		for _, p := range sides[execution{visit{h.ID(), h.PC}, n}] {
			if _, _, _, ok := p.makes(h, n); ok && left[p] {
				w.first[p] = w.m.Insts()
				delete(left, p)
			}
		}
		if len(left) == 0 {
			w.m.Pause()
		}
		return false
	}
	w.walks = true
	for {
		if err := w.points.Take(w.m, &w.count); err != nil {
			return err
		}
		if w.advance(ctx) || len(left) == 0 {
			break
		}
	}
	w.at, w.walks = nil, false
	return ctx.Err()
}

// before returns to the last checkpoint before the first access of a pair that was
// prepared. ok is false if the run does not reach it.
func (w *course) before(p Pair) (ok bool) {
	first, ok := w.first[p]
	if !ok {
		return false
	}
	w.points.Last(func(c *mpsim.Checkpoint) bool { return c.Insts() <= first }).Back()
	return true
}

// quiet removes all stops.
func (w *course) quiet() {
	w.at, w.stuck = nil, nil
	for pc := range w.breaks {
		w.m.Unbreak(pc)
	}
	for _, h := range w.m.Threads() {
		h.Hold(false)
	}
}

// close releases the machine.
func (c *Confirmer) close() error {
	w := c.course
	c.course = nil
	if w == nil {
		return nil
	}
	return w.m.Close()
}

// Close releases the resources of the Confirmer.
func (c *Confirmer) Close() error { return c.close() }
