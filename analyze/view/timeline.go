package view

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"hindsight/analyze/report"
	"hindsight/analyze/timeline"
)

// Timeline is the answer under the key "timeline": the lanes of a run and its races. What
// lanes did is under "window/LEVEL/NUMBER/PAGE". A level divides the run into 4^LEVEL
// windows. A window has PageLanes lanes, from PAGE·PageLanes on.
type Timeline struct {
	End       uint64          `json:"end"` // in recorded instructions of all threads
	Lanes     []timeline.Lane `json:"lanes"`
	PageLanes int             `json:"pageLanes"`
	Levels    int             `json:"levels"` // windows of deeper levels would be empty
	Marks     []Mark          `json:"marks"`
}

// Mark is the first instance of a group of races: the times and threads of its accesses.
type Mark struct {
	ID      string    `json:"id"`
	What    string    `json:"what"`
	Times   [2]uint64 `json:"times"` // the earlier access first
	Threads [2]uint32 `json:"threads"`
}

// Window says what some lanes did in a part of the run.
type Window struct {
	timeline.View
	Objects map[uint64]string `json:"objects"` // names of variables that threads waited for
	Calls   map[uint64]Call   `json:"calls"`   // places of the calls that waited
}

// Call is a place in the source.
type Call struct {
	Function string `json:"fn"`
	File     string `json:"file"`
	Line     int    `json:"line"`
}

// Sizes of windows.
const (
	pageLanes   = 32
	levelFactor = 4
	windowCells = 512
	windowEdges = 400
	smallest    = 64 // smallest number of instructions in a window
	maxMarks    = 20_000
)

// lanes builds the timeline, once.
func (p *Page) lanes(ctx context.Context) (*timeline.Timeline, error) {
	if p.data.Trace == nil {
		return nil, noAnswer("timeline")
	}
	if p.timeline == nil {
		tl, err := timeline.Build(ctx, p.data.Trace, timeline.Options{})
		if err != nil {
			return nil, err
		}
		p.timeline = tl
	}
	return p.timeline, nil
}

func levelsOf(end uint64) int {
	levels := 1
	for size := end; size > smallest*levelFactor; size /= levelFactor {
		levels++
	}
	return levels
}

// timelineAnswer returns the answer under "timeline".
func (p *Page) timelineAnswer(ctx context.Context) (*Timeline, error) {
	tl, err := p.lanes(ctx)
	if err != nil {
		return nil, err
	}
	out := &Timeline{End: tl.End(), Lanes: tl.Lanes(), PageLanes: pageLanes, Levels: levelsOf(tl.End()), Marks: []Mark{}}
	if p.data.Races == nil {
		return out, nil
	}
	rep, err := p.report(ctx)
	if err != nil {
		return nil, err
	}
	var accesses []timeline.Access
	for _, g := range rep.Ranked() {
		if len(out.Marks) == maxMarks {
			break
		}
		m := Mark{ID: g.Lead.ID, What: g.What}
		for i, a := range []*report.Access{&g.Lead.Accesses[1], &g.Lead.Accesses[0]} {
			m.Threads[i] = uint32(a.Thread)
			accesses = append(accesses, timeline.Access{Thread: a.Thread, Site: a.Site, Ordinal: a.Ordinal, IsEvent: !a.Op.Plain(), Index: a.Segment})
		}
		out.Marks = append(out.Marks, m)
	}
	times, err := tl.Times(ctx, p.data.Trace, accesses)
	if err != nil {
		return nil, err
	}
	for i := range out.Marks {
		copy(out.Marks[i].Times[:], times[2*i:])
	}
	return out, nil
}

// windowKey returns the key of a window.
func windowKey(level, n, page int) string { return fmt.Sprintf("window/%d/%d/%d", level, n, page) }

// window returns the answer for a key LEVEL/NUMBER/PAGE.
func (p *Page) window(ctx context.Context, key string) (*Window, error) {
	tl, err := p.lanes(ctx)
	if err != nil {
		return nil, err
	}
	var at [3]int
	parts := strings.Split(key, "/")
	if len(parts) != len(at) {
		return nil, noAnswer("window/" + key)
	}
	for i, s := range parts {
		if at[i], err = strconv.Atoi(s); err != nil || at[i] < 0 {
			return nil, noAnswer("window/" + key)
		}
	}
	level, n, page := at[0], at[1], at[2]
	if level >= levelsOf(tl.End()) || n >= 1<<(2*level) || page*pageLanes > len(tl.Lanes()) {
		return nil, noAnswer("window/" + key)
	}
	q := timeline.Query{From: bound(tl.End(), level, n), To: bound(tl.End(), level, n+1), Cells: windowCells, Edges: windowEdges, Lanes: []int{}}
	for l := page * pageLanes; l < min(len(tl.Lanes()), (page+1)*pageLanes); l++ {
		q.Lanes = append(q.Lanes, l)
	}
	v, err := tl.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	w := &Window{View: *v, Objects: map[uint64]string{}, Calls: map[uint64]Call{}}
	p.nameWaits(w)
	return w, nil
}

// bound returns where window n of a level begins.
func bound(end uint64, level, n int) uint64 {
	parts := uint64(1) << (2 * level)
	return end/parts*uint64(n) + end%parts*uint64(n)/parts
}

// nameWaits adds the names of what threads waited for, and where.
func (p *Page) nameWaits(w *Window) {
	if p.data.Image == nil {
		return
	}
	object := func(kind timeline.Kind, addr uint64) {
		switch kind {
		case timeline.Lock, timeline.ReadLock, timeline.WriteLock, timeline.Barrier, timeline.Cond, timeline.Semaphore, timeline.Once:
			if name := p.data.Image.ObjectPath(addr); name != "" {
				w.Objects[addr] = name
			}
		}
	}
	for i := range w.Lanes {
		for j := range w.Lanes[i].Intervals {
			x := &w.Lanes[i].Intervals[j]
			object(x.Kind, x.Object)
			if _, known := w.Calls[x.PC]; known || x.PC == 0 {
				continue
			}
			c := Call{}
			if frames := p.data.Image.Frames(x.PC); len(frames) > 0 {
				c = Call{frames[0].Function, frames[0].File, frames[0].Line}
			}
			w.Calls[x.PC] = c
		}
	}
	for i := range w.Edges {
		object(w.Edges[i].Kind, w.Edges[i].Object)
	}
}
