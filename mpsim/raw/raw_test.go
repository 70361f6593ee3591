package raw

import (
	"bytes"
	"encoding/binary"
	"testing"

	"hindsight/tracefmt/event"
	"hindsight/tracefmt/rawtrace"
)

// TestRawRecorder compares each kind of raw trace of one small run with a trace written by
// hand.
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
		// 0x2000 and 0x6000 share a line of the 16 kB cache; 0x1008 is in the line of
		// 0x1000.
		{"cache-miss", 0, records(0x100, 0x1000, 0x104, 0x2000, 0x104, 0x6000, 0x104, 0x2000)},
		{"cache-miss", 1, records(0x100, 0x1000, 0x104, 0x2000)},
		{"leaders", 0, words(0x100|leader, 0x1000, 0x2000, 0x100|leader, 0x1008, 0x6000, 0x10c|leader, 0x1010, 0x110|leader, 0x100|leader, 0x1000, 0x2000)},
		// Taken, not taken, taken; then the mark of the end.
		{"branch-bits", 0, []byte{0b1101}},
		{"blocks", 0, []byte{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}},
	} {
		var out bytes.Buffer
		r := NewRecorder(&out, c.kind, c.only, nil)
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
		if r.Written != int64(out.Len()) {
			t.Errorf("%s: %d bytes counted of %d", c.kind, r.Written, out.Len())
		}
	}
}

// TestLoadValues checks that the values of loads are selected from those of all
// instructions.
func TestLoadValues(t *testing.T) {
	code := []uint32{
		0x00813503, // ld a0, 8(sp)
		0x00150513, // addi a0, a0, 1
		0x00052583, // lw a1, 0(a0)
		0x00052003, // lw zero, 0(a0): no value
		0x12345637, // lui a2: known from the code
		0x00b5262f, // amoadd.w a2, a1, (a0)
	}
	var text []byte
	for _, w := range code {
		text = binary.LittleEndian.AppendUint32(text, w)
	}
	read := func(pc uint64, n int) []byte { return text[pc-0x100:][:n] }
	blocks := []event.Block{
		{ID: 0, PC: 0x100, Bytes: 24, Insts: 6, End: event.EndAtomic},
		{ID: 1, PC: 0x108, Bytes: 8, Insts: 2, End: event.EndFall},
	}
	var out bytes.Buffer
	r := NewRecorder(&out, "load-value", -1, read)
	if !r.WantsValues() {
		t.Error("no values are wanted")
	}
	if err := r.Define(blocks); err != nil {
		t.Fatal(err)
	}
	b := event.Batch{Blocks: []event.BlockID{0, 1, 0}, Values: []uint64{10, 11, 12, 0x2000, 13, 20, 30, 31, 32, 0x2000, 33}}
	if err := r.Batch(&b); err != nil {
		t.Fatal(err)
	}
	if err := r.Finish(event.Outcome{}); err != nil {
		t.Fatal(err)
	}
	var want []byte
	for _, x := range []rawtrace.Record{{PC: 0x100, ED: 10}, {PC: 0x108, ED: 12}, {PC: 0x114, ED: 13}, {PC: 0x108, ED: 20}, {PC: 0x100, ED: 30}, {PC: 0x108, ED: 32}, {PC: 0x114, ED: 33}} {
		want = x.Append(want)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%x, want %x", out.Bytes(), want)
	}
}
