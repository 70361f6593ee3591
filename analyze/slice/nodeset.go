package slice

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"

	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// home is a node as one thread executes it.
type home struct {
	thread event.ThreadID
	node   wet.NodeID
}

// mask is a set of a node's statements.
type mask []uint64

func (m mask) has(stmt uint32) bool { return m[stmt/64]>>(stmt%64)&1 != 0 }

// all returns the statements in order.
func (m mask) all(yield func(uint32) bool) {
	for w, word := range m {
		for ; word != 0; word &= word - 1 {
			if !yield(uint32(w)<<6 | uint32(bits.TrailingZeros64(word))) {
				return
			}
		}
	}
}

func (m mask) count() (n int) {
	for _, w := range m {
		n += bits.OnesCount64(w)
	}
	return n
}

// Executions are kept in pages: 4 bytes each where it is dense.
const (
	execShift = 9
	execPage  = 1 << execShift
)

// nodeSet has the instances of a node's statements that are in a slice. Few combinations
// of statements occur in one node, so each execution has the number of its combination.
type nodeSet struct {
	home
	words  int
	masks  []mask // masks[0] is empty
	counts []uint64
	ids    map[string]uint32
	pages  []*[execPage]uint32 // by k>>execShift; nil: none of them
}

func newNodeSet(h home, words int) *nodeSet {
	s := &nodeSet{home: h, words: words, ids: map[string]uint32{}}
	s.intern(make(mask, words))
	return s
}

// intern returns the number of a mask, which it keeps.
func (s *nodeSet) intern(m mask) uint32 {
	key := make([]byte, 0, 8*len(m))
	for _, w := range m {
		key = binary.LittleEndian.AppendUint64(key, w)
	}
	id, ok := s.ids[string(key)]
	if !ok {
		id = uint32(len(s.masks))
		s.ids[string(key)] = id
		s.masks = append(s.masks, m)
		s.counts = append(s.counts, 0)
	}
	return id
}

// join returns the number of the mask id together with the statements of m.
func (s *nodeSet) join(id uint32, m mask) uint32 {
	sum := slices.Clone(s.masks[id])
	for n, w := range m {
		sum[n] |= w
	}
	return s.intern(sum)
}

// get returns the number of the mask of execution k.
func (s *nodeSet) get(k uint64) uint32 {
	if n := k >> execShift; n < uint64(len(s.pages)) && s.pages[n] != nil {
		return s.pages[n][k%execPage]
	}
	return 0
}

// slot returns the place of the number of execution k, for writing.
func (s *nodeSet) slot(k uint64) *uint32 {
	n := k >> execShift
	for n >= uint64(len(s.pages)) {
		s.pages = append(s.pages, nil)
	}
	p := s.pages[n]
	if p == nil {
		p = new([execPage]uint32)
		s.pages[n] = p
	}
	return &p[k%execPage]
}

// set changes the mask of the execution at slot.
func (s *nodeSet) set(slot *uint32, id uint32) {
	if *slot != 0 {
		s.counts[*slot]--
	}
	*slot = id
	s.counts[id]++
}

// len returns how many instances of a statement there are.
func (s *nodeSet) len(stmt uint32) (n uint64) {
	for id, m := range s.masks {
		if m.has(stmt) {
			n += s.counts[id]
		}
	}
	return n
}

// stmts returns the statements with instances.
func (s *nodeSet) stmts() mask {
	sum := make(mask, s.words)
	for id, m := range s.masks {
		if s.counts[id] > 0 {
			for n, w := range m {
				sum[n] |= w
			}
		}
	}
	return sum
}

// executions returns the executions with their masks, ascending.
func (s *nodeSet) executions() iter.Seq2[uint64, uint32] {
	return func(yield func(uint64, uint32) bool) {
		for n, p := range s.pages {
			if p == nil {
				continue
			}
			for k, id := range p {
				if id != 0 && !yield(uint64(n)<<execShift|uint64(k), id) {
					return
				}
			}
		}
	}
}

// of returns the executions of a statement, ascending.
func (s *nodeSet) of(stmt uint32) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for k, id := range s.executions() {
			if s.masks[id].has(stmt) && !yield(k) {
				return
			}
		}
	}
}

// and returns the intersection of two sets.
func (s *nodeSet) and(t *nodeSet) *nodeSet {
	out := newNodeSet(s.home, s.words)
	type pair struct{ a, b uint32 }
	both := map[pair]uint32{}
	for k, a := range s.executions() {
		b := t.get(k)
		if b == 0 {
			continue
		}
		id, ok := both[pair{a, b}]
		if !ok {
			m := slices.Clone(s.masks[a])
			for n, w := range t.masks[b] {
				m[n] &= w
			}
			id = out.intern(m)
			both[pair{a, b}] = id
		}
		if id != 0 {
			out.set(out.slot(k), id)
		}
	}
	return out
}
