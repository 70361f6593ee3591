package fold

import (
	"errors"
	"math"
	"sort"

	"hindsight/cdr/format"
	"hindsight/wpp"
)

// ErrSearch says that a search was given up because it took too long.
var ErrSearch = errors.New("search given up")

// maxSearch limits the symbols that one search of an address string examines.
const maxSearch = 1 << 20

// Bounds knows, for each rule of an address grammar, how far its accesses lie from the
// address before the rule.
type Bounds struct {
	Index *Index
	rules []span
}

// span is a range of differences, both ends included.
type span struct {
	low, high int64
	any       bool // does not fit in an int64: any address
	none      bool // no access is recorded
}

func NewBounds(x *Index) *Bounds {
	b := &Bounds{Index: x, rules: make([]span, x.Grammar.Rules())}
	for r := range b.rules {
		sum, at := span{none: true}, int64(0)
		for _, sym := range x.Grammar.Body(wpp.Rule(r)) {
			sum = sum.cover(b.of(sym), at)
			_, d := x.symbol(sym)
			next := at + int64(d)
			if (int64(d) > 0) != (next > at) && d != 0 {
				sum.any = true
			}
			at = next
		}
		b.rules[r] = sum
	}
	return b
}

// of returns the span of a symbol.
func (b *Bounds) of(s wpp.Symbol) span {
	if s.IsRule() {
		return b.rules[s.Rule()]
	}
	t := b.Index.terms[s.Terminal()]
	if t.Skip || t.Count == 0 {
		return span{none: true}
	}
	if t.Count > math.MaxInt32 || t.Diff > math.MaxInt32 || t.Diff < math.MinInt32 {
		return span{any: t.Diff != 0}
	}
	last := t.Diff * int64(t.Count)
	return span{low: min(t.Diff, last), high: max(t.Diff, last)}
}

// cover extends s by t, moved by at.
func (s span) cover(t span, at int64) span {
	if t.none {
		return s
	}
	low, high := t.low+at, t.high+at
	any := s.any || t.any || (low > t.low) != (at > 0) && at != 0 || (high > t.high) != (at > 0) && at != 0
	if s.none {
		return span{low: low, high: high, any: any}
	}
	return span{low: min(s.low, low), high: max(s.high, high), any: any}
}

// meets reports whether an access of the span, from base, can touch one of the addresses
// of w.
func (s span) meets(base uint64, w Window) bool {
	if s.none {
		return false
	}
	return s.any || s.low <= w.offset(base)+w.Width && s.high >= w.offset(base)
}

// Window is the addresses from Low to Low+Width, both included.
type Window struct {
	Low   uint64
	Width int64
}

func (w Window) offset(base uint64) int64 { return int64(w.Low - base) }

func (w Window) has(addr uint64) bool { return addr-w.Low <= uint64(w.Width) }

// Extent returns the first and the last address of all accesses; high is below low if
// they are not known.
func (b *Bounds) Extent() (low, high uint64) {
	first := b.Index.First
	s := b.rules[b.Index.Grammar.Start()]
	switch {
	case s.none:
		return first, first
	case s.any:
		return 1, 0
	}
	low, high = first+uint64(min(s.low, 0)), first+uint64(max(s.high, 0))
	if low > first || high < first {
		return 1, 0 // around the end of the address space
	}
	return low, high
}

// Last finds the last access at one of the addresses of w whose ordinal is at least lower
// and below limit.
func (b *Bounds) Last(lower, limit uint64, w Window) (ordinal, addr uint64, ok bool, err error) {
	x := b.Index
	s := search{b: b, lower: lower, limit: limit, w: w, left: maxSearch}
	if limit > x.Lead+1 {
		ordinal, addr, ok = s.rule(x.Grammar.Start(), x.First, x.Lead+1)
		if ok || s.left <= 0 {
			if !ok {
				err = ErrSearch
			}
			return ordinal, addr, ok, err
		}
	}
	if limit > x.Lead && lower <= x.Lead && w.has(x.First) {
		return x.Lead, x.First, true, nil
	}
	return 0, 0, false, nil
}

type search struct {
	b     *Bounds
	lower uint64
	limit uint64
	w     Window
	left  int
}

// rule searches the string of r. Its first access has ordinal at, and the previous access
// was at address base.
func (s *search) rule(r wpp.Rule, base, at uint64) (ordinal, addr uint64, ok bool) {
	x := s.b.Index
	body := x.Grammar.Body(r)
	counts, diffs := x.count[x.off[r]:x.off[r+1]], x.diff[x.off[r]:x.off[r+1]]
	i := sort.Search(len(body), func(i int) bool { return at+counts[i] >= s.limit })
	for i--; i >= 0 && s.left > 0 && at+counts[i+1] > s.lower; i-- {
		s.left--
		from, first := base+diffs[i], at+counts[i]
		if !s.b.of(body[i]).meets(from, s.w) {
			continue
		}
		if body[i].IsRule() {
			ordinal, addr, ok = s.rule(body[i].Rule(), from, first)
		} else {
			ordinal, addr, ok = s.term(x.terms[body[i].Terminal()], from, first)
		}
		if ok {
			return ordinal, addr, true
		}
	}
	return 0, 0, false
}

// term searches a run of equal differences for the last k from 1 to its count with from +
// k·diff in the window.
func (s *search) term(t format.AddrTerm, from, first uint64) (ordinal, addr uint64, ok bool) {
	n := min(t.Count, s.limit-first)
	if n == 0 || t.Skip {
		return 0, 0, false
	}
	k := n
	if t.Diff != 0 {
		low, high, step := s.w.offset(from), s.w.offset(from)+s.w.Width, t.Diff
		if step < 0 {
			low, high, step = -high, -low, -step
		}
		if high < step {
			return 0, 0, false
		}
		k = min(n, uint64(high/step))
		if int64(k)*step < low {
			return 0, 0, false
		}
	} else if !s.w.has(from) {
		return 0, 0, false
	}
	return first + k - 1, from + k*uint64(t.Diff), first+k > s.lower
}
