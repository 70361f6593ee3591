package mpsim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"hindsight/mpsim/linux"
	"hindsight/mpsim/mem"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Replay is at some time of a run recorded in a [Journal], and can go to any other time,
// forward or back. Time is the number of instructions that all threads together have
// executed. At time n, the run is in the state just before its instruction n, counted from
// 0, including everything that the system did before it.
//
// To go forward, it executes instructions and takes the effects of the system from the
// journal. To go back, it restores a checkpoint and continues from there. Checkpoints are
// taken on the way. They share the pages that are not written in between.
//
// A Replay must be used by one goroutine at a time. Several Replays may share a Journal.
type Replay struct {
	m     *Machine
	j     *Journal
	at    int    // index of the present item
	done  uint64 // instructions of it that were executed
	time  uint64
	names map[event.ThreadID]string

	points []*checkpoint // in order of time
	opts   ReplayOptions
	every  uint64
	ran    uint64      // instructions executed in total, including repetitions
	since  *checkpoint // the checkpoint since which the machine notes which code runs; nil: it does not
	kept   uint64      // bytes of pages that were written before the last checkpoint
}

// ReplayOptions has a useful zero value.
type ReplayOptions struct {
	Every  uint64 // instructions between checkpoints; 0: 2,000,000. They become sparser when memory runs short
	Memory uint64 // bytes for checkpoints; 0: 256 MiB
}

const (
	defaultEvery  = 2_000_000
	defaultMemory = 256 << 20
	nearBy        = 20_000    // instructions: a checkpoint is kept this far before a place that was returned to
	lookEvery     = 1_000_000 // instructions between checks of the context
)

// ErrReplay wraps evidence that a run was not as its journal says.
var ErrReplay = errors.New("mpsim: the replay went another way than the run")

// NewReplay returns a Replay at the beginning of a run that has ended.
func NewReplay(j *Journal, opts ReplayOptions) *Replay {
	if opts.Every == 0 {
		opts.Every = defaultEvery
	}
	if opts.Memory == 0 {
		opts.Memory = defaultMemory
	}
	m := &Machine{
		cfg: Config{Image: j.image}, space: j.space.Copy(), trampoline: j.trampoline,
		hartOf: map[*linux.Task]*Hart{}, code: codeCache{pages: map[uint64]*codePage{}, known: map[uint64][]*block{}},
	}
	m.sched.init(&m.cfg)
	for _, img := range j.image.Images() {
		m.findSwitchers(img)
	}
	r := &Replay{m: m, j: j, names: map[event.ThreadID]string{}, opts: opts, every: opts.Every}
	r.born(&j.first)
	r.settle()
	r.keep()
	r.covers(r.points[0])
	return r
}

// Time returns the present time.
func (r *Replay) Time() uint64 { return r.time }

// End returns the time after the last instruction.
func (r *Replay) End() uint64 { return r.j.insts }

// Journal returns the journal of the run.
func (r *Replay) Journal() *Journal { return r.j }

// Space returns the memory at the present time. It must only be read.
func (r *Replay) Space() *mem.Space { return r.m.space }

// Threads returns the live threads, in order of their ids.
func (r *Replay) Threads() []*Hart { return r.m.harts }

// Thread returns a live thread, or nil.
func (r *Replay) Thread(id event.ThreadID) *Hart { return r.m.thread(id) }

// Name returns the name that a thread has given itself or was given.
func (r *Replay) Name(id event.ThreadID) string { return r.names[id] }

// Executed returns the number of instructions executed, including repetitions.
func (r *Replay) Executed() uint64 { return r.ran }

// Float returns the control and status register of floating-point arithmetic.
func (h *Hart) Float() uint32 { return h.FCSR | uint32(h.flags) }

func (r *Replay) born(b *newborn) {
	r.m.threads = b.thread
	h := r.m.newHart(&linux.Task{}, b.context)
	r.names[h.id] = b.name
}

// settle skips items without instructions, and moves to the next item when one is done.
func (r *Replay) settle() {
	for r.at < len(r.j.items) {
		it := &r.j.items[r.at]
		if r.done < it.insts {
			return
		}
		r.at, r.done = r.at+1, 0
		if it.effect != nil {
			r.apply(it.effect)
		}
	}
}

// apply repeats what the system did. Changes of a recorded space cannot fail in an
// identical one.
func (r *Replay) apply(e *effect) {
	m := r.m
	for i := range e.changes {
		_ = m.space.Apply(e.changes[i])
	}
	for i := range e.bytes {
		r.write(&e.bytes[i])
	}
	for i := range e.born {
		r.born(&e.born[i])
	}
	for i := range e.regs {
		e.regs[i].set(m.thread(e.regs[i].thread))
	}
	for _, n := range e.names {
		r.names[n.thread] = n.name
	}
	for _, id := range e.gone {
		if h := m.thread(id); h != nil {
			delete(m.hartOf, h.task)
			m.harts = slices.DeleteFunc(m.harts, func(o *Hart) bool { return o == h })
		}
	}
}

func (r *Replay) write(c *content) {
	m := r.m
	_ = m.space.Fill(c.addr, c.data)
	for vpn := c.addr >> mem.PageShift; vpn <= (c.addr+uint64(len(c.data))-1)>>mem.PageShift; vpn++ {
		if m.code.pages[vpn] != nil {
			m.flushCode()
		}
	}
}

func (s *registersSet) set(h *Hart) {
	if h == nil {
		return
	}
	for i, reg := range s.regs {
		if reg < rv.RegF {
			h.X[reg] = s.values[i]
		} else {
			h.F[reg-rv.RegF] = s.values[i]
		}
	}
	h.PC, h.FCSR, h.flags = s.pc, s.fcsr, 0
	h.setExact()
}

// Probe says what a replay looks for.
type Probe struct {
	Breaks  map[uint64]bool // instructions, by address
	Watches []Watched
	// Stop, if not nil, is called for each instruction of Breaks. If it returns false, the
	// replay continues.
	Stop func(h *Hart) bool
}

// Hit is a match of a probe: just before the instruction at that time.
type Hit struct {
	Time   uint64
	Thread event.ThreadID
	PC     uint64
	// Watch is the index of the watch that the instruction, or the system right after it,
	// accesses. -1 means that the instruction is one of Breaks.
	Watch  int
	Addr   uint64
	System bool // the access is the system's
}

// Forward continues until the first hit, or until that time. With pass, it does not stop at
// the present instruction, but does stop at its accesses. The error is that of ctx, or
// wraps [ErrReplay].
func (r *Replay) Forward(ctx context.Context, until uint64, p *Probe, pass bool) (hit Hit, found bool, err error) {
	until = min(until, r.End())
	r.arm(p)
	for r.time < until {
		hit, found, err = r.stretch(until, p, pass)
		if err != nil || found {
			return hit, found, err
		}
		pass = false
		if err := ctx.Err(); err != nil {
			return hit, false, err
		}
	}
	return hit, false, nil
}

// arm sets breaks and watches.
func (r *Replay) arm(p *Probe) {
	m := r.m
	m.watch = nil
	if p == nil {
		return // blocks stop only for a probe
	}
	if !maps.EqualFunc(p.Breaks, m.breaks, func(bool, int) bool { return true }) {
		m.breaks = breaks{}
		for pc := range p.Breaks {
			m.breaks[pc] = 1
		}
		m.flushCode()
	}
	if len(p.Watches) > 0 {
		m.watch = &watches{ranges: p.Watches}
		for _, h := range m.harts {
			h.flush()
		}
	}
}

// stretch executes until the end of the item, until ctx has to be checked, or until a
// checkpoint is due.
func (r *Replay) stretch(until uint64, p *Probe, pass bool) (hit Hit, found bool, err error) {
	it := &r.j.items[r.at]
	h := r.m.thread(it.thread)
	if h == nil {
		return hit, false, fmt.Errorf("%w: there is no thread T%d at time %d", ErrReplay, it.thread, r.time)
	}
	limit := min(it.insts-r.done, until-r.time, lookEvery)
	limit = min(limit, r.nextPoint()-r.time)
	r.m.refresh(h)
	r.m.clock = it.clock
	h.left, h.granted, h.ticked = 0, 0, -int64(r.done)
	before := r.time
	met, err := r.execute(h, limit, p, pass)
	h.retired += r.time - before
	h.granted, h.left, h.ticked = 0, 0, 0
	if err != nil {
		return hit, false, err
	}
	if met {
		hit = Hit{Time: r.time, Thread: h.id, PC: h.PC, Watch: -1}
		if w := r.m.watch; w != nil && w.hit != 0 {
			hit.Watch, hit.Addr, w.hit = w.which, w.hit, 0
		}
		return hit, true, nil
	}
	if r.done == it.insts {
		pc := h.PC
		hit, found = r.systems(it, p)
		hit.PC = pc
		r.settle()
	}
	r.passes()
	return hit, found, nil
}

// systems looks for accesses to watched memory in the effects after an item.
func (r *Replay) systems(it *item, p *Probe) (hit Hit, found bool) {
	if r.m.watch == nil {
		return hit, false
	}
	for n := r.at; n < len(r.j.items) && (n == r.at || r.j.items[n].insts == 0); n++ {
		e := r.j.items[n].effect
		if e == nil {
			continue
		}
		for i := range e.bytes {
			if w := r.m.watch.overlaps(e.bytes[i].addr, uint64(len(e.bytes[i].data)), mem.Write); w >= 0 {
				return Hit{Time: r.time - 1, Thread: it.thread, Watch: w, Addr: p.Watches[w].Addr, System: true}, true
			}
		}
	}
	return hit, false
}

// execute runs h for limit instructions, or until p has a match.
func (r *Replay) execute(h *Hart, limit uint64, p *Probe, pass bool) (met bool, err error) {
	m := r.m
	for limit > 0 {
		b := m.lookup(h.PC)
		if b == nil {
			return false, fmt.Errorf("%w: no instruction at %#x at time %d", ErrReplay, h.PC, r.time)
		}
		if b.stops && p != nil && !pass && (p.Stop == nil || p.Stop(h)) {
			return true, nil
		}
		left := int64(limit) - rv.MaxBlock
		if left <= 0 {
			left = 1
		}
		if uint64(b.insts) > limit {
			b = m.decode(b.pc, int(limit))
		}
		h.granted += left
		h.left += left
		was := h.left
		stopped := h.exec(b)
		ran := uint64(was - h.left)
		h.granted -= h.left
		h.left = 0
		limit -= ran
		r.done, r.time, r.ran = r.done+ran, r.time+ran, r.ran+ran
		pass = false
		switch stopped {
		case stopNext, stopQuantum, stopCall, stopWatch, stopSyscall:
		case stopWatched:
			return true, nil
		default:
			if limit > 0 {
				return false, fmt.Errorf("%w: a fault at %#x at time %d", ErrReplay, h.PC, r.time)
			}
		}
		m.refresh(h)
	}
	return false, nil
}

// Seek goes to a time.
func (r *Replay) Seek(ctx context.Context, time uint64) error {
	if time > r.End() {
		return fmt.Errorf("time %d: the run ends at %d", time, r.End())
	}
	near := r.point(time)
	back := time < r.time
	if back || near.time > r.time {
		r.restore(near)
	}
	if back && time-r.time > 2*nearBy {
		if _, _, err := r.Forward(ctx, time-nearBy, nil, false); err != nil {
			return err
		}
		r.keep()
	}
	_, _, err := r.Forward(ctx, time, nil, false)
	return err
}

// Last goes to the last hit between from and before, and stays there. Without one, it stays
// at from.
func (r *Replay) Last(ctx context.Context, from, before uint64, p *Probe) (hit Hit, found bool, err error) {
	for end := before; end > from; {
		cp := r.point(end - 1)
		begin := max(cp.time, from)
		if len(p.Watches) == 0 && !cp.covers.any(p.Breaks) {
			end = begin
			continue
		}
		if err := r.Seek(ctx, begin); err != nil {
			return hit, false, err
		}
		for pass := false; ; {
			h, met, err := r.Forward(ctx, end, p, pass)
			if err != nil {
				return hit, false, err
			}
			if !met || h.Time >= end {
				break
			}
			hit, found, pass = h, true, h.Watch < 0
			if h.Watch >= 0 && !h.System {
				if _, _, err := r.Forward(ctx, h.Time+1, nil, false); err != nil {
					return hit, false, err
				}
			}
		}
		if found {
			return hit, true, r.Seek(ctx, hit.Time)
		}
		end = begin
	}
	return hit, false, r.Seek(ctx, from)
}

// Clock returns the guest's time in nanoseconds.
func (r *Replay) Clock() uint64 {
	if r.at < len(r.j.items) {
		return r.j.items[r.at].clock + r.done
	}
	if n := len(r.j.items); n > 0 {
		return r.j.items[n-1].clock + r.j.items[n-1].insts
	}
	return 0
}
