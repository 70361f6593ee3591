package cdr

import (
	"container/heap"
	"slices"

	"hindsight/cdr/format"
	"hindsight/wpp"
)

// siteCount is the number of executions of a site. In a counter of only some sites, site
// is an index into these.
type siteCount struct {
	site  format.SiteID
	count uint64
}

const (
	// maxVectorEntries limits the entries that a [counter] remembers, 16 bytes each.
	maxVectorEntries = 1 << 20
	// smallRule is the largest length of a string that is counted again each time.
	smallRule = 8
)

// counter counts the executions of each site over parts of a control string without sync
// events. The counts of a rule are computed once and kept, for as many rules as the limit
// allows. For the others, the number of their uses is passed down through the grammar. A
// part therefore never costs more than the size of the grammar, however long its string
// is.
type counter struct {
	s       *stretch
	only    []format.SiteID   // the sites that are counted, in rising order; nil: all
	lists   [][]format.SiteID // by terminal: the counted sites of its path, as they are numbered; nil: not computed yet
	vectors [][]siteCount     // by rule; nil: not kept
	small   []bool            // by rule: expand it
	acc     []uint64          // by site
	touched []format.SiteID
	uses    []uint64 // by rule, for handDown
	todo    ruleHeap
	entries int
}

// newCounter returns a counter of the given sites, which ascend, or of all if only is
// nil.
func newCounter(s *stretch, only []format.SiteID) *counter {
	rules := s.Grammar.Rules()
	c := blankCounter(s, only)
	c.small = make([]bool, rules)
	length := make([]uint8, rules) // saturates above smallRule
	for r := range rules {
		if s.events.Rule(wpp.Rule(r)) != 0 {
			continue
		}
		n := 0
		for _, x := range s.Grammar.Body(wpp.Rule(r)) {
			if x.IsRule() {
				n += int(length[x.Rule()])
			} else {
				n++
			}
			if n > smallRule {
				n = smallRule + 1
				break
			}
		}
		length[r] = uint8(n)
		if n <= smallRule {
			c.small[r] = true
			continue
		}
		if c.entries >= maxVectorEntries {
			continue
		}
		for _, x := range s.Grammar.Body(wpp.Rule(r)) {
			c.add(x)
		}
		c.vectors[r] = c.take()
		c.entries += len(c.vectors[r])
	}
	return c
}

// newTotals returns the executions of each site in the whole stretch.
func newTotals(s *stretch) []siteCount {
	c := blankCounter(s, nil)
	c.handDown(s.Grammar.Start())
	return c.take()
}

func blankCounter(s *stretch, only []format.SiteID) *counter {
	sites, rules := len(s.tab.Sites), s.Grammar.Rules()
	if only != nil {
		sites = len(only)
	}
	return &counter{s: s, only: only, lists: make([][]format.SiteID, len(s.Terms)), vectors: make([][]siteCount, rules),
		acc: make([]uint64, sites), uses: make([]uint64, rules)}
}

// take returns the counts by ascending site, and resets them. The result is not nil.
func (c *counter) take() []siteCount { return c.takeInto(make([]siteCount, 0, len(c.touched))) }

// takeInto is take, appending to v.
func (c *counter) takeInto(v []siteCount) []siteCount {
	slices.Sort(c.touched)
	for _, site := range c.touched {
		v = append(v, siteCount{site, c.acc[site]})
		c.acc[site] = 0
	}
	c.touched = c.touched[:0]
	return v
}

func (c *counter) addSite(site format.SiteID, n uint64) {
	if c.acc[site] == 0 {
		c.touched = append(c.touched, site)
	}
	c.acc[site] += n
}

// add counts a symbol whose string has no sync event.
func (c *counter) add(x wpp.Symbol) {
	if !x.IsRule() {
		c.addTerm(x.Terminal(), 1)
		return
	}
	r := x.Rule()
	switch {
	case c.vectors[r] != nil:
		c.addVector(r, 1)
	case c.small[r]: // at most smallRule deep
		for _, y := range c.s.Grammar.Body(r) {
			c.add(y)
		}
	default:
		c.handDown(r)
	}
}

func (c *counter) addTerm(x wpp.Terminal, times uint64) {
	t := &c.s.Terms[x]
	if t.Kind != format.TermPath {
		return
	}
	list := c.lists[x]
	if list == nil {
		list = c.list(format.PathID(t.A))
		c.lists[x] = list
	}
	for _, site := range list {
		c.addSite(site, t.B*times)
	}
}

// list returns the counted sites of a path. It is not nil.
func (c *counter) list(path format.PathID) []format.SiteID {
	list := []format.SiteID{}
	for _, b := range c.s.tab.PathBlocks(path) {
		for _, site := range c.s.tab.BlockSites(&c.s.tab.Blocks[b]) {
			if c.only == nil {
				list = append(list, site)
			} else if i, ok := slices.BinarySearch(c.only, site); ok {
				list = append(list, format.SiteID(i))
			}
		}
	}
	return slices.Clip(list)
}

func (c *counter) addVector(r wpp.Rule, times uint64) {
	for _, v := range c.vectors[r] {
		c.addSite(v.site, v.count*times)
	}
}

// handDown counts a rule that is not kept. Rules are numbered children first, so in
// descending order all uses of a rule are known when handDown reaches it.
func (c *counter) handDown(r wpp.Rule) {
	use := func(r wpp.Rule, n uint64) {
		if c.uses[r] == 0 {
			heap.Push(&c.todo, r)
		}
		c.uses[r] += n
	}
	use(r, 1)
	for len(c.todo) > 0 {
		r := heap.Pop(&c.todo).(wpp.Rule)
		n := c.uses[r]
		c.uses[r] = 0
		if c.vectors[r] != nil {
			c.addVector(r, n)
			continue
		}
		for _, x := range c.s.Grammar.Body(r) {
			if x.IsRule() {
				use(x.Rule(), n)
			} else {
				c.addTerm(x.Terminal(), n)
			}
		}
	}
}

// ruleHeap is a heap with the greatest rule first.
type ruleHeap []wpp.Rule

func (h ruleHeap) Len() int           { return len(h) }
func (h ruleHeap) Less(i, j int) bool { return h[i] > h[j] }
func (h ruleHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *ruleHeap) Push(x any)        { *h = append(*h, x.(wpp.Rule)) }
func (h *ruleHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
