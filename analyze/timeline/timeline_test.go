package timeline_test

import (
	"reflect"
	"testing"

	"hindsight/analyze/internal/recorded"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/analyze/timeline"
	"hindsight/cdr"
	"hindsight/tracefmt/event"
)

// watcher records, from the machine itself and without any grammar, what each thread had
// executed at each event: in total, and at least up to the last access of its last turn.
type watcher struct {
	blocks []event.Block
	done   []uint64    // instructions of each thread
	low    []uint64    // of those, up to the block with the last access of a turn
	high   []uint64    // and up to its end
	turn   []uint64    // accesses in the turn since the last event
	last   int         // thread whose turn it is
	mark   [][2]uint64 // of each thread, before and after its last block with an access
	events [][2]uint64 // the earliest and the latest possible time
}

func (w *watcher) Define(blocks []event.Block) error {
	for _, b := range blocks {
		b.Sites = append([]event.Site(nil), b.Sites...)
		w.blocks = append(w.blocks, b)
	}
	return nil
}

func (w *watcher) Finish(event.Outcome) error { return nil }

func (w *watcher) Batch(b *event.Batch) error {
	t := int(b.Thread)
	for t >= len(w.done) {
		w.done, w.low, w.high, w.turn = append(w.done, 0), append(w.low, 0), append(w.high, 0), append(w.turn, 0)
		w.mark = append(w.mark, [2]uint64{})
	}
	if t != w.last && w.turn[w.last] > 0 {
		w.low[w.last], w.high[w.last] = w.mark[w.last][0], w.mark[w.last][1]
		w.turn[w.last] = 0
	}
	w.last = t
	events := b.Events
	for i := 0; ; i++ {
		for len(events) > 0 && int(events[0].At) == i {
			w.low[t], w.high[t], w.turn[t] = w.done[t], w.done[t], 0
			var sum [2]uint64
			for u := range w.done {
				sum[0] += w.low[u]
				sum[1] += w.high[u]
			}
			w.events = append(w.events, sum)
			events = events[1:]
		}
		if i == len(b.Blocks) {
			return nil
		}
		block := &w.blocks[b.Blocks[i]]
		before := w.done[t]
		w.done[t] += uint64(block.Insts)
		if n := len(block.Sites); n > 0 {
			w.turn[t] += uint64(n)
			w.mark[t] = [2]uint64{before, w.done[t]}
		}
	}
}

func record(t *testing.T, name string, seed uint64) (*cdr.Trace, *watcher) {
	t.Helper()
	w := &watcher{}
	return recorded.Example(t, name, seed, w), w
}

var programs = []string{"bank", "fig1", "fig7", "race_counter"}

// TestTime checks that each event is at the time at which the machine executed it, as far
// as a trace shows that, and that each thread runs for as long as it executed.
func TestTime(t *testing.T) {
	for _, name := range programs {
		t.Run(name, func(t *testing.T) {
			trace, w := record(t, name, 1)
			n, ran := 0, make([]uint64, len(w.done))
			err := timeline.Walk(t.Context(), trace, &timeline.Visitor{
				Slice: func(th event.ThreadID, from, to uint64) error { ran[th] += to - from; return nil },
				Event: func(ev *replay.Event, at uint64) error {
					if want := w.events[n]; at < want[0] || at > want[1] {
						t.Fatalf("event %d, %v of T%d, is at %d, want %d to %d", n, ev.Kind, ev.Thread, at, want[0], want[1])
					}
					n++
					return nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if n != len(w.events) || !reflect.DeepEqual(ran, w.done) {
				t.Errorf("%d events and %v instructions, want %d and %v", n, ran, len(w.events), w.done)
			}
		})
	}
}

func query(t *testing.T, tl *timeline.Timeline, q timeline.Query) *timeline.View {
	t.Helper()
	v, err := tl.Query(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestQuery checks that what is kept, its cells, and windows for which the run is walked
// again agree.
func TestQuery(t *testing.T) {
	for _, name := range programs {
		t.Run(name, func(t *testing.T) {
			trace, _ := record(t, name, 2)
			all, err := timeline.Build(t.Context(), trace, timeline.Options{})
			if err != nil {
				t.Fatal(err)
			}
			exact := query(t, all, timeline.Query{Cells: 1 << 20, Edges: 1 << 20})
			threads := trace.Threads()
			running := uint64(0)
			for i, l := range exact.Lanes {
				var sum timeline.Cell
				lane, last := all.Lanes()[i], all.Lanes()[i].Begin
				for _, iv := range l.Intervals {
					if iv.From != last || iv.To <= iv.From {
						t.Fatalf("lane %d: %+v after %d", i, iv, last)
					}
					last = iv.To
					add(&sum, iv)
				}
				if !l.Complete || last != lane.End {
					t.Errorf("lane %d ends at %d, want %d; complete: %v", i, last, lane.End, l.Complete)
				}
				if lane.Strand == 0 {
					if sum != lane.Sums || sum.Running+sum.Spinning != trace.Insts(threads[i].ID) {
						t.Errorf("lane %d: intervals sum up to %+v, want %+v, and %d instructions", i, sum, lane.Sums, trace.Insts(threads[i].ID))
					}
					running += sum.Running + sum.Spinning
				}
			}
			if running != all.End() {
				t.Errorf("%d instructions were executed in a time of %d", running, all.End())
			}
			few, err := timeline.Build(t.Context(), trace, timeline.Options{Intervals: len(exact.Lanes[0].Intervals) + 200})
			if err != nil {
				t.Fatal(err)
			}
			from, to := all.End()/3, all.End()/3+50
			a := query(t, all, timeline.Query{From: from, To: to, Cells: 50})
			b := query(t, few, timeline.Query{From: from, To: to, Cells: 50})
			if !reflect.DeepEqual(a, b) {
				t.Errorf("a window is\n%+v, want\n%+v", b, a)
			}
			sameCells(t, all, few)
		})
	}
}

// sameCells compares the sums of the whole run in a few cells.
func sameCells(t *testing.T, a, b *timeline.Timeline) {
	t.Helper()
	for _, l := range query(t, b, timeline.Query{Cells: 7}).Lanes {
		var sum timeline.Cell
		for _, c := range l.Cells {
			sum.Running += c.Running
			sum.Spinning += c.Spinning
			sum.Waiting += c.Waiting
			sum.Blocked += c.Blocked
		}
		for _, iv := range l.Intervals {
			add(&sum, iv)
		}
		if want := a.Lanes()[l.Lane].Sums; sum != want {
			t.Errorf("lane %d: cells sum up to %+v, want %+v", l.Lane, sum, want)
		}
	}
}

func add(c *timeline.Cell, iv timeline.Interval) {
	n := iv.To - iv.From
	switch iv.State {
	case timeline.Running:
		c.Running += n
	case timeline.Spinning:
		c.Spinning += n
	case timeline.Waiting:
		c.Waiting += n
	case timeline.Blocked:
		c.Blocked += n
	}
}

// TestMarks checks that the accesses of races are at times at which their threads run,
// whether intervals are kept or not.
func TestMarks(t *testing.T) {
	trace, _ := record(t, "bank", 1)
	res, err := race.Analyze(t.Context(), replay.FromTrace(trace), race.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got [2][]timeline.Mark
	for i, n := range []int{0, 10} {
		tl, err := timeline.Build(t.Context(), trace, timeline.Options{Intervals: n})
		if err != nil {
			t.Fatal(err)
		}
		if got[i], err = tl.Marks(t.Context(), trace, res.Races); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			continue
		}
		for _, m := range got[i] {
			for th, at := range map[event.ThreadID]uint64{m.EarlierThread: m.Earlier, m.LaterThread: m.Later} {
				v := query(t, tl, timeline.Query{From: at, To: at + 1, Lanes: []int{int(th)}})
				if iv := v.Lanes[0].Intervals; len(iv) != 1 || iv[0].State != timeline.Running {
					t.Errorf("race %d: T%d at %d: %+v", m.Race, th, at, iv)
				}
			}
		}
	}
	if len(got[0]) == 0 || !reflect.DeepEqual(got[0], got[1]) {
		t.Errorf("marks are\n%+v without intervals, want\n%+v", got[1], got[0])
	}
}
