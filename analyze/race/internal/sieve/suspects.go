package sieve

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"

	"hindsight/analyze/race/internal/pass"
	"hindsight/cdr/fold"
)

// Suspects are the granules on which there may be a race, according to the sieves.
type Suspects struct {
	ranges []interval            // in order, apart
	Pages  []map[uint64][]uint64 // of each worker
}

type interval struct{ low, high uint64 } // high is the first address after it

// Gather collects the results of the sieves.
func Gather(sieves []*Sieve) *Suspects {
	all := &Suspects{}
	for _, s := range sieves {
		pages := map[uint64][]uint64{}
		for number, p := range s.pages {
			if p.Found == nil {
				continue
			}
			pages[number] = p.Found
			for w, b := range p.Found {
				for g := uint64(w) * 8; b != 0; g, b = g+1, b>>8 {
					if n := uint64(bits.TrailingZeros64(b)) / 8; n > 0 {
						g += n
						b >>= 8 * n
					}
					low := number<<pass.PageBits + g*8
					if n := len(all.ranges); n > 0 && all.ranges[n-1].high == low {
						all.ranges[n-1].high = low + 8
					} else {
						all.ranges = append(all.ranges, interval{low, low + 8})
					}
				}
			}
		}
		all.Pages = append(all.Pages, pages)
	}
	slices.SortFunc(all.ranges, func(a, b interval) int { return cmp.Compare(a.low, b.low) })
	kept := all.ranges[:0]
	for _, r := range all.ranges {
		if n := len(kept); n > 0 && kept[n-1].high == r.low {
			kept[n-1].high = r.high
			continue
		}
		kept = append(kept, r)
	}
	all.ranges = kept
	return all
}

// Any reports whether there is a suspect granule.
func (s *Suspects) Any() bool { return len(s.ranges) > 0 }

// Each calls visit for the ranges [low, high) of suspect granules, in order. If s is nil,
// all memory is suspect.
func (s *Suspects) Each(visit func(low, high uint64)) {
	if s == nil {
		visit(0, math.MaxUint64&^7)
		return
	}
	for _, r := range s.ranges {
		visit(r.low, r.high)
	}
}

// Meet reports whether a suspect granule has a byte in [lo, hi).
func (s *Suspects) Meet(lo, hi uint64) bool {
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].high > lo })
	return i < len(s.ranges) && s.ranges[i].low < hi
}

// Sketch approximates where a site accessed memory: a set of pages by a hash of their
// numbers, and the range of addresses between the lowest and the highest byte. It has
// everything that was added, and may seem to have more.
type Sketch struct {
	pages     [sketchWords]uint64
	low, high uint64 // high is the last byte
	some      bool   // there is one
}

const sketchWords = 8

// addPage adds a page of the sieve.
func (s *Sketch) addPage(number uint64) {
	h := number * 0x9e3779b97f4a7c15 >> 55
	s.pages[h>>6] |= 1 << (h & 63)
}

// Add adds the bytes of an extent.
func (s *Sketch) Add(x *fold.Extent) {
	low := x.Base
	over, span := bits.Mul64(x.Stride, x.Count-1)
	high := low + span + x.Len - 1
	if int64(x.Stride) < 0 || over != 0 || high < low || (high-low)>>pass.PageBits >= 64*sketchWords {
		for i := range s.pages {
			s.pages[i] = math.MaxUint64
		}
		s.low, s.high, s.some = 0, math.MaxUint64, true
		return
	}
	if !s.some {
		s.low, s.some = low, true
	}
	s.low, s.high = min(s.low, low), max(s.high, high)
	for n := low >> pass.PageBits; n <= high>>pass.PageBits; n++ {
		s.addPage(n)
	}
}

// Touches reports whether a site with that sketch may touch a suspect granule. pages is
// the sketch of the pages with suspects.
func (s *Suspects) Touches(site, pages *Sketch) bool {
	var both uint64
	for i := range site.pages {
		both |= site.pages[i] & pages.pages[i]
	}
	return both != 0 && (site.high == math.MaxUint64 || s.Meet(site.low, site.high+1))
}

// Sketch returns the pages with suspect granules.
func (s *Suspects) Sketch() (all Sketch) {
	for _, pages := range s.Pages {
		for n := range pages {
			all.addPage(n)
		}
	}
	return all
}
