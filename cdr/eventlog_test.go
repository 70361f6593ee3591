package cdr

import (
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// TestEventLog checks that a log returns the events that were added, with their
// positions.
func TestEventLog(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	l := &eventLog{}
	var want []format.Event
	index := make([]uint64, 5)
	for i := range uint64(10_000) {
		th := event.ThreadID(rng.IntN(len(index)))
		e := format.Event{Thread: th, Seq: i, Index: index[th], Event: event.Event{Kind: event.Kind(rng.IntN(40)), Mode: event.Mode(rng.IntN(8)),
			Size: uint32(rng.IntN(3)) << 30, PC: uint64(rng.IntN(9)), Obj: rng.Uint64() >> rng.IntN(64), Arg: rng.Uint64() >> rng.IntN(64)}}
		index[th]++
		want = append(want, e)
		if !l.add(&e) {
			t.Fatal("full")
		}
	}
	for range 2 {
		if got := slices.Collect(l.all(len(index))); !slices.Equal(got, want) {
			t.Fatal("other events came out")
		}
	}
}
