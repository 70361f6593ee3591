package place

import (
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/tracefmt/event"
)

// TestBlocksAgainstBytes compares the map with an array that says for each byte which
// block it was last part of.
func TestBlocksAgainstBytes(t *testing.T) {
	const base, span = 0xff00, 0x400 // across chunks of the map
	owned := func(o uint64) bool { return o != 0 }
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		m := NewMap(0)
		var owner [span]uint64 // the event that allocated each byte, from 1
		live := map[uint64]bool{}
		for i := uint64(1); i < 100; i++ {
			addr, size := rnd.Uint64N(span), 1+rnd.Uint64N(100)
			size = min(size, span-addr)
			if live[addr] && rnd.IntN(2) == 0 {
				m.Apply(1, i, &event.Event{Kind: event.Free, Obj: base + addr})
				delete(live, addr)
				continue
			}
			m.Apply(0, i, &event.Event{Kind: event.Alloc, Obj: base + addr, Arg: size})
			if end := (addr + size + 7) &^ 7; rnd.IntN(3) == 0 && end+16 < span && !slices.ContainsFunc(owner[addr+size:end], owned) { // more of it is used than was requested
				more := 1 + rnd.Uint64N(16)
				m.Apply(1, i, &event.Event{Kind: event.Renew, Obj: base + end, Arg: more})
				size = end + more - addr
			}
			for at := range owner { // older blocks that it touches are gone entirely
				if at < int(addr) || at >= int(addr+size) {
					continue
				}
				if old := owner[at]; old != 0 {
					for k := range owner {
						if owner[k] == old {
							owner[k] = 0
						}
					}
				}
			}
			for k := addr; k < addr+size; k++ {
				owner[k] = i
			}
			live[addr] = true
		}
		for at, want := range owner {
			b, ok := m.Block(base + uint64(at))
			if ok != (want != 0) || ok && b.Event != want {
				t.Fatalf("seed %d, byte %#x: block of event %d (%v), want %d", seed, at, b.Event, ok, want)
			}
		}
	}
}

func TestLocate(t *testing.T) {
	m := NewMap(0x40)
	for i, e := range []struct {
		t event.ThreadID
		e event.Event
	}{
		{0, event.Event{Kind: event.ThreadStart}},
		{0, event.Event{Kind: event.Create, Obj: 1}},
		{1, event.Event{Kind: event.ThreadStart, Arg: 0x9000}},
		{1, event.Event{Kind: event.StackMap, Obj: 0x5000, Arg: 0x5000}},
		{0, event.Event{Kind: event.Alloc, Obj: 0x20000, Arg: 100, PC: 0x10}},
		{0, event.Event{Kind: event.Alloc, Obj: 0x30000, Arg: 10}},
		{1, event.Event{Kind: event.Free, Obj: 0x30000, Arg: 10}},
	} {
		m.Apply(e.t, uint64(i), &e.e)
	}
	for _, tt := range []struct {
		addr   uint64
		kind   Kind
		offset uint64
		thread event.ThreadID
	}{
		{0x20000 + 99, Heap, 99, 0},
		{0x20000 + 100, Unknown, 0, 0},
		{0x30004, Heap, 4, 0},
		{0x9000 + 0x3f, TLS, 0x3f, 1},
		{0x9000 + 0x40, Stack, 0, 1},
		{0x5000, Stack, 0, 1},
		{0x4fff, Unknown, 0, 0},
		{0xa000, Unknown, 0, 0},
	} {
		got := m.Locate(tt.addr)
		if got.Kind != tt.kind || got.Offset != tt.offset || got.Thread != tt.thread {
			t.Errorf("%#x: %+v, want %+v", tt.addr, got, tt)
		}
	}
	if b, ok := m.Block(0x30009); !ok || !b.Freed || b.FreedBy != 1 || b.FreedAt != 6 {
		t.Errorf("freed block: %+v", b)
	}
	if th := m.Thread(1); !th.HasParent || th.Parent != 0 || th.CreatedAt != 1 || th.TP != 0x9000 {
		t.Errorf("thread 1: %+v", th)
	}
	// Damaged input must not use much memory.
	m.Apply(0, 9, &event.Event{Kind: event.Alloc, Obj: 1, Arg: 1<<64 - 1})
	m.Apply(0, 9, &event.Event{Kind: event.Alloc, Obj: 1<<64 - 1, Arg: 1 << 63})
	m.Apply(0, 9, &event.Event{Kind: event.Create, Obj: 1 << 60})
}
