package std

import (
	"math"

	"hindsight/tracefmt/event"
)

// pageBits is the logarithm of the size of the pages of memory whose lives are counted
// together if a range covers a whole page.
const pageBits = 12

// maxPages limits the pages in which one range is entered (16 GiB).
const maxPages = 1 << 22

// lives counts how often each 8-byte granule has begun a new life, and which lives have
// begun since the segment of each thread did. See docs/semantics.md, "Lives of memory".
type lives struct {
	whole map[uint64]uint32           // by page: number of ranges that cover it
	part  map[uint64]*[1 << 9]uint32  // by page and granule: number of ranges that cover a part of the page
	fresh map[event.ThreadID]*renewed // by thread with an open segment
}

// renewed has the ranges that began a new life since a moment, by page.
type renewed map[uint64][]span

// span is a range of granules, both ends included, and the number of its renewals.
type span struct {
	lo, hi uint64
	times  uint32
}

func (r renewed) add(page, lo, hi uint64) {
	list := r[page]
	for i := range list {
		if list[i].lo == lo && list[i].hi == hi {
			list[i].times++
			return
		}
	}
	r[page] = append(list, span{lo, hi, 1})
}

func newLives() *lives {
	return &lives{whole: map[uint64]uint32{}, part: map[uint64]*[1 << 9]uint32{}, fresh: map[event.ThreadID]*renewed{}}
}

// open begins a segment of a thread.
func (l *lives) open(t event.ThreadID) {
	if r := l.fresh[t]; r == nil || len(*r) > 0 {
		l.fresh[t] = &renewed{}
	}
}

// close removes a thread that has ended.
func (l *lives) close(t event.ThreadID) { delete(l.fresh, t) }

// renew begins a new life of the granules of a range.
func (l *lives) renew(addr, size uint64) {
	if size == 0 || addr+size-1 < addr {
		return
	}
	lo, hi := addr>>3, (addr+size-1)>>3
	const shift = pageBits - 3
	first, last := lo>>shift, hi>>shift
	last = min(last, first+maxPages)
	for p := first; p <= last; p++ {
		s := span{lo: max(lo, p<<shift), hi: min(hi, (p+1)<<shift-1)}
		if s.hi-s.lo == 1<<shift-1 {
			l.whole[p]++
		} else {
			g := l.part[p]
			if g == nil {
				g = new([1 << 9]uint32)
				l.part[p] = g
			}
			for i := s.lo; i <= s.hi; i++ {
				g[i&(1<<shift-1)]++
			}
		}
		for _, r := range l.fresh {
			r.add(p, s.lo, s.hi)
		}
	}
}

// of returns the lives of a granule that a thread's current segment is in: from the one
// at its beginning to the one at its end.
func (l *lives) of(t event.ThreadID, granule uint64) (first, last uint32) {
	const shift = pageBits - 3
	p := granule >> shift
	last = l.whole[p]
	if g := l.part[p]; g != nil {
		last += g[granule&(1<<shift-1)]
	}
	first = last
	if r := l.fresh[t]; r != nil {
		for _, s := range (*r)[p] {
			if granule >= s.lo && granule <= s.hi {
				first -= s.times
			}
		}
	}
	return first, last
}

// now returns the current life of a granule, which is that of an event.
func (l *lives) now(granule uint64) uint32 {
	_, last := l.of(math.MaxUint32, granule)
	return last
}
