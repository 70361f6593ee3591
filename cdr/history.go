package cdr

import (
	"cmp"
	"fmt"
	"sort"

	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// CodeBlock is a simulated block as the trace knows it.
type CodeBlock struct {
	PC    uint64
	Bytes uint32
	Insts uint32
	End   event.End
	Sites []SiteID // plain accesses in execution order; not to be changed
}

// History answers questions about the past of one thread: which block
// execution last did something before a point. A point is a number of block
// executions of the thread, from 0; nothing between points is expanded.
//
// A History belongs to the goroutine that its trace belongs to. It holds a few
// epochs of the thread in memory.
type History struct {
	t      *Trace
	thread event.ThreadID
	marks  func(CodeBlock) wpp.Marks
	known  map[BlockID]wpp.Marks
	blocks []uint64 // executions before each epoch, and at the end
	events []uint64 // ordered events likewise
	views  []*historyView
}

// historyViews is how many epochs a History holds.
const historyViews = 3

// historyView is what a History keeps of an epoch.
type historyView struct {
	*stretch
	blocks  *wpp.Weights
	finder  *wpp.Finder // made when first needed
	sites   map[SiteID]*wpp.Weights
	size    uint64 // of sites, in bytes
	bounds  map[SiteID]*addrBounds
	storing []SiteID // sites that write, with recorded addresses; nil until needed
}

// maxSiteWeights bounds the memory of one view for the counts of sites.
const maxSiteWeights = 32 << 20

// History gives the past of a thread. The function marks says which marks
// [History.LastMarked] finds a block by; it is called once a block. It may be
// nil.
func (t *Trace) History(th event.ThreadID, marks func(CodeBlock) wpp.Marks) (*History, error) {
	if err := t.hasControl(th); err != nil {
		return nil, err
	}
	h := &History{t: t, thread: th, marks: marks, known: map[BlockID]wpp.Marks{}, blocks: []uint64{0}, events: []uint64{0}}
	for i := range t.epochs {
		b, e := h.blocks[i], h.events[i]
		if c := t.epochs[i].thread(th); c != nil {
			b, e = b+c.blocks, e+c.events
		}
		h.blocks, h.events = append(h.blocks, b), append(h.events, e)
	}
	return h, nil
}

// Blocks is the number of block executions of the thread.
func (h *History) Blocks() uint64 { return h.blocks[len(h.blocks)-1] }

// view loads an epoch; nil when the thread did nothing in it.
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
	v := &historyView{stretch: s, sites: map[SiteID]*wpp.Weights{}, bounds: map[SiteID]*addrBounds{}}
	if v.blocks, err = wpp.NewWeights(s.g, s.termWeight(func(*tableBlock) uint64 { return 1 })); err != nil {
		return nil, err
	}
	if len(h.views) == historyViews {
		h.views = h.views[:historyViews-1]
	}
	h.views = append([]*historyView{v}, h.views...)
	return v, nil
}

// place is a block execution found in its epoch.
type place struct {
	v      *historyView
	c      *wpp.Cursor
	path   []uint32
	times  uint64 // executions of the path before, in this terminal
	at     int    // index in the path
	before uint64 // block executions before the terminal, of the thread
}

func (p *place) block() *tableBlock { return &p.v.tab.blocks[p.path[p.at]] }

// point is the place's number.
func (p *place) point() uint64 { return p.before + p.times*uint64(len(p.path)) + uint64(p.at) }

// find finds block execution n.
func (h *History) find(n uint64) (*place, error) {
	if n >= h.Blocks() {
		return nil, fmt.Errorf("block execution %d of thread %d: %w", n, h.thread, ErrNoSuch)
	}
	e := sort.Search(len(h.blocks), func(i int) bool { return h.blocks[i] > n }) - 1
	v, err := h.view(e)
	if err != nil {
		return nil, err
	}
	c, offset, _ := v.blocks.Select(n - h.blocks[e])
	return h.place(v, c, offset), nil
}

func (h *History) place(v *historyView, c *wpp.Cursor, offset uint64) *place {
	x, _ := c.Terminal()
	p := &place{v: v, c: c, path: v.tab.pathBlocks(PathID(v.terms[x].a))}
	length := uint64(len(p.path))
	p.times, p.at = offset/length, int(offset%length)
	p.before = h.blocks[v.epoch] + v.blocks.Rank(c)
	return p
}

func (t *tables) code(id uint32) CodeBlock {
	b := &t.blocks[id]
	return CodeBlock{PC: b.pc, Bytes: b.bytes, Insts: b.insts, End: b.end, Sites: t.blockSites(b)}
}

// Block gives block execution n.
func (h *History) Block(n uint64) (CodeBlock, error) {
	p, err := h.find(n)
	if err != nil {
		return CodeBlock{}, err
	}
	return p.v.tab.code(p.path[p.at]), nil
}

func (h *History) blockMarks(id uint32) wpp.Marks {
	m, ok := h.known[BlockID(id)]
	if !ok {
		if h.marks != nil {
			m = h.marks(h.t.tab.code(id))
		}
		h.known[BlockID(id)] = m
	}
	return m
}

// lastIn gives the last block of a path that bears a wanted mark.
func (h *History) lastIn(path []uint32, want wpp.Marks) int {
	i := len(path) - 1
	for i >= 0 && !h.blockMarks(path[i]).Meets(want) {
		i--
	}
	return i
}

// LastMarked finds the last block execution before n whose block bears one of
// the wanted marks.
func (h *History) LastMarked(n uint64, want wpp.Marks) (uint64, bool, error) {
	for n > 0 {
		p, err := h.find(n - 1)
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
		v := p.v
		if v.finder == nil {
			v.finder = h.newFinder(v.stretch)
		}
		if v.finder.Back(p.c, want) {
			q := h.place(v, p.c, v.blocks.At(p.c)-1)
			q.at = h.lastIn(q.path, want)
			return q.point(), true, nil
		}
		n = h.blocks[v.epoch]
	}
	return 0, false, nil
}

func (h *History) newFinder(s *stretch) *wpp.Finder {
	marks := make([]wpp.Marks, len(s.terms))
	for i, x := range s.terms {
		if x.kind == termPath {
			for _, b := range s.tab.pathBlocks(PathID(x.a)) {
				m := h.blockMarks(b)
				marks[i][0] |= m[0]
				marks[i][1] |= m[1]
			}
		}
	}
	return wpp.NewFinder(s.g, func(x wpp.Terminal) wpp.Marks { return marks[x] })
}

// Caller gives the block execution that ends with the call which the function
// executing at n was entered by. ok is false when no block of the trace made
// that call: the thread's first function, a frame that only a correction of
// the stack brought back.
func (h *History) Caller(n uint64) (call uint64, ok bool, err error) {
	p, err := h.find(n)
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
				if v.terms[x].kind != termPath {
					return 0, false, nil
				}
				length := uint64(len(v.tab.pathBlocks(PathID(v.terms[x].a))))
				return h.blocks[v.epoch] + v.blocks.Rank(at) + (nth+1)*length - 1, true, nil
			}
			return 0, false, nil
		}
		pops = pops - before.Pushes + before.Pops
		if v, err = h.viewBefore(v.epoch); v == nil || err != nil {
			return 0, false, err
		}
		c = v.g.End()
	}
}

func (s *stretch) callStacks() (*wpp.Stacks, error) {
	if s.stacks == nil {
		st, err := wpp.NewStacks(s.g, s.effect)
		if err != nil {
			return nil, err
		}
		s.stacks = st
	}
	return s.stacks, nil
}

// viewBefore is the last epoch before that one in which the thread did
// something; nil when there is none.
func (h *History) viewBefore(epoch int) (*historyView, error) {
	for epoch--; epoch >= 0; epoch-- {
		if v, err := h.view(epoch); v != nil || err != nil {
			return v, err
		}
	}
	return nil, nil
}

// Segment is the number of the thread's ordered events before block execution
// n. For n = Blocks it is that of all events.
func (h *History) Segment(n uint64) (uint64, error) {
	if n == h.Blocks() {
		return h.events[len(h.events)-1], nil
	}
	p, err := h.find(n)
	if err != nil {
		return 0, err
	}
	return h.events[p.v.epoch] + p.v.events.Rank(p.c), nil
}

// EventPoint is the number of block executions before the thread's ordered
// event of that index; for an index beyond the last, of all.
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

// siteCounts counts the executions of a site by terminal.
func (v *historyView) siteCounts(site SiteID) (*wpp.Weights, error) {
	if w := v.sites[site]; w != nil {
		return w, nil
	}
	w, err := wpp.NewWeights(v.g, v.termWeight(func(b *tableBlock) uint64 { return v.tab.siteIn(b, site) }))
	if err != nil {
		return nil, err
	}
	if v.size += w.Size(); v.size > maxSiteWeights {
		clear(v.sites)
		v.size = w.Size()
	}
	v.sites[site] = w
	return w, nil
}

// siteIn is how often a site stands in a block.
func (t *tables) siteIn(b *tableBlock, site SiteID) (n uint64) {
	for _, id := range t.blockSites(b) {
		if id == site {
			n++
		}
	}
	return n
}

// earlier is how often the site was executed in the epochs before one.
func (h *History) earlier(epoch int, site SiteID) (sum uint64, err error) {
	for i := range epoch {
		n, err := h.inEpoch(i, site)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// inEpoch is how often the site was executed in an epoch.
func (h *History) inEpoch(epoch int, site SiteID) (uint64, error) {
	if h.t.epochs[epoch].thread(h.thread) == nil {
		return 0, nil
	}
	if n, ok := h.t.totals[siteKey{epoch, h.thread, site}]; ok {
		return n, nil
	}
	v, err := h.view(epoch)
	if err != nil {
		return 0, err
	}
	w, err := v.siteCounts(site)
	if err != nil {
		return 0, err
	}
	if len(h.t.totals) > 1<<20 {
		clear(h.t.totals)
	}
	h.t.totals[siteKey{epoch, h.thread, site}] = w.Total()
	return w.Total(), nil
}

// Rank is the number of executions of a site by the thread before block
// execution n: the ordinal of the next.
func (h *History) Rank(site SiteID, n uint64) (uint64, error) {
	p, err := h.find(n)
	if err != nil {
		return 0, err
	}
	local, err := p.rank(site)
	if err != nil {
		return 0, err
	}
	before, err := h.earlier(p.v.epoch, site)
	return before + local, err
}

// rank is the number of executions of the site in the epoch before the place.
func (p *place) rank(site SiteID) (uint64, error) {
	w, err := p.v.siteCounts(site)
	if err != nil {
		return 0, err
	}
	x, _ := p.c.Terminal()
	n := w.Rank(p.c) + p.times*(w.At(p.c)/p.v.terms[x].b)
	for _, b := range p.path[:p.at] {
		n += p.v.tab.siteIn(&p.v.tab.blocks[b], site)
	}
	return n, nil
}

// split finds the epoch of an execution of a site, and its ordinal there.
func (h *History) split(site SiteID, ordinal uint64) (epoch int, local uint64, err error) {
	local = ordinal
	for i := range h.t.epochs {
		n, err := h.inEpoch(i, site)
		if err != nil {
			return 0, 0, err
		}
		if local < n {
			return i, local, nil
		}
		local -= n
	}
	return 0, 0, fmt.Errorf("access %d of site %d in thread %d: %w", ordinal, site, h.thread, ErrNoSuch)
}

// Execution gives the block execution that an execution of a site was part of.
func (h *History) Execution(site SiteID, ordinal uint64) (uint64, error) {
	e, local, err := h.split(site, ordinal)
	if err != nil {
		return 0, err
	}
	v, err := h.view(e)
	if err != nil {
		return 0, err
	}
	p, err := h.execution(v, site, local)
	if err != nil {
		return 0, err
	}
	return p.point(), nil
}

// execution is Execution within an epoch.
func (h *History) execution(v *historyView, site SiteID, local uint64) (*place, error) {
	w, err := v.siteCounts(site)
	if err != nil {
		return nil, err
	}
	c, offset, ok := w.Select(local)
	if !ok {
		return nil, fmt.Errorf("access of site %d: %w", site, ErrNoSuch)
	}
	x, _ := c.Terminal()
	each := w.At(c) / v.terms[x].b
	p := h.place(v, c, 0)
	p.times, offset = offset/each, offset%each
	for ; p.at < len(p.path)-1; p.at++ {
		n := v.tab.siteIn(p.block(), site)
		if offset < n {
			break
		}
		offset -= n
	}
	return p, nil
}

// Address is what an execution of a site accessed; ok is false when that was
// not recorded.
func (h *History) Address(site SiteID, ordinal uint64) (addr uint64, ok bool, err error) {
	e, local, err := h.split(site, ordinal)
	if err != nil {
		return 0, false, err
	}
	v, err := h.view(e)
	if err != nil {
		return 0, false, err
	}
	x, err := v.addrIndex(site)
	if x == nil || err != nil {
		return 0, false, err
	}
	c := addrCursor{x: x}
	c.seek(local)
	c.next(local+1, func(r Run) bool {
		addr, ok = r.Base, true
		return true
	})
	return addr, ok, nil
}

// Store is an execution of a store.
type Store struct {
	Point   uint64 // its block execution
	Index   int    // its place among the sites of that block
	Site    SiteID
	Ordinal uint64
	Address uint64
}

// LastStore finds the last recorded store to one of size bytes at addr, before
// the site of that index in block execution n (n may be Blocks, with index 0).
// It searches the addresses of each storing site by their grammar. The error
// is [ErrSearch] when that took too long.
func (h *History) LastStore(n uint64, index int, addr, size uint64) (Store, bool, error) {
	for e := len(h.blocks) - 2; e >= 0; e-- {
		if h.blocks[e] > n || h.blocks[e] == h.blocks[e+1] {
			continue
		}
		v, err := h.view(e)
		if err != nil {
			return Store{}, false, err
		}
		s, ok, err := h.lastStoreIn(v, n, index, addr, size)
		if ok || err != nil {
			return s, ok, err
		}
	}
	return Store{}, false, nil
}

func (h *History) lastStoreIn(v *historyView, n uint64, index int, addr, size uint64) (best Store, found bool, err error) {
	var here *place // nil: the epoch ends before n
	if n < h.blocks[v.epoch+1] {
		if here, err = h.find(n); err != nil {
			return best, false, err
		}
	}
	if err := v.findStoring(); err != nil {
		return best, false, err
	}
	for _, site := range v.storing {
		width := uint64(v.tab.sites[site].Size)
		w := window{low: addr - width + 1, width: int64(size + width - 2)}
		if !v.bounds[site].covers(w) {
			continue
		}
		limit := uint64(1) << 62
		if here != nil {
			if limit, err = here.rank(site); err != nil {
				return best, false, err
			}
			for _, id := range v.tab.blockSites(here.block())[:index] {
				if id == site {
					limit++
				}
			}
		}
		local, at, ok, err := v.bounds[site].last(limit, w)
		if err != nil {
			return best, false, err
		}
		if !ok {
			continue
		}
		p, err := h.execution(v, site, local)
		if err != nil {
			return best, false, err
		}
		s := Store{Point: p.point(), Site: site, Ordinal: local, Address: at}
		for i, id := range v.tab.blockSites(p.block()) {
			if id == site {
				s.Index = i
			}
		}
		if !found || cmp.Or(cmp.Compare(s.Point, best.Point), cmp.Compare(s.Index, best.Index)) > 0 {
			best, found = s, true
		}
	}
	if found {
		before, err := h.earlier(v.epoch, best.Site)
		if err != nil {
			return best, false, err
		}
		best.Ordinal += before
	}
	return best, found, nil
}

// findStoring lists the sites that write, with the bounds of their addresses.
func (v *historyView) findStoring() error {
	if v.storing != nil || v.data == nil {
		return nil
	}
	v.storing = []SiteID{}
	for site := range v.data.bySite {
		if v.tab.sites[site].Access != event.Write {
			continue
		}
		x, err := v.addrIndex(site)
		if err != nil {
			return err
		}
		v.bounds[site] = newAddrBounds(x)
		v.storing = append(v.storing, site)
	}
	return nil
}
