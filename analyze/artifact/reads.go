package artifact

import (
	"errors"
	"fmt"

	"hindsight/cdr"
	"hindsight/tracefmt/event"
)

// ReadFrom says that a racy read got its value, or a part of it, from a racy
// write of another thread.
type ReadFrom struct{ Write, Read Execution }

// Reads watches a run that is made again for which racy writes the racy reads
// got their values from. The trace does not say: it has no order of plain
// accesses of different threads. It is an [event.Observer].
type Reads struct {
	ids     map[cdr.Site]cdr.SiteID
	pages   [1 << 12]bool // of watched addresses, by the lowest bits of their pages
	bytes   map[uint64]*[8]int32
	blocks  []readsBlock
	threads []readsThread
	writes  []Execution
	found   []ReadFrom
	full    bool

	// Outcome is how the run ended, and Insts what each thread executed, to be
	// held against the run in the trace.
	Outcome event.Outcome
	Insts   []uint64
}

// readsBlock is what a block of the simulator does that matters here.
type readsBlock struct {
	sites    int // addresses that it takes
	accesses []readsAccess
}

// readsAccess is a store, or a watched load.
type readsAccess struct {
	at      int // among the block's sites
	size    uint64
	write   bool
	watched bool
	site    cdr.SiteID
}

type readsThread struct {
	times map[cdr.SiteID]uint64
	last  map[cdr.SiteID]int32 // what each load read from last
}

const (
	// maxWatched bounds the granules that are watched of a site, so that large
	// data is no cause by order. maxReadFrom bounds what is found out,
	// maxRacyWrites the writes that are told apart.
	maxWatched    = 1 << 12
	maxReadFrom   = 1 << 18
	maxRacyWrites = 1 << 22
)

// newReads prepares to watch the plain sides of races between a write and a
// read. It is nil when there is none.
func newReads(x *index) *Reads {
	r := &Reads{ids: map[cdr.Site]cdr.SiteID{}, bytes: map[uint64]*[8]int32{}}
	for k := range x.pairs {
		a, b := x.sites[k.a], x.sites[k.b]
		if a.site.Access == b.site.Access {
			continue
		}
		w := a
		if b.site.Access == event.Write {
			w = b
		}
		if r.watch(w) {
			r.ids[a.site], r.ids[b.site] = k.a, k.b
		}
	}
	if len(r.ids) == 0 {
		return nil
	}
	return r
}

// watch notes what the executions of a site write. It reports false when that
// is too much.
func (r *Reads) watch(s *siteIndex) bool {
	if _, again := r.ids[s.site]; again {
		return true
	}
	all := map[uint64]bool{}
	for _, list := range s.threads {
		for i := range list {
			x := &list[i]
			for k := range x.count {
				addr := x.base + k*uint64(x.stride)
				for g := addr >> 3; g <= (addr+uint64(s.site.Size)-1)>>3; g++ {
					all[g] = true
				}
				if len(all) > maxWatched {
					return false
				}
				if x.stride == 0 {
					break
				}
			}
		}
	}
	for g := range all {
		if r.bytes[g] == nil {
			r.bytes[g] = new([8]int32)
			r.pages[g>>9&(1<<12-1)] = true
		}
	}
	return true
}

// Define implements [event.Observer].
func (r *Reads) Define(blocks []event.Block) error {
	for n := range blocks {
		b := readsBlock{sites: len(blocks[n].Sites)}
		for at, s := range blocks[n].Sites {
			id, watched := r.ids[cdr.Site(s)]
			if watched || s.Access == event.Write {
				b.accesses = append(b.accesses, readsAccess{at, uint64(s.Size), s.Access == event.Write, watched, id})
			}
		}
		r.blocks = append(r.blocks, b)
	}
	return nil
}

// Batch implements [event.Observer].
func (r *Reads) Batch(b *event.Batch) error {
	for int(b.Thread) >= len(r.threads) {
		r.threads = append(r.threads, readsThread{map[cdr.SiteID]uint64{}, map[cdr.SiteID]int32{}})
		r.Insts = append(r.Insts, 0)
	}
	r.Insts[b.Thread] += b.Insts
	t, addrs := &r.threads[b.Thread], b.Addrs
	for _, id := range b.Blocks {
		if int(id) >= len(r.blocks) {
			return fmt.Errorf("artifact: block %d is not defined", id)
		}
		x := &r.blocks[id]
		if len(addrs) < x.sites {
			return errors.New("artifact: a batch has too few addresses")
		}
		for k := range x.accesses {
			a := &x.accesses[k]
			if a.watched || r.pages[addrs[a.at]>>12&(1<<12-1)] {
				r.access(b.Thread, t, a, addrs[a.at])
			}
		}
		addrs = addrs[x.sites:]
	}
	return nil
}

// access follows a store, or a watched load.
func (r *Reads) access(th event.ThreadID, t *readsThread, a *readsAccess, addr uint64) {
	exec := Execution{Thread: th, Site: a.site}
	if a.watched {
		exec.Ordinal = t.times[a.site]
		t.times[a.site]++
	}
	if !a.write {
		r.read(t, a, addr, exec)
		return
	}
	by := int32(0)
	if a.watched && !r.full {
		r.writes = append(r.writes, exec)
		by = int32(len(r.writes))
		r.full = len(r.writes) >= maxRacyWrites
	}
	for i := range a.size {
		if g := r.bytes[(addr+i)>>3]; g != nil {
			g[(addr+i)&7] = by
		}
	}
}

// read notes what a watched load reads from, once a write in a row.
func (r *Reads) read(t *readsThread, a *readsAccess, addr uint64, exec Execution) {
	for i := range a.size {
		g := r.bytes[(addr+i)>>3]
		if g == nil {
			continue
		}
		by := g[(addr+i)&7]
		if by == 0 || r.writes[by-1].Thread == exec.Thread || t.last[a.site] == by {
			continue
		}
		t.last[a.site] = by
		if r.full = r.full || len(r.found) >= maxReadFrom; !r.full {
			r.found = append(r.found, ReadFrom{r.writes[by-1], exec})
		}
	}
}

// Finish implements [event.Observer].
func (r *Reads) Finish(outcome event.Outcome) error {
	r.Outcome = outcome
	return nil
}
