package cfg

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// shapes are small graphs written by hand.
var shapes = map[string]struct {
	g      Graph
	paths  uint64 // number of paths that begin at node 0
	back   int    // retreating edges
	dom    []int
	post   []int
	depend map[int][]Dependence // of the nodes that depend on something
}{
	"straight":    {Graph{{1}, {2}, {}}, 3, 0, []int{None, 0, 1}, []int{1, 2, None}, nil},
	"diamond":     {Graph{{1, 2}, {3}, {3}, {}}, 5, 0, []int{None, 0, 0, 0}, []int{3, 3, 3, None}, map[int][]Dependence{1: {{0, 0}}, 2: {{0, 1}}}},
	"loop":        {Graph{{1}, {2, 3}, {1}, {}}, 4, 1, []int{None, 0, 1, 1}, []int{1, 3, 1, None}, map[int][]Dependence{1: {{1, 0}}, 2: {{1, 0}}}},
	"nested":      {Graph{{1}, {2}, {2, 3}, {1, 4}, {}}, 5, 2, []int{None, 0, 1, 2, 3}, []int{1, 2, 3, 4, None}, map[int][]Dependence{1: {{3, 0}}, 2: {{2, 0}, {3, 0}}, 3: {{3, 0}}}},
	"switch":      {Graph{{1, 2, 3, 4}, {4}, {4}, {4}, {}}, 8, 0, []int{None, 0, 0, 0, 0}, []int{4, 4, 4, 4, None}, map[int][]Dependence{1: {{0, 0}}, 2: {{0, 1}}, 3: {{0, 2}}}},
	"irreducible": {Graph{{1, 2}, {2}, {1, 3}, {}}, 6, 1, []int{None, 0, 0, 2}, []int{2, 2, 3, None}, map[int][]Dependence{1: {{0, 0}, {2, 0}}, 2: {{2, 0}}}},
	"for ever":    {Graph{{1}, {1}}, 2, 1, []int{None, 0}, []int{1, None}, nil},
}

func noCut(int, int) bool { return false }

func TestShapes(t *testing.T) {
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			p := Number(s.g, noCut, MaxPaths)
			if p.NumPaths(0) != s.paths {
				t.Errorf("%d paths, want %d", p.NumPaths(0), s.paths)
			}
			back := 0
			for _, row := range s.g.Retreating() {
				for _, b := range row {
					if b {
						back++
					}
				}
			}
			if back != s.back {
				t.Errorf("%d retreating edges, want %d", back, s.back)
			}
			dom, post := s.g.Dominators(), s.g.PostDominators(func(int) bool { return false })
			for v := range s.g {
				if dom.Parent(v) != s.dom[v] || post.Parent(v) != s.post[v] {
					t.Errorf("node %d: dominated by %d, post-dominated by %d; want %d, %d", v, dom.Parent(v), post.Parent(v), s.dom[v], s.post[v])
				}
			}
			for v, got := range s.g.ControlDependence(post) {
				want := s.depend[v]
				if name == "for ever" && v == 1 {
					continue // the node that counts as the way out decides about the loop
				}
				if !slices.Equal(got, want) {
					t.Errorf("node %d depends on %v, want %v", v, got, want)
				}
			}
		})
	}
}

// randomGraph returns a graph of n nodes with up to 3 successors each, forward and
// backward.
func randomGraph(rng *rand.Rand, n int) Graph {
	g := make(Graph, n)
	for v := range g {
		for range rng.IntN(4) {
			w := rng.IntN(n)
			if v+1 < n && rng.IntN(3) > 0 {
				w = v + 1 + rng.IntN(min(n-v-1, 4)) // mostly forward, as in real code
			}
			if !slices.Contains(g[v], w) {
				g[v] = append(g[v], w)
			}
		}
	}
	return g
}

// TestNumbering compares with an enumeration of all paths. There are as many as NumPaths
// says, and each has a number of its own below that, which decodes to the path. With a
// limit, fewer edges take part, and the rest still holds.
func TestNumbering(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for round := range 2000 {
		g := randomGraph(rng, 1+rng.IntN(12))
		limit := uint64(MaxPaths)
		if round%3 == 0 {
			limit = 1 + rng.Uint64N(30)
		}
		mask := rng.Uint64() & rng.Uint64()
		cut := func(v, edge int) bool { return mask>>(uint(4*v+edge)%64)&1 != 0 }
		p := Number(g, cut, limit)
		for v := range g {
			seen := map[uint64]bool{}
			enumerate(t, p, []int{v}, 0, seen)
			if n := p.NumPaths(v); uint64(len(seen)) != n || n > limit {
				t.Fatalf("graph %v: %d paths from %d, NumPaths %d, limit %d", g, len(seen), v, n, limit)
			}
			for id := range seen {
				if id >= p.NumPaths(v) {
					t.Fatalf("graph %v: number %d of %d", g, id, p.NumPaths(v))
				}
			}
			if _, err := p.Decode(v, p.NumPaths(v)); !errors.Is(err, ErrPath) {
				t.Fatalf("number out of range: %v", err)
			}
			for i, w := range g[v] {
				if _, c, ok := p.Edge(v, w); !ok || cut(v, i) && !c {
					t.Fatalf("edge %d→%d: cut %v, ok %v", v, w, c, ok)
				}
			}
		}
		if again := Number(g, cut, limit); fmt.Sprint(again.val, again.cut) != fmt.Sprint(p.val, p.cut) {
			t.Fatal("numbering twice differs")
		}
	}
}

// enumerate walks every path that continues the given one.
func enumerate(t *testing.T, p *Paths, path []int, id uint64, seen map[uint64]bool) {
	t.Helper()
	if seen[id] {
		t.Fatalf("number %d twice from %d", id, path[0])
	}
	seen[id] = true
	if got, err := p.Decode(path[0], id); err != nil || !slices.Equal(got, path) {
		t.Fatalf("path %v has number %d, which decodes to %v, %v", path, id, got, err)
	}
	v := path[len(path)-1]
	for _, w := range p.g[v] {
		val, cut, ok := p.Edge(v, w)
		if !ok {
			t.Fatalf("no edge %d→%d", v, w)
		}
		if !cut {
			enumerate(t, p, append(slices.Clone(path), w), id+val, seen)
		}
	}
}

// TestRandomWalks cuts long random walks into paths, as a recorder does, and reassembles
// them.
func TestRandomWalks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for range 300 {
		g := randomGraph(rng, 2+rng.IntN(60))
		p := Number(g, noCut, 1<<uint(1+rng.IntN(30)))
		type id struct {
			start  int
			number uint64
		}
		var walk []int
		var ids []id
		v, cur := 0, id{}
		for range 500 {
			walk = append(walk, v)
			if len(g[v]) == 0 {
				break
			}
			w := g[v][rng.IntN(len(g[v]))]
			val, cut, _ := p.Edge(v, w)
			if cut {
				ids, cur = append(ids, cur), id{start: w}
			} else {
				cur.number += val
			}
			v = w
		}
		if walk[len(walk)-1] != v || len(g[v]) != 0 {
			walk = append(walk, v) // the node after the last step
		}
		ids = append(ids, cur)
		var got []int
		for _, i := range ids {
			path, err := p.Decode(i.start, i.number)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, path...)
		}
		if !slices.Equal(got, walk) {
			t.Fatalf("graph %v:\nwalked  %v\ndecoded %v", g, walk, got)
		}
	}
}

// TestDiamondChain has 2^n paths, which the limit must stop.
func TestDiamondChain(t *testing.T) {
	var g Graph
	for i := range 100 {
		v := 3 * i
		g = append(g, []int{v + 1, v + 2}, []int{v + 3}, []int{v + 3})
	}
	g = append(g, nil)
	p := Number(g, noCut, MaxPaths)
	cut := 0
	for v := range g {
		if n := p.NumPaths(v); n == 0 || n > MaxPaths {
			t.Fatalf("%d paths from %d", n, v)
		}
		for _, w := range g[v] {
			if _, c, _ := p.Edge(v, w); c {
				cut++
			}
		}
	}
	if cut == 0 || cut > 20 {
		t.Errorf("%d edges cut", cut)
	}
}

// reaches reports whether b can be reached from one of the given nodes without passing
// through the node without.
func reaches(g Graph, from []int, b, without int) bool {
	seen := make([]bool, len(g))
	if without != None {
		seen[without] = true
	}
	for _, v := range from {
		g.spread(v, seen)
	}
	return b != without && seen[b]
}

// TestDominance compares the trees with their definition: a dominates b if b cannot be
// reached without a.
func TestDominance(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 5))
	for range 400 {
		g := randomGraph(rng, 1+rng.IntN(14))
		mask := rng.Uint64() & rng.Uint64() & rng.Uint64()
		leaves := func(v int) bool { return mask>>v&1 != 0 }
		r := g.reverse()
		var entries, exits []int
		seen := make([]bool, len(g))
		for v := range g {
			if !seen[v] {
				entries = append(entries, v)
				g.spread(v, seen)
			}
		}
		clear(seen)
		for v := range g {
			if len(g[v]) == 0 || leaves(v) {
				exits = append(exits, v)
				r.spread(v, seen)
			}
		}
		for v := len(g) - 1; v >= 0; v-- {
			if !seen[v] {
				exits = append(exits, v)
				r.spread(v, seen)
			}
		}
		dom, post := g.Dominators(), g.PostDominators(leaves)
		for a := range g {
			for b := range g {
				if got, want := dom.Dominates(a, b), !reaches(g, entries, b, a); got != want {
					t.Fatalf("graph %v: %d dominates %d: %v, want %v", g, a, b, got, want)
				}
				if got, want := post.Dominates(a, b), !reaches(r, exits, b, a); got != want {
					t.Fatalf("graph %v: %d post-dominates %d: %v, want %v", g, a, b, got, want)
				}
			}
		}
		checkParents(t, g, dom)
		checkParents(t, g, post)
		checkDependence(t, g, post)
	}
}

// checkParents checks that the parent is the nearest strict dominator.
func checkParents(t *testing.T, g Graph, tree *Tree) {
	t.Helper()
	for b := range g {
		for a := range g {
			if a != b && tree.Dominates(a, b) && (tree.Parent(b) == None || !tree.Dominates(a, tree.Parent(b))) {
				t.Fatalf("graph %v: %d dominates %d, but not its parent %d", g, a, b, tree.Parent(b))
			}
		}
		if p := tree.Parent(b); p != None && (p == b || !tree.Dominates(p, b)) {
			t.Fatalf("graph %v: parent %d of %d", g, p, b)
		}
	}
}

// checkDependence compares with the definition: w depends on the edge u→v if w
// post-dominates v and does not strictly post-dominate u.
func checkDependence(t *testing.T, g Graph, post *Tree) {
	t.Helper()
	deps := g.ControlDependence(post)
	for u := range g {
		for i, v := range g[u] {
			for w := range g {
				want := post.Dominates(w, v) && (w == u || !post.Dominates(w, u))
				if got := slices.Contains(deps[w], Dependence{u, i}); got != want {
					t.Fatalf("graph %v: %d depends on %d→%d: %v, want %v", g, w, u, v, got, want)
				}
			}
		}
	}
}
