package order

// touches is a set of accesses in a critical section: in order of the first time,
// and a table of their places by hash.
type touches struct {
	all   []touch
	slots []int32 // 1 + index in all; 0: free
}

// fewTouches is how many are compared one by one.
const fewTouches = 8

// add reports whether t is new.
func (s *touches) add(t touch) bool {
	if s.slots == nil {
		for i := len(s.all) - 1; i >= 0; i-- {
			if s.all[i] == t {
				return false
			}
		}
		if s.all = append(s.all, t); len(s.all) > fewTouches {
			s.grow()
		}
		return true
	}
	slot := s.find(t)
	if *slot != 0 {
		return false
	}
	s.all = append(s.all, t)
	if *slot = int32(len(s.all)); 2*len(s.all) > len(s.slots) {
		s.grow()
	}
	return true
}

// find is the slot of t, or a free one for it.
func (s *touches) find(t touch) *int32 {
	h := (t.granule<<9 | uint64(t.mask)<<1) * 0x9e3779b97f4a7c15
	if t.write {
		h += 1 << 32
	}
	for i := h >> 32; ; i++ {
		slot := &s.slots[i&uint64(len(s.slots)-1)]
		if *slot == 0 || s.all[*slot-1] == t {
			return slot
		}
	}
}

// grow makes room in the table.
func (s *touches) grow() {
	s.slots = make([]int32, max(4*fewTouches, 2*len(s.slots)))
	for i, t := range s.all {
		*s.find(t) = int32(i + 1)
	}
}
