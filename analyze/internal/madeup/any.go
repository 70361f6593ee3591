package madeup

import (
	"math/rand/v2"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// kinds are the kinds of events in runs of anything.
var kinds = []event.Kind{
	event.MutexLock, event.MutexUnlock, event.MutexLock, event.MutexUnlock, event.ReadLock, event.ReadUnlock, event.WriteLock, event.WriteUnlock,
	event.BarrierEnter, event.BarrierLeave, event.SemPost, event.SemWait, event.OnceDone, event.OnceSeen,
	event.AtomicLoad, event.AtomicStore, event.AtomicRMW, event.Fence, event.Init, event.Destroy,
	event.Alloc, event.Free, event.CondSignal, event.Map, event.RangeRead, event.RangeWrite,
}

// Anything makes up a run of n steps: any events in any order, whether they make sense or
// not, with accesses between them. STD cannot express an access to two granules if only
// one of them has begun a new life. Therefore a run has either no such accesses or no
// such new lives.
func Anything(rng *rand.Rand, n int) *Run {
	narrow := rng.IntN(2) == 0
	threads := 2 + rng.IntN(4)
	m := New(threads)
	for i := range 10 {
		m.AddSite(format.Site{PC: 0x1000 + 4*uint64(i), Size: 1 << rng.IntN(4), Access: event.Access(i & 1)})
	}
	state := make([]int, threads)
	for t := range 1 + rng.IntN(threads) {
		state[t] = running
	}
	for range n {
		t := rng.IntN(threads)
		pc := 0x8000 + 4*uint64(rng.IntN(1000))
		switch {
		case state[t] == created:
			m.Event(t, event.Event{Kind: event.ThreadStart})
			state[t] = running
		case state[t] != running:
		case rng.IntN(3) > 0:
			s := format.SiteID(rng.IntN(len(m.sites)))
			addr := 0x4000 + uint64(rng.IntN(40))
			if narrow {
				addr &^= uint64(m.sites[s].Size) - 1
			}
			m.Execute(t, s, addr)
		case rng.IntN(10) == 0:
			other := rng.IntN(threads)
			switch {
			case state[other] == unborn:
				state[other] = created
				m.Event(t, event.Event{Kind: event.Create, PC: pc, Obj: uint64(other)})
			case state[other] == ended:
				m.Event(t, event.Event{Kind: event.Join, PC: pc, Obj: uint64(other)})
			case t != 0:
				state[t] = ended
				m.Event(t, event.Event{Kind: event.ThreadEnd})
			}
		default:
			m.Event(t, anyEvent(rng, pc, narrow))
		}
	}
	return m
}

func anyEvent(rng *rand.Rand, pc uint64, narrow bool) event.Event {
	e := event.Event{Kind: kinds[rng.IntN(len(kinds))], PC: pc, Obj: 0x100 + 8*uint64(rng.IntN(3)), Mode: event.Mode(rng.IntN(4))}
	switch e.Kind {
	case event.BarrierEnter, event.BarrierLeave:
		e.Arg = uint64(rng.IntN(2))
	case event.RangeRead, event.RangeWrite:
		e.Obj, e.Arg = 0x4000+uint64(rng.IntN(40)), uint64(rng.IntN(30))
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
	return e
}
