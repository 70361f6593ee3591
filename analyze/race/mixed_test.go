package race

import (
	"testing"

	"hindsight/tracefmt/event"
)

// TestReusedAtomicIsNotSuspect reuses the memory of an atomic variable by many unordered
// strands, each in its own life, as on the stack of a thread that executes tasks. The
// sieve must leave nothing to count.
func TestReusedAtomicIsNotSuspect(t *testing.T) {
	const threads, addr, elsewhere = 200, 0x10000, 0x20000
	f := newFake(threads)
	f.meant = true
	f.event(0, event.Event{Kind: event.AtomicStore, Obj: addr, Size: 8, PC: 0x9000})
	for th := event.ThreadID(1); th < threads; th++ {
		f.do(th, event.Renew, addr, 64)
		f.write(th, 0x1000, addr)            // which the code says is plain
		f.do(th, event.Renew, elsewhere, 64) // ends the segment
	}
	suspects := 0
	res, err := Analyze(t.Context(), f, Options{Program: f, Suspect: func(lo, hi uint64) {
		suspects++
		t.Logf("suspect: %#x to %#x", lo, hi)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if suspects > 0 || len(res.Races) > 0 {
		t.Errorf("%d ranges of memory are suspect, %d races; want none", suspects, len(res.Races))
	}
}
