package cdr

import (
	"bytes"
	"errors"
	"testing"

	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt/event"
)

// TestKeepShared checks that a scout finds exactly the granules that two threads touch,
// and that leaving out the others does not change the rest of the trace.
func TestKeepShared(t *testing.T) {
	for seed := range uint64(10) {
		for _, budget := range []uint64{0, 40 << 10} {
			s := newSynthetic(seed, 3)
			s.run(3000)
			var scout recorder.Scout
			s.feed(t, &scout, s.batches)
			users := map[uint64]map[event.ThreadID]bool{}
			touch := func(th event.ThreadID, addr, size uint64) {
				for a := addr; a != addr+size; a++ {
					if users[a/8] == nil {
						users[a/8] = map[event.ThreadID]bool{}
					}
					users[a/8][th] = true
				}
			}
			for _, th := range s.threads {
				for site, addrs := range th.addrs {
					for _, a := range addrs {
						touch(th.id, a, uint64(site.Size))
					}
				}
				for _, e := range th.events {
					switch e.Kind {
					case event.AtomicRMW:
						touch(th.id, e.Obj, uint64(e.Size))
					case event.Free:
						touch(th.id, e.Obj, max(e.Arg, 1))
					}
				}
			}
			shared := 0
			for g, by := range users {
				if scout.Keep(g) != (len(by) > 1) {
					t.Fatalf("seed %d: granule %#x of %d threads: kept %v", seed, g, len(by), scout.Keep(g))
				}
				if len(by) > 1 {
					shared++
				}
			}
			if shared == 0 || shared == len(users) {
				t.Fatalf("seed %d: %d of %d granules are shared: nothing is tested", seed, shared, len(users))
			}
			file := s.record(t, recorder.Options{Keep: scout.Keep, Budget: budget}, s.batches)
			tr, err := openBytes(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := tr.Verify(); err != nil {
				t.Fatal(err)
			}
			s.compare(t, tr, scout.Keep)
		}
	}
}

// TestScoutFree checks that freeing a block counts as using all of it, and that strands
// are users of their own.
func TestScoutFree(t *testing.T) {
	var s recorder.Scout
	define := []event.Block{{ID: 0, PC: 0x1000, Bytes: 4, Insts: 1, Sites: []event.Site{{PC: 0x1000, Size: 8, Access: event.Write}}}}
	if err := s.Define(define); err != nil {
		t.Fatal(err)
	}
	batch := func(th event.ThreadID, events []event.Event, addrs ...uint64) {
		t.Helper()
		if err := s.Batch(&event.Batch{Thread: th, Blocks: make([]event.BlockID, len(addrs)), Addrs: addrs, Events: events}); err != nil {
			t.Fatal(err)
		}
	}
	free := func(addr, size uint64) []event.Event { return []event.Event{{Kind: event.Free, Obj: addr, Arg: size}} }
	batch(0, nil, 0x10010, 0x11010)            // written by 0 before
	batch(1, free(0x10000, 0x8008))            // 1 frees pages, most of which were not touched
	batch(0, nil, 0x12020, 0x18000, 0x18008)   // written by 0 afterwards; the last address is after the block
	batch(1, nil, 0x13000)                     // and by 1 itself
	batch(0, free(0x14000, 0x2000))            // freed twice
	batch(1, nil, 0x15000)                     // and written by one of those who freed it
	batch(2, free(0xffffffffffffff00, 0x1000)) // no block
	batch(0, []event.Event{
		{At: 1, Kind: event.StrandBegin, Obj: 1}, {At: 3, Kind: event.StrandEnd, Obj: 1},
		{At: 3, Kind: event.StrandBegin, Obj: 2}, {At: 4, Kind: event.StrandEnd, Obj: 2},
		{At: 5, Kind: event.StrandEnd, Obj: 9},
	}, 0x20000, 0x20008, 0x20010, 0x20008, 0x20000, 0x20018)
	for addr, want := range map[uint64]bool{
		0x10010: true, 0x11010: true, 0x12020: true, 0x18000: true, 0x18008: false, 0x13000: false, 0x15000: true,
		0x20000: false, 0x20008: true, 0x20010: false, 0x20018: false,
	} {
		if s.Keep(addr>>3) != want {
			t.Errorf("%#x: kept %v", addr, !want)
		}
	}
}

func TestScoutLimit(t *testing.T) {
	s := newSynthetic(1, 2)
	s.run(2000)
	scout := recorder.Scout{Limit: 4000}
	s.feed(t, &scout, s.batches)
	var free recorder.Scout
	s.feed(t, &free, s.batches)
	for _, th := range s.threads {
		for _, addrs := range th.addrs {
			for _, a := range addrs {
				if free.Keep(a>>3) && !scout.Keep(a>>3) {
					t.Fatalf("a full table lost the shared granule of %#x", a)
				}
			}
		}
	}
}

func TestModes(t *testing.T) {
	s := newSynthetic(5, 2)
	s.run(3000)
	cor, err := openBytes(s.record(t, recorder.Options{Meta: format.Meta{Mode: format.ModeCOR}}, s.batches))
	if err != nil {
		t.Fatal(err)
	}
	if err := cor.Verify(); err != nil {
		t.Error(err)
	}
	s.compare(t, cor, func(uint64) bool { return false })

	file := s.record(t, recorder.Options{Meta: format.Meta{Mode: format.ModeDOR}, Budget: 50 << 10}, s.batches)
	dor, err := openBytes(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := dor.Verify(); err != nil {
		t.Error(err)
	}
	for _, err := range dor.Segments(0) {
		if !errors.Is(err, ErrNotRecorded) {
			t.Errorf("segments of a DOR trace: %v", err)
		}
	}
	s.compareString(t, dor)
}

// compareString compares the strings of a DOR trace, which are the accesses and events of
// each thread in program order.
func (s *synthetic) compareString(t *testing.T, tr *Trace) {
	t.Helper()
	want := map[event.ThreadID][]format.Term{}
	for _, b := range s.batches {
		addrs, ev := b.Addrs, 0
		out := want[b.Thread]
		events := func(at int) {
			for ; ev < len(b.Events) && int(b.Events[ev].At) == at; ev++ {
				e := &b.Events[ev]
				out = append(out, format.SyncTerm(e.PC, e.Kind, e.Mode&event.Returns != 0))
			}
		}
		for i, id := range b.Blocks {
			events(i)
			for j, site := range s.blocks[id].Sites {
				out = append(out, format.AccessTerm(addrs[j], site.Access, site.Size))
			}
			addrs = addrs[len(s.blocks[id].Sites):]
		}
		events(len(b.Blocks))
		want[b.Thread] = out
	}
	for th, want := range want {
		i := 0
		for e := range tr.epochs {
			st, err := tr.stretch(e, th)
			if err != nil {
				t.Fatal(err)
			}
			if st == nil {
				continue
			}
			for c := st.Grammar.Begin(); !c.AtEnd(); c.Next() {
				x, _ := c.Terminal()
				if i >= len(want) || st.Terms[x] != want[i] {
					t.Fatalf("thread %d: letter %d is %+v", th, i, st.Terms[x])
				}
				i++
			}
		}
		if i != len(want) {
			t.Fatalf("thread %d: %d letters, want %d", th, i, len(want))
		}
	}
}

// TestFullDisk checks that Batch or Finish returns the error of the destination.
func TestFullDisk(t *testing.T) {
	s := newSynthetic(2, 2)
	s.run(3000)
	full := s.record(t, recorder.Options{Budget: 40 << 10}, s.batches)
	for room := 0; room < len(full); room += 1 + len(full)/40 {
		d := &disk{room: room}
		err := func() error {
			r, err := recorder.New(d, recorder.Options{Budget: 40 << 10})
			if err != nil {
				return err
			}
			if err := r.Define(s.blocks); err != nil {
				return err
			}
			for i := range s.batches {
				if err := r.Batch(&s.batches[i]); err != nil {
					if again := r.Finish(event.Outcome{}); again == nil {
						t.Error("Finish after an error succeeds")
					}
					return err
				}
			}
			return r.Finish(event.Outcome{})
		}()
		if !errors.Is(err, errFull) {
			t.Fatalf("room for %d of %d bytes: %v", room, len(full), err)
		}
	}
}

var errFull = errors.New("no space left")

type disk struct {
	bytes.Buffer
	room int
}

func (d *disk) Write(b []byte) (int, error) {
	if d.room -= len(b); d.room < 0 {
		return 0, errFull
	}
	return d.Buffer.Write(b)
}
