package race

import (
	"cmp"
	"math"
	"math/bits"

	"hindsight/tracefmt/event"
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

// ref names an execution: the place in the order of units (see engine.order)
// and the ordinal of the site, or the index of the event.
type ref struct{ order, ordinal uint64 }

// execution is one execution of an access.
type execution struct {
	access uint32
	thread event.ThreadID
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
	first, last meeting
}

// pairKey is an unordered pair of indices of engine.places, the smaller one in
// the high half.
type pairKey uint64

// pairTable is all static pairs found so far.
type pairTable struct {
	pairs   map[pairKey]*pair
	lastKey pairKey
	last    *pair
}

// at is the pair of that key, made when it is new.
func (t *pairTable) at(key pairKey) *pair {
	if t.last == nil || t.lastKey != key {
		p := t.pairs[key]
		if p == nil {
			p = new(pair)
			t.pairs[key] = p
		}
		t.last, t.lastKey = p, key
	}
	return t.last
}

// merge adds what another worker found.
func (t *pairTable) merge(other *pairTable) {
	for key, q := range other.pairs {
		p := t.pairs[key]
		if p == nil {
			t.pairs[key] = q
			continue
		}
		p.dynamic = addSat(p.dynamic, q.dynamic)
		p.first.merge(&q.first, 1)
		p.last.merge(&q.last, -1)
	}
}
