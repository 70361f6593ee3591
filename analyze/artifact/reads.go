package artifact

import (
	"context"
	"errors"
	"iter"
	"slices"

	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// readFrom says that a racy read obtained its value, or a part of it, from a racy write
// of another thread or strand.
type readFrom struct{ write, read Execution }

// reads finds out from which racy writes the racy reads obtained their values, by walking
// over the accesses to the memory of such writes in the order of the run.
type reads struct {
	sites   map[format.SiteID]bool // of races between a plain write and a plain read
	bytes   map[uint64]*[8]int32
	ranges  []addressRange // of all granules in bytes, in order
	last    map[lastRead]int32
	writes  []Execution
	by      []event.StrandID // of writes
	found   []readFrom
	threads int
	strands bool // some threads act as several
}

// lastRead is a read of a strand.
type lastRead struct {
	strand event.StrandID
	site   format.SiteID
}

// addressRange is the addresses from low to high, exclusive.
type addressRange struct{ low, high uint64 }

const (
	// maxWatched limits the granules that are watched of a site, so that large data is
	// not a cause by order. maxReadFrom limits the results, maxRacyWrites the writes that
	// are distinguished, and maxReadsWalk the accesses of the walk.
	maxWatched    = 1 << 12
	maxReadFrom   = 1 << 16
	maxRacyWrites = 1 << 20
	maxReadsWalk  = 1 << 23
)

var (
	errNoSchedule = errors.New("the trace does not tell in which order accesses were executed")
	errManyReads  = errors.New("there are too many racy reads and writes to see which got values from which")
)

// newReads prepares to watch the plain sides of races between a write and a read whose
// value threads use. It returns nil if there is none.
func (e *explainer) newReads() (*reads, error) {
	x := e.index
	r := &reads{sites: map[format.SiteID]bool{}, bytes: map[uint64]*[8]int32{}, threads: len(x.seqs), last: map[lastRead]int32{}, strands: x.strands}
	for k := range x.pairs {
		a, b := k.a, k.b
		if x.sites[a].site.Access == x.sites[b].site.Access {
			continue
		}
		if x.sites[a].site.Access != event.Write {
			a, b = b, a
		}
		used, err := e.everUsed(b)
		if err != nil {
			return nil, err
		}
		if used && r.watch(a, x.sites[a]) {
			r.sites[a], r.sites[b] = true, true
		}
	}
	if len(r.sites) == 0 {
		return nil, nil
	}
	for g := range r.bytes {
		r.ranges = append(r.ranges, addressRange{g << 3, g<<3 + 8})
	}
	slices.SortFunc(r.ranges, func(a, b addressRange) int {
		if a.low < b.low {
			return -1
		}
		return 1
	})
	return r, nil
}

// usedSamples is the number of executions of a read that show, for each strand, whether
// its values are used.
const usedSamples = 8

// everUsed reports whether a thread uses the value of a racy read, in some of the
// executions that are tried.
func (e *explainer) everUsed(id format.SiteID) (bool, error) {
	s := e.index.sites[id]
	for _, strand := range s.inOrder() {
		list := s.strands[strand].records
		every := max(len(list)/usedSamples, 1)
		for i := 0; i < len(list); i += every {
			r := &list[len(list)-1-i]
			x := s.exec(id, r, r.count-1)
			at, err := e.place(&x)
			if err != nil {
				return false, err
			}
			if _, ok, err := e.looked(at); ok || err != nil {
				return ok, err
			}
		}
	}
	return false, nil
}

// watch adds what the executions of a site write. It returns false if that is too much.
func (r *reads) watch(id format.SiteID, s *siteIndex) bool {
	if r.sites[id] {
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
		}
	}
	return true
}

// watched reports whether a watched byte is in [lo, hi).
func (r *reads) watched(lo, hi uint64) bool {
	i, _ := slices.BinarySearchFunc(r.ranges, lo, func(x addressRange, lo uint64) int {
		if x.high <= lo {
			return -1
		}
		return 1
	})
	return i < len(r.ranges) && r.ranges[i].low < hi
}

// walk walks over the run.
func (r *reads) walk(ctx context.Context, t *cdr.Trace, survey *replay.Survey) error {
	if !t.HasSchedule() {
		return errNoSchedule
	}
	steps := replay.NewSteps(r.threads, func(th event.ThreadID) iter.Seq2[replay.Step, error] { return t.StepsWithin(th, r.watched) })
	defer steps.Close()
	n := 0
	run := survey.Walk(replay.Options{NoOrder: !r.strands, Parts: true, Share: true})
	return run.Run(ctx, t, &replay.Visitor{Segment: func(u *replay.Unit) error {
		strand := u.Thread.Strand()
		if r.strands {
			strand = run.Order.Strand(u.Thread)
		}
		return steps.Segment(ctx, u, func(s *replay.Step) error {
			if n++; n > maxReadsWalk {
				return errManyReads
			}
			site := t.Site(s.Site)
			exec := Execution{u.Thread, s.Site, s.Ordinal}
			if site.Access == event.Write {
				return r.wrote(s.Address, uint64(site.Size), exec, strand)
			}
			return r.read(s.Address, uint64(site.Size), exec, strand)
		})
	}})
}

// wrote follows a store.
func (r *reads) wrote(addr, size uint64, x Execution, strand event.StrandID) error {
	by := int32(0)
	if r.sites[x.Site] {
		if len(r.writes) >= maxRacyWrites {
			return errManyReads
		}
		r.writes, r.by = append(r.writes, x), append(r.by, strand)
		by = int32(len(r.writes))
	}
	for i := range size {
		if g := r.bytes[(addr+i)>>3]; g != nil {
			g[(addr+i)&7] = by
		}
	}
	return nil
}

// read notes the writes that a load reads from, consecutive equal ones once.
func (r *reads) read(addr, size uint64, x Execution, strand event.StrandID) error {
	if !r.sites[x.Site] {
		return nil
	}
	this := lastRead{strand, x.Site}
	for i := range size {
		g := r.bytes[(addr+i)>>3]
		if g == nil {
			continue
		}
		by := g[(addr+i)&7]
		if by == 0 || r.by[by-1] == strand || r.last[this] == by {
			continue
		}
		r.last[this] = by
		if len(r.found) >= maxReadFrom {
			return errManyReads
		}
		r.found = append(r.found, readFrom{r.writes[by-1], x})
	}
	return nil
}
