package cfg

import (
	"errors"
	"fmt"
)

// ErrPath says that a number is not the number of a path.
var ErrPath = errors.New("no such path")

// MaxPaths limits the number of paths that begin at a node.
const MaxPaths = 1 << 32

// Paths numbers the acyclic paths of a graph.
type Paths struct {
	g   Graph
	num []uint64
	val [][]uint64
	cut [][]bool
}

// Number numbers the paths of g that follow no retreating edge and no edge for which cut
// holds. A path begins at any node and ends at any node.
//
//  1. Remove the retreating edges and the cut edges. The remaining graph has no cycle.
//  2. In reverse topological order, assign each node v the number of paths that
//     begin there: N(v) = 1 + Σ N(w) over its edges v→w, where the 1 is the
//     path that ends at v. An edge that would make N(v) greater than limit is
//     cut too.
//  3. Assign the i-th edge of v the value 1 + Σ N(w) over the preceding edges of v.
//
// The number of a path is the sum of its edges' values. It identifies the path among
// those with the same first node, and is less than N of that node. To decode it: 0 is the
// path of one node. Otherwise the path continues by the last edge whose value is not
// above the number, with the rest of the number.
//
// Ball and Larus assign the last block of a path a value by an edge to the exit. Here
// every node has that edge, as its first, with value 0.
func Number(g Graph, cut func(v, edge int) bool, limit uint64) *Paths {
	p := &Paths{g: g, num: make([]uint64, len(g)), val: make([][]uint64, len(g)), cut: g.Retreating()}
	dag := make(Graph, len(g))
	for v := range g {
		for i, w := range g[v] {
			p.cut[v][i] = p.cut[v][i] || cut(v, i)
			if !p.cut[v][i] {
				dag[v] = append(dag[v], w)
			}
		}
	}
	// A node is done after all of its successors, which is reverse topological order.
	dag.search(func(int, int) {}, func(v int) {
		p.val[v] = make([]uint64, len(g[v]))
		p.num[v] = 1
		for i, w := range g[v] {
			if p.cut[v][i] {
				continue
			}
			if p.num[v]+p.num[w] > limit {
				p.cut[v][i] = true
				continue
			}
			p.val[v][i] = p.num[v]
			p.num[v] += p.num[w]
		}
	})
	return p
}

// NumPaths returns the number of paths that begin at v.
func (p *Paths) NumPaths(v int) uint64 { return p.num[v] }

// Edge returns the value of the edge from v to w, and whether it is cut: a path that
// takes a cut edge ends at v, and another begins at w. ok is false if there is no such
// edge.
func (p *Paths) Edge(v, w int) (val uint64, cut, ok bool) {
	for i, s := range p.g[v] {
		if s == w {
			return p.val[v][i], p.cut[v][i], true
		}
	}
	return 0, false, false
}

// Decode returns the nodes of a path from its first node and its number.
func (p *Paths) Decode(start int, number uint64) ([]int, error) {
	if start < 0 || start >= len(p.g) || number >= p.num[start] {
		return nil, fmt.Errorf("%w: number %d from node %d", ErrPath, number, start)
	}
	path := []int{start}
	for v := start; number > 0; {
		edge := -1
		for i := range p.g[v] {
			if !p.cut[v][i] && p.val[v][i] <= number {
				edge = i // values increase along the edges
			}
		}
		number -= p.val[v][edge]
		v = p.g[v][edge]
		path = append(path, v)
	}
	return path, nil
}
