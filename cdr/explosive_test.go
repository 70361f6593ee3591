package cdr

import (
	"errors"
	"testing"

	"hindsight/tracefmt"
	"hindsight/wpp"
)

// doublings is the address string of a site: n times doubled what body says.
func doublings(t *testing.T, n int, body ...wpp.Symbol) *addrStream {
	t.Helper()
	rules := [][]wpp.Symbol{body}
	for i := range n {
		rules = append(rules, []wpp.Symbol{wpp.RuleSymbol(wpp.Rule(i)), wpp.RuleSymbol(wpp.Rule(i))})
	}
	g, err := wpp.NewGrammar(rules, wpp.Rule(n))
	if err != nil {
		t.Fatal(err)
	}
	return &addrStream{g: g, first: 0x1000}
}

// TestExplosiveGrammars takes address strings of 2^50 accesses and more, which
// may not be walked.
func TestExplosiveGrammars(t *testing.T) {
	var back []addrTerm // many places in a page, and back
	var sum int64
	for i := range int64(200) {
		d := i*i%97*24 + 1
		back, sum = append(back, addrTerm{diff: d, count: 1}), sum+d
	}
	back = append(back, addrTerm{diff: -sum, count: 1})
	var walk []wpp.Symbol
	for i := range back {
		walk = append(walk, wpp.TerminalSymbol(wpp.Terminal(i)))
	}
	far := []addrTerm{{diff: 1 << 30, count: 1}, {diff: 24, count: 3}}
	tests := []struct {
		name    string
		n       int
		terms   []addrTerm
		body    []wpp.Symbol
		extents int // at most
	}{
		{"to and fro", 50, []addrTerm{{diff: 8, count: 1}, {diff: -8, count: 1}}, walk[:2], 4},
		{"on and on", 50, []addrTerm{{diff: 8, count: 1}}, []wpp.Symbol{walk[0], walk[0]}, 2},
		{"scattered in a page", 45, back, walk, 300},
		{"far apart", 30, far, walk[:2], 1 << 20},
	}
	for _, tt := range tests {
		x, err := newAddrIndex(doublings(t, tt.n, tt.body...), tt.terms)
		if err != nil {
			t.Fatal(tt.name, err)
		}
		extents := 0
		c := coverer{x: x, width: 8, yield: func(Extent) bool { extents++; return extents <= tt.extents }}
		c.cover(x.g.Start(), x.first, 0, x.total()-1)
		if extents > tt.extents && tt.name != "far apart" {
			t.Errorf("%s: more than %d extents", tt.name, tt.extents)
		}
		runs := 0
		f := finder{x: x, width: 8, keep: func(lo, hi uint64) bool { return lo <= 0x900 && 0x900 < hi },
			yield: func(Run) bool { runs++; return runs < 100 }}
		f.walk(x.g.Start(), x.first, 0, x.total()-1, 1)
	}
	if _, err := newAddrIndex(doublings(t, 60, walk[:2]...), back); !errors.Is(err, tracefmt.ErrTooLarge) {
		t.Errorf("2^61 accesses: %v", err)
	}
}
