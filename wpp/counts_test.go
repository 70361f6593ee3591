package wpp

import (
	"slices"
	"testing"
)

// TestCounts compares the counts with those of the expanded string.
func TestCounts(t *testing.T) {
	const alphabet = 6
	for s, g := range samples(100, alphabet) {
		want := make([]uint64, alphabet+1)
		for _, x := range s {
			want[x]++
		}
		if got := g.Counts(len(want)); !slices.Equal(got, want) {
			t.Fatalf("%v: %v, want %v", s, got, want)
		}
	}
}
