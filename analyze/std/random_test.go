package std

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"

	"hindsight/analyze/race"
	"hindsight/cdr"
	"hindsight/tracefmt/event"
)

// made is a made-up run: any events in any order, whether they make sense or
// not, with accesses between them.
type made struct {
	sites  []cdr.Site
	events []cdr.Event
	steps  [][]cdr.Step // by thread
}

func (m *made) Threads() []cdr.Thread {
	out := make([]cdr.Thread, len(m.steps))
	for i := range out {
		out[i].ID = event.ThreadID(i)
	}
	return out
}

func (m *made) NumThreads() int             { return len(m.steps) }
func (m *made) NumSites() int               { return len(m.sites) }
func (m *made) Site(id cdr.SiteID) cdr.Site { return m.sites[id] }
func (m *made) Events() iter.Seq2[cdr.Event, error] {
	return func(yield func(cdr.Event, error) bool) {
		for _, e := range m.events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m *made) Steps(t event.ThreadID) iter.Seq2[cdr.Step, error] {
	return func(yield func(cdr.Step, error) bool) {
		for _, s := range m.steps[t] {
			if !yield(s, nil) {
				return
			}
		}
	}
}

type madeSegment struct {
	place uint64
	runs  []race.Run
}

func (s madeSegment) Place() uint64 { return s.place }
func (s madeSegment) Runs() iter.Seq2[race.Run, error] {
	return func(yield func(race.Run, error) bool) {
		for _, r := range s.runs {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (m *made) Segments(t event.ThreadID) iter.Seq2[race.Segment, error] {
	return func(yield func(race.Segment, error) bool) {
		seg := madeSegment{}
		counts := map[cdr.SiteID]uint64{}
		for _, s := range m.steps[t] {
			if s.IsEvent {
				if !yield(seg, nil) {
					return
				}
				seg = madeSegment{place: seg.place + 1}
				continue
			}
			seg.runs = append(seg.runs, race.Run{Site: s.Site, Base: s.Address, Count: 1, First: counts[s.Site]})
			counts[s.Site]++
		}
		yield(seg, nil)
	}
}

// kinds are the events that made-up runs have.
var kinds = []event.Kind{
	event.MutexLock, event.MutexUnlock, event.MutexLock, event.MutexUnlock, event.ReadLock, event.ReadUnlock, event.WriteLock, event.WriteUnlock,
	event.BarrierEnter, event.BarrierLeave, event.SemPost, event.SemWait, event.OnceDone, event.OnceSeen,
	event.AtomicLoad, event.AtomicStore, event.AtomicRMW, event.Fence, event.Init, event.Destroy,
	event.Alloc, event.Free, event.CondSignal, event.Map,
}

// makeRun makes up a run. An access to two granules, of which one has begun a
// new life and the other has not, is more than STD can tell: there are either
// no such accesses or no such new lives.
func makeRun(rng *rand.Rand, n int) *made {
	narrow := rng.IntN(2) == 0
	threads := 2 + rng.IntN(4)
	m := &made{steps: make([][]cdr.Step, threads)}
	for i := range 10 {
		m.sites = append(m.sites, cdr.Site{PC: 0x1000 + 4*uint64(i), Size: 1 << rng.IntN(4), Access: event.Access(i & 1)})
	}
	index := make([]uint64, threads)
	state := make([]int, threads) // 0 not begun, 1 created, 2 running, 3 ended
	roots := 1 + rng.IntN(threads)
	for t := range roots {
		state[t] = 2
	}
	add := func(t int, e event.Event) {
		m.events = append(m.events, cdr.Event{Event: e, Thread: event.ThreadID(t), Seq: uint64(len(m.events)), Index: index[t]})
		index[t]++
		m.steps[t] = append(m.steps[t], cdr.Step{IsEvent: true})
	}
	for range n {
		t := rng.IntN(threads)
		pc := 0x8000 + 4*uint64(rng.IntN(1000))
		switch {
		case state[t] == 1:
			add(t, event.Event{Kind: event.ThreadStart})
			state[t] = 2
		case state[t] != 2:
		case rng.IntN(3) > 0:
			s := cdr.SiteID(rng.IntN(len(m.sites)))
			addr := 0x4000 + uint64(rng.IntN(40))
			if narrow {
				addr &^= uint64(m.sites[s].Size) - 1
			}
			m.steps[t] = append(m.steps[t], cdr.Step{Site: s, Address: addr})
		case rng.IntN(10) == 0:
			other := rng.IntN(threads)
			switch {
			case state[other] == 0:
				state[other] = 1
				add(t, event.Event{Kind: event.Create, PC: pc, Obj: uint64(other)})
			case state[other] == 3:
				add(t, event.Event{Kind: event.Join, PC: pc, Obj: uint64(other)})
			case t != 0:
				state[t] = 3
				add(t, event.Event{Kind: event.ThreadEnd})
			}
		default:
			e := event.Event{Kind: kinds[rng.IntN(len(kinds))], PC: pc, Obj: 0x100 + 8*uint64(rng.IntN(3)), Mode: event.Mode(rng.IntN(4))}
			switch e.Kind {
			case event.BarrierEnter, event.BarrierLeave:
				e.Arg = uint64(rng.IntN(2))
			case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
				e.Obj, e.Size = 0x4000+uint64(rng.IntN(6)), 1<<rng.IntN(3)
			case event.Alloc, event.Map, event.Free:
				e.Obj, e.Arg = 0x4000+8*uint64(rng.IntN(5)), uint64(1+rng.IntN(24))
				if narrow {
					e.Arg = min(e.Arg, 8)
				} else if e.Kind != event.Free {
					e.Obj, e.Arg = 0x3ff0, 100
				}
			}
			add(t, e)
		}
	}
	return m
}

// TestSpelling exports made-up runs with every kind of event and compares the
// races of the text with those of the run.
func TestSpelling(t *testing.T) {
	found, messages := 0, uint64(0)
	for seed := range uint64(1500) {
		m := makeRun(rand.New(rand.NewPCG(seed, 5)), 120)
		res, err := race.Analyze(context.Background(), m, race.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := map[pair]bool{}
		for _, r := range res.Races {
			a, b := r.First.Later.PC, r.First.Earlier.PC
			want[pair{min(a, b), max(a, b)}] = true
		}
		var text bytes.Buffer
		stats, err := Export(context.Background(), &text, m, Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		found += len(want)
		messages += stats.Messages
		same(t, fmt.Sprintf("seed %d", seed), detect(t, text.Bytes()).pairs, want)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d pairs, %d messages", found, messages)
	if found < 5000 || messages < 500 {
		t.Errorf("only %d pairs and %d messages", found, messages)
	}
}
