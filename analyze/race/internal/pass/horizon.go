package pass

import (
	"slices"
	"sort"

	"hindsight/analyze/hb"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// Horizon says what threads can still distinguish, at a moment of the run. It remains
// true later, because everything learnt since is above own and at.
type Horizon struct {
	At    uint64     // 1-based position in S_synch
	Cost  uint64     // number of values read to compute it
	Fed   uint64     // items before
	own   []uint64   // each strand's epoch at the moment
	Least []uint64   // for each strand, its least component in the clocks of other live strands
	held  [][]uint64 // for each strand, its components in all clocks, sorted
	start []uint64   // where the current segments of live threads start, sorted
}

// NewHorizon computes the horizon of the current moment of a run.
func NewHorizon(run *replay.Walk, fed uint64) *Horizon {
	n := run.Order.Strands()
	h := &Horizon{At: run.Now, Fed: fed, own: make([]uint64, n), Least: make([]uint64, n), held: make([][]uint64, n)}
	for t := range n {
		h.own[t] = run.Order.Epoch(event.StrandID(t))
		h.Least[t] = h.own[t] // a thread that t creates later will have seen at least this
	}
	run.Order.Live(func(u event.StrandID, c hb.Clock) {
		h.Cost += uint64(n)
		for t := range n {
			if event.StrandID(t) != u {
				h.Least[t] = min(h.Least[t], c.At(event.StrandID(t)))
			}
		}
	})
	run.Order.Running(func(t event.ThreadID) {
		if int(t) < len(run.Starts) { // otherwise the run ended before it did anything
			h.start = append(h.start, run.Starts[t])
		}
	})
	hold := func(s event.StrandID, epoch uint64) {
		if epoch < h.own[s] {
			h.held[s] = append(h.held[s], epoch)
		}
	}
	run.Order.Held(func(c hb.Clock) {
		h.Cost += uint64(len(c))
		for s, epoch := range c {
			hold(event.StrandID(s), epoch)
		}
	})
	run.Order.Ends(func(s event.StrandID, epoch uint64) {
		h.Cost++
		hold(s, epoch)
	})
	for t := range h.held {
		slices.Sort(h.held[t])
		h.held[t] = slices.Compact(h.held[t])
	}
	slices.Sort(h.start)
	return h
}

// SameEpochs reports whether no thread can distinguish epochs a < b of strand s.
func (h *Horizon) SameEpochs(s event.StrandID, a, b uint64) bool {
	if int(s) >= len(h.own) || b > h.own[s] {
		return false
	}
	held := h.held[s]
	i := sort.Search(len(held), func(i int) bool { return held[i] >= a })
	return i == len(held) || held[i] >= b
}

// SameCuts reports whether no thread can distinguish allocations at a < b.
func (h *Horizon) SameCuts(a, b uint64) bool {
	if b > h.At {
		return false
	}
	i := sort.Search(len(h.start), func(i int) bool { return h.start[i] >= a })
	return i == len(h.start) || h.start[i] >= b
}

// Past reports whether no later access can race with one of a strand in an epoch, to
// memory whose life ended at cut (0 if it has not ended).
func (h *Horizon) Past(s event.StrandID, epoch, cut uint64) bool {
	if h == nil {
		return false
	}
	if int(s) < len(h.Least) && epoch <= h.Least[s] {
		return true
	}
	return cut != 0 && cut <= h.At && (len(h.start) == 0 || cut <= h.start[0])
}
