package race

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

func addSat(a, b uint64) uint64 {
	if s, carry := bits.Add64(a, b, 0); carry == 0 {
		return s
	}
	return math.MaxUint64
}

func mulSat(a, b uint64) uint64 {
	if hi, lo := bits.Mul64(a, b); hi == 0 {
		return lo
	}
	return math.MaxUint64
}

// execution is one execution of an access, as the pair table keeps it.
type execution struct {
	access uint32
	thread uint32
	addr   uint64
	ref
}

// instance is a dynamic pair; later belongs to the unit that ended later.
type instance struct {
	later, earlier execution
	addr           uint64 // first common byte
}

// compare orders the instances of a static pair (docs/semantics.md, "First and
// last").
func (x *instance) compare(y *instance) int {
	return cmp.Or(
		cmp.Compare(x.later.order, y.later.order),
		cmp.Compare(x.earlier.order, y.earlier.order),
		cmp.Compare(x.later.ordinal, y.later.ordinal),
		cmp.Compare(x.earlier.ordinal, y.earlier.ordinal),
		cmp.Compare(x.later.access, y.later.access),
		cmp.Compare(x.earlier.access, y.earlier.access),
		cmp.Compare(x.addr, y.addr),
	)
}

// pair is a static pair in the making.
type pair struct {
	dynamic     uint64
	first, last instance
}

// pairKey is an unordered pair of indices of engine.places, the smaller first.
type pairKey struct{ a, b uint32 }

// pairTable is all static pairs found so far.
type pairTable struct {
	pairs   map[pairKey]*pair
	lastKey pairKey
	last    *pair
}

// add counts dynamic pairs of the static pair key, of which first and last
// are the extreme instances.
func (t *pairTable) add(key pairKey, dynamic uint64, first, last *instance) {
	p := t.last
	if p == nil || t.lastKey != key {
		p = t.pairs[key]
		if p == nil {
			p = &pair{first: *first, last: *last}
			t.pairs[key] = p
		}
		t.last, t.lastKey = p, key
	}
	p.dynamic = addSat(p.dynamic, dynamic)
	if first.compare(&p.first) < 0 {
		p.first = *first
	}
	if last.compare(&p.last) > 0 {
		p.last = *last
	}
}

// sorted gives the pairs in the order of their first instances.
func (t *pairTable) sorted() []*pair {
	all := make([]*pair, 0, len(t.pairs))
	for _, p := range t.pairs {
		all = append(all, p)
	}
	slices.SortFunc(all, func(x, y *pair) int { return x.first.compare(&y.first) })
	return all
}
