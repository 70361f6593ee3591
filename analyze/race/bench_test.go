package race

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// lockStep is a run that is made up while it is read: threads take turns to lock, touch a
// word and 64 words in a row, unlock, and touch the word again.
type lockStep struct {
	threads, rounds int
	own             bool // every thread has its own lock
	locks           int  // otherwise each time another one of so many
	scattered       bool // eight words scattered in a MiB instead of 64 in a row
}

func (l lockStep) NumThreads() int { return l.threads }
func (l lockStep) NumSites() int   { return 3 }

func (l lockStep) Site(id replay.SiteID) replay.Site {
	return replay.Site{PC: 0x100 + uint64(id)*4, Size: 8, Access: event.Write}
}

func (l lockStep) Events() iter.Seq2[replay.Event, error] {
	return func(yield func(replay.Event, error) bool) {
		seq := uint64(0)
		for r := range uint64(l.rounds) {
			for t := range event.ThreadID(l.threads) {
				lock := uint64(0x100)
				if l.own {
					lock += uint64(t) * 8
				}
				if l.locks > 0 {
					lock += (r*uint64(l.threads) + uint64(t)) * 0x9e3779b97f4a7c15 >> 32 % uint64(l.locks) * 8
				}
				for i, k := range []event.Kind{event.MutexLock, event.MutexUnlock} {
					if !yield(replay.Event{Event: event.Event{Kind: k, Obj: lock}, Thread: t, Seq: seq, Index: 2*r + uint64(i)}, nil) {
						return
					}
					seq++
				}
			}
		}
	}
}

func (l lockStep) Segments(t event.ThreadID) iter.Seq2[replay.Segment, error] {
	return func(yield func(replay.Segment, error) bool) {
		for r := range uint64(l.rounds) {
			inside := fakeSegment{2*r + 1, []replay.Run{{Site: 0, Base: 0x1000, Count: 1, First: r}}}
			if l.scattered {
				for i := range uint64(8) {
					at := (8*(r*uint64(l.threads)+uint64(t)) + i) * 0x9e3779b97f4a7c15 >> 44 &^ 7
					inside.runs = append(inside.runs, replay.Run{Site: 1, Base: 0x100000 + at, Count: 1, First: 8*r + i})
				}
			} else {
				inside.runs = append(inside.runs, replay.Run{Site: 1, Base: 0x2000, Stride: 8, Count: 64, First: 64 * r})
			}
			after := fakeSegment{2*r + 2, []replay.Run{{Site: 2, Base: 0x1000, Count: 1, First: r}}}
			if !yield(inside, nil) || !yield(after, nil) {
				return
			}
		}
	}
}

func BenchmarkLockStep(b *testing.B) {
	for _, own := range []bool{false, true} {
		b.Run(fmt.Sprintf("threads=16/own=%v", own), func(b *testing.B) {
			var res *Result
			for b.Loop() {
				var err error
				if res, err = Analyze(context.Background(), lockStep{threads: 16, rounds: 2000, own: own}, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(res.Stats.Events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(res.Stats.Accesses)*float64(b.N)/b.Elapsed().Seconds(), "accesses/s")
			b.ReportMetric(float64(res.Dynamic()), "pairs")
			b.ReportMetric(float64(res.Stats.Peak), "records")
		})
	}
}
