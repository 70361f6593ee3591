package wpp

import (
	"math/bits"
	"sort"
)

// Uses finds where the symbols of a grammar occur in its rule bodies. Building it takes
// time and memory linear in the size of the grammar. [Uses.Weigh] works in memory of the
// Uses, which therefore belongs to one goroutine.
type Uses struct {
	g *Grammar
	// at[from[t]:from[t+1]] are the places of terminal t in the concatenated bodies. The
	// rules follow the terminals.
	from []uint32
	at   []uint32
	// terminals is the number of terminals.
	terminals int
	chosen    []uint64 // by place, a bit: the symbol has a weight
	sums      []uint64 // by rule: its weight
	weights   []uint64 // by terminal
	todo      []Rule
}

// NewUses indexes a grammar whose terminals are all below terminals.
func NewUses(g *Grammar, terminals int) *Uses {
	u := &Uses{g: g, terminals: terminals, from: make([]uint32, terminals+g.Rules()+1), at: make([]uint32, len(g.body)),
		chosen: make([]uint64, (len(g.body)+63)/64), sums: make([]uint64, g.Rules()), weights: make([]uint64, terminals)}
	for _, s := range g.body {
		u.from[u.key(s)+1]++
	}
	for i := 1; i < len(u.from); i++ {
		u.from[i] += u.from[i-1]
	}
	next := make([]uint32, len(u.from))
	copy(next, u.from)
	for i, s := range g.body {
		k := u.key(s)
		u.at[next[k]] = uint32(i)
		next[k]++
	}
	return u
}

// Size returns the memory that the index holds, in bytes, without the grammar.
func (u *Uses) Size() uint64 {
	return 4*uint64(len(u.from)+len(u.at)) + 8*uint64(len(u.chosen)+len(u.sums)+len(u.weights))
}

func (u *Uses) key(s Symbol) int {
	if s.IsRule() {
		return u.terminals + int(s.Rule())
	}
	return int(s.Terminal())
}

// Sparse is [Weights] that keeps only the symbols with a weight, for weights that most of
// a grammar does not have. Its time and memory are proportional to these symbols, and
// those of Weights to the whole grammar.
type Sparse struct {
	g *Grammar
	// at are the places, in the concatenated bodies, of the symbols with a weight. sum is
	// the weight of a body up to and including that symbol.
	at  []uint32
	sum []uint64
}

// Weighed is a terminal and its weight.
type Weighed struct {
	Terminal Terminal
	Weight   uint64
}

// Weigh sums the weights of a few terminals over the grammar. All others weigh nothing,
// and a terminal that occurs twice in list weighs the sum. The weight of the whole string
// must not exceed [MaxLength].
func (u *Uses) Weigh(list []Weighed) *Sparse {
	n := 0
	for _, x := range list {
		if x.Weight == 0 {
			continue
		}
		if u.weights[x.Terminal] == 0 {
			n += u.choose(int(x.Terminal))
		}
		u.weights[x.Terminal] += x.Weight
	}
	// A rule is reached from each of its symbols, but is passed on only once: its first
	// use is chosen if and only if all are.
	for len(u.todo) > 0 {
		r := u.todo[len(u.todo)-1]
		u.todo = u.todo[:len(u.todo)-1]
		if k := u.terminals + int(r); u.from[k] < u.from[k+1] && !u.has(u.at[u.from[k]]) {
			n += u.choose(k)
		}
	}
	s := &Sparse{g: u.g, at: make([]uint32, 0, n), sum: make([]uint64, 0, n)}
	u.add(s)
	for _, x := range list {
		u.weights[x.Terminal] = 0
	}
	return s
}

func (u *Uses) has(place uint32) bool { return u.chosen[place>>6]>>(place&63)&1 != 0 }

// choose marks the places of a symbol and notes the rules that contain them.
func (u *Uses) choose(key int) int {
	places := u.at[u.from[key]:u.from[key+1]]
	last := Rule(0)
	for i, p := range places {
		u.chosen[p>>6] |= 1 << (p & 63)
		if r := u.g.ruleAt(p); i == 0 || r != last {
			u.todo = append(u.todo, r)
			last = r
		}
	}
	return len(places)
}

// ruleAt returns the rule whose body contains a place.
func (g *Grammar) ruleAt(place uint32) Rule {
	return Rule(sort.Search(len(g.off)-1, func(r int) bool { return g.off[r+1] > place }))
}

// add sums the chosen places in order, children first, and clears them.
func (u *Uses) add(s *Sparse) {
	g, r, sum := u.g, Rule(0), uint64(0)
	for w, word := range u.chosen {
		if word == 0 {
			continue
		}
		u.chosen[w] = 0
		for ; word != 0; word &= word - 1 {
			p := uint32(w<<6 + bits.TrailingZeros64(word))
			if p >= g.off[r+1] {
				u.sums[r] = sum
				r, sum = g.ruleAt(p), 0
			}
			if x := g.body[p]; x.IsRule() {
				sum += u.sums[x.Rule()]
			} else {
				sum += u.weights[x.Terminal()]
			}
			s.at, s.sum = append(s.at, p), append(s.sum, sum)
		}
	}
}

// Size returns the memory that the weights hold, in bytes, without the grammar.
func (s *Sparse) Size() uint64 { return 64 + 12*uint64(cap(s.at)) }

// Total returns the weight of the string.
func (s *Sparse) Total() uint64 { return s.before(s.g.Start(), uint32(len(s.g.body))) }

// after returns the number of kept symbols before a place.
func (s *Sparse) after(place uint32) int {
	lo, hi := 0, len(s.at)
	for lo < hi {
		if mid := (lo + hi) / 2; s.at[mid] < place {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// before returns the weight of the body of a rule up to a place in it.
func (s *Sparse) before(r Rule, place uint32) uint64 {
	if i := s.after(place); i > 0 && s.at[i-1] >= s.g.off[r] {
		return s.sum[i-1]
	}
	return 0
}

// At returns the weight of the terminal at the cursor, or 0 at the end.
func (s *Sparse) At(c *Cursor) uint64 {
	top := c.path[len(c.path)-1]
	place := s.g.off[top.Rule] + top.Index
	i := s.after(place)
	if i == len(s.at) || s.at[i] != place || place >= s.g.off[top.Rule+1] {
		return 0
	}
	if i > 0 && s.at[i-1] >= s.g.off[top.Rule] {
		return s.sum[i] - s.sum[i-1]
	}
	return s.sum[i]
}

// Rank returns the weight of the string before the cursor.
func (s *Sparse) Rank(c *Cursor) (sum uint64) {
	for _, p := range c.path {
		sum += s.before(p.Rule, s.g.off[p.Rule]+p.Index)
	}
	return sum
}

// Select returns a cursor at the terminal that contains unit k of weight, as
// [Weights.Select] does.
func (s *Sparse) Select(k uint64) (c *Cursor, offset uint64, ok bool) {
	c = &Cursor{g: s.g}
	if k >= s.Total() {
		c.ToEnd()
		return c, 0, false
	}
	for r := s.g.Start(); ; {
		low, high := s.g.off[r], s.g.off[r+1]
		i, n := s.after(low), s.after(high)
		i += sort.Search(n-i, func(j int) bool { return s.sum[i+j] > k })
		if i > 0 && s.at[i-1] >= low {
			k -= s.sum[i-1]
		}
		c.path = append(c.path, Step{Rule: r, Index: s.at[i] - low})
		x := s.g.body[s.at[i]]
		if !x.IsRule() {
			return c, k, true
		}
		r = x.Rule()
	}
}
