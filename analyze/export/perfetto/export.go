package perfetto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"hindsight/analyze/timeline"
	"hindsight/cdr"
	"hindsight/tracefmt/event"
)

// Trace is a recorded run. *cdr.Trace implements it.
type Trace interface {
	timeline.Source
	timeline.Places
	Calls(th event.ThreadID, depth int, visit func(cdr.Call) error) error
}

// Race is a race to show.
type Race struct {
	timeline.Mark
	ID             string // R1
	What           string // the variable
	Earlier, Later string // description and place of each access
	Dynamic        uint64
}

// Options of [Export].
type Options struct {
	Program string
	// Depth is how many frames of calls are shown, counted from a thread's first
	// function. 0 means 6, and a negative number none.
	Depth int
	// Limit limits the slices of each thread, and separately those of calls. 0 means
	// 200,000. Stats says what was left out.
	Limit int
	Races []Race
	// Function returns the name of code. If it is nil or returns "", the address is
	// shown.
	Function func(pc uint64) string
	// Object returns the name of what a thread waits for. If it is nil or returns "", the
	// address is shown.
	Object func(addr uint64) string
}

// The defaults of [Options].
const (
	DefaultDepth = 6
	DefaultLimit = 200_000
)

// Stats says what was written.
type Stats struct {
	Tracks, Slices, Calls int
	Depth                 int  // of the calls shown; less than Options.Depth if there were too many
	Coarse                bool // slices are sums, because there were too many intervals
}

// Export writes a run whose timeline is tl.
func Export(ctx context.Context, out io.Writer, t Trace, tl *timeline.Timeline, opts Options) (Stats, error) {
	opts.Limit = cmp.Or(opts.Limit, DefaultLimit)
	opts.Depth = cmp.Or(opts.Depth, DefaultDepth)
	e := &exporter{w: newWriter(out), t: t, tl: tl, opts: opts}
	e.tracks()
	if err := e.lanes(ctx); err != nil {
		return e.stats, err
	}
	if err := e.calls(ctx); err != nil {
		return e.stats, err
	}
	e.races()
	if err := e.w.out.Flush(); e.w.err == nil {
		e.w.err = err
	}
	return e.stats, e.w.err
}

type exporter struct {
	w     *writer
	t     Trace
	tl    *timeline.Timeline
	opts  Options
	stats Stats
}

// The uuids of tracks: that of the process, then two for each lane, one of its own and
// one of its states.
const process = 1

func track(lane int) uint64  { return 2 + 2*uint64(lane) }
func states(lane int) uint64 { return 3 + 2*uint64(lane) }

// pid is the process of all threads. A thread's id is derived from its number.
const pid = 1

func (e *exporter) tracks() {
	var p, m message
	p.varint(processPID, pid)
	p.text(processName, e.opts.Program)
	m.varint(trackUUID, process)
	m.inner(trackProcess, p)
	e.w.descriptor(m)
	for i, l := range e.tl.Lanes() {
		var m message
		m.varint(trackUUID, track(i))
		if l.Strand == 0 {
			var th message
			th.varint(threadPID, pid)
			th.varint(threadTID, pid+uint64(i)) // the main thread has the id of the process
			th.text(threadName, l.Name)
			m.inner(trackThread, th)
		} else {
			m.text(trackName, fmt.Sprintf("strand %d", l.Strand))
			m.varint(trackParent, process)
		}
		e.w.descriptor(m)
		e.stats.Tracks++
		if l.Strand != 0 {
			continue
		}
		var s message
		s.varint(trackUUID, states(i))
		s.text(trackName, l.Name+" states")
		s.varint(trackParent, track(i))
		e.w.descriptor(s)
		e.stats.Tracks++
	}
}

// lanes writes the states of threads and strands.
func (e *exporter) lanes(ctx context.Context) error {
	for i, l := range e.tl.Lanes() {
		v, err := e.tl.Query(ctx, timeline.Query{Lanes: []int{i}, Cells: e.opts.Limit / 2, Edges: -1})
		if err != nil {
			return err
		}
		to := states(i)
		if l.Strand != 0 {
			to = track(i)
		}
		lane := &v.Lanes[0]
		for _, iv := range lane.Intervals {
			e.interval(to, &iv)
		}
		if !lane.Complete {
			e.stats.Coarse = true
			e.cells(to, v, lane)
		}
	}
	return nil
}

func (e *exporter) interval(to uint64, iv *timeline.Interval) {
	if iv.State == timeline.Waiting {
		return // an empty place shows that
	}
	name := iv.State.String()
	m := newEvent(sliceBegin, to)
	m.text(eventCategories, name)
	if iv.Kind != timeline.None {
		object := e.object(iv.Kind, iv.Object)
		name = fmt.Sprintf("%s: %s %s", name, iv.Kind, object)
		m.note("object", object)
	}
	m.text(eventName, name)
	if iv.By != timeline.Nobody {
		m.note("by", fmt.Sprintf("T%d", iv.By))
	}
	if iv.PC != 0 {
		m.note("at", e.function(iv.PC))
	}
	e.slice(to, iv.From, iv.To, m)
}

func (e *exporter) slice(to, from, until uint64, begin message) {
	e.w.event(from, begin)
	e.w.event(until, newEvent(sliceEnd, to))
	e.stats.Slices++
}

// cells writes the sums of a lane that has too many intervals. Each cell shows its most
// frequent state.
func (e *exporter) cells(to uint64, v *timeline.View, lane *timeline.LaneView) {
	for i, c := range lane.Cells {
		name, most := "", uint64(0)
		for _, x := range []struct {
			name string
			n    uint64
		}{{"running", c.Running}, {"blocked", c.Blocked}, {"spinning", c.Spinning}} {
			if x.n > most {
				name, most = x.name, x.n
			}
		}
		if most == 0 {
			continue
		}
		m := newEvent(sliceBegin, to)
		m.text(eventCategories, name)
		m.text(eventName, "mostly "+name)
		m.number("running", c.Running)
		m.number("blocked", c.Blocked)
		m.number("waiting", c.Waiting)
		from := v.From + uint64(i)*v.Step
		e.slice(to, from, min(from+v.Step, v.To), m)
	}
}

func (e *exporter) object(k timeline.Kind, obj uint64) string {
	switch k {
	case timeline.Join:
		return fmt.Sprintf("T%d", obj)
	case timeline.Order:
		return fmt.Sprintf("handle %d", obj)
	}
	if e.opts.Object != nil {
		if name := e.opts.Object(obj); name != "" {
			return name
		}
	}
	return fmt.Sprintf("0x%x", obj)
}

func (e *exporter) function(pc uint64) string {
	if e.opts.Function != nil {
		if name := e.opts.Function(pc); name != "" {
			return name
		}
	}
	return fmt.Sprintf("0x%x", pc)
}

var errTooMany = errors.New("too many calls")

// calls writes the functions that threads executed, with a smaller depth if there are too
// many.
func (e *exporter) calls(ctx context.Context) error {
	e.stats.Depth = max(e.opts.Depth, 0)
	for _, th := range e.t.Threads() {
		for depth := e.opts.Depth; depth > 0; depth-- {
			var calls []cdr.Call
			err := e.t.Calls(th.ID, depth, func(c cdr.Call) error {
				calls = append(calls, c)
				if len(calls) > e.opts.Limit {
					return errTooMany
				}
				return ctx.Err()
			})
			if errors.Is(err, errTooMany) {
				e.stats.Depth = min(e.stats.Depth, depth-1)
				continue
			}
			if err != nil {
				return err
			}
			if err := e.write(ctx, th.ID, calls); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// write writes the calls of a thread, outer calls around inner ones.
func (e *exporter) write(ctx context.Context, th event.ThreadID, calls []cdr.Call) error {
	var insts []timeline.Moment
	for _, c := range calls {
		insts = append(insts, timeline.Moment{Thread: th, Insts: c.From}, timeline.Moment{Thread: th, Insts: c.To, After: true})
	}
	times, err := e.tl.TimesOf(ctx, insts)
	if err != nil {
		return err
	}
	to := track(int(th))
	type edge struct {
		at    uint64
		begin bool
		call  int
	}
	edges := make([]edge, 0, len(times))
	for i := range calls {
		edges = append(edges, edge{times[2*i], true, i}, edge{times[2*i+1], false, i})
	}
	slices.SortStableFunc(edges, func(a, b edge) int {
		x, y := &calls[a.call], &calls[b.call]
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.begin != b.begin: // what ends here ends before anything begins
			if b.begin {
				return -1
			}
			return 1
		case a.begin:
			return cmp.Compare(x.Depth, y.Depth)
		}
		return cmp.Compare(y.Depth, x.Depth)
	})
	for _, x := range edges {
		if !x.begin {
			e.w.event(x.at, newEvent(sliceEnd, to))
			continue
		}
		m := newEvent(sliceBegin, to)
		m.text(eventCategories, "function")
		m.text(eventName, e.function(calls[x.call].PC))
		e.w.event(x.at, m)
		e.stats.Calls++
	}
	return nil
}

// races writes the first and last instances of races as two instants and an arrow.
func (e *exporter) races() {
	for i := range e.opts.Races {
		r := &e.opts.Races[i]
		sides := [2]struct {
			at     uint64
			thread event.ThreadID
			text   string
		}{{r.Mark.Earlier, r.EarlierThread, r.Earlier}, {r.Mark.Later, r.LaterThread, r.Later}}
		if sides[0].at > sides[1].at {
			sides[0], sides[1] = sides[1], sides[0]
		}
		for n, s := range sides {
			m := newEvent(instant, track(int(s.thread)))
			m.text(eventCategories, "race")
			m.text(eventName, fmt.Sprintf("%s %s", r.ID, r.What))
			m.note("access", s.text)
			m.number("dynamic", r.Dynamic)
			if n == 0 {
				m.fixed(eventFlows, uint64(i)+1)
			} else {
				m.fixed(eventFlowEnds, uint64(i)+1)
			}
			e.w.event(s.at, m)
		}
	}
}
