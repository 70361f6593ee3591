package cfg

import (
	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/flow"
	"gonum.org/v1/gonum/graph/simple"
)

// None stands for no node.
const None = -1

// Tree is a dominator tree, or a post-dominator tree.
type Tree struct {
	parent []int // None: the root, or only the virtual node is above
	in     []int // preorder number: a dominates b exactly when in[a] ≤ in[b] < out[a]
	out    []int
}

// Parent is the immediate dominator of v, or None.
func (t *Tree) Parent(v int) int { return t.parent[v] }

// Dominates says whether a dominates b. Every node dominates itself.
func (t *Tree) Dominates(a, b int) bool { return t.in[a] <= t.in[b] && t.in[b] < t.out[a] }

// Dependence is a control dependence: whether a node is executed is decided by
// which edge leaves another one.
type Dependence struct {
	Node int // the node that decides
	Edge int // the index of its edge that leads to the dependent node
}

// Dominators gives the dominator tree from node 0. A node that cannot be
// reached from it counts as another entry, in order of the nodes: something
// that is not seen leads there.
func (g Graph) Dominators() *Tree {
	seen, entries := make([]bool, len(g)), []int(nil)
	for v := range g {
		if !seen[v] {
			entries = append(entries, v)
			g.spread(v, seen)
		}
	}
	return g.tree(entries)
}

// PostDominators gives the post-dominator tree: a post-dominates b when every
// way from b out of the graph leads through a. The graph is left at the nodes
// without successors and at those for which leaves holds. From a node that no
// way leads out of (a loop for ever) it is taken to be left there, from the
// last such node first, until every node has a way out.
func (g Graph) PostDominators(leaves func(v int) bool) *Tree {
	r := g.reverse()
	seen, exits := make([]bool, len(g)), []int(nil)
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
	return r.tree(exits)
}

// tree computes the dominator tree from a virtual node that leads to the given
// entries.
func (g Graph) tree(entries []int) *Tree {
	n := len(g)
	d := simple.NewDirectedGraph()
	nodes := make([]graph.Node, n+1)
	for v := range nodes {
		nodes[v] = simple.Node(v)
		d.AddNode(nodes[v])
	}
	for v, succs := range g {
		for _, w := range succs {
			if v != w { // a loop of one node says nothing about dominance
				d.SetEdge(d.NewEdge(nodes[v], nodes[w]))
			}
		}
	}
	for _, v := range entries {
		d.SetEdge(d.NewEdge(nodes[n], nodes[v]))
	}
	dom := flow.DominatorsSLT(nodes[n], d)
	t := &Tree{parent: make([]int, n), in: make([]int, n), out: make([]int, n)}
	children := make([][]int, n+1)
	for v := range n {
		t.parent[v] = None
		up := n
		if p := dom.DominatorOf(int64(v)); p != nil {
			up = int(p.ID())
		}
		if up != n {
			t.parent[v] = up
		}
		children[up] = append(children[up], v)
	}
	t.number(children, n)
	return t
}

// number gives preorder numbers, without recursion: trees may be deep.
func (t *Tree) number(children [][]int, root int) {
	clock := 0
	type step struct{ node, child int }
	stack := []step{{root, 0}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.child < len(children[top.node]) {
			c := children[top.node][top.child]
			top.child++
			t.in[c] = clock
			clock++
			stack = append(stack, step{c, 0})
			continue
		}
		if top.node != root {
			t.out[top.node] = clock
		}
		stack = stack[:len(stack)-1]
	}
}

// ControlDependence gives what each node is control dependent on, by J.
// Ferrante, K. J. Ottenstein and J. D. Warren, "The Program Dependence Graph
// and Its Use in Optimization" (TOPLAS 1987, section 3.1): for each edge u→v
// where v does not post-dominate u, the nodes from v up the post-dominator
// tree, to below the parent of u, depend on that edge. post is the graph's
// post-dominator tree.
func (g Graph) ControlDependence(post *Tree) [][]Dependence {
	deps := make([][]Dependence, len(g))
	for u, succs := range g {
		for i, v := range succs {
			for w := v; w != None && w != post.parent[u]; w = post.parent[w] {
				deps[w] = append(deps[w], Dependence{u, i})
			}
		}
	}
	return deps
}
