package artifact

import "sort"

// alloc is the beginning of a life of memory.
type alloc struct{ seq, addr, size uint64 }

// allocs finds the lives that begin at an address.
type allocs struct {
	pages map[uint64][]alloc // small lives
	large []alloc
}

const (
	allocPage = 16 // bits
	largest   = 64 // pages
)

func newAllocs() allocs { return allocs{pages: map[uint64][]alloc{}} }

func (a *allocs) add(x alloc) {
	first, last := x.addr>>allocPage, (x.addr+max(x.size, 1)-1)>>allocPage
	if last-first > largest {
		a.large = append(a.large, x)
		return
	}
	for p := first; p <= last; p++ {
		a.pages[p] = append(a.pages[p], x)
	}
}

// separate reports whether the memory began another life between two segments.
func (a *allocs) separate(addr uint64, x, y *unit) bool {
	return a.between(addr, x.end, y.start) || a.between(addr, y.end, x.start)
}

// between reports whether the granule of addr began another life by an event
// with a place from end on and below start.
func (a *allocs) between(addr, end, start uint64) bool {
	if end >= start {
		return false
	}
	g := addr >> 3
	for _, list := range [][]alloc{a.pages[addr>>allocPage], a.large} {
		i := sort.Search(len(list), func(i int) bool { return list[i].seq >= end })
		for ; i < len(list) && list[i].seq < start; i++ {
			if x := &list[i]; x.size > 0 && g >= x.addr>>3 && g <= (x.addr+x.size-1)>>3 {
				return true
			}
		}
	}
	return false
}
