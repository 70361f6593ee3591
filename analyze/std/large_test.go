package std

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// long is a run that is nowhere in memory: threads that count under their own locks and
// meet at a barrier.
type long struct{ threads, rounds int }

const (
	longLocks  = 20 // locks of a thread, one for each section
	longEvents = 2*longLocks + 2
)

func (l long) Threads() (all []cdr.Thread) {
	for t := range l.threads {
		all = append(all, cdr.Thread{ID: event.ThreadID(t)})
	}
	return all
}

func (l long) Site(id format.SiteID) format.Site {
	return format.Site{PC: 0x100 + 4*uint64(id), Size: 4, Access: event.Access(id & 1)}
}

func (l long) Events() iter.Seq2[format.Event, error] {
	return func(yield func(format.Event, error) bool) {
		seq := uint64(0)
		for round := range l.rounds {
			for i := range longEvents {
				for t := range l.threads {
					e := event.Event{Kind: event.MutexLock + event.Kind(i&1), Obj: uint64(0x1000*t + 8*(i/2))}
					switch i {
					case longEvents - 2:
						e = event.Event{Kind: event.BarrierEnter, Obj: 8, Arg: uint64(round)}
					case longEvents - 1:
						e = event.Event{Kind: event.BarrierLeave, Obj: 8, Arg: uint64(round)}
					}
					ev := format.Event{Event: e, Thread: event.ThreadID(t), Seq: seq, Index: uint64(round*longEvents + i)}
					if seq++; !yield(ev, nil) {
						return
					}
				}
			}
		}
	}
}

func (l long) Steps(t event.ThreadID) iter.Seq2[cdr.Step, error] {
	return func(yield func(cdr.Step, error) bool) {
		for range l.rounds {
			for i := range longEvents {
				for site := range format.SiteID(2) {
					if !yield(cdr.Step{Site: site, Address: 0x10000*uint64(t) + 4*uint64(i)}, nil) {
						return
					}
				}
				if !yield(cdr.Step{IsEvent: true}, nil) {
					return
				}
			}
		}
	}
}

// TestExportHoldsLittle checks that at the end of a run of hundreds of thousands of
// accesses an export holds as much memory as at the end of one four times as long, apart
// from the edges that are not a mutex's.
func TestExportHoldsLittle(t *testing.T) {
	if event.MutexUnlock != event.MutexLock+1 {
		t.Fatal("the made-up run relies on the numbers of events")
	}
	held := func(rounds int) (state, letters int, stats Stats) {
		x := &exporter{src: long{4, rounds}, cells: newCells()}
		stats, err := x.export(t.Context(), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		state = len(x.cells.cuts) + len(x.lives.whole) + len(x.lives.part) + len(x.spell.mutexes) + cap(x.line)
		for _, r := range x.lives.fresh {
			state += len(*r)
		}
		for _, c := range x.spell.known {
			state += len(c)
		}
		for _, l := range x.give.letters {
			letters += len(l)
		}
		return state, letters, stats
	}
	small, few, stats := held(200)
	large, many, long := held(800)
	t.Logf("%d then %d lines; %d then %d held", stats.Lines, long.Lines, small, large)
	if large > small || long.Lines < 4*stats.Lines-100 || long.Lines < 300_000 {
		t.Errorf("%d held of %d lines, %d of %d", small, stats.Lines, large, long.Lines)
	}
	if few == 0 || uint64(few) != stats.Messages || uint64(many) != long.Messages {
		t.Errorf("%d and %d letters for %d and %d messages", few, many, stats.Messages, long.Messages)
	}
}

// counting is an observer that records the largest batch.
type counting struct{ blocks, events, batch int }

func (c *counting) Define(b []event.Block) error { c.blocks += len(b); return nil }
func (c *counting) Finish(event.Outcome) error   { return nil }
func (c *counting) Batch(b *event.Batch) error {
	c.batch = max(c.batch, len(b.Blocks), len(b.Events))
	c.events += len(b.Events) + len(b.Blocks)
	return nil
}

// TestImportHoldsLittle checks that an import only holds names and a batch.
func TestImportHoldsLittle(t *testing.T) {
	in, out := io.Pipe()
	const lines = 300_000
	go func() {
		for i := range lines / 3 {
			if _, err := fmt.Fprintf(out, "T%d|acq(l%d)|1\nT%d|w(x%d)|2\nT%d|rel(l%d)|3\n", i/5000%3, i%7, i/5000%3, i%11, i/5000%3, i%7); err != nil {
				return
			}
		}
		out.Close()
	}()
	c := &counting{}
	names := &Names{}
	m := newImporter(c, names)
	if err := m.read(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	if c.events != lines+3 || c.batch > batchLength {
		t.Errorf("%d events, batches of up to %d", c.events, c.batch)
	}
	if n := len(m.variables) + len(m.locks) + len(m.owners) + len(m.blocks) + len(m.state) + len(names.Variables) + len(names.Locks); n > 50 {
		t.Errorf("%d things held", n)
	}
}

// TestLineNumbers checks the line number of an error at any place of a long text.
func TestLineNumbers(t *testing.T) {
	for _, at := range []int{1, 2, 4095, 4096, 4097, 9999} {
		for _, bad := range []string{"T0|w(x|1", "T0|w(x)|18446744073709551616", "T0|join(T0)|1", "T0|rel(l)|1", "T0|w(" + strings.Repeat("x", maxLine) + ")|1", "\x00", "T0|W(x)|1", "T0|acq(\xff)|"} {
			text := strings.Repeat("T0|w(x)|1\n", at-1) + bad + "\nT0|w(x)|1\n"
			err := Import(t.Context(), strings.NewReader(text), discard{}, &Names{})
			if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("line %d: ", at)) {
				t.Errorf("%.20q in line %d: %v", bad, at, err)
			}
		}
	}
}
