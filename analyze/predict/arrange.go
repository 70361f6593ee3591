package predict

import (
	"math/bits"
	"slices"
)

// Bounds of the search for orders that are not of the optimistic kind.
const (
	maxArranged = 4096    // nodes
	maxMoments  = 4096    // that are looked at, besides one for each node
	allMoments  = 1 << 24 // by all searches of a run together
)

// arrangement looks for a correct reordering of the nodes that have been taken in, of
// any kind: sections that end and conflicting accesses may change places too. Threads
// go on one node at a time; at a dead end the last choice is taken back.
type arrangement struct {
	s       *search
	at      []int32 // of lanes: nodes that have been placed
	placed  []nodeID
	left    int                   // moments that may still be looked at
	dead    map[uint64]bool       // by hash
	hash    uint64                // of the moment: how far each lane is, and who wrote each byte last
	from    map[nodeID]*[8]nodeID // of reads, by byte: the write
	pending map[origin]int32      // reads from it that are not placed
	last    map[uint64]*[8]nodeID // by granule: who wrote each byte last
	holder  map[uint64]int32      // of mutexes: 1 + the lane that holds it
	stays   map[nodeID]bool       // locks of sections that stay open
	others  map[uint64]int32      // by mutex: unlocks that are not placed
}

// origin is what a byte of a granule holds after a write; none is its first content.
type origin struct {
	granule uint64
	b       int
	write   nodeID
}

// lanePlace, less the place of a lane, takes the part of the node in the hash of that.
const lanePlace nodeID = -2

// nobody wrote any byte.
var nobody = [8]nodeID{none, none, none, none, none, none, none, none}

// arrange returns such a reordering of what has been taken in; nil if none is found
// within the bounds.
func (s *search) arrange() []nodeID {
	all := s.taken()
	if len(all) > maxArranged || s.moments > allMoments {
		return nil
	}
	a := &arrangement{s: s, at: make([]int32, len(s.in)), left: maxMoments + len(all), dead: map[uint64]bool{}, from: map[nodeID]*[8]nodeID{},
		pending: map[origin]int32{}, last: map[uint64]*[8]nodeID{}, holder: map[uint64]int32{}, stays: map[nodeID]bool{}, others: map[uint64]int32{}}
	for l := range s.open {
		for _, q := range s.open[l] {
			a.stays[q] = true
		}
	}
	for _, id := range all {
		a.expect(id)
	}
	for _, w := range a.last {
		*w = nobody
	}
	a.hash = 0
	if !a.place(len(all)) {
		return nil
	}
	return a.placed
}

// expect notes what a node reads, and that it ends a section. Nodes come in the order
// of the run.
func (a *arrangement) expect(id nodeID) {
	n := &a.s.r.nodes[id]
	switch n.kind {
	case unlock:
		a.others[n.obj]++
	case access:
		last := a.last[n.obj]
		if last == nil {
			last = new([8]nodeID)
			*last = nobody
			a.last[n.obj] = last
		}
		if n.read {
			from := *last
			a.from[id] = &from
			for m := n.mask; m != 0; m &= m - 1 {
				b := bits.TrailingZeros8(m)
				a.pending[origin{n.obj, b, from[b]}]++
			}
		}
		a.wrote(id, n)
	}
}

// wrote notes the writes of a node.
func (a *arrangement) wrote(id nodeID, n *node) {
	for m := n.mask; n.write && m != 0; m &= m - 1 {
		b := bits.TrailingZeros8(m)
		w := &a.last[n.obj][b]
		a.hash ^= mixed(n.obj, b, *w) ^ mixed(n.obj, b, id)
		*w = id
	}
}

// can reports whether a node can be the next.
func (a *arrangement) can(l laneID, id nodeID) bool {
	r := a.s.r
	n := &r.nodes[id]
	hard, _ := r.needed(id)
	for _, b := range hard {
		if m := &r.nodes[b]; a.at[m.lane] <= m.pos {
			return false
		}
	}
	switch n.kind {
	case lock:
		if h := a.holder[n.obj]; h != 0 && h != int32(l)+1 {
			return false
		}
		return !a.stays[id] || a.others[n.obj] == 0
	case access:
		from := a.from[id]
		for m := n.mask; m != 0; m &= m - 1 {
			b := bits.TrailingZeros8(m)
			now := a.last[n.obj][b]
			if from != nil && from[b] != now {
				return false
			}
			// A write must not hide what others are still to read.
			waiting := a.pending[origin{n.obj, b, now}]
			if from != nil {
				waiting--
			}
			if n.write && waiting > 0 {
				return false
			}
		}
	}
	return true
}

// place places the nodes that are left, and reports whether it could.
func (a *arrangement) place(left int) bool {
	if left == 0 {
		return true
	}
	if a.left == 0 {
		return false
	}
	a.left--
	a.s.moments++
	key := a.hash
	if a.dead[key] {
		return false
	}
	for _, l := range a.choices() {
		undo := a.step(l)
		if a.place(left - 1) {
			return true
		}
		undo()
	}
	a.dead[key] = true
	return false
}

// choices are the lanes whose next node can be placed, the earliest of the run first.
func (a *arrangement) choices() (lanes []laneID) {
	for l, n := range a.s.in {
		if a.at[l] < n && a.can(laneID(l), a.next(laneID(l))) {
			lanes = append(lanes, laneID(l))
		}
	}
	slices.SortFunc(lanes, func(x, y laneID) int { return int(a.next(x)) - int(a.next(y)) })
	return lanes
}

func (a *arrangement) next(l laneID) nodeID { return a.s.r.lanes[l][a.at[l]] }

// step places the next node of a lane; undo takes it back.
func (a *arrangement) step(l laneID) (undo func()) {
	id := a.next(l)
	n := &a.s.r.nodes[id]
	hash := a.hash
	a.hash ^= mixed(uint64(l), 0, lanePlace-nodeID(a.at[l])) ^ mixed(uint64(l), 0, lanePlace-nodeID(a.at[l])-1)
	a.at[l]++
	a.placed = append(a.placed, id)
	var held int32
	var before [8]nodeID
	count := func(by int32) {
		if from := a.from[id]; from != nil {
			for m := n.mask; m != 0; m &= m - 1 {
				b := bits.TrailingZeros8(m)
				a.pending[origin{n.obj, b, from[b]}] += by
			}
		}
	}
	switch n.kind {
	case lock:
		held, a.holder[n.obj] = a.holder[n.obj], int32(l)+1
	case unlock:
		held, a.holder[n.obj] = a.holder[n.obj], 0
		a.others[n.obj]--
	case access:
		before = *a.last[n.obj]
		count(-1)
		a.wrote(id, n)
	}
	return func() {
		a.hash = hash
		a.at[l]--
		a.placed = a.placed[:len(a.placed)-1]
		switch n.kind {
		case lock:
			a.holder[n.obj] = held
		case unlock:
			a.holder[n.obj] = held
			a.others[n.obj]++
		case access:
			count(1)
			*a.last[n.obj] = before
		}
	}
}

// mixed is a hash of a byte of a granule and the node that wrote it. Two moments with
// the same hash would at worst hide an order.
func mixed(granule uint64, b int, write nodeID) uint64 {
	const odd1, odd2 = 0xbf58476d1ce4e5b9, 0x94d049bb133111eb // of SplitMix64
	z := granule<<3 | uint64(b)
	z = (z ^ z>>30 ^ uint64(write)<<40) * odd1
	z = (z ^ z>>27 ^ uint64(write)) * odd2
	return z ^ z>>31
}
