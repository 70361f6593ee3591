package slice

import (
	"container/heap"
	"encoding/binary"
	"math/bits"
	"slices"

	"hindsight/wet"
)

// pending has the executions of a node that something came into, with the number of the
// combination of roots that did, until they are processed: from the last one to the
// first, or from the first one to the last.
type pending struct {
	ascending bool
	pages     []*pendingPage // by k>>execShift; nil: none of them
	numbers   []uint64       // of the pages, a heap: the next one on top
	spare     []*pendingPage

	combos []combo // combos[0] is empty
	ids    map[string]uint32
	dense  []uint32 // for each root, its number among those that occurred, from 1
	roots  uint32   // that were met
}

// combo is an ascending combination of roots.
type combo struct {
	roots []uint32
	next  []uint32 // by dense number of a root: the combination with it; 0: not computed yet
}

type pendingPage struct {
	number uint64
	combo  [execPage]uint32
	todo   [execPage / 64]uint64
	left   int
}

// newPending prepares for a node with roots different roots.
func newPending(ascending bool, roots int) pending {
	return pending{ascending: ascending, combos: make([]combo, 1), ids: map[string]uint32{}, dense: make([]uint32, roots)}
}

func (p *pending) Len() int { return len(p.numbers) }
func (p *pending) Less(i, j int) bool {
	if p.ascending {
		return p.numbers[i] < p.numbers[j]
	}
	return p.numbers[i] > p.numbers[j]
}
func (p *pending) Swap(i, j int) { p.numbers[i], p.numbers[j] = p.numbers[j], p.numbers[i] }
func (p *pending) Push(x any)    { p.numbers = append(p.numbers, x.(uint64)) }
func (p *pending) Pop() any {
	last := p.numbers[len(p.numbers)-1]
	p.numbers = p.numbers[:len(p.numbers)-1]
	return last
}

// add adds a root to execution k.
func (p *pending) add(k uint64, root uint32) {
	page := p.page(k >> execShift)
	c := &page.combo[k%execPage]
	if *c == 0 {
		page.todo[k%execPage/64] |= 1 << (k % 64)
		page.left++
	}
	if d, next := p.dense[root], p.combos[*c].next; d != 0 && int(d) < len(next) && next[d] != 0 {
		*c = next[d]
		return
	}
	*c = p.join(*c, root)
}

func (p *pending) page(number uint64) *pendingPage {
	if number < uint64(len(p.pages)) && p.pages[number] != nil {
		return p.pages[number]
	}
	return p.newPage(number)
}

func (p *pending) newPage(number uint64) *pendingPage {
	for number >= uint64(len(p.pages)) {
		p.pages = append(p.pages, nil)
	}
	var page *pendingPage
	if n := len(p.spare); n > 0 {
		page, p.spare = p.spare[n-1], p.spare[:n-1]
	} else {
		page = new(pendingPage)
	}
	page.number = number
	p.pages[number] = page
	heap.Push(p, number)
	return page
}

// join returns the number of a combination with one more root.
func (p *pending) join(c, root uint32) uint32 {
	if p.dense[root] == 0 {
		p.roots++
		p.dense[root] = p.roots
	}
	list := p.combos[c].roots
	at, found := slices.BinarySearch(list, root)
	id := c
	if !found {
		list = slices.Insert(slices.Clone(list), at, root)
		key := make([]byte, 0, 4*len(list))
		for _, r := range list {
			key = binary.LittleEndian.AppendUint32(key, r)
		}
		var known bool
		id, known = p.ids[string(key)]
		if !known {
			id = uint32(len(p.combos))
			p.ids[string(key)] = id
			p.combos = append(p.combos, combo{roots: list})
		}
	}
	from, d := &p.combos[c], int(p.dense[root])
	for len(from.next) <= d {
		from.next = append(from.next, 0)
	}
	from.next[d] = id
	return id
}

// next returns the next execution to process. ok is false if there is none.
func (p *pending) next() (uint64, bool) {
	if len(p.numbers) == 0 {
		return 0, false
	}
	page := p.pages[p.numbers[0]]
	if p.ascending {
		for w, word := range page.todo {
			if word != 0 {
				return page.number<<execShift | uint64(w)<<6 | uint64(bits.TrailingZeros64(word)), true
			}
		}
	}
	for w := len(page.todo) - 1; w >= 0; w-- {
		if word := page.todo[w]; word != 0 {
			return page.number<<execShift | uint64(w)<<6 | uint64(63-bits.LeadingZeros64(word)), true
		}
	}
	return 0, false // no page is empty
}

// take removes the next execution, k, with its combination of roots.
func (p *pending) take(k uint64) uint32 {
	page := p.pages[p.numbers[0]]
	c := page.combo[k%execPage]
	page.combo[k%execPage] = 0
	page.todo[k%execPage/64] &^= 1 << (k % 64)
	page.left--
	if page.left == 0 {
		p.pages[page.number] = nil
		heap.Pop(p)
		p.spare = append(p.spare, page)
	}
	return c
}

// agenda is a heap of nodes, with the node whose next execution is the latest in the run
// on top (for a forward slice, the earliest). What an execution depends on comes before
// it, so nearly every execution is processed once, when all that comes into it is known.
// One that is reached again is processed again.
type agenda struct {
	ascending bool
	nodes     []*nodeSweep
}

func (a *agenda) Len() int { return len(a.nodes) }
func (a *agenda) Less(i, j int) bool {
	if a.ascending {
		return a.nodes[i].order < a.nodes[j].order
	}
	return a.nodes[i].order > a.nodes[j].order
}
func (a *agenda) Swap(i, j int) {
	a.nodes[i], a.nodes[j] = a.nodes[j], a.nodes[i]
	a.nodes[i].at, a.nodes[j].at = i, j
}
func (a *agenda) Push(x any) {
	n := x.(*nodeSweep)
	n.at = len(a.nodes)
	a.nodes = append(a.nodes, n)
}
func (a *agenda) Pop() any {
	n := a.nodes[len(a.nodes)-1]
	a.nodes = a.nodes[:len(a.nodes)-1]
	n.at = outside
	return n
}

// outside is the place of a node that is not on the agenda.
const outside = -1

// schedule moves a node to the place of its next execution.
func (w *sweep) schedule(n *nodeSweep) error {
	k, ok := n.pending.next()
	if !ok {
		if n.at != outside {
			heap.Remove(&w.agenda, n.at)
		}
		return nil
	}
	if n.at != outside && n.first == k {
		return nil
	}
	i := wet.Instance{Thread: n.thread, Node: n.node, K: k}
	t, err := w.g.Time(i.Thread, i.Node, k)
	if err != nil {
		return err
	}
	n.first, n.order = k, w.g.Order(i.Thread, t)
	if n.at == outside {
		heap.Push(&w.agenda, n)
	} else {
		heap.Fix(&w.agenda, n.at)
	}
	return nil
}
