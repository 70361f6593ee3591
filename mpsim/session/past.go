package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/mpsim"
	"hindsight/mpsim/debug"
	"hindsight/tracefmt/event"
)

// Past is the run of a trace, prepared to stop at any time. It consists of the run's
// journal and the positions in it of the executions that the trace names. It implements
// [debug.Index].
type Past struct {
	Journal *mpsim.Journal
	trace   *cdr.Trace
	turns   map[event.ThreadID]*turns
	history map[event.ThreadID]*cdr.History
	search  error // why the trace cannot be searched; nil: it can be
}

// turns are the batches of a thread: how much it had executed before each of them, and
// after the last.
type turns struct {
	insts, accesses, events []uint64
}

// Past reruns the run in t with a journal. The error is [ErrOtherRun] if the rerun differs.
// progress, if not nil, is called with the number of instructions so far.
func (a *Rerun) Past(ctx context.Context, t *cdr.Trace, progress func(insts uint64)) (*Past, error) {
	r, std, done, err := a.Run(ctx, t)
	if err != nil {
		return nil, err
	}
	defer done()
	p := &Past{Journal: new(mpsim.Journal), trace: t, turns: map[event.ThreadID]*turns{}, history: map[event.ThreadID]*cdr.History{}}
	count := &turnCounter{past: p, progress: progress}
	space := r.Image.Anew()
	cfg := r.Config(space, std)
	cfg.Journal, cfg.Observer = p.Journal, count
	cfg.Hooks, cfg.HookAt = r.Hooks(space)
	m, err := mpsim.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Program, err)
	}
	res, err := m.Run(ctx)
	if err != nil {
		return nil, err
	}
	if res.Interrupted && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if want := t.Info().Outcome; want != nil && t.Info().Complete {
		if err := sameOutcome(want, &res.Outcome); err != nil {
			return nil, err
		}
	}
	p.search = t.Info().CheckBothHalves()
	return p, nil
}

// turnCounter is the observer that fills a Past.
type turnCounter struct {
	past     *Past
	insts    uint64
	progress func(uint64)
}

// Define implements [event.Observer].
func (c *turnCounter) Define([]event.Block) error { return nil }

// Batch implements [event.Observer].
func (c *turnCounter) Batch(b *event.Batch) error {
	t := c.past.turns[b.Thread]
	if t == nil {
		t = &turns{insts: []uint64{0}, accesses: []uint64{0}, events: []uint64{0}}
		c.past.turns[b.Thread] = t
	}
	n := len(t.insts) - 1
	t.insts = append(t.insts, t.insts[n]+b.Insts)
	t.accesses = append(t.accesses, t.accesses[n]+uint64(len(b.Addrs)))
	t.events = append(t.events, t.events[n]+uint64(len(b.Events)))
	c.insts += b.Insts
	if c.progress != nil {
		c.progress(c.insts)
	}
	return nil
}

// Finish implements [event.Observer].
func (c *turnCounter) Finish(event.Outcome) error { return nil }

// turn returns the times at which a batch begins and ends.
func (p *Past) turn(th event.ThreadID, n int) (begin, end uint64, err error) {
	t := p.turns[th]
	begin, ok := p.Journal.TimeOf(th, t.insts[n])
	if !ok || t.insts[n+1] == t.insts[n] {
		return 0, 0, fmt.Errorf("thread T%d: %w", th, mpsim.ErrReplay)
	}
	end, ok = p.Journal.TimeOf(th, t.insts[n+1]-1)
	if !ok {
		return 0, 0, fmt.Errorf("thread T%d: %w", th, mpsim.ErrReplay)
	}
	return begin, end + 1, nil
}

func (p *Past) historyOf(th event.ThreadID) (*cdr.History, error) {
	if h := p.history[th]; h != nil {
		return h, nil
	}
	h, err := p.trace.History(th, nil)
	if err == nil {
		p.history[th] = h
	}
	return h, err
}

// Access returns the time just before the nth execution of a site by a thread, counted from
// 0. It replays the turn of the thread that contains the execution.
func (p *Past) Access(ctx context.Context, r *mpsim.Replay, th event.ThreadID, site format.SiteID, n uint64) (uint64, error) {
	h, err := p.historyOf(th)
	if err != nil {
		return 0, err
	}
	block, err := h.Execution(site, n)
	if err != nil {
		return 0, err
	}
	t := p.turns[th]
	if t == nil {
		return 0, fmt.Errorf("thread T%d: %w", th, mpsim.ErrReplay)
	}
	index, err := p.place(h, block, site)
	if err != nil {
		return 0, err
	}
	turn, err := t.of(h, block, index)
	if err != nil {
		return 0, err
	}
	begins, from, err := h.AccessPoint(t.accesses[turn])
	if err != nil {
		return 0, err
	}
	before, err := h.Rank(site, begins)
	if err != nil {
		return 0, err
	}
	if first, err := p.place(h, begins, site); err == nil && first < from { // the turn begins inside the block
		before++
	}
	return p.within(ctx, r, th, turn, p.trace.Site(site).PC, n-before)
}

// place returns the index of a site among the sites of a block execution.
func (p *Past) place(h *cdr.History, block uint64, site format.SiteID) (int, error) {
	b, err := h.Block(block)
	if err != nil {
		return 0, err
	}
	if i := slices.Index(b.Sites, site); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("site %d in block execution %d: %w", site, block, cdr.ErrNoSuch)
}

// of returns the turn that contains an access of a block execution.
func (t *turns) of(h *cdr.History, block uint64, index int) (int, error) {
	access, err := h.Accesses(block)
	if err != nil {
		return 0, err
	}
	access += uint64(index)
	turn := sort.Search(len(t.accesses), func(i int) bool { return t.accesses[i] > access }) - 1
	if turn < 0 || turn+1 >= len(t.insts) {
		return 0, fmt.Errorf("block execution %d: %w", block, mpsim.ErrReplay)
	}
	return turn, nil
}

// within returns the time of the nth execution of an instruction in a turn.
func (p *Past) within(ctx context.Context, r *mpsim.Replay, th event.ThreadID, turn int, pc, n uint64) (uint64, error) {
	begin, end, err := p.turn(th, turn)
	if err != nil {
		return 0, err
	}
	if err := r.Seek(ctx, begin); err != nil {
		return 0, err
	}
	count := n
	hit, found, err := r.Forward(ctx, end, &mpsim.Probe{Breaks: map[uint64]bool{pc: true}, Stop: func(h *mpsim.Hart) bool {
		if h.ID() != th {
			return false
		}
		count--
		return count == ^uint64(0)
	}}, false)
	if err == nil && !found {
		err = fmt.Errorf("execution %d of the instruction at %#x: %w", n, pc, mpsim.ErrReplay)
	}
	return hit.Time, err
}

// Event returns the time of an access that is an event of the thread. number is how many
// events the thread had before it.
func (p *Past) Event(ctx context.Context, r *mpsim.Replay, th event.ThreadID, number, pc uint64) (uint64, error) {
	t := p.turns[th]
	if t == nil {
		return 0, fmt.Errorf("thread T%d: %w", th, mpsim.ErrReplay)
	}
	turn := sort.Search(len(t.events), func(i int) bool { return t.events[i] > number }) - 1
	if turn < 0 || turn+1 >= len(t.insts) {
		return 0, fmt.Errorf("event %d of thread T%d: %w", number, th, mpsim.ErrReplay)
	}
	n, seen, last := uint64(0), uint64(0), false
	for e, err := range p.trace.Events() {
		if err != nil {
			return 0, err
		}
		if e.Thread != th {
			continue
		}
		if seen >= number {
			break
		}
		if seen >= t.events[turn] && e.PC == pc && !last { // events of one call are adjacent
			n++
		}
		last = e.PC == pc
		seen++
	}
	return p.within(ctx, r, th, turn, pc, n)
}

// storing is a store of a thread that may be the last one.
type storing struct {
	cdr.Store
	thread event.ThreadID
	begin  uint64 // of the turn
}

// LastWrite implements [debug.Index] with the address streams of the trace. To find the
// time, it replays one or two turns of threads.
func (p *Past) LastWrite(ctx context.Context, r *mpsim.Replay, addr, size, before uint64) (w debug.Write, ok bool, err error) {
	if p.search != nil {
		return w, false, nil
	}
	var all []storing
	for th, t := range p.turns {
		done := p.Journal.Retired(th, before)
		turn := sort.Search(len(t.insts), func(i int) bool { return t.insts[i] >= done })
		h, err := p.historyOf(th)
		if err != nil {
			return w, false, err
		}
		end, index, err := h.AccessPoint(t.accesses[min(turn, len(t.accesses)-1)])
		if errors.Is(err, cdr.ErrNoSuch) {
			end, index, err = h.Blocks(), 0, nil
		}
		if err != nil {
			return w, false, err
		}
		s, found, err := p.lastStore(th, end, index, addr, size)
		if err != nil {
			return w, false, err
		}
		if found {
			all = append(all, s)
		}
	}
	// Turns do not overlap, so the store in the latest turn is the last one, unless that
	// turn is in progress and has not reached the store.
	for len(all) > 0 {
		slices.SortFunc(all, func(a, b storing) int { return cmp.Compare(b.begin, a.begin) })
		s := &all[0]
		at, err := p.Access(ctx, r, s.thread, s.Site, s.Ordinal)
		if err != nil {
			return w, false, err
		}
		if at < before {
			return debug.Write{Time: at, Thread: s.thread, PC: p.trace.Site(s.Site).PC, Addr: s.Address}, true, nil
		}
		next, found, err := p.lastStore(s.thread, s.Point, s.Index, addr, size)
		if err != nil {
			return w, false, err
		}
		all[0] = next
		if !found {
			all = all[1:]
		}
	}
	return w, false, nil
}

// lastStore returns a thread's last store before a site of a block execution.
func (p *Past) lastStore(th event.ThreadID, block uint64, index int, addr, size uint64) (s storing, ok bool, err error) {
	h, err := p.historyOf(th)
	if err != nil {
		return s, false, err
	}
	s.thread = th
	if s.Store, ok, err = h.LastStore(block, index, addr, size); err != nil || !ok {
		return s, false, err
	}
	turn, err := p.turns[th].of(h, s.Point, s.Index)
	if err != nil {
		return s, false, err
	}
	s.begin, _, err = p.turn(th, turn)
	return s, true, err
}
