package cdr

import (
	"fmt"
	"sort"

	"hindsight/tracefmt"
	"hindsight/wpp"
)

// addrIndex finds places in the address string of a site: prefix sums of
// accesses and of address differences within each rule body. Ordinals count
// all accesses of the site in the stretch, those left out too.
type addrIndex struct {
	g     *wpp.Grammar
	terms []addrTerm
	first uint64
	lead  uint64
	off   []uint32
	// At off[r]+r+i: of the first i symbols of rule r.
	count []uint64
	diff  []uint64

	// Of the rules, computed when first needed.
	prints  []footprint
	bounds  []bound
	tallies []ruleTally
	tallied int // in tallies
	useless int // times in a row that [condense] made little of a segment's
}

func newAddrIndex(s *addrStream, terms []addrTerm) (*addrIndex, error) {
	x := &addrIndex{g: s.g, terms: terms, first: s.first, lead: s.lead}
	x.off = make([]uint32, s.g.Rules()+1)
	x.count = make([]uint64, 0, s.g.Symbols()+s.g.Rules())
	x.diff = make([]uint64, 0, s.g.Symbols()+s.g.Rules())
	for r := range s.g.Rules() {
		var count, diff uint64
		x.count, x.diff = append(x.count, 0), append(x.diff, 0)
		for _, sym := range s.g.Body(wpp.Rule(r)) {
			c, d := x.symbol(sym)
			count += c
			if count > maxCount {
				return nil, fmt.Errorf("data: number of accesses: %w", tracefmt.ErrTooLarge)
			}
			diff += d
			x.count, x.diff = append(x.count, count), append(x.diff, diff)
		}
		x.off[r+1] = uint32(len(x.count))
	}
	return x, nil
}

// symbol returns how many accesses a symbol makes, and how far the address
// moves.
func (x *addrIndex) symbol(s wpp.Symbol) (count, diff uint64) {
	if s.IsRule() {
		end := x.off[s.Rule()+1] - 1
		return x.count[end], x.diff[end]
	}
	t := x.terms[s.Terminal()]
	return t.count, uint64(t.diff) * t.count
}

// total is the number of accesses up to the last recorded one.
func (x *addrIndex) total() uint64 { return x.lead + 1 + x.count[len(x.count)-1] }

// skipped is the number of accesses left out between recorded ones.
func (x *addrIndex) skipped() uint64 {
	w, err := wpp.NewWeights(x.g, func(t wpp.Terminal) uint64 {
		if x.terms[t].skip {
			return x.terms[t].count
		}
		return 0
	})
	if err != nil {
		return 0 // cannot be: the sum of all counts is bounded
	}
	return w.Total()
}

// addrCursor walks an address string.
type addrCursor struct {
	x     *addrIndex
	at    uint64 // ordinal of the next access
	addr  uint64 // of the access before, when at > lead
	stack []addrStep
	term  addrTerm // the rest of the terminal that was begun
	busy  bool     // its runs are being handed out
}

type addrStep struct {
	rule  wpp.Rule
	index uint32
}

// seek moves to the access of that ordinal.
func (c *addrCursor) seek(ordinal uint64) {
	x := c.x
	c.stack = append(c.stack[:0], addrStep{rule: x.g.Start()})
	c.term = addrTerm{}
	if ordinal <= x.lead {
		c.at = ordinal
		return
	}
	c.at, c.addr = x.lead+1, x.first
	want := ordinal - c.at
	if ordinal >= x.total() {
		want = x.total() - c.at
	}
	for {
		top := &c.stack[len(c.stack)-1]
		sums := x.count[x.off[top.rule]:x.off[top.rule+1]]
		i := sort.Search(len(sums)-1, func(i int) bool { return sums[i+1] > want })
		top.index = uint32(i)
		want -= sums[i]
		c.at += sums[i]
		c.addr += x.diff[int(x.off[top.rule])+i]
		body := x.g.Body(top.rule)
		if i == len(body) {
			return // the end
		}
		top.index++
		s := body[i]
		if !s.IsRule() {
			c.term = x.terms[s.Terminal()]
			c.take(want)
			return
		}
		c.stack = append(c.stack, addrStep{rule: s.Rule()})
	}
}

// take passes over n accesses of the terminal that was begun.
func (c *addrCursor) take(n uint64) {
	c.term.count -= n
	c.at += n
	c.addr += uint64(c.term.diff) * n
}

// load begins the next terminal; it reports false at the end.
func (c *addrCursor) load() bool {
	for len(c.stack) > 0 {
		top := &c.stack[len(c.stack)-1]
		body := c.x.g.Body(top.rule)
		if int(top.index) >= len(body) {
			c.stack = c.stack[:len(c.stack)-1]
			continue
		}
		s := body[top.index]
		top.index++
		if !s.IsRule() {
			c.term = c.x.terms[s.Terminal()]
			return true
		}
		c.stack = append(c.stack, addrStep{rule: s.Rule()})
	}
	return false
}

// next returns the accesses with ordinals from at to end (exclusive) as strided
// runs, as long as possible; yield gets First as an ordinal within the
// stretch. It reports false when yield did.
func (c *addrCursor) next(end uint64, yield func(Run) bool) bool {
	var open Run
	put := func(base, stride, count uint64) bool {
		switch {
		case open.Count == 1 && open.First+1 == c.at && open.Base+stride == base:
			open.Stride = int64(stride)
			open.Count += count
			return true
		case open.Count > 1 && open.First+open.Count == c.at && uint64(open.Stride) == stride && open.Base+open.Count*stride == base:
			open.Count += count
			return true
		}
		if open.Count > 0 && !yield(open) {
			return false
		}
		open = Run{Base: base, Stride: int64(stride), Count: count, First: c.at}
		if count == 1 {
			open.Stride = 0
		}
		return true
	}
	for c.at < end {
		if c.at <= c.x.lead {
			if end <= c.x.lead {
				c.at = end
				break
			}
			c.at = c.x.lead
			if !put(c.x.first, 0, 1) {
				return false
			}
			c.at, c.addr = c.x.lead+1, c.x.first
			continue
		}
		if c.term.count == 0 && !c.load() {
			c.at = end // the rest was left out
			break
		}
		n := min(c.term.count, end-c.at)
		if !c.term.skip && !c.putTerm(n, put) {
			return false
		}
		c.take(n)
	}
	return open.Count == 0 || yield(open)
}

// putTerm hands over n accesses of the terminal that was begun. The first of
// them may go on with the run before even where the others do not.
func (c *addrCursor) putTerm(n uint64, put func(base, stride, count uint64) bool) bool {
	stride := uint64(c.term.diff)
	return put(c.addr+stride, stride, n)
}
