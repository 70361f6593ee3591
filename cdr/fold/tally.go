package fold

import (
	"cmp"
	"math/bits"
	"slices"

	"hindsight/cdr/format"
	"hindsight/wpp"
)

// Tally counts executions of a site without their order: Times at each of Count
// addresses, Stride bytes apart. Stride is 0 if Count is 1.
type Tally struct {
	Site   format.SiteID
	Base   uint64
	Stride uint64
	Count  uint64
	Times  uint64
}

// end returns the address after the last byte accessed.
func (t *Tally) end(width uint64) uint64 { return t.Base + t.Stride*(t.Count-1) + width }

// RunTally returns the tally of a run.
func RunTally(base uint64, stride int64, count uint64) Tally {
	switch {
	case count == 1 || stride == 0:
		return Tally{Base: base, Count: 1, Times: count}
	case stride < 0:
		step := -uint64(stride)
		return Tally{Base: base - step*(count-1), Stride: step, Count: count, Times: 1}
	}
	return Tally{Base: base, Stride: uint64(stride), Count: count, Times: 1}
}

// ruleTally has the tallies of an occurrence of a rule, relative to the address before
// it. It is computed once for each rule.
type ruleTally struct {
	all   []Tally
	known bool
	many  bool // more tallies than are worth keeping
}

const (
	// MaxTally limits the tallies kept of a rule, maxTallied those of an index.
	MaxTally   = 512
	maxTallied = 1 << 20
	// maxPlaces is the largest number of addresses that are examined one by one to find
	// the shortest form.
	maxPlaces = 1 << 12
)

// tally returns the tallies of a rule.
func (x *Index) tally(r wpp.Rule) *ruleTally {
	if x.tallies == nil {
		x.tallies = make([]ruleTally, x.Grammar.Rules())
	}
	f := &x.tallies[r]
	if f.known {
		return f
	}
	f.known = true
	var all []Tally
	diffs := x.diff[x.off[r]:x.off[r+1]]
	for i, s := range x.Grammar.Body(r) {
		at := diffs[i]
		if !s.IsRule() {
			t := x.terms[s.Terminal()]
			if t.Skip {
				continue
			}
			if high, span := bits.Mul64(t.Count, magnitude(t.Diff)); high != 0 || span > farAway {
				f.many = true
				return f
			}
			all = append(all, RunTally(at+uint64(t.Diff), t.Diff, t.Count))
			continue
		}
		sub := x.tally(s.Rule())
		if sub.many || len(all)+len(sub.all) > TooMany {
			f.many = true
			return f
		}
		for _, e := range sub.all {
			e.Base += at
			all = append(all, e)
		}
	}
	all = Condense(all)
	if len(all) > MaxTally || x.tallied+len(all) > maxTallied {
		f.many = true
		return f
	}
	x.tallied += len(all)
	f.all = slices.Clip(all)
	return f
}

// Condense merges tallies without changing the executions. It reorders its argument,
// whose tallies all belong to one site.
func Condense(all []Tally) []Tally {
	if len(all) < 2 {
		return all
	}
	slices.SortFunc(all, func(a, b Tally) int {
		switch {
		case a.Base != b.Base:
			return cmp.Compare(int64(a.Base), int64(b.Base))
		case a.Stride != b.Stride:
			return cmp.Compare(a.Stride, b.Stride)
		}
		return cmp.Compare(a.Count, b.Count)
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
	return regroup(out)
}

// regroup splits tallies into single addresses and forms new tallies of equal Times at
// equal distances. It does so only where neighbouring tallies are short and close
// together.
func regroup(all []Tally) []Tally {
	kept := all[:0]
	for i := 0; i < len(all); {
		lo, j := all[i].Base, i
		unit, places := uint64(0), uint64(0) // all distances are multiples of unit
		for ; j < len(all); j++ {
			t := &all[j]
			if t.Base-lo >= fpDense || t.Count > maxPlaces || t.Base+t.Stride*(t.Count-1)-lo >= fpDense {
				break
			}
			unit = gcd(gcd(unit, t.Base-lo), t.Stride)
			places += t.Count
		}
		part := all[i:max(j, i+1)]
		i += len(part)
		unit = max(unit, 1)
		if len(part) > 2 && places <= shortRuns*uint64(len(part)) && fpDense/unit <= maxPlaces {
			if fewer := regroupDense(part, lo, unit); len(fewer) < len(part) {
				part = fewer
			}
		}
		kept = append(kept, part...)
	}
	return kept
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// shortRuns is the mean Count up to which splitting tallies is worthwhile.
const shortRuns = 64

// regroupDense regroups tallies within fpDense bytes from lo, at addresses whose
// distances are multiples of unit.
func regroupDense(all []Tally, lo, unit uint64) []Tally {
	var times [maxPlaces]uint64
	high := uint64(0)
	for _, t := range all {
		at, step := (t.Base-lo)/unit, t.Stride/unit
		for range t.Count {
			times[at] += t.Times
			high = max(high, at)
			at += step
		}
	}
	var out, open []Tally // open has one for each value of Times
	for at, n := range times[:high+1] {
		if n == 0 {
			continue
		}
		i := 0
		for i < len(open) && open[i].Times != n {
			i++
		}
		one := Tally{Site: all[0].Site, Base: lo + uint64(at)*unit, Times: n, Count: 1}
		if i == len(open) {
			open = append(open, one)
			continue
		}
		t := &open[i]
		switch d := one.Base - t.Base; {
		case t.Count == 1:
			t.Stride, t.Count = d, 2
		case d == t.Stride*t.Count:
			t.Count++
		default:
			out = append(out, *t)
			*t = one
		}
		if len(out)+len(open) >= len(all) {
			return all
		}
	}
	return append(out, open...)
}

// Tallier yields the tallies of a segment.
type Tallier struct {
	Index *Index
	Width uint64
	Keep  func(lo, hi uint64) bool
	Yield func(Tally) bool
}

// put yields a tally if keep accepts its range.
func (c *Tallier) put(t Tally) bool { return !Within(c.Keep, t.Base, t.end(c.Width)) || c.Yield(t) }

// Walk yields accesses lo to hi of an occurrence of rule r that follows address at.
func (c *Tallier) Walk(r wpp.Rule, at, lo, hi uint64) bool {
	x := c.Index
	f := x.bound(r, c.Width)
	if f.lo == f.hi || !f.wild && !Within(c.Keep, at+uint64(f.lo), at+uint64(f.hi)) {
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
			return c.Walk(s.Rule(), before, from, end)
		}
		t := x.terms[s.Terminal()]
		if t.Skip {
			return true
		}
		one := RunTally(before+uint64(t.Diff)*(from+1), t.Diff, end-from)
		if f.wild {
			return c.Yield(one)
		}
		return c.put(one)
	})
}
