package cdr

import (
	"fmt"
	"sort"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// CodeBlock is a simulated block as the trace describes it.
type CodeBlock struct {
	PC    uint64
	Bytes uint32
	Insts uint32
	End   event.End
	Sites []format.SiteID // plain accesses in execution order; not to be changed
}

// History answers questions about the past of one thread: which block execution was the
// last to do something before a point. A point is a number of block executions of the
// thread. The blocks between two points are not expanded.
//
// A History belongs to the goroutine of its trace. It holds a few epochs of the thread in
// memory.
type History struct {
	t      *Trace
	thread event.ThreadID
	marks  func(CodeBlock) wpp.Marks
	known  map[format.BlockID]wpp.Marks
	blocks []uint64 // executions before each epoch, and at the end
	events []uint64 // ordered events before each epoch, and at the end
	views  []*historyView
	totals []total // by epoch; nil until needed
	near   []place // the places that [History.look] found last, the latest first
}

// Histories are the histories of a trace's threads, without marks. Each is created when
// it is first used.
type Histories struct {
	t  *Trace
	of map[event.ThreadID]*History
}

// Histories returns the histories of the trace's threads.
func (t *Trace) Histories() *Histories {
	return &Histories{t, map[event.ThreadID]*History{}}
}

// Of returns the history of a thread.
func (h *Histories) Of(th event.ThreadID) (*History, error) {
	if known := h.of[th]; known != nil {
		return known, nil
	}
	made, err := h.t.History(th, nil)
	if err == nil {
		h.of[th] = made
	}
	return made, err
}

// historyViews is the number of epochs that a History holds.
const historyViews = 3

// historyView holds what a History needs of an epoch.
type historyView struct {
	*stretch
	blocks   *wpp.Weights
	accesses *wpp.Weights // computed when first needed
	finder   *wpp.Finder  // computed when first needed
	stores   *storeIndex  // computed when first needed
	walked   int          // terminals walked before there was a finder
}

// History returns the history of a thread. marks returns the marks of a block, for
// [History.LastMarked]; it is called once for each block, and may be nil.
func (t *Trace) History(th event.ThreadID, marks func(CodeBlock) wpp.Marks) (*History, error) {
	if err := t.hasControl(th); err != nil {
		return nil, err
	}
	h := &History{t: t, thread: th, marks: marks, known: map[format.BlockID]wpp.Marks{}, blocks: []uint64{0}, events: []uint64{0}}
	for i := range t.epochs {
		b, e := h.blocks[i], h.events[i]
		if c := t.epochs[i].thread(th); c != nil {
			b, e = b+c.Blocks, e+c.Events
		}
		h.blocks, h.events = append(h.blocks, b), append(h.events, e)
	}
	return h, nil
}

// Blocks returns the number of block executions of the thread.
func (h *History) Blocks() uint64 { return h.blocks[len(h.blocks)-1] }

// view loads an epoch. It is nil if the thread did nothing in it.
func (h *History) view(epoch int) (*historyView, error) {
	for i, v := range h.views {
		if v.epoch == epoch {
			copy(h.views[1:i+1], h.views[:i])
			h.views[0] = v
			return v, nil
		}
	}
	s, err := h.t.stretch(epoch, h.thread)
	if s == nil || err != nil {
		return nil, err
	}
	v := &historyView{stretch: s}
	if v.blocks, err = wpp.NewWeights(s.Grammar, s.termWeight(func(*format.TableBlock) uint64 { return 1 })); err != nil {
		return nil, err
	}
	if len(h.views) == historyViews {
		h.views = h.views[:historyViews-1]
	}
	h.views = append([]*historyView{v}, h.views...)
	return v, nil
}

// place is a block execution within its epoch.
type place struct {
	v      *historyView
	c      *wpp.Cursor
	path   []uint32
	times  uint64 // earlier executions of the path in this terminal
	at     int    // index in the path
	before uint64 // block executions of the thread before the terminal
	blocks uint64 // block executions of the terminal
}

func (p *place) block() *format.TableBlock { return &p.v.tab.Blocks[p.path[p.at]] }

// point returns the number of the block execution.
func (p *place) point() uint64 { return p.before + p.times*uint64(len(p.path)) + uint64(p.at) }

// nearPlaces is the number of places that a History remembers. A walk along dependences
// goes back and forth between a few places.
const nearPlaces = 4

// look finds block execution n for callers that do not move the cursor of the place. Most
// calls ask for a terminal that was found before.
func (h *History) look(n uint64) (place, error) {
	for i := range h.near {
		p := &h.near[i]
		if n-p.before >= p.blocks {
			continue
		}
		q := *p
		length := uint64(len(p.path))
		q.times, q.at = (n-p.before)/length, int((n-p.before)%length)
		copy(h.near[1:i+1], h.near[:i])
		h.near[0] = q
		return q, nil
	}
	p, err := h.find(n)
	if err != nil {
		return place{}, err
	}
	h.remember(&p)
	return p, nil
}

// remember makes p the latest place. Nobody may move its cursor any more.
func (h *History) remember(p *place) {
	if len(h.near) < nearPlaces {
		h.near = append(h.near, place{})
	}
	copy(h.near[1:], h.near)
	h.near[0] = *p
}

// find finds block execution n.
func (h *History) find(n uint64) (place, error) {
	if n >= h.Blocks() {
		return place{}, fmt.Errorf("block execution %d of thread %d: %w", n, h.thread, ErrNoSuch)
	}
	e := sort.Search(len(h.blocks), func(i int) bool { return h.blocks[i] > n }) - 1
	v, err := h.view(e)
	if err != nil {
		return place{}, err
	}
	c, offset, _ := v.blocks.Select(n - h.blocks[e])
	return h.place(v, c, offset), nil
}

func (h *History) place(v *historyView, c *wpp.Cursor, offset uint64) place {
	x, _ := c.Terminal()
	p := place{v: v, c: c, path: v.tab.PathBlocks(format.PathID(v.Terms[x].A))}
	length := uint64(len(p.path))
	p.times, p.at = offset/length, int(offset%length)
	p.before, p.blocks = h.blocks[v.epoch]+v.blocks.Rank(c), v.blocks.At(c)
	return p
}

// codeOf returns a block of the tables.
func codeOf(t *format.Tables, id uint32) CodeBlock {
	b := &t.Blocks[id]
	return CodeBlock{PC: b.PC, Bytes: b.Bytes, Insts: b.Insts, End: b.End, Sites: t.BlockSites(b)}
}

// Block returns block execution n.
func (h *History) Block(n uint64) (CodeBlock, error) {
	p, err := h.look(n)
	if err != nil {
		return CodeBlock{}, err
	}
	return codeOf(p.v.tab, p.path[p.at]), nil
}

// Remark discards the marks of all blocks, so that they are asked for again.
func (h *History) Remark() {
	clear(h.known)
	h.near = h.near[:0] // they belong to epochs that are in no view any more
	for _, v := range h.views {
		v.finder = nil
	}
}

func (h *History) blockMarks(id uint32) wpp.Marks {
	m, ok := h.known[format.BlockID(id)]
	if !ok {
		if h.marks != nil {
			m = h.marks(codeOf(h.t.tab, id))
		}
		h.known[format.BlockID(id)] = m
	}
	return m
}

// lastIn returns the index of the last block of a path that has a wanted mark.
func (h *History) lastIn(path []uint32, want wpp.Marks) int {
	i := len(path) - 1
	for i >= 0 && !h.blockMarks(path[i]).Meets(want) {
		i--
	}
	return i
}

// LastMarked finds the last block execution before n whose block has one of the
// wanted marks.
func (h *History) LastMarked(n uint64, want wpp.Marks) (uint64, bool, error) {
	for n > 0 {
		p, err := h.look(n - 1)
		if err != nil {
			return 0, false, err
		}
		if i := h.lastIn(p.path[:p.at+1], want); i >= 0 {
			return p.point() - uint64(p.at-i), true, nil
		}
		if p.times > 0 {
			if i := h.lastIn(p.path, want); i >= 0 {
				p.times--
				p.at = i
				return p.point(), true, nil
			}
		}
		v, c := p.v, p.c.Clone()
		if h.back(v, c, want) {
			q := h.place(v, c, v.blocks.At(c)-1)
			q.at = h.lastIn(q.path, want)
			h.remember(&q)
			return q.point(), true, nil
		}
		n = h.blocks[v.epoch]
	}
	return 0, false, nil
}

// maxWalked is the number of terminals of an epoch that are searched for marks one by one
// before a finder is built. Most searches end nearby, and a finder needs the marks of all
// blocks of the epoch.
const maxWalked = 1 << 10

// back moves to the last terminal before c that has a block with a wanted mark.
func (h *History) back(v *historyView, c *wpp.Cursor, want wpp.Marks) bool {
	for ; v.finder == nil && v.walked < maxWalked; v.walked++ {
		if !c.Prev() {
			return false
		}
		x, _ := c.Terminal()
		if t := v.Terms[x]; t.Kind == format.TermPath && h.lastIn(v.tab.PathBlocks(format.PathID(t.A)), want) >= 0 {
			return true
		}
	}
	if v.finder == nil {
		v.finder = h.newFinder(v.stretch)
	}
	return v.finder.Back(c, want)
}

func (h *History) newFinder(s *stretch) *wpp.Finder {
	marks := make([]wpp.Marks, len(s.Terms))
	for i, x := range s.Terms {
		if x.Kind == format.TermPath {
			for _, b := range s.tab.PathBlocks(format.PathID(x.A)) {
				m := h.blockMarks(b)
				marks[i][0] |= m[0]
				marks[i][1] |= m[1]
			}
		}
	}
	return wpp.NewFinder(s.Grammar, func(x wpp.Terminal) wpp.Marks { return marks[x] })
}

// Caller returns the block execution that called the function executing at n. ok is false
// if no block of the trace made that call, because the function is the thread's first one
// or a correction of the stack restored its frame.
func (h *History) Caller(n uint64) (call uint64, ok bool, err error) {
	p, err := h.look(n)
	if err != nil {
		return 0, false, err
	}
	pops := uint64(0)
	x, _ := p.c.Terminal()
	switch e := p.v.effect(x); {
	case p.times > 0 && e.Pushes > 0:
		return p.point() - uint64(p.at) - 1, true, nil
	case e.Pops > 0:
		pops = p.times
	}
	v, c := p.v, p.c
	for {
		st, err := v.callStacks()
		if err != nil {
			return 0, false, err
		}
		before := st.Before(c)
		if pops < before.Pushes {
			for at, nth := range st.Enclosing(c) {
				if pops > 0 {
					pops--
					continue
				}
				x, _ := at.Terminal()
				if v.Terms[x].Kind != format.TermPath {
					return 0, false, nil
				}
				length := uint64(len(v.tab.PathBlocks(format.PathID(v.Terms[x].A))))
				return h.blocks[v.epoch] + v.blocks.Rank(at) + (nth+1)*length - 1, true, nil
			}
			return 0, false, nil
		}
		pops = pops - before.Pushes + before.Pops
		if v, err = h.viewBefore(v.epoch); v == nil || err != nil {
			return 0, false, err
		}
		c = v.Grammar.End()
	}
}

func (s *stretch) callStacks() (*wpp.Stacks, error) {
	if s.stacks == nil {
		st, err := wpp.NewStacks(s.Grammar, s.effect)
		if err != nil {
			return nil, err
		}
		s.stacks = st
	}
	return s.stacks, nil
}

// viewBefore returns the last epoch before the given one in which the thread did
// something, or nil if there is none.
func (h *History) viewBefore(epoch int) (*historyView, error) {
	for epoch--; epoch >= 0; epoch-- {
		if v, err := h.view(epoch); v != nil || err != nil {
			return v, err
		}
	}
	return nil, nil
}

// Segment returns the number of the thread's ordered events before block execution n, or
// of all its events if n is Blocks.
func (h *History) Segment(n uint64) (uint64, error) {
	if n == h.Blocks() {
		return h.events[len(h.events)-1], nil
	}
	p, err := h.look(n)
	if err != nil {
		return 0, err
	}
	return h.events[p.v.epoch] + p.v.events.Rank(p.c), nil
}

// EventPoint returns the number of block executions before the thread's ordered event
// with that index, or of all block executions if there is no such event.
func (h *History) EventPoint(index uint64) (uint64, error) {
	e := sort.Search(len(h.events), func(i int) bool { return h.events[i] > index }) - 1
	if e == len(h.events)-1 {
		return h.Blocks(), nil
	}
	v, err := h.view(e)
	if err != nil {
		return 0, err
	}
	c, _, _ := v.events.Select(index - h.events[e])
	return h.blocks[e] + v.blocks.Rank(c), nil
}
