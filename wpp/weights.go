package wpp

import (
	"iter"
	"sort"
)

// Weights is the sum of unsigned weights of terminals over a grammar, stored as prefix
// sums within each rule body. What it counts depends on the weight: terminals if each
// weighs 1, units if a run weighs its length, occurrences if one terminal weighs 1 and
// the others 0. With the sync operations of a terminal it is the synchronisation count of
// the paper ([SyncCounts]).
//
// Rank and select take O(depth · log body length). Weights is safe for concurrent use.
type Weights struct {
	g *Grammar
	// prefix[off[r]+r+i] is the weight of the first i symbols of rule r. It has one more
	// entry for each rule than the rule has symbols.
	prefix []uint64
}

// NewWeights sums weights over the grammar, once for each rule. It returns [ErrTooLong]
// if the weight of the whole string exceeds [MaxLength].
func NewWeights(g *Grammar, weight func(Terminal) uint64) (*Weights, error) {
	w := &Weights{g: g, prefix: make([]uint64, 0, len(g.body)+g.Rules())}
	for r := range g.Rules() {
		sum := uint64(0)
		w.prefix = append(w.prefix, 0)
		for _, s := range g.Body(Rule(r)) {
			var one uint64
			if s.IsRule() {
				one = w.Rule(s.Rule())
			} else {
				one = weight(s.Terminal())
			}
			if one > MaxLength || sum+one > MaxLength {
				return nil, ErrTooLong
			}
			sum += one
			w.prefix = append(w.prefix, sum)
		}
	}
	return w, nil
}

// sums returns the prefix sums of a rule body, one more than it has symbols.
func (w *Weights) sums(r Rule) []uint64 {
	return w.prefix[w.g.off[r]+uint32(r) : w.g.off[r+1]+uint32(r)+1]
}

// Grammar returns the grammar of the weights.
func (w *Weights) Grammar() *Grammar { return w.g }

// Size returns the memory that the weights hold, in bytes, without the grammar.
func (w *Weights) Size() uint64 { return 32 + 8*uint64(cap(w.prefix)) }

// Total returns the weight of the string.
func (w *Weights) Total() uint64 { return w.prefix[len(w.prefix)-1] }

// Rule returns the weight of a rule.
func (w *Weights) Rule(r Rule) uint64 { return w.prefix[w.g.off[r+1]+uint32(r)] }

// Before returns the weight of the first i symbols of a rule body, for i from 0 to the
// length of the body.
func (w *Weights) Before(r Rule, i int) uint64 { return w.sums(r)[i] }

// At returns the weight of the terminal at the cursor, or 0 at the end.
func (w *Weights) At(c *Cursor) uint64 {
	top := c.path[len(c.path)-1]
	sums := w.sums(top.Rule)
	if int(top.Index)+1 >= len(sums) {
		return 0
	}
	return sums[top.Index+1] - sums[top.Index]
}

// Rank returns the weight of the string before the cursor.
func (w *Weights) Rank(c *Cursor) uint64 {
	sum := uint64(0)
	for _, p := range c.path {
		sum += w.prefix[w.g.off[p.Rule]+uint32(p.Rule)+p.Index]
	}
	return sum
}

// Select returns a cursor at the terminal that contains unit k of weight, counted from 0,
// and the offset of the unit within the terminal. If k is not below the total, ok is
// false and the cursor is at the end.
//
// It is the paper's Algorithm 1 for any weight; see [SyncCounts.Algorithm1].
func (w *Weights) Select(k uint64) (c *Cursor, offset uint64, ok bool) {
	c = &Cursor{g: w.g}
	offset, ok = w.Seek(c, k)
	return c, offset, ok
}

// Seek is Select for an existing cursor.
func (w *Weights) Seek(c *Cursor, k uint64) (offset uint64, ok bool) {
	c.g = w.g
	if k >= w.Total() {
		c.ToEnd()
		return 0, false
	}
	c.path = append(c.path[:0], Step{Rule: w.g.Start()})
	return w.down(c, k), true
}

// down descends from the rule of the last step to the terminal that contains unit k of
// that rule.
func (w *Weights) down(c *Cursor, k uint64) (offset uint64) {
	for {
		top := &c.path[len(c.path)-1]
		sums := w.sums(top.Rule)
		i := sort.Search(len(sums)-1, func(i int) bool { return sums[i+1] > k })
		top.Index = uint32(i)
		k -= sums[i]
		s := w.g.body[w.g.off[top.Rule]+top.Index]
		if !s.IsRule() {
			return k
		}
		c.path = append(c.path, Step{Rule: s.Rule()})
	}
}

// SkipTo moves to the first terminal with a weight, at the cursor or after it,
// and skips all rules without weight. If there is none, it reports false, and the
// cursor is at the end.
func (w *Weights) SkipTo(c *Cursor) bool {
	for len(c.path) > 0 {
		top := c.path[len(c.path)-1]
		sums := w.sums(top.Rule)
		if before := sums[top.Index]; before < sums[len(sums)-1] {
			w.down(c, before)
			return true
		}
		c.path = c.path[:len(c.path)-1]
		if len(c.path) > 0 {
			c.path[len(c.path)-1].Index++
		}
	}
	c.ToEnd()
	return false
}

// SkipBack moves to the last terminal with a weight before the cursor. If there
// is none, it reports false, and the cursor stays.
func (w *Weights) SkipBack(c *Cursor) bool {
	for up := len(c.path) - 1; up >= 0; up-- {
		top := c.path[up]
		if before := w.sums(top.Rule)[top.Index]; before > 0 {
			c.path = c.path[:up+1]
			w.down(c, before-1)
			return true
		}
	}
	return false
}

// Range iterates over the terminals that contain units lo to hi (exclusive) of weight, in
// order. Each comes with its units in that range, counted from the beginning of the
// terminal. The cursor is valid until the next step and must not be moved.
func (w *Weights) Range(lo, hi uint64) iter.Seq2[*Cursor, Units] {
	return func(yield func(*Cursor, Units) bool) {
		hi = min(hi, w.Total())
		if lo >= hi {
			return
		}
		c, offset, _ := w.Select(lo)
		for at := lo - offset; at < hi; {
			weight := w.At(c)
			u := Units{From: 0, To: min(weight, hi-at)}
			if at < lo {
				u.From = lo - at
			}
			if !yield(c, u) {
				return
			}
			at += weight
			c.Next()
			if !w.SkipTo(c) {
				return
			}
		}
	}
}

// Units is a half-open range of a terminal's weight.
type Units struct{ From, To uint64 }
