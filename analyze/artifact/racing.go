package artifact

import (
	"context"
	"errors"

	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Execution names a plain access of a run, as [race.Side] does.
type Execution struct {
	Thread  event.ThreadID
	Site    format.SiteID
	Ordinal uint64 // among the thread's executions of the site, from 0
}

// Writes are the plain writes of a race.
type Writes struct {
	Sites []format.SiteID // of the sides that write; empty if a side is an event
	Both  bool            // both sides write
	// Racing are the writes that take part in an instance of the race, each once. It is
	// empty if Complete is false, because there are too many.
	Racing   []Execution
	Complete bool
}

// RacingWrites finds the writes of the races of a trace, at most limit of them one by
// one, and the pages (address / 4096) that the writing instructions ever wrote. ok is
// false if the run exceeds the limits of what is kept.
func RacingWrites(ctx context.Context, t *cdr.Trace, img *image.Space, res *race.Result, limit int) (all []Writes, pages map[uint64]bool, ok bool, err error) {
	var opts Options
	opts.defaults()
	x, err := newIndex(ctx, replay.FromTrace(t), res.Races, img, img.TLSSize(), &opts)
	if errors.Is(err, errTooMuch) {
		return nil, nil, false, nil
	}
	if err != nil {
		return nil, nil, false, err
	}
	all, pages = make([]Writes, len(res.Races)), map[uint64]bool{}
	for i := range res.Races {
		if err := ctx.Err(); err != nil {
			return nil, nil, false, err
		}
		w := &all[i]
		if x.writes(i, &res.Races[i], w, limit); w.Complete {
			limit -= len(w.Racing)
		}
		for _, id := range w.Sites {
			if !x.sites[id].pages(pages) {
				return nil, nil, false, nil
			}
		}
	}
	return all, pages, true, nil
}

// writes sets the writes of race i.
func (x *index) writes(i int, r *race.Race, w *Writes, limit int) {
	first := &r.First
	if !first.Later.Op.Plain() || !first.Earlier.Op.Plain() {
		return
	}
	w.Both = first.Later.Op.Writes() && first.Earlier.Op.Writes()
	seen := map[format.SiteID]bool{}
	for _, k := range x.byRace[i] {
		for _, id := range []format.SiteID{k.a, k.b} {
			if x.sites[id].site.Access == event.Write && !seen[id] {
				seen[id] = true
				w.Sites = append(w.Sites, id)
			}
		}
	}
	if r.Dynamic > uint64(limit) {
		return
	}
	pairs, racing := uint64(0), map[Execution]bool{}
	for p := range x.instances(i) {
		pairs++
		for _, e := range []*exec{&p.c, &p.d} {
			if x.sites[e.site].site.Access == event.Write {
				racing[Execution{e.unit.thread, e.site, e.ordinal}] = true
			}
		}
	}
	// Orders other than happens-before count other pairs, so it is not known which
	// executions these are.
	if w.Complete = pairs == r.Dynamic && len(racing) <= limit; w.Complete {
		for e := range racing {
			w.Racing = append(w.Racing, e)
		}
	}
}

// maxPages limits the pages that racing instructions may write.
const maxPages = 1 << 15

// pages adds the pages that the executions of the site touch.
func (s *siteIndex) pages(to map[uint64]bool) bool {
	size := uint64(s.site.Size)
	for _, list := range s.threads {
		for i := range list {
			r := &list[i]
			step, n := r.stride, r.count
			if step > -4096 && step < 4096 { // every page in between
				lo, hi := r.base, r.base+(n-1)*uint64(step)
				for p := min(lo, hi) >> 12; p <= (max(lo, hi)+size-1)>>12 && len(to) <= maxPages; p++ {
					to[p] = true
				}
				continue
			}
			for k := uint64(0); k < n && len(to) <= maxPages; k++ {
				addr := r.base + k*uint64(step)
				to[addr>>12], to[(addr+size-1)>>12] = true, true
			}
		}
	}
	return len(to) <= maxPages
}
