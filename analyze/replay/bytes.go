package replay

import "slices"

// Bytes is a set of addresses of bytes, kept by 8-byte granules.
type Bytes struct {
	granules map[uint64]uint8
	// filter has a bit for each hash value. Most granules are not in the set, and for
	// most of these one load from the filter shows it.
	filter [1 << 10]uint64
}

// NewBytes returns an empty set.
func NewBytes() *Bytes { return &Bytes{granules: map[uint64]uint8{}} }

// slot returns the position of a granule's bit in the filter.
func slot(granule uint64) (word uint64, bit uint64) {
	h := granule * 0x9e3779b97f4a7c15 >> 48
	return h >> 6, 1 << (h & 63)
}

// Add adds size bytes from addr on to the set.
func (s *Bytes) Add(addr, size uint64) {
	for ; size > 0; addr, size = addr+1, size-1 {
		word, bit := slot(addr >> 3)
		s.filter[word] |= bit
		s.granules[addr>>3] |= 1 << (addr & 7)
	}
}

// Of returns the mask of the bytes of a granule that are in the set. A nil set is empty.
func (s *Bytes) Of(granule uint64) uint8 {
	if s == nil {
		return 0
	}
	if word, bit := slot(granule); s.filter[word]&bit == 0 {
		return 0
	}
	return s.granules[granule]
}

// ranges is a set of addresses, as disjoint intervals in order.
type ranges []interval

type interval struct{ low, high uint64 } // high is the first address after it

func (s ranges) contains(addr uint64) bool {
	_, found := slices.BinarySearchFunc(s, addr, func(x interval, addr uint64) int {
		switch {
		case x.high <= addr:
			return -1
		case x.low > addr:
			return 1
		}
		return 0
	})
	return found
}

// meets reports whether one of the size bytes from low on is in the set.
func (s ranges) meets(low, size uint64) bool {
	i, found := slices.BinarySearchFunc(s, low, func(x interval, low uint64) int {
		switch {
		case x.high <= low:
			return -1
		case x.low > low:
			return 1
		}
		return 0
	})
	return found || i < len(s) && s[i].low-low < size
}

// add adds size bytes from low on to the set.
func (s *ranges) add(low, size uint64) {
	if size == 0 || low+size < low {
		return
	}
	x := interval{low, low + size}
	i, _ := slices.BinarySearchFunc(*s, low, func(y interval, low uint64) int {
		if y.high < low {
			return -1
		}
		return 1
	})
	j := i
	for j < len(*s) && (*s)[j].low <= x.high {
		x.low, x.high = min(x.low, (*s)[j].low), max(x.high, (*s)[j].high)
		j++
	}
	*s = slices.Replace(*s, i, j, x)
}
