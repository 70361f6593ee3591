package timeline

import (
	"context"
	"fmt"

	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// builder builds a timeline, or the detail of a window, in a walk.
type builder struct {
	tl      *Timeline
	detail  *detail // nil: there was too much of it
	first   bool    // the walk also builds the timeline's cells and lanes
	threads []building
	now     uint64
}

// building is what has not been emitted yet of a thread.
type building struct {
	born    bool
	ended   bool
	to      uint64  // its states were emitted up to here
	insts   uint64  // instructions that it executed up to there
	slices  []slice // since its last event, while they may turn out to be part of a wait
	promise bool    // its last event may begin such a wait
	acting  []acting
}

type slice struct{ from, to uint64 }

// acting is a strand that a thread acts as.
type acting struct {
	strand uint64
	since  uint64
}

func newBuilder(tl *Timeline, d *detail, first bool) *builder {
	return &builder{tl: tl, detail: d, first: first, threads: make([]building, len(tl.threads))}
}

func (b *builder) run(ctx context.Context) error {
	err := Walk(ctx, b.tl.src, &Visitor{Slice: b.slice, Waits: b.waits, Event: b.event, Edge: b.edge})
	if err != nil {
		return err
	}
	for i := range b.threads {
		t, th := event.ThreadID(i), &b.threads[i]
		b.flush(t, nil)
		for len(th.acting) > 0 {
			b.leave(t, b.now)
		}
		if th.born && !th.ended {
			b.tell(t, b.now, Waiting, nil)
		}
		if b.first {
			b.tl.threads[i].born = th.born
			b.tl.lanes[i].End = th.to
		}
	}
	return nil
}

func (b *builder) slice(t event.ThreadID, from, to uint64) error {
	b.now = to
	th := &b.threads[t]
	b.begin(t, from)
	th.slices = append(th.slices, slice{from, to})
	if !th.promise {
		b.flush(t, nil)
	}
	return nil
}

// begin adds a thread.
func (b *builder) begin(t event.ThreadID, at uint64) {
	th := &b.threads[t]
	if th.born {
		return
	}
	th.born, th.to = true, at
	if b.first {
		b.tl.lanes[t].Begin = at
	}
}

func (b *builder) waits(ev *replay.Event, waits []Wait) error {
	b.begin(ev.Thread, b.now)
	b.flush(ev.Thread, waits)
	b.tell(ev.Thread, b.now, Waiting, waits)
	return nil
}

// flush emits what a thread executed, some of it during waits.
func (b *builder) flush(t event.ThreadID, waits []Wait) {
	th := &b.threads[t]
	for _, s := range th.slices {
		b.tell(t, s.from, Waiting, waits)
		b.tell(t, s.to, Running, waits)
	}
	th.slices = th.slices[:0]
}

func (b *builder) event(ev *replay.Event, at uint64) error {
	b.now = at
	t, th := ev.Thread, &b.threads[ev.Thread]
	b.begin(t, at)
	b.flush(t, nil)
	b.tell(t, at, Waiting, nil)
	th.promise = ev.Kind == event.Publish
	switch ev.Kind {
	case event.Create:
		if ev.Obj < uint64(len(b.threads)) {
			b.begin(event.ThreadID(ev.Obj), at)
		}
	case event.ThreadEnd:
		th.ended = true
	case event.StrandBegin, event.StrandResume:
		b.pause(t, at)
		th.acting = append(th.acting, acting{ev.Obj, at})
		b.strand(t, ev.Obj, at)
	case event.StrandEnd, event.StrandSuspend:
		b.leave(t, at)
	}
	return nil
}

// strand adds a lane for a strand that a thread begins to act as.
func (b *builder) strand(t event.ThreadID, id, at uint64) {
	if !b.first {
		return
	}
	if _, ok := b.tl.strands[id]; ok {
		return
	}
	n := len(b.tl.lanes)
	b.tl.strands[id] = n
	b.tl.lanes = append(b.tl.lanes, Lane{Lane: n, Name: fmt.Sprintf("S%d", id), Thread: t, Strand: id, Begin: at})
}

// leave makes a thread act as what it was before it began or resumed its current strand.
func (b *builder) leave(t event.ThreadID, at uint64) {
	th := &b.threads[t]
	if len(th.acting) == 0 {
		return
	}
	b.pause(t, at)
	strand := th.acting[len(th.acting)-1].strand
	th.acting = th.acting[:len(th.acting)-1]
	if b.first {
		b.tl.lanes[b.tl.strands[strand]].End = at
	}
	if len(th.acting) > 0 {
		th.acting[len(th.acting)-1].since = at
	}
}

// pause ends the turn of the strand that a thread acts as.
func (b *builder) pause(t event.ThreadID, at uint64) {
	th := &b.threads[t]
	if len(th.acting) == 0 {
		return
	}
	a := &th.acting[len(th.acting)-1]
	if d := b.detail; d != nil && at > d.from && a.since < d.to {
		d.turns[a.strand] = append(d.turns[a.strand], turn{a.since, at, t})
		d.strandTurns++
		b.limit()
	}
}

// tell emits what a thread did up to a time, apart from waits: it executed or it waited.
func (b *builder) tell(t event.ThreadID, to uint64, base State, waits []Wait) {
	th := &b.threads[t]
	for i := range waits {
		w := &waits[i]
		if w.From >= to || w.To <= th.to {
			continue
		}
		b.span(t, min(max(w.From, th.to), to), Interval{State: base, By: Nobody})
		state := Blocked
		if base == Running {
			state = Spinning
		}
		b.span(t, min(w.To, to), Interval{State: state, Kind: w.Kind, Object: w.Object, By: by(w.By), PC: w.PC})
	}
	b.span(t, to, Interval{State: base, By: Nobody})
}

// by returns a thread in the form of [Interval].
func by(t event.ThreadID) int {
	if t == NoThread {
		return Nobody
	}
	return int(t)
}

// span continues with one state up to a time.
func (b *builder) span(t event.ThreadID, to uint64, iv Interval) {
	th := &b.threads[t]
	from := th.to
	if to <= from {
		return
	}
	insts := th.insts
	th.to = to
	if iv.State == Running || iv.State == Spinning {
		th.insts += to - from
	}
	if b.first {
		b.tl.cell(t, from, to, iv.State)
		b.tl.lanes[t].Sums.add(iv.State, to-from)
	}
	d := b.detail
	if d == nil || to <= d.from || from >= d.to {
		return
	}
	why := d.reason(iv)
	spans := d.spans[t]
	if n := len(spans); n > 0 && spans[n-1].why == why {
		return // the last span continues
	}
	d.spans[t] = append(spans, span{from, insts, why})
	d.count++
	b.limit()
}

// cell adds to the sums of a thread.
func (tl *Timeline) cell(t event.ThreadID, from, to uint64, s State) {
	th := &tl.threads[t]
	for from < to {
		n := from / tl.width
		for uint64(len(th.cells)) <= n {
			th.cells = append(th.cells, Cell{})
		}
		end := min(to, (n+1)*tl.width)
		th.cells[n].add(s, end-from)
		from = end
	}
}

func (b *builder) edge(e *Edge) error {
	if d := b.detail; d != nil && e.To >= d.from && e.From < d.to {
		d.edges = append(d.edges, *e)
		b.limit()
	}
	return nil
}

// limit removes the detail if there is more of it than is kept.
func (b *builder) limit() {
	d, n := b.detail, b.tl.opts.Intervals
	if d.count > n || d.strandTurns > n || len(d.edges) > n {
		b.detail = nil
	}
}
