package slice

import (
	"iter"
	"math/bits"
)

// set is a set of numbers, as a bitmap in pages: near 1 bit a number where it
// is dense, a page where it is not.
type set struct {
	pages map[uint64]*page
	last  *page // looked at last
	at    uint64
	count uint64
	max   uint64
}

// A page holds pageBits numbers.
const (
	pageBits  = 1 << pageShift
	pageShift = 10
)

type page [pageBits / 64]uint64

func (s *set) page(k uint64, grow bool) *page {
	n := k >> pageShift
	if s.last != nil && s.at == n {
		return s.last
	}
	p := s.pages[n]
	if p == nil {
		if !grow {
			return nil
		}
		if s.pages == nil {
			s.pages = map[uint64]*page{}
		}
		p = new(page)
		s.pages[n] = p
	}
	s.last, s.at = p, n
	return p
}

// add puts k into the set; false when it was in it.
func (s *set) add(k uint64) bool {
	p := s.page(k, true)
	w, bit := &p[k%pageBits/64], uint64(1)<<(k%64)
	if *w&bit != 0 {
		return false
	}
	*w |= bit
	s.count++
	s.max = max(s.max, k)
	return true
}

// has must not be called at the same time as add.
func (s *set) has(k uint64) bool {
	p := s.pages[k>>pageShift]
	return p != nil && p[k%pageBits/64]>>(k%64)&1 != 0
}

// all gives the numbers from from on, ascending.
func (s *set) all(from uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if s.count == 0 {
			return
		}
		for n := from >> pageShift; n <= s.max>>pageShift; n++ {
			p := s.pages[n]
			if p == nil {
				continue
			}
			for w, word := range p {
				for ; word != 0; word &= word - 1 {
					k := n<<pageShift | uint64(w)<<6 | uint64(bits.TrailingZeros64(word))
					if k >= from && !yield(k) {
						return
					}
				}
			}
		}
	}
}

// and keeps the numbers that are in t too.
func (s *set) and(t *set) *set {
	out := &set{}
	for k := range s.all(0) {
		if t.has(k) {
			out.add(k)
		}
	}
	return out
}
