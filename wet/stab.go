package wet

import (
	"cmp"
	"slices"
	"sort"
)

// A sequence of many runs that does not ascend is searched with an index of the bounds of
// its runs.

// scanRuns is the number of runs that are searched one by one.
const scanRuns = 16

// runIndex orders runs by their smallest number.
type runIndex struct {
	order  []uint32
	low    []uint64
	reach  []uint64 // reach[i]: the greatest number in the runs up to order[i]
	starts []uint64 // for each run, the count of numbers before it
}

const runIndexBytes = 28

func indexRuns(runs []run) *runIndex {
	x := &runIndex{
		order: make([]uint32, len(runs)), low: make([]uint64, len(runs)),
		reach: make([]uint64, len(runs)), starts: make([]uint64, len(runs)),
	}
	at := uint64(0)
	for i := range runs {
		x.order[i], x.starts[i] = uint32(i), at
		at += runs[i].n
	}
	slices.SortStableFunc(x.order, func(a, b uint32) int {
		la, _ := runs[a].bounds()
		lb, _ := runs[b].bounds()
		return cmp.Compare(la, lb)
	})
	high := uint64(0)
	for i, k := range x.order {
		l, h := runs[k].bounds()
		high = max(high, h)
		x.low[i], x.reach[i] = l, high
	}
	return x
}

// bounds returns the smallest and the greatest number of a run.
func (r *run) bounds() (low, high uint64) {
	if int64(r.stride) < 0 {
		return r.last(), r.first
	}
	return r.first, r.last()
}

// each calls f with the places of v in a run whose numbers begin at place at. It returns
// false if f did.
func (r *run) each(v, at uint64, f func(i uint64) bool) bool {
	d := v - r.first
	switch {
	case r.stride == 0 && d == 0:
		for i := range r.n {
			if !f(at + i) {
				return false
			}
		}
	case r.stride != 0:
		q := d / r.stride
		if int64(r.stride) < 0 {
			q = -d / -r.stride
		}
		if q < r.n && r.first+q*r.stride == v {
			return f(at + q)
		}
	}
	return true
}

// find calls f with each place of v, until f returns false.
func (x *runIndex) find(runs []run, v uint64, f func(i uint64) bool) {
	i := sort.Search(len(x.low), func(i int) bool { return x.low[i] > v }) - 1
	for ; i >= 0 && x.reach[i] >= v; i-- {
		if k := x.order[i]; !runs[k].each(v, x.starts[k], f) {
			return
		}
	}
}
