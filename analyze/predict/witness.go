package predict

import (
	"container/heap"
	"math/bits"
	"slices"

	"hindsight/tracefmt/event"
)

// inOrder reports whether the order of the run is a correct reordering of what was taken
// in: no open section began before another section of the same mutex.
func (s *search) inOrder() bool {
	open := map[uint64]nodeID{}
	for l := range s.open {
		for _, q := range s.open[l] {
			open[s.r.nodes[q].obj] = q
		}
	}
	if len(open) == 0 {
		return true
	}
	for l, n := range s.in {
		for i := n - 1; i >= 0; i-- {
			m := &s.r.nodes[s.r.lanes[l][i]]
			if m.kind != lock {
				continue
			}
			if q, ok := open[m.obj]; ok && s.r.lanes[l][i] > q {
				return false
			}
		}
		s.visited += uint64(n)
	}
	return true
}

// taken returns the nodes that were taken in, in the order of the run.
func (s *search) taken() []nodeID {
	var all []nodeID
	for l, n := range s.in {
		all = append(all, s.r.lanes[l][:n]...)
	}
	slices.Sort(all)
	return all
}

// graph is an order of nodes, which are identified by their positions in a list.
type graph struct {
	s     *search
	all   []nodeID
	place map[nodeID]int32
	after [][]int32
	into  []int32 // incoming edges
}

func (g *graph) edge(a, b nodeID) {
	from, ok := g.place[a]
	if !ok || a == b {
		return
	}
	to := g.place[b]
	g.after[from] = append(g.after[from], to)
	g.into[to]++
}

// sort returns a correct reordering of the nodes that were taken in, in which sections
// that stay open are the last of their mutex (ICSE 2024, the optimistic reordering
// graph). It is as close to the order of the run as possible. sort returns nil if that
// contradicts what else must stay in order.
func (s *search) sort() []nodeID {
	all := s.taken()
	s.visited += 4 * uint64(len(all))
	g := &graph{s: s, all: all, place: make(map[nodeID]int32, len(all)), after: make([][]int32, len(all)), into: make([]int32, len(all))}
	for i, id := range all {
		g.place[id] = int32(i)
	}
	g.program()
	g.conflicts()
	g.sections()
	var ready ints
	for i, n := range g.into {
		if n == 0 {
			ready = append(ready, int32(i))
		}
	}
	out := make([]nodeID, 0, len(all))
	for len(ready) > 0 {
		i := heap.Pop(&ready).(int32)
		out = append(out, all[i])
		for _, j := range g.after[i] {
			if g.into[j]--; g.into[j] == 0 {
				heap.Push(&ready, j)
			}
		}
	}
	if len(out) < len(all) {
		return nil
	}
	return out
}

// program adds program order, the hard order and reads-from.
func (g *graph) program() {
	r := g.s.r
	for _, id := range g.all {
		if n := &r.nodes[id]; n.pos > 0 {
			g.edge(r.lanes[n.lane][n.pos-1], id)
		}
		hard, reads := r.needed(id)
		for _, b := range hard {
			g.edge(b, id)
		}
		for _, b := range reads {
			g.edge(b, id)
		}
	}
}

// conflicts keeps conflicting accesses in the order of the run, so that each read reads
// from the same write.
func (g *graph) conflicts() {
	type state struct {
		write [8]nodeID
		reads [8][]nodeID // since the last write
	}
	granules := map[uint64]*state{}
	for _, id := range g.all {
		n := &g.s.r.nodes[id]
		if n.kind != access {
			continue
		}
		st := granules[n.obj]
		if st == nil {
			st = &state{write: [8]nodeID{none, none, none, none, none, none, none, none}}
			granules[n.obj] = st
		}
		for m := n.mask; m != 0; m &= m - 1 {
			b := bits.TrailingZeros8(m)
			if st.write[b] != none {
				g.edge(st.write[b], id)
			}
			if !n.write {
				st.reads[b] = append(st.reads[b], id)
				continue
			}
			for _, r := range st.reads[b] {
				g.edge(r, id)
			}
			st.write[b], st.reads[b] = id, st.reads[b][:0]
		}
	}
}

// sections keeps the sections of each mutex apart: first those that end, in the order of
// the run, then the one that stays open.
func (g *graph) sections() {
	open := map[uint64]nodeID{}
	for l := range g.s.open {
		for _, q := range g.s.open[l] {
			open[g.s.r.nodes[q].obj] = q
		}
	}
	last := map[uint64]nodeID{} // the end of the last section of each mutex
	for _, id := range g.all {
		n := &g.s.r.nodes[id]
		switch b, ok := last[n.obj]; n.kind {
		case lock:
			if q, stays := open[n.obj]; ok && (!stays || q != id) {
				g.edge(b, id)
			}
		case unlock:
			last[n.obj] = id
		}
	}
	for obj, q := range open {
		if b, ok := last[obj]; ok {
			g.edge(b, q)
		}
	}
}

// race describes an instance that try found to be a predictable race.
func (s *search) race(in instance) Race {
	out := Race{Accesses: in.accesses, At: in.at}
	out.Witness, out.Reversed = s.turns(s.reordering(), in), s.order != nil
	for i, id := range in.nodes {
		n := &s.r.nodes[id]
		out.Steps[i] = Turn{n.thread, n.events, n.count}
	}
	return out
}

// reordering returns the correct reordering that reach has found.
func (s *search) reordering() []nodeID {
	if s.order == nil {
		return s.taken()
	}
	return s.order
}

// schedule converts a reordering to a schedule of threads. It returns nil if there is
// none.
func (s *search) schedule(all []nodeID) []Turn {
	turns := []Turn{}
	latest := map[event.ThreadID]nodeID{}
	for _, id := range all {
		n := &s.r.nodes[id]
		if b, ok := latest[n.thread]; ok && b > id {
			return nil // the strands of the thread take turns in another order
		}
		latest[n.thread] = id
		turns = run(turns, Turn{n.thread, n.events, n.count})
	}
	return turns
}

// turns converts a reordering to a schedule of threads, up to the two accesses.
func (s *search) turns(all []nodeID, in instance) []Turn {
	turns := s.schedule(all)
	if turns == nil || in.accesses[0].Thread == in.accesses[1].Thread {
		return nil
	}
	for i, id := range in.nodes {
		n := &s.r.nodes[id]
		before := Turn{n.thread, n.events, n.count}
		if in.accesses[i].Op.Plain() {
			before.Accesses--
		} else {
			before.Events--
		}
		turns = run(turns, before)
	}
	return turns
}

// run appends a turn, or extends the last one if it is of the same thread.
func run(turns []Turn, t Turn) []Turn {
	if k := len(turns) - 1; k >= 0 && turns[k].Thread == t.Thread {
		turns[k].Events, turns[k].Accesses = max(turns[k].Events, t.Events), max(turns[k].Accesses, t.Accesses)
		return turns
	}
	return append(turns, t)
}

// ints is a heap of numbers.
type ints []int32

func (h ints) Len() int           { return len(h) }
func (h ints) Less(i, j int) bool { return h[i] < h[j] }
func (h ints) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *ints) Push(x any)        { *h = append(*h, x.(int32)) }

// Pop implements [heap.Interface].
func (h *ints) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
