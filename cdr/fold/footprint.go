package fold

import (
	"cmp"
	"math/bits"
	"slices"

	"hindsight/cdr/format"
	"hindsight/wpp"
)

// Extent is a set of bytes: Count blocks of Len bytes, Stride bytes apart. If Bits is not
// nil, the set has only the bytes of each block whose bit is set: byte i has bit i%64 of
// word i/64. Bits must not be changed.
type Extent struct {
	Site   format.SiteID
	Base   uint64
	Len    uint64
	Stride uint64
	Count  uint64
	Bits   []uint64
}

// footprint is the set of bytes that an occurrence of a rule accesses, relative to the
// previous address. It is computed once for each rule.
type footprint struct {
	extents []Extent
	lo, hi  int64 // first byte, and the one after the last; equal if there is none
	state   fpState
	wild    bool // lo and hi are not known because the addresses wrap around
}

type fpState uint8

const (
	fpUnknown fpState = iota
	fpKnown
	fpMany // more extents than are worth keeping; lo and hi are known
)

// farAway is the distance in bytes beyond which addresses are not compared any more.
const farAway = 1 << 60

func magnitude(d int64) uint64 {
	if d < 0 {
		return -uint64(d)
	}
	return uint64(d)
}

// maxExtents limits the extents that are kept of a rule.
const maxExtents = 48

// TooMany limits the extents that are collected of a rule before they are simplified.
const TooMany = 1 << 13

// fpDense is the largest span of a rule, in bytes, whose bytes are examined one by one to
// find the shortest form.
const fpDense = 1 << 15

// footprint returns the footprint of a rule whose accesses have width bytes.
func (x *Index) footprint(r wpp.Rule, width uint64) *footprint {
	if x.prints == nil {
		x.prints = make([]footprint, x.Grammar.Rules())
	}
	f := &x.prints[r]
	if f.state != fpUnknown {
		return f
	}
	all, known := x.union(f, r, width)
	f.state = fpMany
	if known {
		f.settle(simplify(all))
	}
	return f
}

// union finds how far the accesses of a rule reach and lists their extents. It reports
// whether the list is complete.
func (x *Index) union(f *footprint, r wpp.Rule, width uint64) (all []Extent, known bool) {
	known = true
	begun := false
	diffs := x.diff[x.off[r]:x.off[r+1]]
	for i, s := range x.Grammar.Body(r) {
		var part footprint
		part, all = x.reach(s, diffs[i], width, all)
		if part.lo == part.hi {
			continue
		}
		if !begun {
			f.lo, f.hi, begun = part.lo, part.hi, true
		}
		f.lo, f.hi = min(f.lo, part.lo), max(f.hi, part.hi)
		if part.wild || f.wild || part.lo < -farAway || part.hi > farAway {
			f.wild = true
			f.lo, f.hi = 0, 1
		}
		known = known && !f.wild && part.state == fpKnown
		if len(all) > TooMany {
			all = simplify(all)
			known = known && len(all) <= TooMany/2
		}
		if !known {
			all = all[:0]
		}
	}
	return all, known
}

// reach returns how far the accesses of a symbol reach when it begins at address
// at, and appends their extents.
func (x *Index) reach(s wpp.Symbol, at, width uint64, all []Extent) (footprint, []Extent) {
	if s.IsRule() {
		sub := x.footprint(s.Rule(), width)
		for _, e := range sub.extents {
			e.Base += at
			all = append(all, e)
		}
		return footprint{lo: int64(at) + sub.lo, hi: int64(at) + sub.hi, wild: sub.wild, state: sub.state}, all
	}
	t := x.terms[s.Terminal()]
	if t.Skip {
		return footprint{}, all
	}
	high, span := bits.Mul64(t.Count, magnitude(t.Diff))
	e := TermExtent(t, at, width)
	return footprint{
		lo: int64(e.Base), hi: int64(e.Base + e.Stride*(e.Count-1) + e.Len),
		wild: high != 0 || span > farAway, state: fpKnown,
	}, append(all, e)
}

// settle keeps the extents of a rule unless they are too many. It keeps a set of bytes
// instead where that is shorter.
func (f *footprint) settle(all []Extent) {
	switch {
	case len(all) <= maxExtents:
		f.extents, f.state = slices.Clip(all), fpKnown
	case f.hi-f.lo <= fpDense && (f.hi-f.lo)/64 <= 2*int64(len(all)):
		var dots [fpDense / 64]uint64
		draw(&dots, all, uint64(f.lo))
		bits := slices.Clone(dots[:(f.hi-f.lo+63)/64])
		f.extents, f.state = []Extent{{Base: uint64(f.lo), Len: uint64(f.hi - f.lo), Count: 1, Bits: bits}}, fpKnown
	}
}

// TermExtent returns the bytes that the accesses of a terminal touch, after an access at
// address at.
func TermExtent(t format.AddrTerm, at, width uint64) Extent {
	base, stride := at+uint64(t.Diff), uint64(t.Diff)
	if t.Diff < 0 {
		stride = -stride
		base -= stride * (t.Count - 1)
	}
	return oneBlock(Extent{Base: base, Len: width, Stride: stride, Count: t.Count})
}

// oneBlock merges blocks that touch each other into one.
func oneBlock(e Extent) Extent {
	if e.Count > 1 && e.Stride <= e.Len {
		e.Len += e.Stride * (e.Count - 1)
		e.Count = 1
	}
	if e.Count == 1 {
		e.Stride = 0
	}
	return e
}

// simplify writes the same bytes as fewer extents where it can. It reorders
// its argument.
func simplify(all []Extent) []Extent {
	if len(all) < 2 {
		return all
	}
	lo, hi := int64(all[0].Base), int64(all[0].Base)
	for _, e := range all {
		lo, hi = min(lo, int64(e.Base)), max(hi, int64(e.Base+e.Stride*(e.Count-1)+e.Len))
	}
	if hi > lo && hi-lo <= fpDense && len(all) > 4 {
		return repaint(all, uint64(lo), uint64(hi-lo))
	}
	slices.SortFunc(all, func(a, b Extent) int {
		switch x, y := int64(a.Base), int64(b.Base); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	out := all[:1]
	for _, e := range all[1:] {
		if last := &out[len(out)-1]; !join(last, e) {
			out = append(out, e)
		}
	}
	return weave(group(out))
}

// join merges e into last if the result is one extent. e does not begin before last.
func join(last *Extent, e Extent) bool {
	d := e.Base - last.Base
	if last.Bits != nil || e.Bits != nil {
		return last.Bits == nil && last.Count == 1 && d <= last.Len && d+e.Stride*(e.Count-1)+e.Len <= last.Len
	}
	switch {
	case last.Count == 1 && e.Count == 1:
		if d > last.Len {
			return false
		}
		last.Len = max(last.Len, d+e.Len)
	case last.Count == 1: // e is inside last
		if d > last.Len || d+e.Stride*(e.Count-1)+e.Len > last.Len {
			return false
		}
	case e.Count == 1:
		if d%last.Stride+e.Len > last.Len || d/last.Stride >= last.Count {
			return e.Len == last.Len && d == last.Stride*last.Count && extend(last, 1)
		}
	default: // the same blocks, or the next ones
		if e.Stride != last.Stride || e.Len != last.Len || d%last.Stride != 0 || d/last.Stride > last.Count {
			return false
		}
		last.Count = max(last.Count, d/last.Stride+e.Count)
	}
	return true
}

func extend(e *Extent, n uint64) bool {
	e.Count += n
	return true
}

// group joins single blocks of equal length at equal distances. They are in order of
// address.
func group(all []Extent) []Extent {
	out := all[:0]
	for i := 0; i < len(all); {
		e := all[i]
		i++
		for e.Bits == nil {
			if i == len(all) || all[i].Bits != nil || all[i].Count != 1 || all[i].Len != e.Len || all[i].Base == e.Base {
				break
			}
			d := all[i].Base - e.Base
			if e.Count > 1 && d != e.Stride*e.Count || e.Count == 1 && d < e.Len {
				break
			}
			if e.Count == 1 {
				e.Stride = d
			}
			e.Count++
			i++
		}
		out = append(out, e)
	}
	return out
}

// draw sets the bits of the bytes of the extents, which begin at lo or later.
func draw(dots *[fpDense / 64]uint64, all []Extent, lo uint64) {
	for _, e := range all {
		for i := range e.Count {
			from := e.Base + i*e.Stride - lo
			if e.Bits != nil {
				stamp(dots, e.Bits, from)
				continue
			}
			for n := e.Len; n > 0; {
				k := min(n, 64-from&63)
				dots[from>>6] |= (^uint64(0) >> (64 - k)) << (from & 63)
				from += k
				n -= k
			}
		}
	}
}

// stamp sets the bits from bit number from on.
func stamp(dots *[fpDense / 64]uint64, bits []uint64, from uint64) {
	for _, b := range bits {
		dots[from>>6] |= b << (from & 63)
		if high := b >> 1 >> (63 - from&63); high != 0 {
			dots[from>>6+1] |= high
		}
		from += 64
	}
}

// weave joins extents with blocks at the same distances that lie between each
// other, such as the columns of a matrix.
func weave(all []Extent) []Extent {
	if len(all) <= maxExtents/2 {
		return all
	}
	slices.SortFunc(all, func(a, b Extent) int {
		switch {
		case a.Stride != b.Stride:
			return cmp.Compare(a.Stride, b.Stride)
		case a.Count != b.Count:
			return cmp.Compare(a.Count, b.Count)
		}
		return cmp.Compare(int64(a.Base), int64(b.Base))
	})
	out := all[:0]
	for i := 0; i < len(all); {
		e, j := all[i], i+1
		size := e.Len
		for ; j < len(all) && all[j].Stride == e.Stride && all[j].Count == e.Count; j++ {
			to := max(size, all[j].Base-e.Base+all[j].Len)
			if e.Count == 1 || to > min(e.Stride, fpDense) {
				break
			}
			size = to
		}
		if j > i+1 {
			var dots [fpDense / 64]uint64
			blocks := slices.Clone(all[i:j])
			for k := range blocks {
				blocks[k].Count = 1
			}
			draw(&dots, blocks, e.Base)
			e.Len = size
			e.Bits = slices.Clone(dots[:(e.Len+63)/64])
		}
		out = append(out, e)
		i = j
	}
	return out
}

// repaint paints the extents on a map of size bytes from lo on and reads them
// off again.
func repaint(all []Extent, lo, size uint64) []Extent {
	var dots [fpDense / 64]uint64
	draw(&dots, all, lo)
	out := all[:0]
	for at := uint64(0); at < size; {
		if dots[at>>6]>>(at&63) == 0 {
			at = at&^63 + 64
			continue
		}
		if dots[at>>6]>>(at&63)&1 == 0 {
			at++
			continue
		}
		from := at
		for at < size && dots[at>>6]>>(at&63)&1 != 0 {
			if at&63 == 0 && dots[at>>6] == ^uint64(0) {
				at += 64
			} else {
				at++
			}
		}
		out = append(out, Extent{Base: lo + from, Len: min(at, size) - from, Count: 1})
	}
	return group(out)
}

// Coverer hands out the extents of a segment.
type Coverer struct {
	Index *Index
	Width uint64
	Yield func(Extent) bool
	// The occurrences of rules without a footprint that were handed out. A grammar may
	// repeat one of them too often to walk it each time.
	seen map[occurrence]struct{}
}

type occurrence struct {
	rule wpp.Rule
	at   uint64
}

// maxSeen limits the occurrences in seen.
const maxSeen = 1 << 18

// Cover hands out extents that make up the bytes of accesses lo to hi (exclusive) of an
// occurrence of rule r that follows address at.
func (c *Coverer) Cover(r wpp.Rule, at, lo, hi uint64) bool {
	x := c.Index
	sums := x.count[x.off[r]:x.off[r+1]]
	if lo == 0 && hi == sums[len(sums)-1] {
		if f := x.footprint(r, c.Width); f.state == fpKnown {
			for _, e := range f.extents {
				e.Base += at
				if !c.Yield(e) {
					return false
				}
			}
			return true
		}
		key := occurrence{r, at}
		if _, ok := c.seen[key]; ok {
			return true
		}
		if c.seen == nil || len(c.seen) >= maxSeen {
			c.seen = map[occurrence]struct{}{}
		}
		c.seen[key] = struct{}{}
	}
	return x.parts(r, at, lo, hi, func(s wpp.Symbol, at, lo, hi, _ uint64) bool {
		if s.IsRule() {
			return c.Cover(s.Rule(), at, lo, hi)
		}
		t := x.terms[s.Terminal()]
		if t.Skip {
			return true
		}
		at += uint64(t.Diff) * lo
		t.Count = hi - lo
		return c.Yield(TermExtent(t, at, c.Width))
	})
}

// parts calls yield for the symbols of a rule that hold its accesses lo to hi: with the
// address before each symbol, the range of the symbol's accesses, and the number of the
// rule's accesses before it.
func (x *Index) parts(r wpp.Rule, at, lo, hi uint64, yield func(s wpp.Symbol, at, lo, hi, skipped uint64) bool) bool {
	sums, diffs, body := x.count[x.off[r]:x.off[r+1]], x.diff[x.off[r]:x.off[r+1]], x.Grammar.Body(r)
	i, _ := slices.BinarySearch(sums, lo+1) // the first with more than lo accesses before it
	for i = max(i-1, 0); i < len(body) && sums[i] < hi; i++ {
		from, end := max(lo, sums[i]), min(hi, sums[i+1])
		if from < end && !yield(body[i], at+diffs[i], from-sums[i], end-sums[i], sums[i]) {
			return false
		}
	}
	return true
}

// partsBack is parts in the opposite order, the last symbol first.
func (x *Index) partsBack(r wpp.Rule, at, lo, hi uint64, yield func(s wpp.Symbol, at, lo, hi, skipped uint64) bool) bool {
	sums, diffs, body := x.count[x.off[r]:x.off[r+1]], x.diff[x.off[r]:x.off[r+1]], x.Grammar.Body(r)
	i, _ := slices.BinarySearch(sums, hi) // the first with hi or more accesses before it
	for i = min(i, len(body)) - 1; i >= 0 && sums[i+1] > lo; i-- {
		from, end := max(lo, sums[i]), min(hi, sums[i+1])
		if from < end && !yield(body[i], at+diffs[i], from-sums[i], end-sums[i], sums[i]) {
			return false
		}
	}
	return true
}
