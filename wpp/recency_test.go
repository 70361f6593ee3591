package wpp

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRecency compares the tree with a plain list.
func TestRecency(t *testing.T) {
	var l recency
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 10))
		uses := make([]uint32, 1+rng.IntN(20))
		sum := uint64(0)
		var todo []Rule
		for r := range uses {
			uses[r] = 1 + uint32(rng.IntN(5))
			sum += uint64(uses[r])
			for range uses[r] {
				todo = append(todo, Rule(r))
			}
		}
		rng.Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
		left := slices.Clone(uses)
		l.reset(uses, sum)
		var list []Rule // latest use last
		for _, r := range todo {
			l.used(r)
			if i := slices.Index(list, r); i >= 0 {
				list = slices.Delete(list, i, i+1)
			}
			if left[r]--; left[r] > 0 {
				list = append(list, r)
			}
			if int(l.live) != len(list) {
				t.Fatalf("%d rules, not %d", l.live, len(list))
			}
			for i, x := range list {
				d := uint32(len(list) - 1 - i)
				if l.distance(x) != d || l.at(d) != x {
					t.Fatalf("seed %d: rule %d at %d, found at %d; there is %d", seed, x, d, l.distance(x), l.at(d))
				}
			}
		}
	}
}
