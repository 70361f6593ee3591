package ldr

// graph is the dynamic control-flow graph of a window. The window begins at node 0, and
// every node was reached from it.
type graph struct {
	succ, pred [][]int32
	last       []int32 // the last successor, tried before the search
	edges      map[uint64]struct{}
}

func (g *graph) reset() {
	g.succ, g.pred, g.last = g.succ[:0], g.pred[:0], g.last[:0]
	if g.edges == nil {
		g.edges = map[uint64]struct{}{}
	}
	clear(g.edges)
}

func (g *graph) node() int32 {
	n := len(g.succ)
	if n < cap(g.succ) {
		g.succ, g.pred = g.succ[:n+1], g.pred[:n+1]
		g.succ[n], g.pred[n] = g.succ[n][:0], g.pred[n][:0]
	} else {
		g.succ, g.pred = append(g.succ, nil), append(g.pred, nil)
	}
	g.last = append(g.last, -1)
	return int32(n)
}

func (g *graph) edge(from, to int32) {
	if g.last[from] == to {
		return
	}
	g.last[from] = to
	key := uint64(from)<<32 | uint64(to)
	if _, known := g.edges[key]; known {
		return
	}
	g.edges[key] = struct{}{}
	g.succ[from] = append(g.succ[from], to)
	g.pred[to] = append(g.pred[to], from)
}

// nest contains the natural loops of a graph.
type nest struct {
	header []bool  // by node: whether it is the header of a loop
	parent []int32 // by node: header of the innermost loop around it, other than a loop of which it is the header; -1: none
	depth  []int32 // by node: loops around it, including its own if it is a header
}

// contains reports whether the loop with header h contains node x.
func (n *nest) contains(h, x int32) bool {
	if !n.header[x] {
		x = n.parent[x]
	}
	for x >= 0 && n.depth[x] > n.depth[h] {
		x = n.parent[x]
	}
	return x == h
}

// loops finds dominators, back edges and the nesting of natural loops.
func (g *graph) loops() *nest {
	n := len(g.succ)
	order, number := g.reversePostorder()
	idom := g.dominators(order, number)
	out := &nest{header: make([]bool, n), parent: make([]int32, n), depth: make([]int32, n)}
	root := make([]int32, n) // union-find: the header of the outermost loop found so far
	for i := range root {
		root[i], out.parent[i] = int32(i), -1
	}
	find := func(x int32) int32 {
		for root[x] != x {
			root[x] = root[root[x]]
			x = root[x]
		}
		return x
	}
	dominates := func(h, x int32) bool {
		for number[x] > number[h] {
			x = idom[x]
		}
		return x == h
	}
	var work []int32
	// Headers are processed innermost first, which is later ones in reverse postorder
	// first. The body of a loop is what reaches its back edges without passing its
	// header. A loop that was found before counts as one node, represented by its header.
	for i := n - 1; i >= 0; i-- {
		h := order[i]
		work = work[:0]
		for _, t := range g.pred[h] {
			if dominates(h, t) {
				out.header[h] = true
				work = append(work, find(t))
			}
		}
		for len(work) > 0 {
			x := work[len(work)-1]
			work = work[:len(work)-1]
			x = find(x)
			if x == h {
				continue
			}
			out.parent[x], root[x] = h, h
			work = append(work, g.pred[x]...)
		}
	}
	for _, x := range order { // a header comes before its body
		if p := out.parent[x]; p >= 0 {
			out.depth[x] = out.depth[p]
		}
		if out.header[x] {
			out.depth[x]++
		}
	}
	return out
}

// reversePostorder numbers the nodes by a depth-first walk from node 0.
func (g *graph) reversePostorder() (order, number []int32) {
	n := len(g.succ)
	order, number = make([]int32, n), make([]int32, n)
	for i := range number {
		number[i] = -1
	}
	type frame struct{ node, next int32 }
	stack := []frame{{0, 0}}
	number[0] = 0
	at := n
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		if int(f.next) < len(g.succ[f.node]) {
			s := g.succ[f.node][f.next]
			f.next++
			if number[s] < 0 {
				number[s] = 0
				stack = append(stack, frame{s, 0})
			}
			continue
		}
		at--
		order[at] = f.node
		stack = stack[:len(stack)-1]
	}
	for i, x := range order {
		number[x] = int32(i)
	}
	return order, number
}

// dominators returns immediate dominators by the iterative algorithm of Cooper, Harvey
// and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
func (g *graph) dominators(order, number []int32) []int32 {
	idom := make([]int32, len(order))
	for i := range idom {
		idom[i] = -1
	}
	idom[0] = 0
	for changed := true; changed; {
		changed = false
		for _, x := range order[1:] {
			best := int32(-1)
			for _, p := range g.pred[x] {
				if idom[p] < 0 {
					continue
				}
				if best < 0 {
					best = p
					continue
				}
				for a := p; ; {
					for number[a] > number[best] {
						a = idom[a]
					}
					for number[best] > number[a] {
						best = idom[best]
					}
					if a == best {
						break
					}
				}
			}
			if idom[x] != best {
				idom[x], changed = best, true
			}
		}
	}
	return idom
}
