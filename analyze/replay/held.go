package replay

import (
	"slices"

	"hindsight/tracefmt/event"
)

// Lock is a lock that is held.
type Lock struct {
	Obj   uint64
	RW    bool // a rwlock
	Write bool // held for writing
}

// Held has the locks that each thread, or each strand, holds, in the order in which it
// took them.
type Held[K event.ThreadID | event.StrandID] struct{ by map[K][]Lock }

// Of returns the locks that k holds.
func (h *Held[K]) Of(k K) []Lock { return h.by[k] }

// Clear removes the locks of k, because another strand takes over its number.
func (h *Held[K]) Clear(k K) { delete(h.by, k) }

// All calls yield for each lock that is held.
func (h *Held[K]) All(yield func(k K, l Lock)) {
	for k, held := range h.by {
		for _, l := range held {
			yield(k, l)
		}
	}
}

// Apply applies the next event of k.
func (h *Held[K]) Apply(k K, e *event.Event) {
	switch e.Kind {
	case event.MutexLock, event.WriteLock, event.ReadLock:
		if h.by == nil {
			h.by = map[K][]Lock{}
		}
		h.by[k] = append(h.by[k], Lock{e.Obj, e.Kind != event.MutexLock, e.Kind != event.ReadLock})
	case event.MutexUnlock, event.WriteUnlock, event.ReadUnlock:
		held := h.by[k]
		for i := len(held) - 1; i >= 0; i-- {
			if held[i].Obj == e.Obj && held[i].RW == (e.Kind != event.MutexUnlock) {
				h.by[k] = slices.Delete(held, i, i+1)
				break
			}
		}
	}
}
