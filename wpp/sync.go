package wpp

// SyncCounts annotates each edge of a grammar with its synchronisation count (PPoPP 2003,
// section 2.2). That is the number of synchronisation operations that a depth-first walk
// from the source of the edge passes before it reaches the edge. The edge e = (r, i)
// leads from rule r to the symbol at index i of its body, so
//
//	synch_cnt(e) = operations in the first i symbols of r
//
// which is the prefix sum in [Weights]. Algorithm 1 and [Weights.Select] are therefore
// the same search.
type SyncCounts struct {
	*Weights
}

// NewSyncCounts counts the terminals that are synchronisation operations.
func NewSyncCounts(g *Grammar, isSync func(Terminal) bool) (SyncCounts, error) {
	w, err := NewWeights(g, func(t Terminal) uint64 {
		if isSync(t) {
			return 1
		}
		return 0
	})
	return SyncCounts{w}, err
}

// Edge returns the synchronisation count of the edge from r to the symbol at index i of
// its body.
func (s SyncCounts) Edge(r Rule, i int) uint64 { return s.Before(r, i) }

// Algorithm1 returns the path from the root to the mth synchronisation operation, counted
// from 0, in the steps of the paper. ok is false if there are no more than m operations.
//
//	X := root; val := m
//	while X is not a leaf:
//	    e1 … ek := the edges of X
//	    find the smallest i with synch_cnt(e(i+1)) > val; if there is none, i := k
//	    append ei to the path; val := val - synch_cnt(ei); X := destination of ei
//
// It examines the edges of a node one after another. [Weights.Select] finds the same path
// by binary search.
func (s SyncCounts) Algorithm1(m uint64) (path Path, ok bool) {
	if m >= s.Total() {
		return nil, false
	}
	x, val := RuleSymbol(s.g.Start()), m
	for x.IsRule() {
		r := x.Rule()
		body := s.g.Body(r)
		i := 0
		for i+1 < len(body) && s.Edge(r, i+1) <= val {
			i++
		}
		path = append(path, Step{r, uint32(i)})
		val -= s.Edge(r, i)
		x = body[i]
	}
	return path, true
}
