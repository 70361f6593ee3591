package cdr

import (
	"cmp"

	"hindsight/cdr/fold"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Store is an execution of a store.
type Store struct {
	Point   uint64 // its block execution
	Index   int    // index among the sites of that block
	Site    format.SiteID
	Ordinal uint64
	Address uint64
}

// storeIndex has the sites of a stretch that write and have recorded addresses.
type storeIndex struct {
	sites []storing
}

// storing is a site that writes.
type storing struct {
	// low and high are the first and the last address, if high is not below low.
	low, high uint64
	site      format.SiteID
	width     uint64
	bounds    *fold.Bounds
	// granules are all granules that the site touches. They are computed after some
	// failed searches, unless there are too many.
	granules map[uint64]struct{}
	vain     int
}

const (
	// vainSearches is the number of failed searches after which the granules of a site
	// are computed. maxGranules limits their number.
	vainSearches = 4
	maxGranules  = 1 << 12
)

// mayTouch reports whether an access of the site may touch one of the size bytes at addr.
func (x *storing) mayTouch(addr, size uint64) bool {
	if x.high >= x.low && (addr > x.high+x.width-1 || x.low > addr+size-1) {
		return false
	}
	if x.granules == nil {
		return true
	}
	for g := addr >> 3; g <= (addr+size-1)>>3; g++ {
		if _, ok := x.granules[g]; ok {
			return true
		}
	}
	return false
}

// missed counts a failed search.
func (x *storing) missed() {
	x.vain++
	if x.vain != vainSearches {
		return
	}
	all := map[uint64]struct{}{}
	add := func(e fold.Extent) bool {
		for i := range e.Count {
			low := e.Base + i*e.Stride
			for g := low >> 3; g <= (low+e.Len-1)>>3; g++ {
				all[g] = struct{}{}
				if len(all) > maxGranules {
					return false
				}
			}
		}
		return true
	}
	a := x.bounds.Index
	c := fold.Coverer{Index: a, Width: x.width, Yield: add}
	if add(fold.Extent{Base: a.First, Len: x.width, Count: 1}) && c.Cover(a.Grammar.Start(), a.First, 0, a.Total()-a.Lead-1) {
		x.granules = all
	}
}

// storeSites lists the sites that write.
func (v *historyView) storeSites() (*storeIndex, error) {
	if v.stores != nil {
		return v.stores, nil
	}
	v.stores = &storeIndex{}
	if v.data == nil {
		return v.stores, nil
	}
	for i := range v.data.Streams {
		site := v.data.Streams[i].Site
		if v.tab.Sites[site].Access != event.Write {
			continue
		}
		x, err := v.addrIndex(site)
		if err != nil {
			v.stores = nil
			return nil, err
		}
		b := fold.NewBounds(x)
		low, high := b.Extent()
		v.stores.sites = append(v.stores.sites, storing{low: low, high: high, site: site, width: uint64(v.tab.Sites[site].Size), bounds: b})
	}
	return v.stores, nil
}

// LastStore finds the last recorded store to one of the size bytes at addr that precedes
// the site with this index in block execution n (n may be Blocks, with index 0). It
// searches the address grammar of each storing site. It returns [fold.ErrSearch] when
// that takes too long.
func (h *History) LastStore(n uint64, index int, addr, size uint64) (Store, bool, error) {
	for e := len(h.blocks) - 2; e >= 0; e-- {
		if h.blocks[e] > n || h.blocks[e] == h.blocks[e+1] {
			continue
		}
		v, err := h.view(e)
		if err != nil {
			return Store{}, false, err
		}
		s, ok, err := h.lastStoreIn(v, n, index, addr, size)
		if ok || err != nil {
			return s, ok, err
		}
	}
	return Store{}, false, nil
}

// storeSearch is a search for the last store in an epoch.
type storeSearch struct {
	h     *History
	v     *historyView
	here  *place // the store must come before this place; nil: before the end of the epoch
	index int    // of the site in the block at here
	best  *place // the best store so far
	Store
}

func (h *History) lastStoreIn(v *historyView, n uint64, index int, addr, size uint64) (Store, bool, error) {
	s := storeSearch{h: h, v: v, index: index}
	if n < h.blocks[v.epoch+1] {
		p, err := h.look(n)
		if err != nil {
			return s.Store, false, err
		}
		s.here = &p
	}
	stores, err := v.storeSites()
	if err != nil {
		return s.Store, false, err
	}
	for i := range stores.sites {
		x := &stores.sites[i]
		if !x.mayTouch(addr, size) {
			continue
		}
		w := fold.Window{Low: addr - x.width + 1, Width: int64(size + x.width - 2)}
		if err := s.try(x, w); err != nil {
			return s.Store, false, err
		}
	}
	if s.best == nil {
		return s.Store, false, nil
	}
	before, err := h.earlier(v.epoch, s.Site)
	s.Ordinal += before
	return s.Store, true, err
}

// try looks for a store by a site that is later than the best store so far.
func (s *storeSearch) try(x *storing, w fold.Window) error {
	from, limit := uint64(0), uint64(1)<<62
	if s.here != nil {
		limit = s.v.rankAt(s.here, s.index, x.site)
	}
	if s.best != nil {
		from = s.v.rankAt(s.best, s.Index+1, x.site)
	}
	if from >= limit {
		return nil
	}
	local, at, ok, err := x.bounds.Last(from, limit, w)
	if err != nil {
		return err
	}
	if !ok {
		x.missed()
		return nil
	}
	p, err := s.h.execution(s.v, x.site, local)
	if err != nil {
		return err
	}
	found := Store{Point: p.point(), Site: x.site, Ordinal: local, Address: at}
	for i, id := range s.v.tab.BlockSites(p.block()) {
		if id == x.site {
			found.Index = i
		}
	}
	if s.best == nil || cmp.Or(cmp.Compare(found.Point, s.Point), cmp.Compare(found.Index, s.Index)) > 0 {
		s.best, s.Store = p, found
	}
	return nil
}

// rankAt returns the number of executions of a site in the epoch before the site with
// that index in the block at p.
func (v *historyView) rankAt(p *place, index int, site format.SiteID) uint64 {
	n := p.rank(site)
	for _, id := range v.tab.BlockSites(p.block())[:index] {
		if id == site {
			n++
		}
	}
	return n
}
