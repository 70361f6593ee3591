package artifact

import "math/bits"

// idSet is a set of numbers that are not negative. The zero value is empty.
type idSet struct {
	slots []int32 // 1 + number, at its hash or after it; 0: free
	size  int
}

// add puts id into the set and reports whether it is new.
func (s *idSet) add(id int32) bool {
	if 2*s.size >= len(s.slots) {
		old := s.slots
		s.slots = make([]int32, max(16, 2*len(old)))
		for _, v := range old {
			if v != 0 {
				s.slots[s.slot(v)] = v
			}
		}
	}
	i := s.slot(id + 1)
	if s.slots[i] != 0 {
		return false
	}
	s.slots[i] = id + 1
	s.size++
	return true
}

// slot is the place of v, or the free one for it.
func (s *idSet) slot(v int32) uint32 {
	mask := uint32(len(s.slots) - 1)
	i := uint32(v) * 0x9e3779b1 >> (32 - bits.Len32(mask))
	for s.slots[i] != 0 && s.slots[i] != v {
		i = (i + 1) & mask
	}
	return i
}
