package fold

import (
	"errors"
	"testing"

	"hindsight/cdr/format"
	"hindsight/tracefmt"
	"hindsight/wpp"
)

// doublings returns the address string of a site: body, doubled n times.
func doublings(t *testing.T, n int, body ...wpp.Symbol) *format.AddrStream {
	t.Helper()
	rules := [][]wpp.Symbol{body}
	for i := range n {
		rules = append(rules, []wpp.Symbol{wpp.RuleSymbol(wpp.Rule(i)), wpp.RuleSymbol(wpp.Rule(i))})
	}
	g, err := wpp.NewGrammar(rules, wpp.Rule(n))
	if err != nil {
		t.Fatal(err)
	}
	return &format.AddrStream{Grammar: g, First: 0x1000}
}

// TestExplosiveGrammars uses address strings of 2^50 accesses and more, which no code may
// walk.
func TestExplosiveGrammars(t *testing.T) {
	var back []format.AddrTerm // to many places in a page, and back
	var sum int64
	for i := range int64(200) {
		d := i*i%97*24 + 1
		back, sum = append(back, format.AddrTerm{Diff: d, Count: 1}), sum+d
	}
	back = append(back, format.AddrTerm{Diff: -sum, Count: 1})
	var walk []wpp.Symbol
	for i := range back {
		walk = append(walk, wpp.TerminalSymbol(wpp.Terminal(i)))
	}
	far := []format.AddrTerm{{Diff: 1 << 30, Count: 1}, {Diff: 24, Count: 3}}
	tests := []struct {
		name    string
		n       int
		terms   []format.AddrTerm
		body    []wpp.Symbol
		extents int // at most this many
	}{
		{"to and fro", 50, []format.AddrTerm{{Diff: 8, Count: 1}, {Diff: -8, Count: 1}}, walk[:2], 4},
		{"on and on", 50, []format.AddrTerm{{Diff: 8, Count: 1}}, []wpp.Symbol{walk[0], walk[0]}, 2},
		{"scattered in a page", 45, back, walk, 300},
		{"far apart", 30, far, walk[:2], 1 << 20},
	}
	for _, tt := range tests {
		x, err := NewIndex(doublings(t, tt.n, tt.body...), tt.terms)
		if err != nil {
			t.Fatal(tt.name, err)
		}
		extents := 0
		c := Coverer{Index: x, Width: 8, Yield: func(Extent) bool { extents++; return extents <= tt.extents }}
		c.Cover(x.Grammar.Start(), x.First, 0, x.Total()-1)
		if extents > tt.extents && tt.name != "far apart" {
			t.Errorf("%s: more than %d extents", tt.name, tt.extents)
		}
		runs := 0
		f := Finder{Index: x, Width: 8, Keep: func(lo, hi uint64) bool { return lo <= 0x900 && 0x900 < hi },
			Yield: func(Run) bool { runs++; return runs < 100 }}
		f.Walk(x.Grammar.Start(), x.First, 0, x.Total()-1, 1)
	}
	if _, err := NewIndex(doublings(t, 60, walk[:2]...), back); !errors.Is(err, tracefmt.ErrTooLarge) {
		t.Errorf("2^61 accesses: %v", err)
	}
}
