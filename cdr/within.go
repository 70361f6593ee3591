package cdr

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"

	"hindsight/wpp"
)

// finder hands out runs of accesses; what lies in no range that keep accepts
// may be left out.
type finder struct {
	x     *addrIndex
	width uint64
	back  bool // the last run first
	keep  func(lo, hi uint64) bool
	yield func(Run) bool
}

// within says whether keep accepts a range, which it must if that goes around
// the end of the address space.
func within(keep func(lo, hi uint64) bool, lo, hi uint64) bool { return lo >= hi || keep(lo, hi) }

// bound is between which bytes an occurrence of a rule accesses memory, relative
// to the address before it.
type bound struct {
	lo, hi int64 // first byte and the one after the last; lo = hi: no byte
	known  bool
	wild   bool // lo and hi are not known: the addresses go round
}

// bound returns the bound of a rule whose accesses have width bytes. It is that
// of its footprint, and cheaper to have.
func (x *addrIndex) bound(r wpp.Rule, width uint64) bound {
	if x.bounds == nil {
		x.bounds = make([]bound, x.g.Rules())
	}
	if b := x.bounds[r]; b.known {
		return b
	}
	b, begun := bound{known: true}, false
	diffs := x.diff[x.off[r]:x.off[r+1]]
	for i, s := range x.g.Body(r) {
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
			if t.skip {
				continue
			}
			if high, span := bits.Mul64(t.count, magnitude(t.diff)); high != 0 || span > farAway {
				b.wild = true
			}
			e := termExtent(t, at, width)
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

// walk hands out the accesses number lo to hi of an occurrence of rule r after
// address at, of which first is the ordinal of its first access.
func (c *finder) walk(r wpp.Rule, at, lo, hi, first uint64) bool {
	x := c.x
	f := x.bound(r, c.width)
	if f.lo == f.hi || !f.wild && !within(c.keep, at+uint64(f.lo), at+uint64(f.hi)) {
		return true
	}
	parts := x.parts
	if c.back {
		parts = x.partsBack
	}
	return parts(r, at, lo, hi, func(s wpp.Symbol, before uint64, from, end, skipped uint64) bool {
		if s.IsRule() {
			return c.walk(s.Rule(), before, from, end, first+skipped)
		}
		t := x.terms[s.Terminal()]
		if t.skip {
			return true
		}
		before += uint64(t.diff) * from
		t.count = end - from
		if e := termExtent(t, before, c.width); !f.wild && !within(c.keep, e.Base, e.Base+e.Stride*(e.Count-1)+e.Len) {
			return true
		}
		run := Run{Base: before + uint64(t.diff), Stride: t.diff, Count: t.count, First: first + skipped + from}
		if run.Count == 1 {
			run.Stride = 0
		}
		return c.yield(run)
	})
}

// RunsWithin returns the same accesses as [Segment.Runs], possibly cut into more
// runs, but may leave out those in no range of addresses [lo, hi) that keep
// accepts; keep must accept a range if it accepts a part of it.
func (seg *Segment) RunsWithin(keep func(lo, hi uint64) bool) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		err := seg.eachSite(func(s *stretch, p *partSite, x *addrIndex, width uint64) bool {
			return seg.runsWithin(s, p, &finder{x: x, width: width, keep: keep, yield: func(r Run) bool { return yield(r, nil) }})
		})
		if err != nil {
			yield(Run{}, err)
		}
	}
}

// RunsOf is RunsWithin for one site; if back is set the last run comes first.
func (seg *Segment) RunsOf(site SiteID, back bool, keep func(lo, hi uint64) bool) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		for i := range seg.parts {
			part := &seg.parts[i]
			if back {
				part = &seg.parts[len(seg.parts)-1-i]
			}
			j, ok := slices.BinarySearchFunc(part.sites, site, func(p partSite, site SiteID) int { return cmp.Compare(p.site, site) })
			if !ok {
				continue
			}
			s, err := seg.walk.stretchOf(part.epoch)
			if err != nil {
				yield(Run{}, err)
				return
			}
			x, err := s.addrIndex(site)
			if err != nil {
				yield(Run{}, err)
				return
			}
			f := finder{x: x, width: uint64(seg.walk.t.Site(site).Size), back: back, keep: keep, yield: func(r Run) bool { return yield(r, nil) }}
			if x != nil && !seg.runsWithin(s, &part.sites[j], &f) {
				return
			}
		}
	}
}

// runsWithin hands out the runs of a site in a part of the segment.
func (seg *Segment) runsWithin(s *stretch, p *partSite, f *finder) bool {
	x, yield := f.x, f.yield
	f.yield = func(r Run) bool {
		r.Site = p.site
		r.First += p.first - p.from
		return yield(r)
	}
	if p.count <= fewAccesses && !f.back {
		return seg.walkSite(s, p, f.yield)
	}
	first, lo, hi := p.span(x)
	lead := func() bool {
		return !first || !within(f.keep, x.first, x.first+f.width) || f.yield(Run{Base: x.first, Count: 1, First: x.lead})
	}
	if !f.back && !lead() {
		return false
	}
	if lo != hi && !f.walk(x.g.Start(), x.first, lo, hi, x.lead+1) {
		return false
	}
	return !f.back || lead()
}
