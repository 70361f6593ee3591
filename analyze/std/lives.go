package std

import (
	"math"

	"hindsight/tracefmt/event"
)

// pageBits is the size of the pieces of memory whose lives are counted
// together when a range covers all of one.
const pageBits = 12

// maxPages bounds the pages that one range is entered in (16 GiB).
const maxPages = 1 << 22

// lives counts how often each 8-byte granule has begun a new life, and what
// began since the segment of each thread did. See docs/semantics.md, "Lives of
// memory".
type lives struct {
	whole map[uint64]uint32           // by page: ranges that cover it
	part  map[uint64]*[1 << 9]uint32  // by page: of its granules, ranges that cover a part of it
	fresh map[event.ThreadID]*renewed // of threads with a segment open
}

// renewed are the ranges that began a new life since a moment, by page.
type renewed map[uint64][]span

// span is a range of granules, both ends included, that was renewed times
// times.
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

// close forgets a thread that has ended.
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

// of returns the lives of a granule that a thread's present segment is in: from
// that at its beginning to that at its end.
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

// now returns the life of a granule at this moment, as that of an event is.
func (l *lives) now(granule uint64) uint32 {
	_, last := l.of(math.MaxUint32, granule)
	return last
}
