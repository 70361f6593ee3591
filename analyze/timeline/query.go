package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"hindsight/tracefmt/event"
)

// Interval is a time in which a lane was in one state.
type Interval struct {
	From   uint64 `json:"from"`
	To     uint64 `json:"to"`
	State  State  `json:"state"`
	Kind   Kind   `json:"kind,omitempty"`   // of what a blocked thread waits for
	Object uint64 `json:"object,omitempty"` // see [Kind]
	By     int    `json:"by"`               // thread that caused the wait; for a running strand: its thread; otherwise Nobody
	PC     uint64 `json:"pc,omitempty"`     // the waiting call
}

// Nobody is the By of an [Interval] that no thread caused.
const Nobody = -1

// Query selects a part of a timeline. The zero value selects all of it.
type Query struct {
	From, To uint64 // of time; To = 0 means the end
	Cells    int    // largest number of cells into which the time is divided; 0 means 1024
	Lanes    []int  // nil means all
	Edges    int    // largest number of edges; further ones are only counted; 0 means 1024, negative means none
}

// View is the answer to a [Query].
type View struct {
	From     uint64     `json:"from"`
	To       uint64     `json:"to"`
	Step     uint64     `json:"step"`  // length of a cell; the last cell may be shorter
	Cells    int        `json:"cells"` // counted from From
	Lanes    []LaneView `json:"lanes"`
	Edges    []Edge     `json:"edges"`
	AllEdges uint64     `json:"all_edges"` // including those that are left out
}

// LaneView says what a lane did in a [View]: exact intervals if there are at most twice
// as many as cells, and otherwise the sums of cells.
type LaneView struct {
	Lane      int        `json:"lane"`
	Intervals []Interval `json:"intervals,omitempty"`
	Cells     []Cell     `json:"cells,omitempty"`
	// Complete says that Intervals has everything that the lane did in the view.
	Complete bool `json:"complete"`
}

const (
	defaultCells = 1 << 10
	defaultEdges = 1 << 10
)

// ErrQuery is wrapped by errors about queries for something that does not exist.
var ErrQuery = errors.New("no such part of the timeline")

// Query answers from what is kept, or walks over the run again for a window that is
// narrower than the cells that are kept. ctx can stop that.
func (tl *Timeline) Query(ctx context.Context, q Query) (*View, error) {
	if q.To == 0 || q.To > tl.end {
		q.To = tl.end
	}
	if q.From > q.To {
		return nil, fmt.Errorf("%w: from %d to %d of %d", ErrQuery, q.From, q.To, tl.end)
	}
	if q.Cells <= 0 {
		q.Cells = defaultCells
	}
	if q.Edges == 0 {
		q.Edges = defaultEdges
	}
	if q.Lanes == nil {
		for i := range tl.lanes {
			q.Lanes = append(q.Lanes, i)
		}
	}
	v := &View{From: q.From, To: q.To, Lanes: []LaneView{}, Edges: []Edge{}}
	v.Step = max(1, (q.To-q.From+uint64(q.Cells)-1)/uint64(q.Cells))
	d, err := tl.detailOf(ctx, v)
	if err != nil {
		return nil, err
	}
	if d == nil { // the cells that are kept: extend to their boundaries
		v.Step = (v.Step + tl.width - 1) / tl.width * tl.width
		v.From -= v.From % tl.width
	}
	v.Cells = int((v.To - v.From + v.Step - 1) / v.Step)
	for _, n := range q.Lanes {
		if n < 0 || n >= len(tl.lanes) {
			return nil, fmt.Errorf("%w: lane %d of %d", ErrQuery, n, len(tl.lanes))
		}
		v.Lanes = append(v.Lanes, tl.lane(v, d, n))
	}
	if d != nil && q.Edges > 0 {
		v.takeEdges(d, q.Edges)
	}
	return v, nil
}

// detailOf returns the intervals of a view. It returns nil if the kept sums suffice for
// the cells, or if there is nothing better.
func (tl *Timeline) detailOf(ctx context.Context, v *View) (*detail, error) {
	if tl.whole || tl.kept != nil && tl.kept.from <= v.From && tl.kept.to >= v.To {
		return tl.kept, nil
	}
	if v.Step > tl.width {
		return nil, nil
	}
	// A little more than requested, because a user usually looks next to it afterwards.
	room := v.To - v.From
	d := newDetail(len(tl.threads), v.From-min(v.From, room), min(tl.end, v.To+room))
	b := newBuilder(tl, d, false)
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	if b.detail != nil {
		tl.kept = b.detail
	}
	return b.detail, nil
}

// lane returns what a lane did in a view.
func (tl *Timeline) lane(v *View, d *detail, n int) LaneView {
	out := LaneView{Lane: n}
	l := &tl.lanes[n]
	if d == nil {
		if l.Strand == 0 {
			out.Cells = tl.sums(v, n)
		}
		return out
	}
	limit := 2 * v.Cells
	emit := func(iv Interval) {
		if out.Cells == nil {
			if out.Intervals = append(out.Intervals, iv); len(out.Intervals) <= limit {
				return
			}
			out.Cells = make([]Cell, v.Cells)
			for _, iv := range out.Intervals {
				v.add(out.Cells, iv)
			}
			out.Intervals = nil
			return
		}
		v.add(out.Cells, iv)
	}
	if l.Strand == 0 {
		tl.intervals(d, l.Thread, v.From, v.To, emit)
	} else {
		tl.strandIntervals(d, l, v, emit)
	}
	out.Complete = out.Cells == nil
	return out
}

// intervals calls emit for what a thread did between two times.
func (tl *Timeline) intervals(d *detail, t event.ThreadID, from, to uint64, emit func(Interval)) {
	spans, end := d.spans[t], min(tl.lanes[t].End, d.to)
	for i := at(spans, from); i < len(spans) && spans[i].from < to; i++ {
		iv := d.why[spans[i].why]
		iv.From, iv.To = max(spans[i].from, from), min(d.end(spans, i, end), to)
		if iv.From < iv.To {
			emit(iv)
		}
	}
}

// strandIntervals calls emit for what a strand did: what its thread did while it acted as
// the strand, and nothing in between.
func (tl *Timeline) strandIntervals(d *detail, l *Lane, v *View, emit func(Interval)) {
	turns := d.turns[l.Strand]
	last := max(l.Begin, v.From)
	for _, x := range turns {
		if x.to <= v.From || x.from >= v.To {
			continue
		}
		if x.from > last {
			emit(Interval{From: last, To: x.from, State: Waiting, By: Nobody})
		}
		tl.intervals(d, x.thread, max(x.from, v.From), min(x.to, v.To), func(iv Interval) {
			if iv.By == Nobody {
				iv.By = int(x.thread)
			}
			emit(iv)
		})
		last = max(last, x.to)
	}
	if end := min(l.End, v.To); last < end {
		emit(Interval{From: last, To: end, State: Waiting, By: Nobody})
	}
}

// add adds an interval to the cells that contain it.
func (v *View) add(cells []Cell, iv Interval) {
	for from := max(iv.From, v.From); from < iv.To; {
		n := (from - v.From) / v.Step
		if n >= uint64(len(cells)) {
			return
		}
		end := min(iv.To, v.From+(n+1)*v.Step)
		cells[n].add(iv.State, end-from)
		from = end
	}
}

// sums combines the cells that are kept.
func (tl *Timeline) sums(v *View, n int) []Cell {
	out := make([]Cell, v.Cells)
	kept := tl.threads[n].cells
	for i := v.From / tl.width; i < uint64(len(kept)); i++ {
		to := (i*tl.width - v.From) / v.Step
		if to >= uint64(len(out)) {
			break
		}
		out[to].plus(&kept[i])
	}
	return out
}

// takeEdges selects the longest edges of a view.
func (v *View) takeEdges(d *detail, most int) {
	for _, e := range d.edges {
		if e.To < v.From || e.From > v.To {
			continue
		}
		v.AllEdges++
		v.Edges = append(v.Edges, e)
		if len(v.Edges) >= 4*most {
			v.longest(most)
		}
	}
	if len(v.Edges) > most {
		v.longest(most)
	}
	slices.SortStableFunc(v.Edges, func(a, b Edge) int { return cmp.Compare(a.From, b.From) })
}

func (v *View) longest(most int) {
	slices.SortStableFunc(v.Edges, func(a, b Edge) int { return cmp.Compare(b.To-b.From, a.To-a.From) })
	v.Edges = v.Edges[:most]
}
