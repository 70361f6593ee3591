package wpp

import (
	"slices"
	"testing"
)

// TestSparse compares sparse weights with full ones, at every position, if no, one or
// some terminals have a weight.
func TestSparse(t *testing.T) {
	for s, g := range samples(200, 6) {
		u := NewUses(g, 8)
		for _, list := range [][]Weighed{nil, {{7, 3}}, {{0, 1}}, {{2, 5}, {1, 2}}, {{0, 3}, {3, 0}, {5, 4}, {0, 1}}} {
			weights := map[Terminal]uint64{}
			for _, x := range list {
				weights[x.Terminal] += x.Weight
			}
			want, err := NewWeights(g, func(x Terminal) uint64 { return weights[x] })
			if err != nil {
				t.Fatal(err)
			}
			got := u.Weigh(list)
			if got.Total() != want.Total() {
				t.Fatalf("%v of %v: total %d, want %d", list, s, got.Total(), want.Total())
			}
			for i, c := range at(g) {
				if got.Rank(c) != want.Rank(c) || got.At(c) != want.At(c) {
					t.Fatalf("%v of %v at %d: rank %d weight %d, want %d and %d", list, s, i, got.Rank(c), got.At(c), want.Rank(c), want.At(c))
				}
			}
			for k := range want.Total() + 2 {
				c, offset, ok := got.Select(k)
				d, offset2, ok2 := want.Select(k)
				if ok != ok2 || offset != offset2 || !slices.Equal(c.Path(), d.Path()) {
					t.Fatalf("%v of %v: unit %d at %v+%d, want %v+%d", list, s, k, c.Path(), offset, d.Path(), offset2)
				}
			}
		}
	}
}
