package count

import (
	"math"
	"math/bits"
)

func AddSat(a, b uint64) uint64 {
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

// Pair is a static pair that is being counted.
type Pair struct {
	Dynamic     uint64
	First, Last Meeting
}

// pairKey is an unordered pair of places (see pass.Access.Place), the smaller one in
// the high half.
type pairKey uint64

// PairTable has all static pairs found so far.
type PairTable struct {
	Pairs   map[pairKey]*Pair
	lastKey pairKey
	last    *Pair
}

func NewPairTable() PairTable { return PairTable{Pairs: map[pairKey]*Pair{}} }

// Places returns the two places of a key, the first of which is the lower.
func (k pairKey) Places() (x, y uint32) { return uint32(k >> 32), uint32(k) }

// at returns the pair of that key, and adds it if it is new.
func (t *PairTable) at(key pairKey) *Pair {
	if t.last == nil || t.lastKey != key {
		p := t.Pairs[key]
		if p == nil {
			p = new(Pair)
			t.Pairs[key] = p
		}
		t.last, t.lastKey = p, key
	}
	return t.last
}

// Merge adds the results of another worker.
func (t *PairTable) Merge(other *PairTable) {
	for key, q := range other.Pairs {
		p := t.Pairs[key]
		if p == nil {
			t.Pairs[key] = q
			continue
		}
		p.Dynamic = AddSat(p.Dynamic, q.Dynamic)
		p.First.merge(&q.First, 1)
		p.Last.merge(&q.Last, -1)
	}
}
