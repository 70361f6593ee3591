package artifact

import (
	"errors"
	"math"

	"hindsight/cdr"
	"hindsight/cdr/fold"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// loaded returns the stores from which a load obtained its value. If the load is a racy
// read, loaded says so and follows nothing, because that race is a cause.
func (g *graph) loaded(id int32, b *cdr.CodeBlock, d *block, size uint64) ([]edge, error) {
	p := g.nodes[id].point
	at := d.sites[p.inst]
	if at < 0 {
		return nil, nil // an acquire load: values that pass through atomic variables are not followed
	}
	if err := g.spend(); err != nil {
		return nil, err
	}
	site, h := b.Sites[at], g.history[p.thread]
	ordinal, err := h.Rank(site, p.block)
	if err != nil {
		return nil, err
	}
	addr, ok, err := h.Address(site, ordinal)
	if err != nil {
		return nil, err
	}
	if !ok {
		g.nodes[id].missing = unrecorded
		return nil, nil
	}
	g.nodes[id].addr, g.nodes[id].size = addr, size
	if x, ok := g.index.at(p.thread, site, ordinal); ok && g.index.racy(&x) {
		g.nodes[id].read = &x
		return nil, nil
	}
	if g.index.touchesAtomic(addr, size) {
		return nil, nil
	}
	l := load{point: p, site: at, seg: segment{thread: p.thread}}
	if l.seg.number, err = h.Segment(p.block); err != nil {
		return nil, err
	}
	g.bounds(&l.seg)
	return g.writers(id, &l, addr, size)
}

// touchesAtomic reports whether an atomic access of the run touches one of the bytes.
func (x *index) touchesAtomic(addr, size uint64) bool {
	for i := range size {
		if at := addr + i; x.atomic.Ever(at>>3)>>(at&7)&1 != 0 {
			return true
		}
	}
	return false
}

// racy reports whether an execution, which reads, races with a write.
func (x *index) racy(e *exec) bool {
	s := x.sites[e.site]
	if s.site.Access != event.Read {
		return false
	}
	for _, id := range s.partner {
		if x.sites[id].site.Access != event.Write {
			continue
		}
		for range x.partners(id, e) {
			return true
		}
	}
	return false
}

// segment is a segment of a thread.
type segment struct {
	thread event.ThreadID
	number uint64 // events of the thread before it
	start  uint64 // 1 + the position in S_synch of the event that begins it; 0 if none
	end    uint64 // position in S_synch of the event that ends it
}

// bounds sets where a segment begins and ends.
func (g *graph) bounds(s *segment) {
	seqs := g.index.seqs[s.thread]
	s.end = math.MaxUint64
	if s.number < uint64(len(seqs)) {
		s.end = seqs[s.number]
	}
	switch {
	case s.number > 0:
		s.start = seqs[s.number-1] + 1
	default:
		if c, ok := g.index.creates[s.thread]; ok {
			s.start = c.seq + 1
		}
	}
}

// load is a load whose value is searched for.
type load struct {
	point
	site int // its index among the sites of its block
	seg  segment
}

// written is a store that was found.
type written struct {
	cdr.Store
	seg  segment
	size uint64
	// doubt says that a system call may have stored something else there since.
	doubt bool
}

// writers returns the stores that last wrote the bytes that a load read. The load does
// not race, so exactly what was ordered before it in S_synch can have written them.
func (g *graph) writers(id int32, l *load, addr, size uint64) (out []edge, err error) {
	type span struct{ addr, size uint64 }
	for todo := []span{{addr, size}}; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		w, ok, err := g.writer(id, l, s.addr, s.size, nil)
		if errors.Is(err, fold.ErrSearch) {
			err = errBudget
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		to, err := g.storeNode(w)
		if err != nil {
			return nil, err
		}
		out = append(out, edge{to, viaMemory, w.doubt})
		if w.Address > s.addr {
			todo = append(todo, span{s.addr, w.Address - s.addr})
		}
		if end := w.Address + w.size; end < s.addr+s.size {
			todo = append(todo, span{end, s.addr + s.size - end})
		}
	}
	return out, nil
}

func (g *graph) storeNode(w written) (int32, error) {
	b, d, err := g.block(w.seg.thread, w.Point)
	if err != nil {
		return 0, err
	}
	for i, at := range d.sites {
		if at == w.Index {
			id := g.id(nodeKey{point: point{w.seg.thread, w.Point, i}})
			g.nodes[id].addr, g.nodes[id].size = w.Address, uint64(g.trace.Site(b.Sites[at]).Size)
			return id, nil
		}
	}
	return 0, errCode
}

// maxPassed limits the stores that are skipped in search of another.
const maxPassed = 64

// writer returns the store that last wrote one of the bytes. If pass is not nil, stores
// that it accepts do not count. A thread that acts as several strands may itself have
// such stores.
func (g *graph) writer(id int32, l *load, addr, size uint64, pass func(*written) bool) (best written, found bool, err error) {
	best, found, err = g.lastBut(l.thread, l.block, l.site, addr, size, pass)
	if err != nil {
		return best, false, err
	}
	if found && best.seg.number == l.seg.number {
		return g.withDoubt(l, best, found)
	}
	for t := range g.history {
		th := event.ThreadID(t)
		if th == l.thread {
			continue
		}
		// The segments of th that an event ended before the load's segment began.
		n := g.index.eventsBefore(th, l.seg.start)
		if n == 0 {
			continue
		}
		until, err := g.history[t].EventPoint(n - 1)
		if err != nil {
			return best, false, err
		}
		w, ok, err := g.lastBut(th, until, 0, addr, size, pass)
		if err != nil {
			return best, false, err
		}
		switch {
		case !ok || found && w.seg.end < best.seg.start:
		case found && best.seg.end >= w.seg.start:
			g.nodes[id].missing = "two threads wrote it last without order"
			return best, false, nil
		default:
			best, found = w, true
		}
	}
	if found && g.index.allocs.between(addr, best.seg.end, l.seg.start) {
		return best, false, nil // the memory was reallocated since
	}
	return g.withDoubt(l, best, found)
}

// lastBut is lastStore among the stores that pass does not accept, if it is not nil.
func (g *graph) lastBut(th event.ThreadID, n uint64, index int, addr, size uint64, pass func(*written) bool) (w written, ok bool, err error) {
	w, ok, err = g.lastStore(th, n, index, addr, size)
	for n := 0; err == nil && ok && pass != nil && pass(&w); n++ {
		if n == maxPassed {
			return w, false, errBudget
		}
		w, ok, err = g.lastStore(th, w.Point, w.Index, addr, size)
	}
	return w, ok, err
}

// withDoubt sets doubt if the loading thread has made a system call since the store that
// may have stored something else there.
func (g *graph) withDoubt(l *load, w written, found bool) (written, bool, error) {
	if !found {
		return w, false, nil
	}
	n, ok, err := g.history[l.thread].LastMarked(l.block, wpp.Marks{syscallMark, 0})
	w.doubt = ok && (w.seg.thread != l.thread || n >= w.Point)
	return w, true, err
}

func (g *graph) lastStore(th event.ThreadID, n uint64, index int, addr, size uint64) (w written, ok bool, err error) {
	if err := g.spend(); err != nil {
		return w, false, err
	}
	h := g.history[th]
	if w.Store, ok, err = h.LastStore(n, index, addr, size); !ok || err != nil {
		return w, false, err
	}
	w.size = uint64(g.trace.Site(w.Site).Size)
	w.seg.thread = th
	w.seg.number, err = h.Segment(w.Point)
	g.bounds(&w.seg)
	return w, true, err
}

// eventsBefore returns the number of events of a thread with positions below seq.
func (x *index) eventsBefore(th event.ThreadID, seq uint64) uint64 {
	seqs := x.seqs[th]
	lo, hi := 0, len(seqs)
	for lo < hi {
		mid := (lo + hi) / 2
		if seqs[mid] < seq {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return uint64(lo)
}
