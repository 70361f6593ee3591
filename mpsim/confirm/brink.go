package confirm

import (
	"bytes"
	"context"
	"fmt"

	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/schedule"
)

// brink is a run in which both threads are about to make their accesses.
type brink struct {
	m             *mpsim.Machine
	first, second *Access // in the order of the run
	steps         []schedule.Step
	ready         bool
	failed        Finding // why not
}

// run is a run in progress.
type run struct {
	m         *mpsim.Machine
	img       *image.Space
	out, errs *output
}

// start makes a machine.
func (c *Confirmer) start(stop func(*mpsim.Hart) bool, stuck func()) (*run, error) {
	r := &run{img: c.opts.Image.Anew(), out: new(output), errs: new(output)}
	conf := c.opts.Config
	conf.Image, conf.Stdout, conf.Stderr = r.img, r.out, r.errs
	conf.Stdin = bytes.NewReader(c.opts.Input)
	conf.Hooks, conf.HookAt = c.opts.Hooks(r.img)
	conf.Trail, conf.Stop, conf.Stuck = true, stop, stuck
	conf.MaxInsts = c.limit()
	var err error
	r.m, err = mpsim.New(conf)
	return r, err
}

// approach is a run on its way to the brink.
type approach struct {
	c     *Confirmer
	run   *run
	pair  [2]*Access
	count map[visit]uint64
	held  *mpsim.Hart // at the first access
	other *mpsim.Hart // at the second
	first int         // of pair, that held is at
	where uint64      // the memory that held is about to access
	size  uint64
	alone bool // only the thread of the second access runs, while it can
	stuck bool
}

type visit struct {
	thread uint64
	pc     uint64
}

// brink runs until both threads are about to make their accesses. way says how the
// second is waited for: 0 with its thread alone as long as that can run.
func (c *Confirmer) brink(ctx context.Context, p Pair, way int) (*brink, error) {
	a := &approach{c: c, pair: [2]*Access{&p.A, &p.B}, count: map[visit]uint64{}, alone: way == 0}
	var err error
	if a.run, err = c.start(a.stop, a.stood); err != nil {
		return nil, err
	}
	m := a.run.m
	m.Follow(c.opts.Schedule, c.opts.Config.Policy, c.opts.Config.Quantum, c.opts.Config.Seed)
	m.BreakAt(p.A.PC)
	if p.B.PC != p.A.PC {
		m.BreakAt(p.B.PC)
	}
	ended := m.Advance(ctx)
	if a.held != nil && !ended {
		a.wait(way)
		ended = m.Advance(ctx)
	}
	b := &brink{m: m, first: a.pair[a.first], second: a.pair[1-a.first]}
	if a.other != nil {
		second := *b.second
		second.Thread = a.other.ID() // perhaps another than in the run
		b.second, b.ready = &second, true
		b.steps = append(b.steps, m.Trail().Steps...)
	}
	if !ended {
		m.Interrupt()
	}
	res, err := m.Finish()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if !b.ready {
		b.failed = a.why(res)
	}
	return b, nil
}

// stop is told that a hart is about to make one of the accesses.
func (a *approach) stop(h *mpsim.Hart) bool {
	if h.Hidden() {
		return false
	}
	if a.held != nil {
		return a.second(h)
	}
	v := visit{uint64(h.ID()), h.PC}
	n := a.count[v]
	a.count[v]++
	for i, x := range a.pair {
		if h.PC != x.PC || h.ID() != x.Thread || n != x.Ordinal {
			continue
		}
		a.where, a.size = x.Address, x.Size
		if !x.Call {
			addr, size, ok := h.Accesses()
			if !ok || addr != x.Address {
				continue
			}
			a.size = size
		}
		a.held, a.first = h, i
		h.Hold(true)
		a.run.m.Pause()
		return true
	}
	return false
}

// second is told that a hart is about to make an access while another is held.
func (a *approach) second(h *mpsim.Hart) bool {
	want := a.pair[1-a.first]
	if h == a.held || h.PC != want.PC || a.alone && h.ID() != want.Thread {
		return false
	}
	if !want.Call && !a.pair[a.first].Call {
		addr, size, ok := h.Accesses()
		if !ok || addr >= a.where+a.size || a.where >= addr+size {
			return false
		}
	}
	a.other = h
	a.run.m.Pause()
	return true
}

// wait lets the others go on until one is about to make the second access.
func (a *approach) wait(way int) {
	m := a.run.m
	switch way {
	case 0:
		for _, h := range m.Threads() {
			h.Hold(h == a.held || h.ID() != a.pair[1-a.first].Thread)
		}
		m.Follow(nil, mpsim.RoundRobin, bigQuantum, 1)
	case 1:
		m.Follow(nil, mpsim.RoundRobin, bigQuantum, 1)
	default:
		m.Follow(nil, mpsim.Random, 0, uint64(way))
	}
}

// stood is told that no thread can go on: the others are let go, and when that does
// not help, the second access cannot be made before the first.
func (a *approach) stood() {
	a.stuck = true
	for _, h := range a.run.m.Threads() {
		if h.Held() && h != a.held {
			h.Hold(false)
			a.stuck = false
		}
	}
	a.alone = false
	if a.stuck {
		a.run.m.Pause()
	}
}

// why says why the accesses were not met.
func (a *approach) why(res *mpsim.Result) Finding {
	if a.held == nil {
		return Finding{Verdict: Unknown, What: "the run did not come to the accesses again"}
	}
	held, other := a.pair[a.first].Thread, a.pair[1-a.first].Thread
	f := Finding{Verdict: Infeasible}
	for _, h := range a.run.m.Threads() {
		if h.ID() != other {
			continue
		}
		switch {
		case !h.Runnable():
			f.Stands = h.UserPC()
			f.What = fmt.Sprintf("T%d waits for %s while T%d is held", other, h.WaitsFor(), held)
			return f
		case res.LimitReached:
			f.Stands = h.UserPC()
			f.What = fmt.Sprintf("T%d spins while T%d is held", other, held)
			return f
		}
	}
	f.What = fmt.Sprintf("T%d goes on and does not make its access while T%d is held: a check leads past it", other, held)
	return f
}
