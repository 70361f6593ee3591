package cdr

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"hindsight/cdr/recorder"
	"hindsight/tracefmt/event"
)

// inTurn hands a recorder the run of threads that are created and joined one after
// another, each of which executes a block with 64 loads, up to the end of the last
// thread. It leaves the recording open.
func inTurn(t *testing.T, w io.Writer, threads int) *recorder.Recorder {
	t.Helper()
	r, err := recorder.New(w, recorder.Options{Budget: 256 << 10, Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	block := event.Block{PC: 0x1000, Insts: 64, Bytes: 256, End: event.EndJump}
	addrs := make([]uint64, block.Insts)
	for i := range addrs {
		block.Sites = append(block.Sites, event.Site{PC: block.PC + 4*uint64(i), Size: 8, Access: event.Read})
		addrs[i] = 0x8000 + 8*uint64(i)
	}
	if err := r.Define([]event.Block{block}); err != nil {
		t.Fatal(err)
	}
	for id := range uint64(threads) {
		id++
		for _, b := range []event.Batch{
			{Events: []event.Event{{Kind: event.Create, Obj: id}}},
			{Thread: event.ThreadID(id), Blocks: []event.BlockID{0}, Addrs: addrs, Insts: uint64(block.Insts),
				Events: []event.Event{{Kind: event.ThreadStart}, {Kind: event.ThreadEnd, At: 1}}},
			{Events: []event.Event{{Kind: event.Join, Obj: id}}},
		} {
			if err := r.Batch(&b); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

// TestEndedThreadsTakeLittle: what a recorder and the walks over the segments of all
// threads hold for a thread that has ended is less than 300 bytes. Most of it is the
// recorder's and the reader's index of the blocks of the file. The memory of the
// thread's part of an epoch, or of its last segment, is several times as much.
func TestEndedThreadsTakeLittle(t *testing.T) {
	const few, many = 2000, 10000
	t.Run("recorder", func(t *testing.T) {
		took := func(threads int) uint64 {
			before := live()
			r := inTurn(t, io.Discard, threads)
			after := live()
			runtime.KeepAlive(r)
			return after - min(before, after)
		}
		perThread(t, took(few), took(many), many-few)
	})
	t.Run("walks", func(t *testing.T) {
		took := func(threads int) uint64 {
			var file bytes.Buffer
			if err := inTurn(t, &file, threads).Finish(event.Outcome{Threads: threads + 1}); err != nil {
				t.Fatal(err)
			}
			tr, err := openBytes(file.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if n := len(tr.Threads()); n != threads+1 {
				t.Fatalf("%d threads", n)
			}
			before := live()
			var walks []func() (*Segment, error)
			for id := range threads {
				next := tr.NextSegment(event.ThreadID(id+1), nil)
				for range 2 { // up to ThreadStart and up to ThreadEnd
					seg, err := next()
					if err != nil || seg == nil {
						t.Fatal(seg, err)
					}
					for _, err := range seg.Runs() {
						if err != nil {
							t.Fatal(err)
						}
					}
				}
				walks = append(walks, next)
			}
			tr.cache = stretchCache{} // it has a bound
			after := live()
			runtime.KeepAlive(walks)
			return after - min(before, after)
		}
		perThread(t, took(few), took(many), many-few)
	})
}

// perThread checks what each thread more took.
func perThread(t *testing.T, few, many, threads uint64) {
	t.Helper()
	each := (many - min(few, many)) / threads
	t.Logf("%d bytes for each thread that has ended", each)
	if each > 300 {
		t.Errorf("%d bytes for each thread that has ended, want at most 300", each)
	}
}

// live is the bytes on the heap that are in use.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
