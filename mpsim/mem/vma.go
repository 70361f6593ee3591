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

// Attr holds what the pages of a mapping have in common. Neighbouring mappings with equal
// attributes are merged.
type Attr struct {
	Prot Prot
	Kind Kind
	Name string // as /proc/self/maps shows it; may be empty
	// Uncounted mappings are not charged against the limit until they are touched
	// (MAP_NORESERVE, and the part into which the stack may grow).
	Uncounted bool
	// Hole pages lie after the end of a mapped file. Any access is a BeyondFile fault.
	Hole bool
	// Shared means shared by the rules for file mappings. For anonymous memory it makes no
	// difference, because there is only one process.
	Shared bool
}

// charge returns the number of bytes that a range with these attributes is charged against
// the limit before any page of it is touched.
func (a *Attr) charge(bytes uint64) uint64 {
	if a.Prot&Write == 0 || a.Uncounted || a.Hole {
		return 0
	}
	return bytes
}

// Len returns the size of the range in bytes.
func (v *VMA) Len() uint64 { return v.End - v.Start }

// vmas is the sorted list of mappings, which are disjoint, not empty and merged.
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

// overlapping yields the parts of mappings within [start, end), cut to that range.
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

// replace replaces whatever is in [start, end) with the mappings with, which must be sorted
// and lie within the range. It cuts mappings that cross the bounds and merges equal
// neighbours.
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
	// Include the neighbours, so that they are merged, too.
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
