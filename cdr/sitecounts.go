package cdr

import (
	"slices"

	"hindsight/cdr/format"
	"hindsight/wpp"
)

// siteCounter counts the executions of sites over the control grammar of a stretch. The
// cost of a site depends on its occurrences in the grammar, not on the size of the
// grammar.
type siteCounter struct {
	uses *wpp.Uses
	// The terminals whose paths contain block b are terms[off[b]:off[b+1]], each as often
	// as its path contains b.
	off   []uint32
	terms []wpp.Terminal
	kept  map[format.SiteID]*wpp.Sparse // by class
	size  uint64                        // of kept, in bytes
	list  []wpp.Weighed
}

// maxSiteCounts limits the memory of the counts that are kept for one stretch.
const maxSiteCounts = 48 << 20

func newSiteCounter(s *stretch) *siteCounter {
	c := &siteCounter{uses: wpp.NewUses(s.Grammar, len(s.Terms)), off: make([]uint32, len(s.tab.Blocks)+1), kept: map[format.SiteID]*wpp.Sparse{}}
	each := func(do func(term int, block uint32)) {
		for i, x := range s.Terms {
			if x.Kind == format.TermPath {
				for _, b := range s.tab.PathBlocks(format.PathID(x.A)) {
					do(i, b)
				}
			}
		}
	}
	each(func(_ int, b uint32) { c.off[b+1]++ })
	for i := range s.tab.Blocks {
		c.off[i+1] += c.off[i]
	}
	next := slices.Clone(c.off)
	c.terms = make([]wpp.Terminal, c.off[len(c.off)-1])
	each(func(term int, b uint32) {
		c.terms[next[b]] = wpp.Terminal(term)
		next[b]++
	})
	return c
}

// siteCounts counts the executions of a site by terminal. No sum exceeds wpp.MaxLength,
// which was checked when the stretch was loaded.
func (s *stretch) siteCounts(site format.SiteID) *wpp.Sparse {
	c := s.counts
	if c == nil {
		c = newSiteCounter(s)
		s.counts = c
	}
	by := s.tab.SiteBlocks()
	class := by.Class[site]
	if w := c.kept[class]; w != nil {
		return w
	}
	c.list = c.list[:0]
	for _, b := range by.Of(class) {
		for _, x := range c.terms[c.off[b]:c.off[b+1]] {
			c.list = append(c.list, wpp.Weighed{Terminal: x, Weight: s.Terms[x].B})
		}
	}
	w := c.uses.Weigh(c.list)
	c.size += w.Size()
	if c.size > maxSiteCounts {
		clear(c.kept)
		c.size = w.Size()
	}
	c.kept[class] = w
	return w
}

// total has the number of executions of each site that a stretch executed.
type total []siteCount

func (v total) of(site format.SiteID) uint64 {
	i, ok := slices.BinarySearchFunc(v, site, func(c siteCount, site format.SiteID) int { return int(c.site) - int(site) })
	if !ok {
		return 0
	}
	return v[i].count
}
