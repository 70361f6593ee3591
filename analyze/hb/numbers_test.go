package hb

import (
	"math/rand/v2"
	"testing"

	"hindsight/tracefmt/event"
)

// moment is an access in two orders.
type moment [2]struct {
	strand event.StrandID
	epoch  uint64
}

// TestSharedNumbers checks that threads that share numbers are ordered as threads with
// their own numbers are.
func TestSharedNumbers(t *testing.T) {
	most, fewer := 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 4))
		orders := [2]*Order{New(), New()}
		orders[1].ShareNumbers()
		for _, o := range orders {
			o.Root(0)
		}
		do := func(th event.ThreadID, e event.Event) {
			for _, o := range orders {
				if o.Acquire(th, &e) != nil || o.Release(th, &e) != nil {
					t.Fatal(e)
				}
			}
		}
		var past []moment
		access := func(th event.ThreadID) {
			var now moment
			for i, o := range orders {
				now[i].strand = o.Strand(th)
				now[i].epoch = o.Epoch(now[i].strand)
			}
			for _, before := range past {
				var ordered [2]bool
				for i, o := range orders {
					ordered[i] = before[i].strand == now[i].strand || before[i].epoch <= o.Clock(th).At(before[i].strand)
				}
				if ordered[0] != ordered[1] {
					t.Fatalf("seed %d: T%d: with numbers of their own %v, shared %v: %v, %v", seed, th, ordered[0], ordered[1], before, now)
				}
			}
			past = append(past, now)
		}
		live, created, ended := []event.ThreadID{0}, []event.ThreadID{}, []event.ThreadID{}
		next := event.ThreadID(1)
		for range 300 {
			th := live[rng.IntN(len(live))]
			switch k := rng.IntN(12); {
			case k < 2:
				do(th, event.Event{Kind: event.Create, Obj: uint64(next)})
				created = append(created, next)
				next++
			case k < 4 && len(created) > 0:
				child := created[0]
				created = created[1:]
				do(child, event.Event{Kind: event.ThreadStart})
				live = append(live, child)
			case k < 6 && len(live) > 1:
				i := 1 + rng.IntN(len(live)-1)
				do(live[i], event.Event{Kind: event.ThreadEnd})
				ended = append(ended, live[i])
				live = append(live[:i], live[i+1:]...)
			case k < 9 && len(ended) > 0:
				do(th, event.Event{Kind: event.Join, Obj: uint64(ended[rng.IntN(len(ended))])})
			case k == 9:
				do(th, event.Event{Kind: event.MutexLock, Obj: 1})
				do(th, event.Event{Kind: event.MutexUnlock, Obj: 1})
			case k == 10 && len(ended) > 0 && seed%4 == 0: // after its end
				access(ended[rng.IntN(len(ended))])
			}
			access(th)
		}
		most, fewer = most+int(next), fewer+orders[1].Strands()
	}
	if fewer > most*9/10 {
		t.Errorf("%d threads have %d numbers", most, fewer)
	}
}
