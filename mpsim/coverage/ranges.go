package coverage

import (
	"slices"
	"sort"
)

// ranges is a set of addresses: intervals in order that neither overlap nor touch.
type ranges []interval

type interval struct{ low, end uint64 }

// add adds bytes from low on, and reports whether some of them were already in the set.
func (r *ranges) add(low, bytes uint64) (overlaps bool) {
	if bytes == 0 {
		return false
	}
	x := interval{low, max(low+bytes, low)}
	all := *r
	from := sort.Search(len(all), func(i int) bool { return all[i].end >= x.low })
	to := from
	for ; to < len(all) && all[to].low <= x.end; to++ {
		overlaps = overlaps || all[to].low < x.end && all[to].end > x.low
		x.low, x.end = min(x.low, all[to].low), max(x.end, all[to].end)
	}
	*r = slices.Replace(all, from, to, x)
	return overlaps
}
