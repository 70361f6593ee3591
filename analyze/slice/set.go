package slice

// set is a set of numbers, as a bitmap in pages.
type set struct {
	pages map[uint64]*page
	last  *page // looked at last
	at    uint64
}

// A page holds pageBits numbers.
const (
	pageBits  = 1 << pageShift
	pageShift = 10
)

type page [pageBits / 64]uint64

// add puts k into the set; false when it was in it.
func (s *set) add(k uint64) bool {
	n := k >> pageShift
	if s.last == nil || s.at != n {
		p := s.pages[n]
		if p == nil {
			if s.pages == nil {
				s.pages = map[uint64]*page{}
			}
			p = new(page)
			s.pages[n] = p
		}
		s.last, s.at = p, n
	}
	w, bit := &s.last[k%pageBits/64], uint64(1)<<(k%64)
	if *w&bit != 0 {
		return false
	}
	*w |= bit
	return true
}
