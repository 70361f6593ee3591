package arch

import (
	"testing"

	"hindsight/tracefmt/archinfo"
	"hindsight/tracefmt/event"
)

// Words of one line.
const (
	w0 = 0x1000 + 8*iota
	w1
	w2
)

// TestTrueAndFalse simulates sequences whose misses were classified by hand.
func TestTrueAndFalse(t *testing.T) {
	half := func(h event.ThreadID, addr uint64, op event.Access) ref {
		return ref{hart: h, addr: addr, size: 4, op: op}
	}
	for _, c := range []struct {
		name                      string
		cfg                       Config
		refs                      []ref
		yes, no, upgrades, copies uint64 // true and false sharing misses, upgrades, copies invalidated
	}{
		{name: "ping-pong of one word is true", yes: 4, copies: 4, upgrades: 2,
			// Each read fetches what the other hart wrote, and each write after it
			// upgrades.
			refs: []ref{wr(0, w0), rd(1, w0), wr(1, w0), rd(0, w0), wr(0, w0), wr(1, w0), wr(0, w0), rd(1, w0)}},
		{name: "own words of one line are false", no: 4, copies: 5,
			refs: []ref{wr(0, w0), wr(1, w1), wr(0, w0), wr(1, w1), wr(0, w0), wr(1, w1)}},
		{name: "a miss becomes true when the hart gets to the new word", yes: 1, upgrades: 1, copies: 1,
			refs: []ref{rd(0, w0), rd(1, w0), wr(1, w1), rd(0, w0), rd(0, w2), rd(0, w1), rd(0, w1)}},
		{name: "and stays false when the line goes before", no: 2, upgrades: 2, copies: 2,
			refs: []ref{rd(0, w0), rd(1, w0), wr(1, w1), rd(0, w0), wr(1, w1), rd(0, w0)}},
		{name: "what a useless miss brought was still not seen", yes: 1, no: 1, upgrades: 2, copies: 2,
			// The word written before the first, useless miss is read in the lifetime of
			// the second: Dubois et al. count from the last essential miss.
			refs: []ref{rd(0, w0), rd(1, w0), wr(1, w1), rd(0, w0), wr(1, w2), rd(0, w1)}},
		{name: "what an essential miss brought was seen", yes: 1, no: 1, upgrades: 2, copies: 2,
			refs: []ref{rd(0, w0), rd(1, w0), wr(1, w1), rd(0, w1), wr(1, w2), rd(0, w1)}},
		{name: "a write to the other's word is true as well", yes: 1, upgrades: 1, copies: 2,
			refs: []ref{rd(0, w0), rd(1, w0), wr(1, w1), wr(0, w1)}},
		{name: "two halves of a word are told apart", no: 2, copies: 3,
			refs: []ref{half(0, w0, event.Write), half(1, w0+4, event.Write), half(0, w0, event.Write), half(1, w0+4, event.Write)}},
		{name: "harts on lines of their own share nothing",
			refs: []ref{wr(0, w0), wr(1, w0+64), wr(0, w0), wr(1, w0+64), rd(0, w0), rd(1, w0+64)}},
		{name: "readers only share nothing that costs",
			refs: []ref{rd(0, w0), rd(1, w0), rd(2, w1), rd(0, w0), rd(1, w1)}},
		{name: "a line driven out is a replacement miss", cfg: Config{Size: 64, Ways: 1, Line: 64},
			// Hart 0's line is evicted before hart 1 writes.
			refs: []ref{rd(0, w0), rd(0, w0+64), wr(1, w0), rd(0, w0)}},
		{name: "atomic accesses are accesses", yes: 2, copies: 2,
			refs: []ref{
				{hart: 0, addr: w0, size: 4, which: event.AtomicRMW},
				{hart: 1, addr: w0, size: 4, which: event.AtomicRMW},
				{hart: 0, addr: w0, size: 4, which: event.AtomicLoad},
				{hart: 0, addr: w0, size: 4, which: event.AtomicStore},
				{hart: 1, addr: w0, size: 4, which: event.AtomicLoad},
			}, upgrades: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlayer(t, c.cfg)
			p.play(c.refs...)
			var yes, no, upgrades, copies uint64
			for _, h := range p.finish().Harts {
				yes, no, upgrades, copies = yes+h.TrueSharing, no+h.FalseSharing, upgrades+h.Upgrades, copies+h.InvalidationsSent
			}
			if yes != c.yes || no != c.no || upgrades != c.upgrades || copies != c.copies {
				t.Errorf("true %d, false %d, upgrades %d, invalidated %d; want %d, %d, %d, %d", yes, no, upgrades, copies, c.yes, c.no, c.upgrades, c.copies)
			}
		})
	}
}

// TestProtocols compares the protocols on the two patterns for which they are intended.
func TestProtocols(t *testing.T) {
	word := func(refs []ref) archinfo.WordCounts {
		p := newPlayer(t, Config{})
		p.play(refs...)
		r := p.finish()
		if len(r.Lines) != 1 || len(r.Lines[0].Words) != 1 {
			t.Fatalf("%+v", r.Lines)
		}
		return r.Lines[0].Words[0].WordCounts
	}
	// A producer writes, three consumers read, ten times.
	refs := []ref{rd(0, w0), rd(1, w0), rd(2, w0), rd(3, w0)}
	for range 10 {
		refs = append(refs, wr(0, w0), rd(1, w0), rd(2, w0), rd(3, w0))
	}
	w := word(refs)
	// Counted from the second hart on. Invalidate: 3 first reads, then one write and 3
	// reads per round. Update: 3 first reads, then one write per round.
	if w.InvalidateBus != 43 || w.UpdateBus != 13 {
		t.Errorf("producer and consumers: invalidate %d, update %d; want 43, 13", w.InvalidateBus, w.UpdateBus)
	}
	if w.Intervals != 9 || w.ReadIntervals != 9 || w.IntervalReads != 27 || w.Runs != 10 || w.LongestRun != 1 || w.RemoteReads != 30 {
		t.Errorf("producer and consumers: %+v", w)
	}
	// Two harts take long turns: 4 turns of 100 writes.
	refs = []ref{rd(0, w0), rd(1, w0)}
	for turn := range 4 {
		for range 100 {
			refs = append(refs, wr(event.ThreadID(turn%2), w0))
		}
	}
	w = word(refs)
	if w.InvalidateBus != 5 || w.UpdateBus != 401 {
		t.Errorf("long write runs: invalidate %d, update %d; want 5, 401", w.InvalidateBus, w.UpdateBus)
	}
	if w.Runs != 4 || w.LongestRun != 100 || w.Writes != 400 || w.ReadIntervals != 0 {
		t.Errorf("long write runs: %+v", w)
	}
}
