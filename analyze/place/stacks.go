package place

import (
	"slices"
	"sort"

	"hindsight/tracefmt/event"
)

// stacks finds the stack that contains an address. It has disjoint ranges in order of
// address, each with the thread for which it was last mapped.
type stacks []stackRange

type stackRange struct {
	low, high uint64 // high is the first address after it
	thread    event.ThreadID
}

// add makes [low, high) the only stack of a thread.
func (s *stacks) add(t event.ThreadID, low, high uint64) {
	kept := (*s)[:0:0]
	for _, r := range *s {
		switch {
		case r.thread == t:
		case r.high <= low || high <= r.low:
			kept = append(kept, r)
		default:
			if r.low < low {
				kept = append(kept, stackRange{r.low, low, r.thread})
			}
			if r.high > high {
				kept = append(kept, stackRange{high, r.high, r.thread})
			}
		}
	}
	if low < high {
		i := sort.Search(len(kept), func(i int) bool { return kept[i].low > low })
		kept = slices.Insert(kept, i, stackRange{low, high, t})
	}
	*s = kept
}

func (s stacks) find(addr uint64) (event.ThreadID, bool) {
	i := sort.Search(len(s), func(i int) bool { return s[i].high > addr })
	if i == len(s) || addr < s[i].low {
		return 0, false
	}
	return s[i].thread, true
}

// pointers are the thread pointers of the live threads, in order.
type pointers []pointer

type pointer struct {
	tp     uint64
	thread event.ThreadID
}

// set makes tp the thread pointer of a thread. With 0 it has none any more.
func (p *pointers) set(t event.ThreadID, before, tp uint64) {
	if i := p.search(before); before != 0 {
		for ; i < len(*p) && (*p)[i].tp == before; i++ {
			if (*p)[i].thread == t {
				*p = slices.Delete(*p, i, i+1)
				break
			}
		}
	}
	if tp != 0 {
		*p = slices.Insert(*p, p.search(tp), pointer{tp, t})
	}
}

// search returns the index of the first pointer that is at least tp.
func (p pointers) search(tp uint64) int {
	return sort.Search(len(p), func(i int) bool { return p[i].tp >= tp })
}

// find returns the first thread with a pointer at most size bytes before addr.
func (p pointers) find(addr, size uint64) (found pointer, ok bool) {
	if size == 0 {
		return pointer{}, false
	}
	for i := p.search(addr - min(addr, size-1)); i < len(p) && p[i].tp <= addr; i++ {
		if !ok || p[i].thread < found.thread {
			found, ok = p[i], true
		}
	}
	return found, ok
}
