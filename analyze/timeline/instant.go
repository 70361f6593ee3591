package timeline

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"hindsight/analyze/race"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Access identifies an access of a thread: an execution of a site, or an event.
type Access struct {
	Thread  event.ThreadID
	Site    format.SiteID
	Ordinal uint64 // of the thread's executions of the site, from 0
	IsEvent bool
	Index   uint64 // of the thread's events, from 0, if it is one
}

// AccessOf returns a side of a race.
func AccessOf(s *race.Side) Access {
	if s.Op.Plain() {
		return Access{Thread: s.Thread, Site: s.Site, Ordinal: s.Ordinal}
	}
	return Access{Thread: s.Thread, IsEvent: true, Index: s.Segment}
}

// Places is a trace that finds accesses. *cdr.Trace implements it.
type Places interface {
	AccessInsts(th event.ThreadID, site format.SiteID, ordinal uint64) (uint64, error)
	EventInsts(th event.ThreadID, index uint64) (uint64, error)
}

// Times returns the times of accesses, in the same order. The time of an access is that
// of its basic block. If the intervals of the run are not kept, Times walks over the run
// again, once for all accesses.
func (tl *Timeline) Times(ctx context.Context, places Places, accesses []Access) ([]uint64, error) {
	moments := make([]Moment, len(accesses))
	for i, a := range accesses {
		m := Moment{Thread: a.Thread, After: a.IsEvent}
		var err error
		if a.IsEvent {
			m.Insts, err = places.EventInsts(a.Thread, a.Index)
		} else {
			m.Insts, err = places.AccessInsts(a.Thread, a.Site, a.Ordinal)
		}
		if err != nil {
			return nil, err
		}
		moments[i] = m
	}
	return tl.TimesOf(ctx, moments)
}

// Moment is a point in what a thread executed.
type Moment struct {
	Thread event.ThreadID
	Insts  uint64 // instructions of recorded blocks that it has executed
	// After says that the moment is just after the last of these instructions, and not
	// just before the next one. The thread may have lost its turn in between.
	After bool
}

// TimesOf returns the times of moments, in the same order. If the intervals of the run
// are not kept, it walks over the run again, once for all moments.
func (tl *Timeline) TimesOf(ctx context.Context, moments []Moment) ([]uint64, error) {
	times := make([]uint64, len(moments))
	if tl.whole {
		for i, m := range moments {
			times[i] = tl.timeOf(m.Thread, m.Insts, m.After)
		}
		return times, nil
	}
	// By thread, in the order of its instructions.
	order := make([][]int, len(tl.threads))
	for i, m := range moments {
		order[m.Thread] = append(order[m.Thread], i)
	}
	for _, list := range order {
		slices.SortStableFunc(list, func(a, b int) int {
			x, y := &moments[a], &moments[b]
			if x.Insts == y.Insts && x.After != y.After {
				if x.After {
					return -1
				}
				return 1
			}
			return cmp.Compare(x.Insts, y.Insts)
		})
	}
	done := make([]uint64, len(tl.threads))
	err := Walk(ctx, tl.src, &Visitor{Slice: func(t event.ThreadID, from, to uint64) error {
		list := order[t]
		for len(list) > 0 {
			m := &moments[list[0]]
			within := m.Insts - done[t]
			if within > to-from || within == to-from && !m.After {
				break
			}
			times[list[0]] = from + within
			list = list[1:]
		}
		order[t] = list
		done[t] += to - from
		return nil
	}})
	return times, err
}

// timeOf returns the time at which a thread had executed that many instructions: just
// before the next one, or just after the last one.
func (tl *Timeline) timeOf(t event.ThreadID, insts uint64, after bool) uint64 {
	d := tl.kept
	spans := d.spans[t]
	// The last executing span that begins with at most that many executed.
	i := sort.Search(len(spans), func(i int) bool {
		return spans[i].insts > insts || after && spans[i].insts == insts && insts > 0
	}) - 1
	for i > 0 && !d.executes(spans[i]) {
		i--
	}
	if i < 0 {
		return tl.lanes[t].Begin
	}
	return min(spans[i].from+insts-spans[i].insts, d.end(spans, i, tl.lanes[t].End))
}

func (d *detail) executes(s span) bool {
	state := d.why[s.why].State
	return state == Running || state == Spinning
}

// Mark is an instance of a race on the timeline.
type Mark struct {
	Race          int            `json:"race"`    // index of the race in the result
	Earlier       uint64         `json:"earlier"` // times of the accesses
	Later         uint64         `json:"later"`
	EarlierThread event.ThreadID `json:"earlier_thread"`
	LaterThread   event.ThreadID `json:"later_thread"`
	Last          bool           `json:"last,omitempty"` // the last instance, and not the first
}

// Marks returns the first and the last instances of races. Which access is the earlier
// one depends on the order in which races are reported (docs/semantics.md). Its time may
// be the greater.
func (tl *Timeline) Marks(ctx context.Context, places Places, races []race.Race) ([]Mark, error) {
	var accesses []Access
	marks := []Mark{}
	for i := range races {
		r := &races[i]
		for n, in := range []*race.Instance{&r.First, &r.Last} {
			if n == 1 && r.Dynamic == 1 {
				break
			}
			accesses = append(accesses, AccessOf(&in.Earlier), AccessOf(&in.Later))
			marks = append(marks, Mark{Race: i, EarlierThread: in.Earlier.Thread, LaterThread: in.Later.Thread, Last: n == 1})
		}
	}
	times, err := tl.Times(ctx, places, accesses)
	if err != nil {
		return nil, err
	}
	for i := range marks {
		marks[i].Earlier, marks[i].Later = times[2*i], times[2*i+1]
	}
	return marks, nil
}
