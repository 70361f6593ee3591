package cdr

import (
	"fmt"

	"hindsight/tracefmt"
	"hindsight/tracefmt/archinfo"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/wire"
)

// ArchSummary returns the last summary in a trace, or nil if there is none.
func (t *Trace) ArchSummary() (*archinfo.Summary, error) {
	var last []byte
	for x, err := range t.Extras(tracefmt.KindArchSummary) {
		if err != nil {
			return nil, err
		}
		last = x.Payload
	}
	if last == nil {
		return nil, nil
	}
	return archinfo.DecodeSummary(last)
}

// VerifyArch reads everything that a model left in a trace. In a complete trace, it
// compares the history bits with the counts: a bit for every load, store and conditional
// branch, and a one for every miss. A trace without a model is sound.
func (t *Trace) VerifyArch() error {
	s, err := t.ArchSummary()
	if err != nil || s == nil {
		return err
	}
	history := make([][archinfo.NumStreams]historySum, len(s.Harts))
	for x, err := range t.Extras(tracefmt.KindArch) {
		if err != nil {
			return err
		}
		if int(x.Thread) >= len(history) {
			return fmt.Errorf("history of thread %d of %d: %w", x.Thread, len(history), wire.ErrMalformed)
		}
		h, err := archinfo.DecodeHistory(x.Payload)
		if err != nil {
			return err
		}
		for st := range archinfo.Stream(archinfo.NumStreams) {
			for bit, err := range h.Bits(st) {
				if err != nil {
					return err
				}
				history[x.Thread][st].add(bit)
			}
		}
	}
	if !t.Info().Complete {
		return nil // the history may be longer than what was committed
	}
	atomics := make([]uint64, len(s.Harts))
	for e, err := range t.Events() {
		if err != nil {
			return err
		}
		if e.Kind.Info().Class == event.ClassAtomic && e.Kind != event.Fence && int(e.Thread) < len(atomics) {
			atomics[e.Thread]++
		}
	}
	for _, th := range t.Threads() {
		if int(th.ID) >= len(s.Harts) {
			return fmt.Errorf("no counts of thread %d: %w", th.ID, wire.ErrMalformed)
		}
		if !agrees(&s.Harts[th.ID], &history[th.ID], th.Accesses+atomics[th.ID]) {
			return fmt.Errorf("history bits of thread %d differ from its counts: %w", th.ID, wire.ErrMalformed)
		}
	}
	return nil
}

// historySum counts the bits of a stream, and the ones among them.
type historySum struct{ bits, ones uint64 }

func (h *historySum) add(bit bool) {
	h.bits++
	if bit {
		h.ones++
	}
}

// agrees reports whether the history of a thread matches its counts. The counts are of
// cache lines, so an access that crosses a line boundary counts twice.
func agrees(k *archinfo.HartCounts, h *[archinfo.NumStreams]historySum, accesses uint64) bool {
	loads, stores, branches := h[archinfo.Loads], h[archinfo.Stores], h[archinfo.Branches]
	return branches == historySum{k.Branches, k.Mispredicted} && loads.bits+stores.bits == accesses &&
		loads.bits <= k.Loads && stores.bits <= k.Stores && loads.ones <= k.LoadMisses && stores.ones <= k.StoreMisses
}
