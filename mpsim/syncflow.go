package mpsim

import "hindsight/tracefmt/event"

// The order between calls, for observers that ask for values. Each ordered event of a
// hidden call, or of the beginning or end of a thread, reads or writes a place that stands
// for the object concerned (event.SyncBase). The last writer of the place released what the
// reader acquired. Atomic instructions have no such places: they are ordered by the memory
// that they access.

// Kinds of places. They occupy bits 56 and up of the address, below the bit of SyncBase.
const (
	placeLock = uint64(iota) << 56 // 8 bytes per object: for writers, then for readers
	placeCond
	placeSem
	placeOnce
	placeBarrier // by object and generation
	placeHandle
	placeBegin // of threads, then of other strands
	placeEnd
)

const (
	placeBytes = 8
	placeHalf  = 4
	placeBits  = 1<<56 - 1
	taskPlaces = 1 << 40 // strands of tasks come after those of threads
	barrierMix = 0x9e3779b97f4a7c15
)

func place(kind, of uint64) uint64 {
	return event.SyncBase | kind | of<<3&placeBits
}

// order records what an event of h releases and acquires.
func (h *Hart) order(e *event.Event) {
	switch e.Kind {
	case event.MutexLock:
		h.orderedBy(place(placeLock, e.Obj), placeBytes)
		if h.call.waited != 0 {
			h.orderedBy(place(placeCond, h.call.waited), placeBytes)
		}
	case event.WriteLock:
		h.orderedBy(place(placeLock, e.Obj), placeBytes)
	case event.MutexUnlock, event.WriteUnlock:
		h.orders(place(placeLock, e.Obj), placeBytes)
	case event.ReadLock:
		h.orderedBy(place(placeLock, e.Obj), placeHalf)
	case event.ReadUnlock:
		h.orders(place(placeLock, e.Obj)+placeHalf, placeHalf)
	case event.CondWait:
		h.call.waited = e.Obj
	case event.CondSignal, event.CondBroadcast:
		h.orders(place(placeCond, e.Obj), placeBytes)
	case event.SemPost:
		h.orders(place(placeSem, e.Obj), placeBytes)
	case event.SemWait:
		h.orderedBy(place(placeSem, e.Obj), placeBytes)
	case event.OnceDone:
		h.orders(place(placeOnce, e.Obj), placeBytes)
	case event.OnceSeen:
		h.orderedBy(place(placeOnce, e.Obj), placeBytes)
	case event.BarrierEnter:
		h.orders(place(placeBarrier, (e.Obj^e.Arg*barrierMix)), placeBytes)
	case event.BarrierLeave:
		h.orderedBy(place(placeBarrier, (e.Obj^e.Arg*barrierMix)), placeBytes)
	case event.Publish:
		h.orders(place(placeHandle, e.Obj), placeBytes)
	case event.Observe:
		h.orderedBy(place(placeHandle, e.Obj), placeBytes)
	case event.Create:
		h.orders(place(placeBegin, e.Obj), placeBytes)
	case event.ThreadEnd:
		h.orders(place(placeEnd, uint64(h.id)), placeBytes)
	case event.Join:
		h.orderedBy(place(placeEnd, e.Obj), placeBytes)
	case event.StrandCreate:
		h.orders(place(placeBegin, taskPlaces+e.Obj), placeBytes)
	case event.StrandBegin:
		h.orderedBy(place(placeBegin, taskPlaces+e.Obj), placeBytes)
	}
}

// orderedBy and orders record an access to a place by the hidden call of h, or by the last
// group of effects.
func (h *Hart) orderedBy(addr, n uint64) {
	if h.tellsGroup() {
		h.m.rec.effect(event.Effect{Kind: event.EffectRead, Addr: addr, Arg: n})
		return
	}
	h.unseen.reads = append(h.unseen.reads, bytesAt{addr, n})
}

func (h *Hart) orders(addr, n uint64) {
	if h.tellsGroup() {
		h.m.rec.effect(event.Effect{Kind: event.EffectWrote, Addr: addr, Arg: n})
		return
	}
	h.unseen.wrote = append(h.unseen.wrote, bytesAt{addr, n})
}

// tellsGroup reports whether what h reads and writes is recorded at once.
func (h *Hart) tellsGroup() bool {
	if h.fiber == nil {
		return h.recording && !h.unseen.begins
	}
	if h.fiber.mute.on {
		h.m.rec.current(h)
	}
	return true
}
