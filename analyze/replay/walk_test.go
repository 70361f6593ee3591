package replay_test

import (
	"fmt"
	"slices"
	"testing"

	"hindsight/analyze/internal/madeup"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// told walks over a run and lists the calls of the visitor, with the accesses of
// segments.
func told(t *testing.T, m *madeup.Run, opts replay.Options) (log []string) {
	t.Helper()
	s, err := replay.NewSurvey(t.Context(), m, m.NumThreads(), false, new(replay.Business), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := s.Walk(opts)
	steps := replay.NewSteps(s.Threads, m.Steps)
	defer steps.Close()
	add := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
	err = w.Run(t.Context(), m, &replay.Visitor{
		Segment: func(u *replay.Unit) error {
			return steps.Segment(t.Context(), u, func(x *replay.Step) error {
				add("T%d %#x from %d", u.Thread, x.Address, u.Start)
				return nil
			})
		},
		Event:  func(ev *replay.Event) error { add("T%d %v", ev.Thread, ev.Kind); return nil },
		Access: func(u *replay.Unit, a *replay.Access) error { add("%v %#x+%d", a.Op, a.Address, a.Size); return nil },
		Life:   func(addr, size, at uint64) error { add("life %#x+%d at %d", addr, size, at); return nil },
		Changes: func(ev *replay.Event) error {
			add("changes")
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// TestWalk checks which functions are called in which order and that, with parts,
// accesses come at the time of their execution.
func TestWalk(t *testing.T) {
	m := madeup.New(2)
	m.Write(0, 0x10, 0x1000)
	m.Do(0, event.Create, 1)
	m.Write(0, 0x14, 0x2000)
	m.Do(1, event.ThreadStart, 0)
	m.Write(1, 0x20, 0x2000)
	m.Event(0, event.Event{Kind: event.Alloc, Obj: 0x3000, Arg: 24})
	m.Event(1, event.Event{Kind: event.Free, Obj: 0x3000})
	m.Event(1, event.Event{Kind: event.AtomicStore, Obj: 0x4000, Size: 4})
	m.Read(0, 0x18, 0x2000)
	rest := []string{"T0 alloc", "life 0x3000+24 at 3"}
	end := []string{"T1 free", "free 0x3000+24", "T1 atomic-store", "atomic write 0x4000+4"}
	for _, tt := range []struct {
		parts bool
		want  []string
	}{
		{false, slices.Concat([]string{"T0 0x1000 from 0", "T0 create", "changes", "T1 thread-start", "changes", "T0 0x2000 from 1"}, rest,
			[]string{"T1 0x2000 from 2"}, end, []string{"T0 0x2000 from 3"})},
		{true, slices.Concat([]string{"T0 0x1000 from 0", "T0 create", "changes", "T0 0x2000 from 1", "T1 thread-start", "changes", "T1 0x2000 from 2"}, rest,
			end, []string{"T0 0x2000 from 3"})},
	} {
		if got := told(t, m, replay.Options{Atomics: true, Parts: tt.parts}); !slices.Equal(got, tt.want) {
			t.Errorf("parts %v: told\n%q, want\n%q", tt.parts, got, tt.want)
		}
	}
}

// TestParts checks that the accesses of random runs come in the order of the run with
// parts, and segment by segment without.
func TestParts(t *testing.T) {
	for seed := range 200 {
		text := make([]byte, 300)
		for i := range text {
			text[i] = byte((seed + 3) * (i*i + 7) >> 2)
		}
		m := madeup.Program(madeup.Bytes(text), 100)
		for _, parts := range []bool{false, true} {
			var got, want []string
			for _, s := range told(t, m, replay.Options{Parts: parts}) {
				var thread int
				var addr, from uint64
				if n, _ := fmt.Sscanf(s, "T%d 0x%x from %d", &thread, &addr, &from); n == 3 {
					got = append(got, fmt.Sprintf("T%d %#x", thread, addr))
				}
			}
			moments := m.BySegment()
			if parts {
				moments = m.Linear()
			}
			for _, x := range moments {
				if !x.IsEvent {
					want = append(want, fmt.Sprintf("T%d %#x", x.Thread, x.Address))
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("run %d, parts %v: %v, want %v", seed, parts, got, want)
			}
		}
	}
}
