package fold

import (
	"math/bits"

	"hindsight/wpp"
)

// Finder yields runs of accesses. It may omit what lies in no range that Keep accepts.
type Finder struct {
	Index *Index
	Width uint64
	Back  bool // the last run first
	Keep  func(lo, hi uint64) bool
	Yield func(Run) bool
}

// Within reports whether keep accepts a range. A range that wraps around the end
// of the address space is always accepted.
func Within(keep func(lo, hi uint64) bool, lo, hi uint64) bool { return lo >= hi || keep(lo, hi) }

// bound is the range of bytes that an occurrence of a rule accesses, relative to the
// previous address.
type bound struct {
	lo, hi int64 // first byte, and the one after the last; equal if there is none
	known  bool
	wild   bool // lo and hi are not known because the addresses wrap around
}

// bound returns the bound of a rule whose accesses have width bytes. It agrees with the
// rule's footprint and is cheaper to compute.
func (x *Index) bound(r wpp.Rule, width uint64) bound {
	if x.bounds == nil {
		x.bounds = make([]bound, x.Grammar.Rules())
	}
	if b := x.bounds[r]; b.known {
		return b
	}
	b, begun := bound{known: true}, false
	diffs := x.diff[x.off[r]:x.off[r+1]]
	for i, s := range x.Grammar.Body(r) {
		at := diffs[i]
		var lo, hi int64
		if s.IsRule() {
			sub := x.bound(s.Rule(), width)
			b.wild = b.wild || sub.wild
			if sub.lo == sub.hi {
				continue
			}
			lo, hi = int64(at)+sub.lo, int64(at)+sub.hi
		} else {
			t := x.terms[s.Terminal()]
			if t.Skip {
				continue
			}
			if high, span := bits.Mul64(t.Count, magnitude(t.Diff)); high != 0 || span > farAway {
				b.wild = true
			}
			e := TermExtent(t, at, width)
			lo, hi = int64(e.Base), int64(e.Base+e.Stride*(e.Count-1)+e.Len)
		}
		if !begun {
			b.lo, b.hi, begun = lo, hi, true
		}
		b.lo, b.hi = min(b.lo, lo), max(b.hi, hi)
		if b.wild || lo < -farAway || hi > farAway {
			b.wild, b.lo, b.hi = true, 0, 1
		}
	}
	x.bounds[r] = b
	return b
}

// Walk yields accesses lo to hi of an occurrence of rule r that follows address at. first
// is the ordinal of its first access.
func (c *Finder) Walk(r wpp.Rule, at, lo, hi, first uint64) bool {
	x := c.Index
	f := x.bound(r, c.Width)
	if f.lo == f.hi || !f.wild && !Within(c.Keep, at+uint64(f.lo), at+uint64(f.hi)) {
		return true
	}
	parts := x.parts
	if c.Back {
		parts = x.partsBack
	}
	return parts(r, at, lo, hi, func(s wpp.Symbol, before uint64, from, end, skipped uint64) bool {
		if s.IsRule() {
			return c.Walk(s.Rule(), before, from, end, first+skipped)
		}
		t := x.terms[s.Terminal()]
		if t.Skip {
			return true
		}
		before += uint64(t.Diff) * from
		t.Count = end - from
		if e := TermExtent(t, before, c.Width); !f.wild && !Within(c.Keep, e.Base, e.Base+e.Stride*(e.Count-1)+e.Len) {
			return true
		}
		run := Run{Base: before + uint64(t.Diff), Stride: t.Diff, Count: t.Count, First: first + skipped + from}
		if run.Count == 1 {
			run.Stride = 0
		}
		return c.Yield(run)
	})
}
