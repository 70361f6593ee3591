package format

import (
	"encoding/binary"
	"slices"
)

// siteBlocks says which blocks contain the sites of a trace. Sites that are in
// the same blocks, equally often in each, are executed equally often and share
// their counts.
type siteBlocks struct {
	off    []uint32 // the blocks of site i are blocks[off[i]:off[i+1]]
	blocks []uint32 // in rising order; a block is repeated if the site occurs in it more than once
	Class  []SiteID // for each site, the first site with the same blocks
}

// SiteBlocks returns the table, which it computes in the first call.
func (t *Tables) SiteBlocks() *siteBlocks {
	if x := t.bySite; x != nil && len(x.Class) == len(t.Sites) && len(x.blocks) == len(t.SiteLists) {
		return x
	}
	x := &siteBlocks{off: make([]uint32, len(t.Sites)+1), blocks: make([]uint32, len(t.SiteLists)), Class: make([]SiteID, len(t.Sites))}
	for _, id := range t.SiteLists {
		x.off[id+1]++
	}
	for i := range t.Sites {
		x.off[i+1] += x.off[i]
	}
	next := slices.Clone(x.off)
	for b := range t.Blocks {
		for _, id := range t.BlockSites(&t.Blocks[b]) {
			x.blocks[next[id]] = uint32(b)
			next[id]++
		}
	}
	first := map[string]SiteID{}
	var key []byte
	for i := range t.Sites {
		key = key[:0]
		for _, b := range x.Of(SiteID(i)) {
			key = binary.LittleEndian.AppendUint32(key, b)
		}
		if id, ok := first[string(key)]; ok {
			x.Class[i] = id
		} else {
			first[string(key)] = SiteID(i)
			x.Class[i] = SiteID(i)
		}
	}
	t.bySite = x
	return x
}

func (x *siteBlocks) Of(id SiteID) []uint32 { return x.blocks[x.off[id]:x.off[id+1]] }

// SiteIn returns the number of occurrences of a site in a block.
func (t *Tables) SiteIn(b *TableBlock, site SiteID) (n uint64) {
	for _, id := range t.BlockSites(b) {
		if id == site {
			n++
		}
	}
	return n
}
