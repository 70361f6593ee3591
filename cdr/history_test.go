package cdr

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// plainHistory is a thread's execution, block by block.
type plainHistory struct {
	blocks []plainBlock
	events []int // number of blocks before each event
}

type plainBlock struct {
	id       event.BlockID
	segment  uint64
	addrs    []uint64
	ordinals []uint64
}

func (s *synthetic) histories() map[event.ThreadID]*plainHistory {
	all := map[event.ThreadID]*plainHistory{}
	counts := map[string]uint64{}
	for _, b := range s.batches {
		h := all[b.Thread]
		if h == nil {
			h = &plainHistory{}
			all[b.Thread] = h
		}
		addrs, events := b.Addrs, b.Events
		take := func(at int) {
			for len(events) > 0 && int(events[0].At) == at {
				h.events = append(h.events, len(h.blocks))
				events = events[1:]
			}
		}
		for i, id := range b.Blocks {
			take(i)
			for _, piece := range s.pieces[id] {
				n := len(s.static[piece].Sites)
				p := plainBlock{id: piece, segment: uint64(len(h.events)), addrs: addrs[:n]}
				for _, site := range s.static[piece].Sites {
					key := fmt.Sprint(b.Thread, site)
					p.ordinals = append(p.ordinals, counts[key])
					counts[key]++
				}
				h.blocks = append(h.blocks, p)
				addrs = addrs[n:]
			}
		}
		take(len(b.Blocks))
	}
	return all
}

// marksOf chooses the marks of a block at random, but always the same for one block.
func marksOf(pc uint64) wpp.Marks {
	x := pc * 0x9e3779b97f4a7c15
	return wpp.Marks{1 << (x >> 61), 1 << (x >> 40 & 31)}
}

// TestHistory compares the answers about random points of random runs with those of a
// walk backward block by block.
func TestHistory(t *testing.T) {
	for seed := range uint64(8) {
		for _, budget := range []uint64{0, 40 << 10} {
			t.Run(fmt.Sprintf("seed=%d/budget=%d", seed, budget), func(t *testing.T) {
				s := newSynthetic(seed, 1+int(seed%3))
				s.run(3000)
				file := s.record(t, recorder.Options{Budget: budget}, s.batches)
				tr, err := openBytes(file)
				if err != nil {
					t.Fatal(err)
				}
				for th, want := range s.histories() {
					h, err := tr.History(th, func(b CodeBlock) wpp.Marks { return marksOf(b.PC) })
					if err != nil {
						t.Fatal(err)
					}
					if h.Blocks() != uint64(len(want.blocks)) {
						t.Fatalf("%d blocks, want %d", h.Blocks(), len(want.blocks))
					}
					s.compareHistory(t, tr, h, want)
				}
			})
		}
	}
}

func (s *synthetic) compareHistory(t *testing.T, tr *Trace, h *History, want *plainHistory) {
	rng := rand.New(rand.NewPCG(1, uint64(len(want.blocks))))
	var recent uint64
	for range 150 {
		n := rng.IntN(len(want.blocks))
		p := want.blocks[n]
		b, err := h.Block(uint64(n))
		if err != nil || b.PC != s.static[p.id].PC || b.Insts != s.static[p.id].Insts || b.End != s.static[p.id].End {
			t.Fatalf("block %d: %+v, %v", n, b, err)
		}
		if seg, err := h.Segment(uint64(n)); err != nil || seg != p.segment {
			t.Fatalf("segment of %d: %d, %v, want %d", n, seg, err, p.segment)
		}
		accesses := 0
		for _, q := range want.blocks[:n] {
			accesses += len(q.addrs)
		}
		if got, err := h.Accesses(uint64(n)); err != nil || got != uint64(accesses) {
			t.Fatalf("accesses before %d: %d, %v, want %d", n, got, err, accesses)
		}
		for i, site := range b.Sites {
			if got, index, err := h.AccessPoint(uint64(accesses + i)); err != nil || got != uint64(n) || index != i {
				t.Fatalf("access %d: block %d, site %d, %v, want %d, %d", accesses+i, got, index, err, n, i)
			}
			ordinal := p.ordinals[i]
			if got, err := h.Rank(site, uint64(n)); err != nil || got != ordinal {
				t.Fatalf("rank of site %d at %d: %d, %v, want %d", site, n, got, err, ordinal)
			}
			if got, err := h.Execution(site, ordinal); err != nil || got != uint64(n) {
				t.Fatalf("execution %d of site %d: %d, %v, want %d", ordinal, site, got, err, n)
			}
			if got, ok, err := h.Address(site, ordinal); err != nil || !ok || got != p.addrs[i] {
				t.Fatalf("address %d of site %d: %#x, %v, %v, want %#x", ordinal, site, got, ok, err, p.addrs[i])
			}
			compareCallers(t, tr, h, site, ordinal, uint64(n))
			recent = p.addrs[i]
		}
		m := wpp.Marks{1 << rng.IntN(8), 0}
		if rng.IntN(2) == 0 {
			m = wpp.Marks{0, 1 << rng.IntN(32)}
		}
		s.compareMarked(t, h, want, n, m)
		index := rng.IntN(len(b.Sites) + 1)
		s.compareStore(t, h, want, n, index, recent-2+rng.Uint64N(5), 1+rng.Uint64N(9))
	}
	for i, at := range want.events {
		if got, err := h.EventPoint(uint64(i)); err != nil || got != uint64(at) {
			t.Fatalf("event %d: %d, %v, want %d", i, got, err, at)
		}
	}
	if got, err := h.EventPoint(uint64(len(want.events))); err != nil || got != h.Blocks() {
		t.Fatalf("event behind the last: %d, %v", got, err)
	}
	if _, err := h.Block(h.Blocks()); !errors.Is(err, ErrNoSuch) {
		t.Errorf("block behind the last: %v", err)
	}
	s.compareStore(t, h, want, len(want.blocks), 0, recent, 8)
}

// compareCallers compares the callers of an access with its call stack.
func compareCallers(t *testing.T, tr *Trace, h *History, site format.SiteID, ordinal, n uint64) {
	stack, err := tr.AccessStack(h.thread, site, ordinal)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; ; i++ {
		call, ok, err := h.Caller(n)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return
		}
		b, err := h.Block(call)
		if err != nil || call >= n || i >= len(stack) || b.PC+uint64(b.Bytes) != stack[i] || b.End != event.EndCall && b.End != event.EndCallInd {
			t.Fatalf("caller of %d: %d (%+v, %v), stack %x, frame %d", n, call, b, err, stack, i)
		}
		n = call
	}
}

func (s *synthetic) compareMarked(t *testing.T, h *History, want *plainHistory, n int, m wpp.Marks) {
	i := n - 1
	for i >= 0 && !marksOf(s.static[want.blocks[i].id].PC).Meets(m) {
		i--
	}
	got, ok, err := h.LastMarked(uint64(n), m)
	if err != nil || ok != (i >= 0) || ok && got != uint64(i) {
		t.Fatalf("last mark before %d: %d, %v, %v, want %d", n, got, ok, err, i)
	}
}

func (s *synthetic) compareStore(t *testing.T, h *History, want *plainHistory, n, index int, addr, size uint64) {
	at, k := n, index
	for {
		for k == 0 && at > 0 {
			at--
			k = len(want.blocks[at].addrs)
		}
		if k--; k < 0 {
			break
		}
		b := &s.static[want.blocks[at].id]
		site, a := b.Sites[k], want.blocks[at].addrs[k]
		if site.Access == event.Write && (a-addr < size || addr-a < uint64(site.Size)) {
			break
		}
	}
	got, ok, err := h.LastStore(uint64(n), index, addr, size)
	if err != nil || ok != (k >= 0) {
		t.Fatalf("last store before %d.%d to %#x: %+v, %v, %v, want %d.%d", n, index, addr, got, ok, err, at, k)
	}
	if ok && (got.Point != uint64(at) || got.Index != k || got.Address != want.blocks[at].addrs[k] || got.Ordinal != want.blocks[at].ordinals[k]) {
		t.Fatalf("last store before %d.%d to %#x: %+v, want %d.%d", n, index, addr, got, at, k)
	}
}
