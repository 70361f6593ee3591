package wet

import (
	"fmt"
	"math/bits"

	"hindsight/tracefmt"
	"hindsight/tracefmt/rangecode"
)

// The control flow of a thread in an epoch is a string of nodes. Each node is coded as
// decisions between those that followed its predecessor before: first whether it is the
// one that came last time after the same nodes, then the others in order, the frequent
// ones first. The probability of a decision follows from its outcomes after the last 1,
// 3, 6 and 14 nodes, which package rangecode mixes. Loops, the values of a branch that
// repeat, and the places that a function returns to therefore take next to no space. The
// first occurrence of each node is coded separately.

// flowOrders are the numbers of preceding nodes in each context.
var flowOrders = [rangecode.Inputs]int{1, 3, 6, 14}

const (
	flowHistory   = 16 // a power of two that is at least the longest order
	flowGuess     = 2  // index into flowOrders of the context of the guess
	minFlowBits   = 10 // of a table
	maxFlowBits   = 17
	flowSets      = 6  // sets of weights, by the position in the list of a decision
	flowNodeBytes = 12 // memory of a node execution once it is decoded
)

// flowModel is the model for both directions. Nodes are numbered densely.
type flowModel struct {
	mix     *rangecode.Mixer
	chances [rangecode.Inputs][]rangecode.Chance
	guesses []uint32 // by context: the node that came last, + 1
	mask    uint32
	after   [][]flowNext // by node, and last for the beginning: what followed it
	idBits  int
	last    [flowHistory]uint32
	n       int
	hash    [rangecode.Inputs]uint32
}

type flowNext struct{ node, count uint32 }

func newFlowModel(decoding bool, nodes int, length uint64) *flowModel {
	m := &flowModel{mix: rangecode.NewMixer(decoding), after: make([][]flowNext, nodes+1), idBits: bits.Len(uint(max(nodes, 1) - 1))}
	size := uint(min(max(bits.Len64(length), minFlowBits), maxFlowBits))
	m.mask = 1<<size - 1
	for i := range m.chances {
		m.chances[i] = make([]rangecode.Chance, 1<<size)
	}
	m.guesses = make([]uint32, 1<<size)
	for i := range m.last {
		m.last[i] = uint32(nodes)
	}
	return m
}

// context computes the contexts of the last nodes.
func (m *flowModel) context() {
	h, k := uint32(0), 0
	for i, order := range flowOrders {
		for ; k < order; k++ {
			h = (h ^ m.last[(m.n-1-k)&(flowHistory-1)] + 1) * 0x9e3779b1
			h ^= h >> 15
		}
		m.hash[i] = h
	}
}

// decide codes whether the next node is the candidate.
func (m *flowModel) decide(candidate uint32, rank int, y int) int {
	x := (candidate + 1) * 0x85ebca6b
	slot := func(i int) *rangecode.Chance {
		h := (m.hash[i] ^ x) * 0xc2b2ae35
		return &m.chances[i][(h^h>>16)&m.mask]
	}
	return m.mix.Decide(min(rank, flowSets-1), slot(0), slot(1), slot(2), slot(3), y)
}

// step codes the next node, which is ignored when decoding. ok is false for a code that
// no string has.
func (m *flowModel) step(node uint32) (uint32, bool) {
	m.context()
	list := &m.after[m.last[(m.n-1)&(flowHistory-1)]]
	guess := &m.guesses[(m.hash[flowGuess]^m.hash[flowGuess]>>16)&m.mask]
	tried := *guess - 1
	found := -1
	if tried != ^uint32(0) && m.decide(tried, 0, truth(node == tried)) != 0 {
		node, found = tried, 0
	}
	for i := 0; i < len(*list) && found < 0; i++ {
		if x := (*list)[i].node; x != tried && m.decide(x, i+1, truth(node == x)) != 0 {
			node, found = x, i+1
		}
	}
	if found < 0 {
		var ok bool
		node, ok = m.novel(node)
		if !ok {
			return 0, false
		}
	}
	m.use(list, node)
	*guess = node + 1
	m.last[m.n&(flowHistory-1)] = node
	m.n++
	return node, true
}

// novel codes a node that has not followed its predecessor before.
func (m *flowModel) novel(node uint32) (uint32, bool) {
	got := uint32(0)
	for i := m.idBits - 1; i >= 0; i-- {
		var even [rangecode.Inputs]rangecode.Chance
		y := m.mix.Decide(flowSets, &even[0], &even[1], &even[2], &even[3], int(node>>i&1))
		got = got<<1 | uint32(y)
	}
	return got, int(got) < len(m.after)-1
}

// use counts a node and moves it before those that occurred less often.
func (m *flowModel) use(list *[]flowNext, node uint32) {
	l := *list
	for i := range l {
		if l[i].node != node {
			continue
		}
		l[i].count++
		if i > 0 && l[i].count > l[i-1].count {
			l[i], l[i-1] = l[i-1], l[i]
		}
		return
	}
	*list = append(*list, flowNext{node, 1})
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// encodeFlow codes a string of nodes, each below nodes.
func encodeFlow(flow []uint32, nodes int) []byte {
	m := newFlowModel(false, nodes, uint64(len(flow)))
	m.mix.Begin(nil, nil)
	for _, x := range flow {
		m.step(x)
	}
	return m.mix.End()
}

// decodeFlow is the inverse of encodeFlow: it calls use with each of n nodes.
func decodeFlow(code []byte, nodes int, n uint64, use func(node uint32) bool) error {
	m := newFlowModel(true, nodes, n)
	m.mix.Begin(nil, code)
	for range n {
		x, ok := m.step(0)
		if !ok || !use(x) || m.mix.Overrun() {
			return fmt.Errorf("control flow: %w", tracefmt.ErrMalformed)
		}
	}
	return nil
}
