package fold

import (
	"fmt"
	"math"
	"sort"

	"hindsight/cdr/format"
	"hindsight/tracefmt"
	"hindsight/wpp"
)

// Index finds places in the address string of a site, by prefix sums of accesses and of
// address differences within each rule body. Ordinals count all accesses of the site in
// the epoch, including those that were left out.
type Index struct {
	Grammar *wpp.Grammar
	terms   []format.AddrTerm
	First   uint64
	Lead    uint64
	off     []uint32
	// count[off[r]+r+i] is the sum over the first i symbols of rule r.
	count []uint64
	diff  []uint64

	// One for each rule, computed when first needed.
	prints  []footprint
	bounds  []bound
	tallies []ruleTally
	tallied int // number of tallies kept
	Useless int // how often in a row [Condense] hardly shortened the tallies of a segment
}

func NewIndex(s *format.AddrStream, terms []format.AddrTerm) (*Index, error) {
	x := &Index{Grammar: s.Grammar, terms: terms, First: s.First, Lead: s.Lead}
	x.off = make([]uint32, s.Grammar.Rules()+1)
	x.count = make([]uint64, 0, s.Grammar.Symbols()+s.Grammar.Rules())
	x.diff = make([]uint64, 0, s.Grammar.Symbols()+s.Grammar.Rules())
	for r := range s.Grammar.Rules() {
		var count, diff uint64
		x.count, x.diff = append(x.count, 0), append(x.diff, 0)
		for _, sym := range s.Grammar.Body(wpp.Rule(r)) {
			c, d := x.symbol(sym)
			count += c
			if count > format.MaxCount {
				return nil, fmt.Errorf("data: number of accesses: %w", tracefmt.ErrTooLarge)
			}
			diff += d
			x.count, x.diff = append(x.count, count), append(x.diff, diff)
		}
		x.off[r+1] = uint32(len(x.count))
	}
	return x, nil
}

// symbol returns how many accesses a symbol stands for, and by how much it moves the
// address.
func (x *Index) symbol(s wpp.Symbol) (count, diff uint64) {
	if s.IsRule() {
		end := x.off[s.Rule()+1] - 1
		return x.count[end], x.diff[end]
	}
	t := x.terms[s.Terminal()]
	return t.Count, uint64(t.Diff) * t.Count
}

// Total returns the number of accesses up to the last recorded one.
func (x *Index) Total() uint64 { return x.Lead + 1 + x.count[len(x.count)-1] }

// Skipped returns the number of accesses left out between recorded ones.
func (x *Index) Skipped() uint64 {
	w, err := wpp.NewWeights(x.Grammar, func(t wpp.Terminal) uint64 {
		if x.terms[t].Skip {
			return x.terms[t].Count
		}
		return 0
	})
	if err != nil {
		return 0 // cannot happen: the sum of all counts is bounded
	}
	return w.Total()
}

// Cursor walks an address string.
type Cursor struct {
	Index *Index
	At    uint64 // ordinal of the next access
	addr  uint64 // of the previous access, if At > Lead
	Stack []addrStep
	term  format.AddrTerm // the rest of the current terminal
}

// addrStep is the rest of a rule's body.
type addrStep struct{ rest []wpp.Symbol }

// Seek moves to the access with that ordinal.
func (c *Cursor) Seek(ordinal uint64) {
	x := c.Index
	start := x.Grammar.Start()
	c.Stack = append(c.Stack[:0], addrStep{x.Grammar.Body(start)})
	c.term = format.AddrTerm{}
	if ordinal <= x.Lead {
		c.At = ordinal
		return
	}
	c.At, c.addr = x.Lead+1, x.First
	want := min(ordinal, x.Total()) - c.At
	for r := start; ; {
		top := &c.Stack[len(c.Stack)-1]
		sums := x.count[x.off[r]:x.off[r+1]]
		i := sort.Search(len(sums)-1, func(i int) bool { return sums[i+1] > want })
		want -= sums[i]
		c.At += sums[i]
		c.addr += x.diff[int(x.off[r])+i]
		top.rest = top.rest[i:]
		if len(top.rest) == 0 {
			return // the end
		}
		s := top.rest[0]
		top.rest = top.rest[1:]
		if !s.IsRule() {
			c.term = x.terms[s.Terminal()]
			c.take(want)
			return
		}
		r = s.Rule()
		c.Stack = append(c.Stack, addrStep{x.Grammar.Body(r)})
	}
}

// take skips n accesses of the current terminal.
func (c *Cursor) take(n uint64) {
	c.term.Count -= n
	c.At += n
	c.addr += uint64(c.term.Diff) * n
}

// load moves to the next terminal. It reports false at the end.
func (c *Cursor) load() bool {
	for len(c.Stack) > 0 {
		top := &c.Stack[len(c.Stack)-1]
		if len(top.rest) == 0 {
			c.Stack = c.Stack[:len(c.Stack)-1]
			continue
		}
		s := top.rest[0]
		top.rest = top.rest[1:]
		if !s.IsRule() {
			c.term = c.Index.terms[s.Terminal()]
			return true
		}
		c.Stack = append(c.Stack, addrStep{c.Index.Grammar.Body(s.Rule())})
	}
	return false
}

// Run returns the longest strided run of the next accesses with ordinals below end. First
// is an ordinal within the epoch. ok is false when there are none.
func (c *Cursor) Run(end uint64) (open Run, ok bool) { return c.RunOf(end, math.MaxInt) }

// RunOf is Run with a limit on the terminals it reads. The run may then be shorter than
// possible, and ok may be false although At, the ordinal of the next access, is below
// end.
func (c *Cursor) RunOf(end uint64, terminals int) (open Run, ok bool) {
	for c.At < end {
		if c.At <= c.Index.Lead {
			if end <= c.Index.Lead {
				c.At = end
				break
			}
			open = Run{Base: c.Index.First, Count: 1, First: c.Index.Lead}
			c.At, c.addr = c.Index.Lead+1, c.Index.First
			continue
		}
		if c.term.Count == 0 {
			if terminals == 0 {
				break
			}
			terminals--
			if !c.load() {
				c.At = end // the rest was left out of the recording
				break
			}
		}
		n := min(c.term.Count, end-c.At)
		if c.term.Skip {
			c.take(n)
			continue
		}
		stride := uint64(c.term.Diff)
		base := c.addr + stride
		switch {
		case open.Count == 0:
			open = Run{Base: base, Stride: int64(stride), Count: n, First: c.At}
			if n == 1 {
				open.Stride = 0
			}
		case open.First+open.Count != c.At:
			return open, true
		case open.Count == 1 && open.Base+stride == base:
			open.Stride = int64(stride)
			open.Count += n
		case open.Count > 1 && uint64(open.Stride) == stride && open.Base+open.Count*stride == base:
			open.Count += n
		default:
			return open, true
		}
		c.take(n)
	}
	return open, open.Count > 0
}

// Next yields the accesses with ordinals from the current one to end (exclusive), in the
// runs of [Cursor.Run]. It returns false if yield did.
func (c *Cursor) Next(end uint64, yield func(Run) bool) bool {
	for {
		r, ok := c.Run(end)
		if !ok {
			return true
		}
		if !yield(r) {
			return false
		}
	}
}
