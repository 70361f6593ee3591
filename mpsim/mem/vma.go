package mem

import (
	"iter"
	"slices"
)

// Kind says what a mapping is for, so that reports can name it.
type Kind uint8

const (
	Anonymous  Kind = iota // mmap without a file: thread stacks, large allocations
	Heap                   // the brk area
	Stack                  // the main thread's stack
	Image                  // a segment of the program
	File                   // mmap of a file
	Trampoline             // the page that the system call layer itself maps
)

var kindNames = [...]string{"mmap", "heap", "stack", "image", "file", "vdso"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind?"
}

// VMA is a mapped range whose pages share their attributes.
type VMA struct {
	Start, End uint64 // [Start, End), multiples of PageSize
	Attr
}

// Attr is what the pages of a mapping have in common. Neighbours with equal
// attributes are merged.
type Attr struct {
	Prot Prot
	Kind Kind
	Name string // as /proc/self/maps shows it; may be empty
	// Uncounted mappings are not charged against the limit until they are
	// touched (MAP_NORESERVE, and what the stack may grow to).
	Uncounted bool
	// Hole pages lie after the end of a mapped file: any access is a
	// BeyondFile fault.
	Hole bool
	// Shared by the file mapping rules; anonymous memory of the one process
	// behaves alike either way.
	Shared bool
}

// charge returns the bytes that a range with these attributes costs against the
// limit before any page of it is touched.
func (a *Attr) charge(bytes uint64) uint64 {
	if a.Prot&Write == 0 || a.Uncounted || a.Hole {
		return 0
	}
	return bytes
}

// Len returns the bytes of the range.
func (v *VMA) Len() uint64 { return v.End - v.Start }

// vmas is the sorted list of mappings: disjoint, not empty, merged.
type vmas []VMA

// search returns the index of the first mapping that ends after addr.
func (l vmas) search(addr uint64) int {
	lo, hi := 0, len(l)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if l[mid].End > addr {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// covered reports whether every byte of [start, end) is mapped.
func (l vmas) covered(start, end uint64) bool {
	for i := l.search(start); start < end; i++ {
		if i == len(l) || l[i].Start > start {
			return false
		}
		start = l[i].End
	}
	return true
}

// overlapping yields the parts of mappings that lie within [start, end), cut
// to that range.
func (l vmas) overlapping(start, end uint64) iter.Seq[VMA] {
	return func(yield func(VMA) bool) {
		for i := l.search(start); i < len(l) && l[i].Start < end; i++ {
			v := l[i]
			v.Start, v.End = max(v.Start, start), min(v.End, end)
			if !yield(v) {
				return
			}
		}
	}
}

// replace puts the mappings with into [start, end) in place of what was there;
// with must be sorted and lie within the range. It cuts mappings that straddle
// the borders and merges equal neighbours.
func (l vmas) replace(start, end uint64, with ...VMA) vmas {
	lo := l.search(start)
	hi := lo
	part := make([]VMA, 0, len(with)+2)
	if lo < len(l) && l[lo].Start < start {
		v := l[lo]
		v.End = start
		part = append(part, v)
	}
	part = append(part, with...)
	for hi < len(l) && l[hi].Start < end {
		if l[hi].End > end {
			v := l[hi]
			v.Start = end
			part = append(part, v)
		}
		hi++
	}
	// Take the neighbours in, so that they merge too.
	if lo > 0 {
		lo--
		part = append([]VMA{l[lo]}, part...)
	}
	if hi < len(l) {
		part = append(part, l[hi])
		hi++
	}
	return slices.Replace(l, lo, hi, merged(part)...)
}

// merged joins neighbours with equal attributes, in place.
func merged(part []VMA) []VMA {
	out := part[:0]
	for _, v := range part {
		if n := len(out); n > 0 && out[n-1].End == v.Start && out[n-1].Attr == v.Attr {
			out[n-1].End = v.End
			continue
		}
		out = append(out, v)
	}
	return out
}
