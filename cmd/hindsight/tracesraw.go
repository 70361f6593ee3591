package main

import (
	"encoding/binary"
	"io"

	"hindsight/tracefmt/event"
	"hindsight/tracefmt/rawtrace"
)

// Geometry of the cache of VPC3, section 4.2.
const (
	missLineBits = 6
	missLines    = 16 << 10 >> missLineBits
)

// rawKinds writes a kind of raw trace each: what a block adds, and what an
// ordered event does.
var rawKinds = []struct {
	name   string
	block  func(*rawRecorder, *rawThread, *event.Block, []uint64)
	event  func(*rawRecorder, *rawThread, *event.Event)
	values bool // of instructions are looked at
}{
	{"store-addr", (*rawRecorder).storesOf, (*rawRecorder).atomicStore, false},
	{"cache-miss", (*rawRecorder).missesOf, (*rawRecorder).atomicMiss, false},
	{"load-value", (*rawRecorder).valuesOf, nil, true},
	{"leaders", (*rawRecorder).leaderOf, (*rawRecorder).atomicData, false},
	{"control", (*rawRecorder).controlOf, nil, false},
	{"branch-bits", (*rawRecorder).branchOf, nil, false},
	{"blocks", (*rawRecorder).numberOf, nil, false},
}

func traceKinds() []string {
	var names []string
	for _, k := range rawKinds {
		names = append(names, k.name)
	}
	return names
}

// rawRecorder is an event.Observer that writes one kind of raw trace.
type rawRecorder struct {
	w       io.Writer
	kind    int
	only    int                           // thread, or -1
	code    func(pc uint64, n int) []byte // of the program; for values
	loads   []blockLoads                  // by block; of values
	values  []uint64                      // of the blocks to come in this batch
	blocks  []event.Block
	threads map[event.ThreadID]*rawThread
	buf     []byte
	bits    uint // of the byte of branch bits that is not full
	bitsN   int
	entries uint64
	written int64
}

// rawThread is what is kept of a thread.
type rawThread struct {
	lines  [missLines]uint64 // of its cache: line number plus one
	branch *event.Block      // the branch that it ran last, not decided yet
}

// newRawRecorder writes a kind of trace to w; code gives the program's code.
func newRawRecorder(w io.Writer, kind string, only int, code func(pc uint64, n int) []byte) *rawRecorder {
	r := &rawRecorder{w: w, only: only, code: code, threads: map[event.ThreadID]*rawThread{}}
	for i, k := range rawKinds {
		if k.name == kind {
			r.kind = i
		}
	}
	return r
}

// Define is event.Observer.
func (r *rawRecorder) Define(blocks []event.Block) error {
	for _, b := range blocks {
		b.Sites = append([]event.Site(nil), b.Sites...)
		for int(b.ID) >= len(r.blocks) {
			r.blocks = append(r.blocks, event.Block{})
		}
		r.blocks[b.ID] = b
		if rawKinds[r.kind].values {
			l, err := r.loadsOf(&b)
			if err != nil {
				return err
			}
			for int(b.ID) >= len(r.loads) {
				r.loads = append(r.loads, blockLoads{})
			}
			r.loads[b.ID] = l
		}
	}
	return nil
}

// Batch is event.Observer.
func (r *rawRecorder) Batch(b *event.Batch) error {
	if r.only >= 0 && b.Thread != event.ThreadID(r.only) {
		return nil
	}
	th := r.threads[b.Thread]
	if th == nil {
		th = new(rawThread)
		r.threads[b.Thread] = th
	}
	kind := &rawKinds[r.kind]
	addrs, events := b.Addrs, b.Events
	r.values = b.Values
	for i, id := range b.Blocks {
		for len(events) > 0 && int(events[0].At) <= i {
			if kind.event != nil {
				kind.event(r, th, &events[0])
			}
			events = events[1:]
		}
		block := &r.blocks[id]
		n := len(block.Sites)
		kind.block(r, th, block, addrs[:n])
		addrs = addrs[n:]
	}
	for i := range events {
		if kind.event != nil {
			kind.event(r, th, &events[i])
		}
	}
	return r.flush(1 << 16)
}

// Finish is event.Observer.
func (r *rawRecorder) Finish(event.Outcome) error {
	if rawKinds[r.kind].name == "branch-bits" {
		// A one and zeros fill the last byte, so that the bits can be counted.
		r.buf = append(r.buf, byte(r.bits|1<<r.bitsN))
	}
	return r.flush(0)
}

// flush writes what there is when it is more than keep bytes.
func (r *rawRecorder) flush(keep int) error {
	if len(r.buf) <= keep {
		return nil
	}
	n, err := r.w.Write(r.buf)
	r.written += int64(n)
	r.buf = r.buf[:0]
	return err
}

func (r *rawRecorder) record(pc, addr uint64) {
	r.entries++
	r.buf = rawtrace.Record{PC: uint32(pc), ED: addr}.Append(r.buf)
}

func (r *rawRecorder) storesOf(_ *rawThread, b *event.Block, addrs []uint64) {
	for i, s := range b.Sites {
		if s.Access == event.Write {
			r.record(s.PC, addrs[i])
		}
	}
}

func (r *rawRecorder) atomicStore(_ *rawThread, e *event.Event) {
	if e.Kind == event.AtomicStore || e.Kind == event.AtomicRMW {
		r.record(e.PC, e.Obj)
	}
}

// miss records an access unless its line is in the thread's cache.
func (r *rawRecorder) miss(th *rawThread, pc, addr uint64) {
	line := addr >> missLineBits
	if slot := &th.lines[line%missLines]; *slot != line+1 {
		*slot = line + 1
		r.record(pc, addr)
	}
}

func (r *rawRecorder) missesOf(th *rawThread, b *event.Block, addrs []uint64) {
	for i, s := range b.Sites {
		r.miss(th, s.PC, addrs[i])
	}
}

// isAtomic says whether an event is an access to memory.
func isAtomic(e *event.Event) bool {
	return e.Kind == event.AtomicLoad || e.Kind == event.AtomicStore || e.Kind == event.AtomicRMW
}

func (r *rawRecorder) atomicMiss(th *rawThread, e *event.Event) {
	if isAtomic(e) {
		r.miss(th, e.PC, e.Obj)
	}
}

func (r *rawRecorder) leaderOf(_ *rawThread, b *event.Block, addrs []uint64) {
	r.entries += uint64(1 + len(addrs))
	r.buf = rawtrace.AppendLeader(r.buf, b.PC)
	for _, a := range addrs {
		r.buf = rawtrace.AppendData(r.buf, a)
	}
}

func (r *rawRecorder) controlOf(_ *rawThread, b *event.Block, _ []uint64) {
	r.entries++
	r.buf = rawtrace.AppendLeader(r.buf, b.PC)
}

// atomicData adds the address of an atomic access, which ends its block.
func (r *rawRecorder) atomicData(_ *rawThread, e *event.Event) {
	if isAtomic(e) {
		r.entries++
		r.buf = rawtrace.AppendData(r.buf, e.Obj)
	}
}

// branchOf decides the thread's last branch by where it went on.
func (r *rawRecorder) branchOf(th *rawThread, b *event.Block, _ []uint64) {
	if last := th.branch; last != nil {
		if b.PC == last.Target {
			r.bits |= 1 << r.bitsN
		}
		r.entries++
		if r.bitsN++; r.bitsN == 8 {
			r.buf = append(r.buf, byte(r.bits))
			r.bits, r.bitsN = 0, 0
		}
		th.branch = nil
	}
	if b.End == event.EndBranch {
		th.branch = b
	}
}

func (r *rawRecorder) numberOf(_ *rawThread, b *event.Block, _ []uint64) {
	r.entries++
	r.buf = binary.LittleEndian.AppendUint32(r.buf, uint32(b.ID))
}
