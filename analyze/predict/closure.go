package predict

import (
	"math"
	"slices"
)

// search examines instances. For each lane, in is the number of its nodes that must come
// before the two accesses. These nodes are a set that is closed under what a node needs,
// and in which at most one section of each mutex is open (POPL 2021, section 4.1, except
// that the sections that contain the accesses stay open, as in ICSE 2024).
type search struct {
	r       *record
	in      []int32
	limit   []int32    // upper bounds of in: where the accesses are
	open    [][]nodeID // by lane: the locks of mutexes that it holds after its nodes
	work    []target
	sides   []laneID
	blocked laneID   // the lane in which the last set exceeded limit; -1: none
	order   []nodeID // a correct reordering of the last set; nil: the order of the run
	visited uint64   // nodes visited by all searches
	moments uint64   // moments of arrangements, by all searches
}

// target asks for the first n nodes of a lane.
type target struct {
	lane laneID
	n    int32
}

func newSearch(r *record) *search {
	n := len(r.lanes)
	return &search{r: r, in: make([]int32, n), limit: make([]int32, n), open: make([][]nodeID, n)}
}

// try reports whether an instance is a predictable race.
func (s *search) try(in instance) bool { return s.reach(in.nodes[:]) }

// reach reports whether there is a correct reordering after which each of the nodes is
// the next in its lane. The nodes are in different lanes.
func (s *search) reach(nodes []nodeID) bool {
	for l := range s.in {
		s.in[l], s.limit[l], s.open[l] = 0, math.MaxInt32, s.open[l][:0]
	}
	s.sides, s.blocked = s.sides[:0], -1
	for _, id := range nodes {
		l := s.r.nodes[id].lane
		s.sides, s.limit[l] = append(s.sides, l), s.r.begin(id)
	}
	for _, l := range s.sides {
		s.work = append(s.work, target{l, s.limit[l]})
	}
	if !s.extend() {
		return false
	}
	for {
		more, ok := s.closeSections()
		if ok && !more {
			if s.ordered() {
				return true
			}
			ok = s.closeAnother()
		}
		if !ok || !s.extend() {
			s.work = s.work[:0]
			return false
		}
	}
}

// closeAnother adds the end of a section that could stay open, in a lane without one of
// the accesses. Other sections of its mutex may be able to follow then.
func (s *search) closeAnother() bool {
	if s.moments > allMoments {
		return false
	}
	for l := range s.open {
		for _, q := range s.open[l] {
			if s.side(q) {
				continue
			}
			if end := s.end(q); end >= 0 {
				s.work = append(s.work, target{laneID(l), end})
				return true
			}
		}
	}
	return false
}

// ordered looks for a correct reordering of what was taken in.
func (s *search) ordered() bool {
	s.order = nil
	if s.inOrder() {
		return true
	}
	s.order = s.sort()
	if s.order == nil {
		s.order = s.arrange()
	}
	return s.order != nil
}

// begin returns the position in its lane at which the access or event of a node begins.
func (r *record) begin(id nodeID) int32 {
	n := &r.nodes[id]
	pos := n.pos
	for pos > 0 {
		if b := &r.nodes[r.lanes[n.lane][pos-1]]; b.events != n.events || b.count != n.count || b.thread != n.thread {
			break
		}
		pos--
	}
	return pos
}

// extend takes in all targets and what they need. It fails if that includes one of the
// accesses.
func (s *search) extend() bool {
	for len(s.work) > 0 {
		t := s.work[len(s.work)-1]
		s.work = s.work[:len(s.work)-1]
		if t.n > s.limit[t.lane] {
			s.work, s.blocked = s.work[:0], t.lane
			return false
		}
		for s.in[t.lane] < t.n {
			s.take(t.lane)
		}
	}
	return true
}

// take takes in the next node of a lane.
func (s *search) take(l laneID) {
	id := s.r.lanes[l][s.in[l]]
	s.in[l]++
	s.visited++
	n := &s.r.nodes[id]
	switch n.kind {
	case lock:
		s.open[l] = append(s.open[l], id)
	case unlock:
		if i := slices.IndexFunc(s.open[l], func(q nodeID) bool { return s.r.nodes[q].obj == n.obj }); i >= 0 {
			s.open[l] = slices.Delete(s.open[l], i, i+1)
		}
	}
	hard, reads := s.r.needed(id)
	for _, ids := range [2][]nodeID{hard, reads} {
		for _, b := range ids {
			if m := &s.r.nodes[b]; s.in[m.lane] <= m.pos {
				s.work = append(s.work, target{m.lane, m.pos + 1})
			}
		}
	}
}

// closeSections adds the ends of sections that cannot stay open because another section
// of the same mutex is open: in the lane of an access, or else the one that began last.
// It fails if there is no such end, or if both accesses are in sections of the mutex.
func (s *search) closeSections() (more, ok bool) {
	keep := map[uint64]nodeID{}
	for l := range s.open {
		for _, q := range s.open[l] {
			obj := s.r.nodes[q].obj
			k, held := keep[obj]
			if !held {
				keep[obj] = q
				continue
			}
			if s.side(k) && s.side(q) {
				return false, false
			}
			if s.side(q) || !s.side(k) && q > k {
				k, q = q, k
			}
			keep[obj] = k
			end := s.end(q)
			if end < 0 {
				return false, false
			}
			s.work = append(s.work, target{s.r.nodes[q].lane, end})
			more = true
		}
	}
	return more, true
}

// side reports whether a node is in the lane of an access.
func (s *search) side(id nodeID) bool {
	return slices.Contains(s.sides, s.r.nodes[id].lane)
}

// end returns the number of nodes in a lane up to the end of the open section that a lock
// begins, or -1 if the section does not end.
func (s *search) end(q nodeID) int32 {
	n := &s.r.nodes[q]
	all := s.r.lanes[n.lane]
	for i := s.in[n.lane]; int(i) < len(all); i++ {
		s.visited++
		if m := &s.r.nodes[all[i]]; m.kind == unlock && m.obj == n.obj {
			return i + 1
		}
	}
	return -1
}
