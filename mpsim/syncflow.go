package mpsim

import "hindsight/tracefmt/event"

// What orders calls, for those who ask for values: each ordered event of a
// hidden call, of a thread's beginning or end reads or writes a place that
// stands for what it is done to (event.SyncBase). Who wrote there last released
// what the reader acquired. Atomic instructions have none: their order is that
// of the memory that they access.

// Kinds of places: they are in bits 56 and up of their address, below the bit of
// SyncBase.
const (
	placeLock = uint64(iota) << 56 // 8 bytes an object: who wrote, who read
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

// order notes what an event of h releases and acquires.
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

// orderedBy and orders note an access to a place by the hidden call of h, or
// by the group of effects that was told last.
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

// tellsGroup reports whether what h reads and writes is told at once.
func (h *Hart) tellsGroup() bool {
	if h.fiber == nil {
		return h.recording && !h.unseen.begins
	}
	if h.fiber.mute.on {
		h.m.rec.current(h)
	}
	return true
}
