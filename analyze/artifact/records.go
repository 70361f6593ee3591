package artifact

import (
	"iter"
	"maps"
	"slices"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// siteIndex has the executions of a racing site, in order for each thread and, as the
// same records, in order for each strand (see [hb.NoStrand]).
type siteIndex struct {
	site    format.Site
	partner []format.SiteID // sites with which it races
	threads map[event.ThreadID][]record
	strands map[event.StrandID]*strandRecords
	order   []event.StrandID // computed when first needed
}

// strandRecords has the executions by a strand, in order.
type strandRecords struct {
	records []record
	// granules finds records of a few accesses; the others are wide. Computed when first
	// needed.
	granules map[uint64][]int32
	wide     []int32
}

// fewAccesses is the largest number of accesses of a record that is found by its
// granules.
const fewAccesses = 16

func (s *strandRecords) build(size uint64) {
	s.granules = map[uint64][]int32{}
	for i := range s.records {
		r := &s.records[i]
		if r.count > fewAccesses && r.stride != 0 {
			s.wide = append(s.wide, int32(i))
			continue
		}
		for k := range min(r.count, fewAccesses) {
			addr := r.base + k*uint64(r.stride)
			for g := addr >> 3; g <= (addr+size-1)>>3; g++ {
				if list := s.granules[g]; len(list) == 0 || list[len(list)-1] != int32(i) {
					s.granules[g] = append(list, int32(i))
				}
			}
		}
	}
}

// near returns the records from index from on that may touch one of n bytes at
// addr, in order.
func (s *strandRecords) near(addr, n uint64, from int) []int32 {
	var out []int32
	add := func(list []int32) {
		i, _ := slices.BinarySearch(list, int32(from))
		out = append(out, list[i:]...)
	}
	add(s.wide)
	for g := addr >> 3; g <= (addr+n-1)>>3; g++ {
		add(s.granules[g])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// all returns the executions of the site.
func (s *siteIndex) all(id format.SiteID) iter.Seq[exec] {
	return func(yield func(exec) bool) {
		for _, strand := range s.inOrder() {
			for i := range s.strands[strand].records {
				r := &s.strands[strand].records[i]
				for k := range r.count {
					if !yield(s.exec(id, r, k)) {
						return
					}
				}
			}
		}
	}
}

// inOrder returns the strands that execute the site, in order. All of them must be known.
func (s *siteIndex) inOrder() []event.StrandID {
	if s.order == nil {
		s.order = slices.Sorted(maps.Keys(s.strands))
	}
	return s.order
}

// overlap returns the range of executions of the run that touch one of the n bytes at
// addr.
func (r *record) overlap(size, addr, n uint64) (lo, hi uint64) {
	if r.stride == 0 {
		if addr-r.base < size || r.base-addr < n {
			return 0, r.count
		}
		return 0, 0
	}
	// base + k·stride from addr-size+1 to addr+n-1
	low, high, step := int64(addr-r.base)-int64(size)+1, int64(addr-r.base)+int64(n)-1, r.stride
	if step < 0 {
		low, high, step = -high, -low, -step
	}
	if high < 0 {
		return 0, 0
	}
	if low > 0 {
		lo = uint64((low + step - 1) / step)
	}
	return lo, min(uint64(high/step)+1, r.count)
}
