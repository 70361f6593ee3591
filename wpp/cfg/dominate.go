package cfg

// None stands for no node.
const None = -1

// Tree is a dominator tree, or a post-dominator tree.
type Tree struct {
	parent []int // None for the root, and for nodes below only the virtual node
	in     []int // preorder number: a dominates b exactly when in[a] ≤ in[b] < out[a]
	out    []int
}

// Parent returns the immediate dominator of v, or None.
func (t *Tree) Parent(v int) int { return t.parent[v] }

// Dominates reports whether a dominates b. Every node dominates itself.
func (t *Tree) Dominates(a, b int) bool { return t.in[a] <= t.in[b] && t.in[b] < t.out[a] }

// Dependence is a control dependence: whether a node is executed depends on the edge by
// which control leaves another node.
type Dependence struct {
	Node int // the node that decides
	Edge int // the index of its edge that leads to the dependent node
}

// Dominators returns the dominator tree from node 0. Nodes that cannot be reached from
// there are further entries, in order of the nodes, because some unknown edge leads to
// them.
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

// PostDominators returns the post-dominator tree: a post-dominates b if every way from b
// out of the graph passes a. Control leaves the graph at nodes without successors and at
// those for which leaves holds. If no way leads out of some nodes (an endless loop), the
// last of them counts as an exit; this repeats until every node has a way out.
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

// tree computes the dominator tree from a virtual node that leads to the given entries.
// Every node must be reachable from them. The algorithm is Semi-NCA by L. Georgiadis,
// "Linear-Time Algorithms for Dominators and Related Problems" (Princeton 2005, section
// 2.3): semidominators as by Lengauer and Tarjan, and from those the dominators, each the
// nearest ancestor in the depth-first tree that is not below the semidominator.
func (g Graph) tree(entries []int) *Tree {
	n := len(g)
	s := newSemi(g, entries)
	s.semidominators()
	// Nodes in order of preorder number, the virtual one first, so that the dominator of
	// an ancestor is known before it is needed.
	for w := 1; w <= n; w++ {
		d := s.idom[w]
		for d > s.semi[w] {
			d = s.idom[d]
		}
		s.idom[w] = d
	}
	t := &Tree{parent: make([]int, n), in: make([]int, n), out: make([]int, n)}
	children := make([][]int, n+1)
	for v := range n {
		t.parent[v] = None
		up := n
		if d := s.idom[s.pre[v]]; d != 0 {
			up = int(s.node[d])
			t.parent[v] = up
		}
		children[up] = append(children[up], v)
	}
	t.number(children, n)
	return t
}

// semi is a depth-first tree and what is known of the dominators. Its nodes are named by
// their preorder numbers; 0 is the virtual root.
type semi struct {
	pre    []int32 // of each node of the graph, its number
	node   []int32 // the inverse of pre
	parent []int32 // an ancestor: the parent, until paths are compressed
	label  []int32 // among the nodes from here up to parent, the label with the least semidominator
	semi   []int32
	idom   []int32
	preds  [][]int32
}

func newSemi(g Graph, entries []int) *semi {
	n := len(g)
	all := make([]int32, 6*(n+1))
	part := func() []int32 {
		p := all[: n+1 : n+1]
		all = all[n+1:]
		return p
	}
	s := &semi{pre: part(), node: part(), parent: part(), label: part(), semi: part(), idom: part(), preds: make([][]int32, n+1)}
	s.node[0] = int32(n)
	last := int32(0)
	enter := func(v int, from int32) {
		last++
		s.pre[v], s.node[last] = last, int32(v)
		s.parent[last], s.idom[last] = from, from
	}
	type step struct{ node, edge int }
	var stack []step
	for _, e := range entries {
		if s.pre[e] == 0 {
			enter(e, 0)
			stack = append(stack, step{e, 0})
		}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.edge == len(g[top.node]) {
				stack = stack[:len(stack)-1]
				continue
			}
			from, w := s.pre[top.node], g[top.node][top.edge]
			top.edge++
			if s.pre[w] == 0 {
				enter(w, from)
				stack = append(stack, step{w, 0})
			}
		}
	}
	for v, succs := range g {
		for _, w := range succs {
			s.preds[s.pre[w]] = append(s.preds[s.pre[w]], s.pre[v])
		}
	}
	for _, e := range entries {
		s.preds[s.pre[e]] = append(s.preds[s.pre[e]], 0)
	}
	for w := range int32(n + 1) {
		s.label[w], s.semi[w] = w, w
	}
	return s
}

// semidominators fills in semi.
func (s *semi) semidominators() {
	var path []int32
	for w := int32(len(s.semi) - 1); w > 0; w-- {
		s.semi[w] = s.parent[w]
		for _, v := range s.preds[w] {
			path = s.compress(v, w, path[:0])
			s.semi[w] = min(s.semi[w], s.semi[s.label[v]])
		}
	}
}

// compress sets the label of v to the best label of all its ancestors that are done,
// which are those with numbers above w. path is scratch space.
func (s *semi) compress(v, w int32, path []int32) []int32 {
	for ; s.parent[v] > w; v = s.parent[v] {
		path = append(path, v)
	}
	for i := len(path) - 1; i >= 0; i-- {
		u := path[i]
		if s.semi[s.label[v]] < s.semi[s.label[u]] {
			s.label[u] = s.label[v]
		}
		s.parent[u] = s.parent[v]
		v = u
	}
	return path
}

// number computes preorder numbers. It does not recurse, because trees may be deep.
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

// ControlDependence returns what each node is control dependent on. The definition is by
// J. Ferrante, K. J. Ottenstein and J. D. Warren, "The Program Dependence Graph and Its
// Use in Optimization" (TOPLAS 1987, section 3.1): for each edge u→v where v does not
// post-dominate u, the nodes on the way from v up the post-dominator tree, up to but
// without the parent of u, depend on that edge. post is the graph's post-dominator tree.
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
