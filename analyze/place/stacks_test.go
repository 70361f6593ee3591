package place

import (
	"math/rand/v2"
	"testing"

	"hindsight/tracefmt/event"
)

// TestThreadsAgainstBytes compares the owners of stacks and thread-local variables with
// arrays of bytes.
func TestThreadsAgainstBytes(t *testing.T) {
	const span, tls, threads = 0x200, 16, 12
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		m := NewMap(tls)
		var owner [span]int // owner of the stack, from 1
		var tps [threads]uint64
		var ended [threads]bool
		for i := range uint64(80) {
			id := rnd.IntN(threads)
			th := event.ThreadID(id)
			switch rnd.IntN(4) {
			case 0, 1:
				low := rnd.Uint64N(span)
				size := rnd.Uint64N(span - low)
				m.Apply(th, i, &event.Event{Kind: event.StackMap, Obj: 0x1000 + low, Arg: size})
				for at := range owner {
					if in := uint64(at) - low; in < size {
						owner[at] = id + 1
					} else if owner[at] == id+1 {
						owner[at] = 0
					}
				}
			case 2:
				tps[id] = 0x1000 + rnd.Uint64N(span)
				m.Apply(th, i, &event.Event{Kind: event.ThreadPointer, Obj: tps[id]})
			case 3:
				m.Apply(th, i, &event.Event{Kind: event.ThreadEnd})
				ended[id] = true
			}
			for at, want := range owner {
				addr := 0x1000 + uint64(at)
				if got, ok := m.Stack(addr); ok != (want != 0) || ok && int(got) != want-1 {
					t.Fatalf("seed %d: stack at %#x: %d (%v), want %d", seed, addr, got, ok, want-1)
				}
				first := -1
				for id, tp := range tps {
					if first < 0 && tp != 0 && !ended[id] && addr-tp < tls {
						first = id
					}
				}
				if got, off, ok := m.TLS(addr); ok != (first >= 0) || ok && (int(got) != first || off != addr-tps[first]) {
					t.Fatalf("seed %d: thread-local at %#x: %d (%v), want %d", seed, addr, got, ok, first)
				}
			}
		}
	}
}
