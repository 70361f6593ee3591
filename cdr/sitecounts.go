package cdr

import (
	"encoding/binary"
	"slices"

	"hindsight/wpp"
)

// siteBlocks says in which blocks the sites of a trace are. Sites that are
// in the same ones, as often in each, are executed equally often and share
// their counts.
type siteBlocks struct {
	off    []uint32 // blocks of site i: blocks[off[i]:off[i+1]]
	blocks []uint32 // rising; a block is named as often as the site occurs in it
	class  []SiteID // for each site the first with the same blocks
}

// siteBlocks is made when first needed.
func (t *tables) siteBlocks() *siteBlocks {
	if x := t.bySite; x != nil && len(x.class) == len(t.sites) && len(x.blocks) == len(t.siteLists) {
		return x
	}
	x := &siteBlocks{off: make([]uint32, len(t.sites)+1), blocks: make([]uint32, len(t.siteLists)), class: make([]SiteID, len(t.sites))}
	for _, id := range t.siteLists {
		x.off[id+1]++
	}
	for i := range t.sites {
		x.off[i+1] += x.off[i]
	}
	next := slices.Clone(x.off)
	for b := range t.blocks {
		for _, id := range t.blockSites(&t.blocks[b]) {
			x.blocks[next[id]] = uint32(b)
			next[id]++
		}
	}
	first := map[string]SiteID{}
	var key []byte
	for i := range t.sites {
		key = key[:0]
		for _, b := range x.of(SiteID(i)) {
			key = binary.LittleEndian.AppendUint32(key, b)
		}
		if id, ok := first[string(key)]; ok {
			x.class[i] = id
		} else {
			first[string(key)] = SiteID(i)
			x.class[i] = SiteID(i)
		}
	}
	t.bySite = x
	return x
}

func (x *siteBlocks) of(id SiteID) []uint32 { return x.blocks[x.off[id]:x.off[id+1]] }

// siteCounter counts the executions of sites over the control grammar of a
// stretch, so that each costs what it occurs in the grammar, not the whole of
// it.
type siteCounter struct {
	uses *wpp.Uses
	// The terminals whose paths hold block b, as often as they do:
	// terms[off[b]:off[b+1]].
	off   []uint32
	terms []wpp.Terminal
	kept  map[SiteID]*wpp.Sparse // by class
	size  uint64                 // of kept, in bytes
	list  []wpp.Weighed
}

// maxSiteCounts bounds the memory of the counts kept for one stretch.
const maxSiteCounts = 48 << 20

func newSiteCounter(s *stretch) *siteCounter {
	c := &siteCounter{uses: wpp.NewUses(s.g, len(s.terms)), off: make([]uint32, len(s.tab.blocks)+1), kept: map[SiteID]*wpp.Sparse{}}
	each := func(do func(term int, block uint32)) {
		for i, x := range s.terms {
			if x.kind == termPath {
				for _, b := range s.tab.pathBlocks(PathID(x.a)) {
					do(i, b)
				}
			}
		}
	}
	each(func(_ int, b uint32) { c.off[b+1]++ })
	for i := range s.tab.blocks {
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

// siteCounts counts the executions of a site by terminal. That no sum is
// beyond wpp.MaxLength was found when the stretch was checked.
func (s *stretch) siteCounts(site SiteID) *wpp.Sparse {
	c := s.counts
	if c == nil {
		c = newSiteCounter(s)
		s.counts = c
	}
	by := s.tab.siteBlocks()
	class := by.class[site]
	if w := c.kept[class]; w != nil {
		return w
	}
	c.list = c.list[:0]
	for _, b := range by.of(class) {
		for _, x := range c.terms[c.off[b]:c.off[b+1]] {
			c.list = append(c.list, wpp.Weighed{Terminal: x, Weight: s.terms[x].b})
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

// siteIn is how often a site occurs in a block.
func (t *tables) siteIn(b *tableBlock, site SiteID) (n uint64) {
	for _, id := range t.blockSites(b) {
		if id == site {
			n++
		}
	}
	return n
}

// total is how often each site was executed in a stretch, for those that were.
type total []siteCount

func (v total) of(site SiteID) uint64 {
	i, ok := slices.BinarySearchFunc(v, site, func(c siteCount, site SiteID) int { return int(c.site) - int(site) })
	if !ok {
		return 0
	}
	return v[i].count
}
