package ldr

import (
	"math/rand/v2"
	"testing"
)

// TestLoopsAgainstDefinition compares the nesting with natural loops found by their
// definition: h dominates x if no path from node 0 to x avoids h, and the loop of h
// consists of h and of what reaches a back edge to h without passing h.
func TestLoopsAgainstDefinition(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for trial := range 400 {
		var g graph
		g.reset()
		n := int32(1 + rnd.IntN(12))
		for range n {
			g.node()
		}
		// The walk must reach every node, as in windows.
		at, seen := int32(0), map[int32]bool{0: true}
		for steps := 0; len(seen) < int(n) || steps < int(n); steps++ {
			next := rnd.Int32N(n)
			if rnd.IntN(2) == 0 {
				next = (at + 1) % n
			}
			g.edge(at, next)
			at = next
			seen[at] = true
		}
		got := g.loops()
		body := map[int32]map[int32]bool{}
		for h := range n {
			free := reach(&g, 0, h, false)
			for _, p := range g.pred[h] {
				if p != h && free[p] && h != 0 {
					continue // reached without h: not a back edge
				}
				if body[h] == nil {
					body[h] = map[int32]bool{h: true}
				}
				if p != h {
					for x := range reach(&g, p, h, true) {
						body[h][x] = true
					}
				}
			}
		}
		for h := range n {
			if got.header[h] != (body[h] != nil) {
				t.Fatalf("trial %d: node %d is a header: %v, want %v; %v", trial, h, got.header[h], body[h] != nil, g.succ)
			}
			for x := range n {
				if got.header[h] && got.contains(h, x) != body[h][x] {
					t.Fatalf("trial %d: loop %d holds %d: %v, want %v; %v", trial, h, x, got.contains(h, x), body[h][x], g.succ)
				}
			}
		}
	}
}

// reach returns the nodes that can be reached from a node, along edges or (with back)
// against them, without entering avoid.
func reach(g *graph, from, avoid int32, back bool) map[int32]bool {
	seen := map[int32]bool{}
	if from == avoid {
		return seen
	}
	work := []int32{from}
	for len(work) > 0 {
		x := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[x] || x == avoid {
			continue
		}
		seen[x] = true
		if back {
			work = append(work, g.pred[x]...)
		} else {
			work = append(work, g.succ[x]...)
		}
	}
	return seen
}
