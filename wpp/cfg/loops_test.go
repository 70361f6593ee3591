package cfg

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLoops finds the loops of a graph that has two nested loops, one of a single block,
// and one with two entries.
func TestLoops(t *testing.T) {
	g := Graph{{1}, {2, 6}, {3}, {3, 4}, {2, 5}, {1}, {7, 8}, {8}, {7, 9}, {}}
	var got [][]int
	for _, l := range g.Loops() {
		got = append(got, l.Blocks)
	}
	slices.SortFunc(got, slices.Compare)
	want := [][]int{{1, 2, 3, 4, 5}, {2, 3, 4}, {3}, {7, 8}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Fatalf("loops %v, want %v", got, want)
	}
}

// TestLoopsByReach checks in graphs of any shape that a block is in a loop if it can
// reach itself, that two blocks of a loop reach each other, and that loops are disjoint
// or nested.
func TestLoopsByReach(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		g := make(Graph, 2+rng.IntN(12))
		for v := range g {
			for range rng.IntN(3) {
				g[v] = append(g[v], rng.IntN(len(g)))
			}
		}
		reach := make([][]bool, len(g))
		for v := range g {
			reach[v] = make([]bool, len(g))
			for _, w := range g[v] {
				g.spread(w, reach[v])
			}
		}
		loops := g.Loops()
		for v := range g {
			in := slices.ContainsFunc(loops, func(l *Loop) bool { return l.Has(v) })
			if in != reach[v][v] {
				t.Fatalf("seed %d: block %d of %v is in a loop: %v", seed, v, g, in)
			}
		}
		for i, a := range loops {
			for _, v := range a.Blocks {
				for _, w := range a.Blocks {
					if !reach[v][w] {
						t.Fatalf("seed %d: %d does not reach %d in loop %v", seed, v, w, a.Blocks)
					}
				}
			}
			for _, b := range loops[:i] {
				common := 0
				for _, v := range a.Blocks {
					if b.Has(v) {
						common++
					}
				}
				if common != 0 && (common != len(a.Blocks) || len(b.Blocks) <= len(a.Blocks)) {
					t.Fatalf("seed %d: loops %v and %v", seed, b.Blocks, a.Blocks)
				}
			}
		}
	}
}
