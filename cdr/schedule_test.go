package cdr

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt/event"
)

// moment is an access or an event of a run, in the order of the run.
type moment struct {
	thread  event.ThreadID
	isEvent bool
	site    format.Site
	address uint64
}

// happened returns the moments of all batches.
func (s *synthetic) happened() (all []moment) {
	for i := range s.batches {
		b := &s.batches[i]
		addrs, from := b.Addrs, 0
		run := func(blocks []event.BlockID) {
			for _, id := range blocks {
				for _, site := range s.blocks[id].Sites {
					all = append(all, moment{thread: b.Thread, site: format.Site(site), address: addrs[0]})
					addrs = addrs[1:]
				}
			}
		}
		for _, e := range b.Events {
			run(b.Blocks[from:e.At])
			from = int(e.At)
			if e.Kind != event.Unwound && e.Kind != event.Rewound {
				all = append(all, moment{thread: b.Thread, isEvent: true})
			}
		}
		run(b.Blocks[from:])
	}
	return all
}

// scheduled puts the steps of all threads in the order of the schedule. some says which
// steps there are.
func scheduled(t *testing.T, tr *Trace, steps func(event.ThreadID) iter.Seq2[Step, error]) (all []moment) {
	t.Helper()
	type thread struct {
		next func() (Step, error, bool)
		step *Step
		base uint64 // accesses up to the last event or piece
	}
	var threads []*thread
	for _, th := range tr.Threads() {
		next, stop := iter.Pull2(steps(th.ID))
		defer stop()
		threads = append(threads, &thread{next: next})
	}
	// take appends the steps of a thread up to the access with that number, or through
	// its next event.
	take := func(id event.ThreadID, until uint64) {
		th := threads[id]
		for {
			if th.step == nil {
				step, err, ok := th.next()
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					return
				}
				th.step = &step
			}
			if s := th.step; !s.IsEvent && s.Number < until {
				all = append(all, moment{id, false, tr.Site(s.Site), s.Address})
				th.step = nil
				continue
			}
			if until != 1<<63 {
				th.base = until
				return
			}
			th.base, th.step = th.step.Number, nil
			all = append(all, moment{thread: id, isEvent: true})
			return
		}
	}
	next, stop := iter.Pull2(tr.Schedule())
	defer stop()
	piece, err, ok := next()
	pieces := func(seq uint64) {
		for ; ok && piece.Seq <= seq; piece, err, ok = next() {
			if err != nil {
				t.Fatal(err)
			}
			take(piece.Thread, threads[piece.Thread].base+piece.Accesses)
		}
	}
	for e, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		pieces(e.Seq)
		take(e.Thread, 1<<63)
	}
	pieces(1 << 63)
	for i := range threads {
		take(event.ThreadID(i), 1<<63)
	}
	return all
}

// TestSchedule compares the order of accesses and events in a trace with that of the
// batches, for all accesses and for some.
func TestSchedule(t *testing.T) {
	some := func(granule uint64) bool { return granule%3 != 0 }
	within := func(lo, hi uint64) bool {
		for g := lo >> 3; g <= (hi-1)>>3; g++ {
			if some(g) {
				return true
			}
		}
		return false
	}
	kept := func(m moment) bool {
		return m.isEvent || within(m.address, m.address+uint64(m.site.Size))
	}
	for seed := range uint64(12) {
		for _, budget := range []uint64{0, 40 << 10} {
			t.Run(fmt.Sprintf("seed=%d/budget=%d", seed, budget), func(t *testing.T) {
				s := newSynthetic(seed, 2+int(seed%3))
				s.run(3000)
				want := s.happened()
				tr, err := openBytes(s.record(t, recorder.Options{Budget: budget}, s.batches))
				if err != nil {
					t.Fatal(err)
				}
				if !tr.HasSchedule() {
					t.Fatal("no schedule")
				}
				if got := scheduled(t, tr, tr.Steps); !slices.Equal(got, want) {
					t.Fatalf("%d moments, want %d, or in another order", len(got), len(want))
				}
				want = slices.DeleteFunc(want, func(m moment) bool { return !kept(m) })
				got := scheduled(t, tr, func(th event.ThreadID) iter.Seq2[Step, error] { return tr.StepsWithin(th, within) })
				if !slices.Equal(got, want) {
					t.Fatalf("of some memory: %d moments, want %d, or in another order", len(got), len(want))
				}
				tr, err = openBytes(s.record(t, recorder.Options{Budget: budget, Keep: some}, s.batches))
				if err != nil {
					t.Fatal(err)
				}
				if got := scheduled(t, tr, tr.Steps); !slices.Equal(got, want) {
					t.Fatalf("with some accesses: %d moments, want %d, or in another order", len(got), len(want))
				}
				if tr, err = openBytes(s.record(t, recorder.Options{Budget: budget, NoSchedule: true}, s.batches)); err != nil {
					t.Fatal(err)
				}
				for piece, err := range tr.Schedule() {
					t.Fatal("a schedule was recorded:", piece, err)
				}
				if tr.HasSchedule() {
					t.Error("a trace without a schedule says that it has one")
				}
			})
		}
	}
}
