package main

import (
	"bytes"
	"encoding/binary"
	"testing"

	"hindsight/tracefmt/event"
	"hindsight/tracefmt/rawtrace"
)

// TestRawRecorder: each kind of raw trace of one small run, by hand.
func TestRawRecorder(t *testing.T) {
	blocks := []event.Block{
		{ID: 0, PC: 0x100, Bytes: 12, End: event.EndBranch, Target: 0x100, Sites: []event.Site{{PC: 0x100, Size: 8}, {PC: 0x104, Size: 8, Access: event.Write}}},
		{ID: 1, PC: 0x10c, Bytes: 4, End: event.EndAtomic},
		{ID: 2, PC: 0x110, Bytes: 4, End: event.EndBranch, Target: 0x100},
	}
	batches := []event.Batch{
		{Blocks: []event.BlockID{0, 0, 1, 2}, Addrs: []uint64{0x1000, 0x2000, 0x1008, 0x6000}, Events: []event.Event{
			{At: 3, Kind: event.AtomicRMW, PC: 0x10c, Obj: 0x1010},
		}},
		{Blocks: []event.BlockID{0}, Addrs: []uint64{0x1000, 0x2000}},
		{Thread: 1, Blocks: []event.BlockID{0}, Addrs: []uint64{0x1000, 0x2000}},
	}
	records := func(values ...uint64) (b []byte) {
		for i := 0; i < len(values); i += 2 {
			b = rawtrace.Record{PC: uint32(values[i]), ED: values[i+1]}.Append(b)
		}
		return b
	}
	words := func(values ...uint64) (b []byte) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		return b
	}
	const leader = rawtrace.LeaderBit
	for _, c := range []struct {
		kind string
		only int
		want []byte
	}{
		{"store-addr", 0, records(0x104, 0x2000, 0x104, 0x6000, 0x10c, 0x1010, 0x104, 0x2000)},
		{"store-addr", -1, records(0x104, 0x2000, 0x104, 0x6000, 0x10c, 0x1010, 0x104, 0x2000, 0x104, 0x2000)},
		// 0x2000 and 0x6000 share a line of the cache of 16 kB; 0x1008 is in that of 0x1000.
		{"cache-miss", 0, records(0x100, 0x1000, 0x104, 0x2000, 0x104, 0x6000, 0x104, 0x2000)},
		{"cache-miss", 1, records(0x100, 0x1000, 0x104, 0x2000)},
		{"leaders", 0, words(0x100|leader, 0x1000, 0x2000, 0x100|leader, 0x1008, 0x6000, 0x10c|leader, 0x1010, 0x110|leader, 0x100|leader, 0x1000, 0x2000)},
		// Taken, not taken, taken; then the mark of the end.
		{"branch-bits", 0, []byte{0b1101}},
		{"blocks", 0, []byte{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}},
	} {
		var out bytes.Buffer
		r := newRawRecorder(&out, c.kind, c.only)
		if err := r.Define(blocks); err != nil {
			t.Fatal(err)
		}
		for i := range batches {
			if err := r.Batch(&batches[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Finish(event.Outcome{}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), c.want) {
			t.Errorf("%s of thread %d:\n%x, want\n%x", c.kind, c.only, out.Bytes(), c.want)
		}
		if r.written != int64(out.Len()) {
			t.Errorf("%s: %d bytes counted of %d", c.kind, r.written, out.Len())
		}
	}
}
