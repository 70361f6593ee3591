package cfg

import (
	"slices"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

// Loop is a strongly connected component of a function, or of another loop without that
// loop's entry blocks (P. Havlak, "Nesting of Reducible and Irreducible Loops", TOPLAS
// 1997).
type Loop struct {
	Blocks []int // in ascending order
	has    []bool
}

// Has reports whether a block is in the loop.
func (l *Loop) Has(block int) bool { return block < len(l.has) && l.has[block] }

// Loops returns the loops of a graph, outer loops before those inside them.
func (g Graph) Loops() []*Loop {
	all := make([]bool, len(g))
	for v := range all {
		all[v] = true
	}
	return g.loopsIn(all, nil)
}

// loopsIn appends the loops among some nodes.
func (g Graph) loopsIn(in []bool, loops []*Loop) []*Loop {
	d := simple.NewDirectedGraph()
	for v, ok := range in {
		if ok {
			d.AddNode(simple.Node(v))
		}
	}
	own := map[int]bool{} // nodes with an edge to themselves
	for v, next := range g {
		for _, w := range next {
			switch {
			case !in[v] || !in[w]:
			case v == w:
				own[v] = true
			default:
				d.SetEdge(simple.Edge{F: simple.Node(v), T: simple.Node(w)})
			}
		}
	}
	components := topo.TarjanSCC(d)
	for _, c := range components {
		if len(c) == 1 && !own[int(c[0].ID())] {
			continue
		}
		l := &Loop{has: make([]bool, len(g))}
		for _, n := range c {
			l.Blocks = append(l.Blocks, int(n.ID()))
			l.has[n.ID()] = true
		}
		slices.Sort(l.Blocks)
		loops = append(loops, l)
		rest := slices.Clone(l.has)
		entered := false
		for v, next := range g {
			for _, w := range next {
				if !l.has[v] && l.has[w] && in[v] {
					rest[w], entered = false, true
				}
			}
		}
		if !entered { // the function begins in the loop
			rest[l.Blocks[0]] = false
		}
		if len(c) > 1 {
			loops = g.loopsIn(rest, loops)
		}
	}
	return loops
}

// Loops returns the function's loops, outer loops before those inside them.
func (f *Function) Loops() []*Loop {
	g := f.Graph()
	t := &f.body.flow
	t.ofLoops.Do(func() { t.loops = g.Loops() })
	return t.loops
}
