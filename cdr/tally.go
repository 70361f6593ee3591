package cdr

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"

	"hindsight/wpp"
)

// Tally is executions of a site without their order: Times at each of Count
// addresses, Stride bytes apart. Stride is 0 if Count is 1.
type Tally struct {
	Site   SiteID
	Base   uint64
	Stride uint64
	Count  uint64
	Times  uint64
}

// end is behind the last byte accessed.
func (t *Tally) end(width uint64) uint64 { return t.Base + t.Stride*(t.Count-1) + width }

// runTally is the tally of a run.
func runTally(base uint64, stride int64, count uint64) Tally {
	switch {
	case count == 1 || stride == 0:
		return Tally{Base: base, Count: 1, Times: count}
	case stride < 0:
		step := -uint64(stride)
		return Tally{Base: base - step*(count-1), Stride: step, Count: count, Times: 1}
	}
	return Tally{Base: base, Stride: uint64(stride), Count: count, Times: 1}
}

// ruleTally is what an occurrence of a grammar's rule executes, relative to the
// address before it. It is worked out once a rule.
type ruleTally struct {
	all   []Tally
	known bool
	many  bool // more than is worth keeping
}

const (
	// maxTally bounds the tallies kept of a rule, maxTallied those of an index.
	maxTally   = 512
	maxTallied = 1 << 20
	// maxPlaces is how many addresses are looked at one by one to find how to
	// write them shortest.
	maxPlaces = 1 << 12
)

// tally gives the tallies of a rule.
func (x *addrIndex) tally(r wpp.Rule) *ruleTally {
	if x.tallies == nil {
		x.tallies = make([]ruleTally, x.g.Rules())
	}
	f := &x.tallies[r]
	if f.known {
		return f
	}
	f.known = true
	var all []Tally
	diffs := x.diff[x.off[r]:x.off[r+1]]
	for i, s := range x.g.Body(r) {
		at := diffs[i]
		if !s.IsRule() {
			t := x.terms[s.Terminal()]
			if t.skip {
				continue
			}
			if high, span := bits.Mul64(t.count, magnitude(t.diff)); high != 0 || span > farAway {
				f.many = true
				return f
			}
			all = append(all, runTally(at+uint64(t.diff), t.diff, t.count))
			continue
		}
		sub := x.tally(s.Rule())
		if sub.many || len(all)+len(sub.all) > tooMany {
			f.many = true
			return f
		}
		for _, e := range sub.all {
			e.Base += at
			all = append(all, e)
		}
	}
	all = condense(all)
	if len(all) > maxTally || x.tallied+len(all) > maxTallied {
		f.many = true
		return f
	}
	x.tallied += len(all)
	f.all = slices.Clip(all)
	return f
}

// condense writes the same executions as fewer tallies where it can. It
// reorders its argument, which is of one site.
func condense(all []Tally) []Tally {
	if len(all) < 2 {
		return all
	}
	places := uint64(0)
	for _, t := range all {
		if t.Count > maxPlaces {
			places = maxPlaces + 1
			break
		}
		places += t.Count
	}
	if len(all) > 4 && places <= maxPlaces {
		if fewer := regroup(all, int(places)); len(fewer) < len(all) {
			return fewer
		}
	}
	slices.SortFunc(all, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(int64(a.Base), int64(b.Base)), cmp.Compare(a.Stride, b.Stride), cmp.Compare(a.Count, b.Count))
	})
	out := all[:1]
	for _, t := range all[1:] {
		last := &out[len(out)-1]
		switch {
		case t.Base == last.Base && t.Stride == last.Stride && t.Count == last.Count:
			last.Times += t.Times
		case t.Times == last.Times && t.Stride == last.Stride && t.Count > 1 && t.Base == last.Base+last.Stride*last.Count:
			last.Count += t.Count
		default:
			out = append(out, t)
		}
	}
	return out
}

// regroup takes tallies apart into addresses and puts these together anew:
// those with equal times, at equal distances.
func regroup(all []Tally, places int) []Tally {
	one := make([]Tally, 0, places)
	for _, t := range all {
		for i := range t.Count {
			one = append(one, Tally{Base: t.Base + i*t.Stride, Times: t.Times, Count: 1, Site: t.Site})
		}
	}
	slices.SortFunc(one, func(a, b Tally) int { return cmp.Compare(int64(a.Base), int64(b.Base)) })
	kept := one[:1]
	for _, t := range one[1:] {
		if last := &kept[len(kept)-1]; last.Base == t.Base {
			last.Times += t.Times
			continue
		}
		kept = append(kept, t)
	}
	slices.SortStableFunc(kept, func(a, b Tally) int { return cmp.Compare(a.Times, b.Times) })
	out := make([]Tally, 0, len(all))
	for i := 0; i < len(kept); {
		t := kept[i]
		for i++; i < len(kept) && kept[i].Times == t.Times; i++ {
			d := kept[i].Base - t.Base
			if t.Count == 1 {
				t.Stride = d
			} else if d != t.Stride*t.Count {
				break
			}
			t.Count++
		}
		if len(out) >= len(all) {
			return out
		}
		out = append(out, t)
	}
	return out
}

// tallier hands out the tallies of a segment.
type tallier struct {
	x     *addrIndex
	width uint64
	keep  func(lo, hi uint64) bool
	yield func(Tally) bool
}

// put hands out a tally if it is in a range that keep accepts.
func (c *tallier) put(t Tally) bool { return !c.keep(t.Base, t.end(c.width)) || c.yield(t) }

// walk hands out the accesses number lo to hi of an occurrence of rule r behind
// address at.
func (c *tallier) walk(r wpp.Rule, at, lo, hi uint64) bool {
	x := c.x
	f := x.footprint(r, c.width)
	if f.lo == f.hi || !f.wild && !c.keep(at+uint64(f.lo), at+uint64(f.hi)) {
		return true
	}
	sums := x.count[x.off[r]:x.off[r+1]]
	if lo == 0 && hi == sums[len(sums)-1] && !f.wild {
		if t := x.tally(r); !t.many {
			for _, e := range t.all {
				e.Base += at
				if !c.put(e) {
					return false
				}
			}
			return true
		}
	}
	return x.parts(r, at, lo, hi, func(s wpp.Symbol, before, from, end, _ uint64) bool {
		if s.IsRule() {
			return c.walk(s.Rule(), before, from, end)
		}
		t := x.terms[s.Terminal()]
		if t.skip {
			return true
		}
		one := runTally(before+uint64(t.diff)*(from+1), t.diff, end-from)
		if f.wild {
			return c.yield(one)
		}
		return c.put(one)
	})
}

// TallyWithin gives the same executions as [Segment.Runs], site by site but
// without their order, and equal ones together; it may leave out those in no
// range of addresses [lo, hi) that keep accepts. What a rule of the address
// grammars executes is worked out once, so that this takes less time than
// [Segment.RunsWithin] where the program does things again.
func (seg *Segment) TallyWithin(keep func(lo, hi uint64) bool) iter.Seq2[Tally, error] {
	return func(yield func(Tally, error) bool) {
		var all []Tally
		err := seg.eachSite(func(s *stretch, p *partSite, x *addrIndex, width uint64) bool {
			all = all[:0]
			give := func() bool {
				for _, t := range condense(all) {
					t.Site = p.site
					if !yield(t, nil) {
						return false
					}
				}
				all = all[:0]
				return true
			}
			put := func(t Tally) bool {
				all = append(all, t)
				return len(all) < tooMany || give()
			}
			if p.count <= fewAccesses {
				if !seg.walkSite(s, p, func(r Run) bool { return put(runTally(r.Base, r.Stride, r.Count)) }) {
					return false
				}
				return give()
			}
			first, lo, hi := p.span(x)
			if first && keep(x.first, x.first+width) && !put(Tally{Base: x.first, Count: 1, Times: 1}) {
				return false
			}
			c := tallier{x: x, width: width, keep: keep, yield: put}
			return (lo == hi || c.walk(x.g.Start(), x.first, lo, hi)) && give()
		})
		if err != nil {
			yield(Tally{}, err)
		}
	}
}
