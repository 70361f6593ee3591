package cdr

import (
	"cmp"
	"iter"
	"slices"

	"hindsight/cdr/fold"
	"hindsight/cdr/format"
)

// fewAccesses is the largest number of accesses of a site in a segment for which a walk
// is faster than a search.
const fewAccesses = 12

// eachSite calls yield for every site with recorded addresses in the segment.
func (seg *Segment) eachSite(yield func(p *partSite, f *siteFeed) bool) error {
	w := seg.walk
	for i := range seg.parts {
		part := &seg.parts[i]
		s, err := w.stretchOf(part.epoch)
		if err != nil {
			return err
		}
		if s.data == nil {
			continue
		}
		for j := range part.sites {
			p := &part.sites[j]
			f, err := w.feed(s, p)
			if err != nil {
				return err
			}
			if f.index != nil && !yield(p, f) {
				return nil
			}
		}
	}
	return nil
}

// span restricts the accesses with ordinals from (inclusive) to to (exclusive) to those
// after the site's first recorded access, which has ordinal lead. The ordinals lo to hi
// are relative to the grammar; first reports whether the first recorded access is among
// them.
func span(x *fold.Index, from, to uint64) (first bool, lo, hi uint64) {
	first = from <= x.Lead && x.Lead < to
	base := x.Lead + 1
	lo = max(from, base) - base
	hi = min(max(to, base), x.Total()) - base
	return first, min(lo, hi), hi
}

// Footprint returns the bytes that the segment accesses, site by site, as extents that
// may overlap. It examines repeated parts of the execution once, so is faster than
// [Segment.Runs] where the program is regular. It ends after the first error.
func (seg *Segment) Footprint() iter.Seq2[fold.Extent, error] {
	return func(yield func(fold.Extent, error) bool) {
		err := seg.EachExtent(func(e *fold.Extent) bool { return yield(*e, nil) })
		if err != nil {
			yield(fold.Extent{}, err)
		}
	}
}

// EachExtent calls yield for the extents of [Segment.Footprint] until it returns false.
// The extent is valid until yield returns.
func (seg *Segment) EachExtent(yield func(*fold.Extent) bool) error {
	return seg.eachSite(func(p *partSite, f *siteFeed) bool { return seg.walk.extents(p, f, yield) })
}

// extents yields the extents of a site in a part of a segment. If there are few runs,
// walking them is cheaper than looking them up, even if they are long.
func (w *segmentWalk) extents(p *partSite, f *siteFeed, yield func(*fold.Extent) bool) bool {
	e, limit := &w.extent, fewRuns
	switch {
	case p.count <= fewAccesses:
		limit = fewAccesses
	case f.cover > 0: // it had too many runs in recent segments
		f.cover--
		limit = 0
	}
	from, end := p.from, p.from+p.count
	for ; limit > 0; limit-- {
		c := f.at(from)
		r, ok := c.RunOf(end, fewTerminals)
		from = c.At
		if !ok && from == end {
			return true
		}
		if !ok {
			f.cover = coverAgain
			break
		}
		if r.Count == 1 {
			*e = fold.Extent{Base: r.Base, Len: f.width, Count: 1}
		} else {
			*e = fold.TermExtent(format.AddrTerm{Diff: r.Stride, Count: r.Count}, r.Base-uint64(r.Stride), f.width)
		}
		e.Site = p.site
		if !yield(e) {
			return false
		}
		if from == end {
			return true
		}
		if limit == 1 {
			f.cover = coverAgain
		}
	}
	return f.extents(from, end, func(x fold.Extent) bool {
		*e = x
		e.Site = p.site
		return yield(e)
	})
}

const (
	// fewRuns is the number of runs of a site in a segment that are walked before the
	// rest is looked up.
	fewRuns = 4
	// fewTerminals limits the terminals of the grammar that are read for one of them.
	fewTerminals = 16
	// coverAgain is the number of following segments in which no runs are walked then.
	coverAgain = 16
)

// extents yields the extents of the accesses with ordinals from up to end.
func (f *siteFeed) extents(from, end uint64, yield func(fold.Extent) bool) bool {
	x := f.index
	first, lo, hi := span(x, from, end)
	if first && !yield(fold.Extent{Base: x.First, Len: f.width, Count: 1}) {
		return false
	}
	c := fold.Coverer{Index: x, Width: f.width, Yield: yield}
	return lo == hi || c.Cover(x.Grammar.Start(), x.First, lo, hi)
}

// RunsWithin returns the same accesses as [Segment.Runs], possibly in more runs. It may
// omit those that are in no range of addresses [lo, hi) that keep accepts. keep must
// accept a range if it accepts a part of it.
func (seg *Segment) RunsWithin(keep func(lo, hi uint64) bool) iter.Seq2[fold.Run, error] {
	return func(yield func(fold.Run, error) bool) {
		err := seg.eachSite(func(p *partSite, f *siteFeed) bool {
			return f.runsWithin(p, &fold.Finder{Index: f.index, Width: f.width, Keep: keep, Yield: func(r fold.Run) bool { return yield(r, nil) }})
		})
		if err != nil {
			yield(fold.Run{}, err)
		}
	}
}

// RunsOf is RunsWithin for one site. With back, the last run comes first.
func (seg *Segment) RunsOf(site format.SiteID, back bool, keep func(lo, hi uint64) bool) iter.Seq2[fold.Run, error] {
	return func(yield func(fold.Run, error) bool) {
		for i := range seg.parts {
			part := &seg.parts[i]
			if back {
				part = &seg.parts[len(seg.parts)-1-i]
			}
			j, ok := slices.BinarySearchFunc(part.sites, site, func(p partSite, site format.SiteID) int { return cmp.Compare(p.site, site) })
			if !ok {
				continue
			}
			s, err := seg.walk.stretchOf(part.epoch)
			if err != nil {
				yield(fold.Run{}, err)
				return
			}
			f, err := seg.walk.feed(s, &part.sites[j])
			if err != nil {
				yield(fold.Run{}, err)
				return
			}
			if f.index == nil {
				continue
			}
			finder := fold.Finder{Index: f.index, Width: f.width, Back: back, Keep: keep, Yield: func(r fold.Run) bool { return yield(r, nil) }}
			if !f.runsWithin(&part.sites[j], &finder) {
				return
			}
		}
	}
}

// runsWithin yields the runs of a site in a part of the segment.
func (f *siteFeed) runsWithin(p *partSite, find *fold.Finder) bool {
	x, yield := find.Index, find.Yield
	find.Yield = func(r fold.Run) bool {
		r.Site = p.site
		r.First += p.first - p.from
		return yield(r)
	}
	if p.count <= fewAccesses && !find.Back {
		return f.each(p, find.Yield)
	}
	first, lo, hi := span(x, p.from, p.from+p.count)
	lead := func() bool {
		return !first || !fold.Within(find.Keep, x.First, x.First+find.Width) || find.Yield(fold.Run{Base: x.First, Count: 1, First: x.Lead})
	}
	if !find.Back && !lead() {
		return false
	}
	if lo != hi && !find.Walk(x.Grammar.Start(), x.First, lo, hi, x.Lead+1) {
		return false
	}
	return !find.Back || lead()
}

// TallyWithin returns the same executions as [Segment.Runs], site by site, without their
// order and with equal ones together. It may omit those that are in no range of addresses
// [lo, hi) that keep accepts. The tallies of a rule of the address grammars are computed
// once, so TallyWithin is faster than [Segment.RunsWithin] where the program repeats
// itself.
func (seg *Segment) TallyWithin(keep func(lo, hi uint64) bool) iter.Seq2[fold.Tally, error] {
	return func(yield func(fold.Tally, error) bool) {
		var all []fold.Tally
		err := seg.eachSite(func(p *partSite, f *siteFeed) bool {
			x := f.index
			all = all[:0]
			give := func() bool {
				if x.Useless < 8 || len(all) > 4*fold.MaxTally { // otherwise they stay as they are
					n := len(all)
					all = fold.Condense(all)
					if n > 8 {
						x.Useless++
						if len(all) <= n*3/4 {
							x.Useless = 0
						}
					}
				}
				for _, t := range all {
					t.Site = p.site
					if !yield(t, nil) {
						return false
					}
				}
				all = all[:0]
				return true
			}
			put := func(t fold.Tally) bool {
				all = append(all, t)
				return len(all) < fold.TooMany || give()
			}
			if p.count <= fewAccesses {
				if !f.each(p, func(r fold.Run) bool { return put(fold.RunTally(r.Base, r.Stride, r.Count)) }) {
					return false
				}
				return give()
			}
			first, lo, hi := span(x, p.from, p.from+p.count)
			if first && fold.Within(keep, x.First, x.First+f.width) && !put(fold.Tally{Base: x.First, Count: 1, Times: 1}) {
				return false
			}
			c := fold.Tallier{Index: x, Width: f.width, Keep: keep, Yield: put}
			return (lo == hi || c.Walk(x.Grammar.Start(), x.First, lo, hi)) && give()
		})
		if err != nil {
			yield(fold.Tally{}, err)
		}
	}
}
