package predict

import (
	"math/bits"
	"slices"
)

// Limits of the search for orders that are not optimistic.
const (
	maxArranged = 4096    // nodes
	maxMoments  = 4096    // moments that are examined, in addition to one for each node
	allMoments  = 1 << 24 // by all searches of a run together
)

// arrangement looks for a correct reordering, of any kind, of the nodes that were taken
// in. Sections that end and conflicting accesses may change places too. The threads
// advance one node at a time. At a dead end the last choice is undone.
type arrangement struct {
	s       *search
	at      []int32 // by lane: nodes that have been placed
	placed  []nodeID
	left    int                   // moments that may still be examined
	dead    map[uint64]bool       // by hash
	hash    uint64                // of the moment: how far each lane is, and which node wrote each byte last
	from    map[nodeID]*[8]nodeID // of reads, by byte: the write
	pending map[origin]int32      // reads from it that are not placed yet
	last    map[uint64]*[8]nodeID // by granule: which node wrote each byte last
	holder  map[uint64]int32      // of mutexes: 1 + the lane that holds it
	stays   map[nodeID]bool       // locks of sections that stay open
	others  map[uint64]int32      // by mutex: unlocks that are not placed yet
}

// origin is the content of a byte of a granule after a write. none stands for its initial
// content.
type origin struct {
	granule uint64
	b       int
	write   nodeID
}

// lanePlace minus the position of a lane stands in for the node when the position is
// hashed, so that it differs from every node.
const lanePlace nodeID = -2

// nobody wrote any byte.
var nobody = [8]nodeID{none, none, none, none, none, none, none, none}

// arrange returns such a reordering of what was taken in, or nil if it finds none within
// the limits.
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

// expect notes what a node reads, and whether it ends a section. It is called in the
// order of the run.
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

// can reports whether a node can be next.
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
			// A write must not overwrite what others still have to read.
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

// place places the remaining nodes. It reports whether it could.
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

// choices returns the lanes whose next node can be placed, in the order of the run.
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

// step places the next node of a lane, and undo removes it again.
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

// mixed is a hash of a byte of a granule and the node that wrote it. If two moments had
// the same hash, an order could be missed, but nothing worse.
func mixed(granule uint64, b int, write nodeID) uint64 {
	const odd1, odd2 = 0xbf58476d1ce4e5b9, 0x94d049bb133111eb // constants of SplitMix64
	z := granule<<3 | uint64(b)
	z = (z ^ z>>30 ^ uint64(write)<<40) * odd1
	z = (z ^ z>>27 ^ uint64(write)) * odd2
	return z ^ z>>31
}
