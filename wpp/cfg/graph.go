package cfg

// Graph is a directed graph on the nodes 0 … len(g)-1: g[v] are the successors
// of v, in a fixed order, each at most once. Node 0 is where control enters.
type Graph [][]int

// colours of a depth-first search.
const (
	white = iota // not seen
	grey         // on the search's stack
	black        // done
)

// search walks the graph depth first, from node 0 and then from every unseen node, in
// order. It calls retreat for each edge that leads to a node on the stack (such an edge
// closes a cycle) and done for each node when all of its successors have been walked.
func (g Graph) search(retreat func(v, edge int), done func(v int)) {
	type step struct{ node, edge int }
	colour := make([]uint8, len(g))
	var stack []step
	for root := range g {
		if colour[root] != white {
			continue
		}
		colour[root] = grey
		stack = append(stack, step{root, 0})
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.edge == len(g[top.node]) {
				colour[top.node] = black
				done(top.node)
				stack = stack[:len(stack)-1]
				continue
			}
			edge := top.edge
			top.edge++
			switch next := g[top.node][edge]; colour[next] {
			case white:
				colour[next] = grey
				stack = append(stack, step{next, 0})
			case grey:
				retreat(top.node, edge)
			}
		}
	}
}

// Retreating reports for each edge whether it is a retreating edge of a depth-first
// search from node 0. In a reducible graph these are the back edges of its loops. Without
// them, every graph is acyclic.
func (g Graph) Retreating() [][]bool {
	back := make([][]bool, len(g))
	for v := range g {
		back[v] = make([]bool, len(g[v]))
	}
	g.search(func(v, edge int) { back[v][edge] = true }, func(int) {})
	return back
}

// reverse returns the predecessors of each node.
func (g Graph) reverse() Graph {
	r := make(Graph, len(g))
	for v, succs := range g {
		for _, w := range succs {
			r[w] = append(r[w], v)
		}
	}
	return r
}

// spread marks in seen everything that is reachable from node.
func (g Graph) spread(node int, seen []bool) {
	if seen[node] {
		return
	}
	seen[node] = true
	todo := []int{node}
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, w := range g[v] {
			if !seen[w] {
				seen[w] = true
				todo = append(todo, w)
			}
		}
	}
}
