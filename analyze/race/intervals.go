package race

import "slices"

// intervals is a set of addresses, as disjoint intervals in order.
type intervals struct{ ends []interval }

type interval struct{ low, high uint64 } // high is behind the last address

func (s *intervals) contains(addr uint64) bool {
	i, found := slices.BinarySearchFunc(s.ends, addr, func(x interval, addr uint64) int {
		switch {
		case x.high <= addr:
			return -1
		case x.low > addr:
			return 1
		}
		return 0
	})
	return found && i < len(s.ends)
}

// add puts size bytes from low on into the set.
func (s *intervals) add(low, size uint64) {
	if size == 0 || low+size < low {
		return
	}
	x := interval{low, low + size}
	i, _ := slices.BinarySearchFunc(s.ends, low, func(y interval, low uint64) int {
		if y.high < low {
			return -1
		}
		return 1
	})
	j := i
	for j < len(s.ends) && s.ends[j].low <= x.high {
		x.low, x.high = min(x.low, s.ends[j].low), max(x.high, s.ends[j].high)
		j++
	}
	s.ends = slices.Replace(s.ends, i, j, x)
}
