package fold

import (
	"maps"
	"math/rand/v2"
	"testing"

	"hindsight/cdr/format"
	"hindsight/wpp"
)

// TestCondense compares tallies before and after.
func TestCondense(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	spread := func(all []Tally) map[uint64]uint64 {
		m := map[uint64]uint64{}
		for _, y := range all {
			for i := range y.Count {
				m[y.Base+i*y.Stride] += y.Times
			}
		}
		return m
	}
	for range 20000 {
		var all []Tally
		for range 1 + rng.IntN(40) {
			y := RunTally(rng.Uint64N(100)*4-200, rng.Int64N(7)*4-12, 1+rng.Uint64N(9))
			if rng.IntN(9) == 0 {
				y.Base += 1 << 20
			}
			all = append(all, y)
		}
		want := spread(all)
		before := append([]Tally(nil), all...)
		if out := Condense(all); len(out) > len(before) || !maps.Equal(want, spread(out)) {
			t.Fatalf("%v became %v", before, out)
		}
	}
	var all []Tally // a triangle: column j of each row j+1 times
	for i := range uint64(16) {
		for j := range uint64(16) {
			all = append(all, Tally{Base: i*128 + j*8, Stride: 8, Count: 16 - j, Times: 1})
		}
	}
	if out := Condense(all); len(out) != 16 {
		t.Errorf("a triangle as %d tallies, want 16", len(out))
	}
}

// TestSimplify compares sets of bytes before and after.
func TestSimplify(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	bytes := func(all []Extent) map[uint64]bool {
		m := map[uint64]bool{}
		for _, e := range all {
			for i := range e.Count {
				for b := range e.Len {
					if e.Bits == nil || e.Bits[b/64]>>(b%64)&1 != 0 {
						m[e.Base+i*e.Stride+b] = true
					}
				}
			}
		}
		return m
	}
	for i := range 20000 {
		var all []Extent
		far := rng.Uint64N(2) * fpDense
		for range 1 + rng.IntN(9) + i%50/49*60 {
			e := Extent{Base: rng.Uint64N(100) - 50, Len: 1 + rng.Uint64N(9), Stride: rng.Uint64N(30), Count: 1 + rng.Uint64N(6)}
			if rng.IntN(3) == 0 {
				e.Base += far
			}
			if rng.IntN(2) == 0 {
				e.Len, e.Stride = 8, 16
				e.Base &^= 7
			}
			if rng.IntN(5) == 0 {
				e = Extent{Base: e.Base, Len: 1 + rng.Uint64N(150), Count: 1}
				e.Bits = make([]uint64, (e.Len+63)/64)
				for b := range e.Len {
					e.Bits[b/64] |= rng.Uint64N(2) << (b % 64)
				}
			}
			all = append(all, oneBlock(e))
		}
		want := bytes(all)
		before := append([]Extent(nil), all...)
		out := simplify(all)
		if !maps.Equal(want, bytes(out)) {
			t.Fatalf("%v became %v", before, out)
		}
	}
}

// TestBounds compares the bounds of rules with their footprints.
func TestBounds(t *testing.T) {
	rules := 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 5))
		terms := make([]format.AddrTerm, 3+rng.IntN(9))
		for i := range terms {
			terms[i] = format.AddrTerm{Diff: rng.Int64N(200) - 100, Count: 1 + rng.Uint64N(6), Skip: rng.IntN(9) == 0}
			if terms[i].Skip {
				terms[i].Diff = 0
			}
		}
		var b wpp.Builder
		for range 3000 {
			b.Append(wpp.Terminal(rng.IntN(1 + rng.IntN(len(terms)))))
		}
		x, err := NewIndex(&format.AddrStream{Grammar: b.Grammar(), First: 1 << 30}, terms)
		if err != nil {
			t.Fatal(err)
		}
		for r := range x.Grammar.Rules() {
			b, f := x.bound(wpp.Rule(r), 4), x.footprint(wpp.Rule(r), 4)
			if b.wild != f.wild || !b.wild && (b.lo != f.lo || b.hi != f.hi) {
				t.Fatalf("rule %d: %+v, but the footprint has %d to %d", r, b, f.lo, f.hi)
			}
			rules++
		}
	}
	if rules < 1000 {
		t.Errorf("%d rules: nothing is tested", rules)
	}
}
