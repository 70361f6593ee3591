// Package raw writes the raw, uncompressed traces studied by the trace-compression papers
// while a program runs: addresses of stores, cache misses, values of loads, block leaders,
// branch bits (docs/raw-formats.md).
package raw

import (
	"encoding/binary"
	"io"

	"hindsight/tracefmt/event"
	"hindsight/tracefmt/rawtrace"
)

// Geometry of the cache in VPC3, section 4.2.
const (
	missLineBits = 6
	missLines    = 16 << 10 >> missLineBits
)

// kinds are the kinds of raw traces: what each writes for a block and for an ordered event.
var kinds = []struct {
	name   string
	block  func(*Recorder, *thread, *event.Block, []uint64)
	event  func(*Recorder, *thread, *event.Event)
	values bool // it needs the values of instructions
}{
	{"store-addr", (*Recorder).storesOf, (*Recorder).atomicStore, false},
	{"cache-miss", (*Recorder).missesOf, (*Recorder).atomicMiss, false},
	{"load-value", (*Recorder).valuesOf, nil, true},
	{"leaders", (*Recorder).leaderOf, (*Recorder).atomicData, false},
	{"control", (*Recorder).controlOf, nil, false},
	{"branch-bits", (*Recorder).branchOf, nil, false},
	{"blocks", (*Recorder).numberOf, nil, false},
}

// Kinds returns the names of the kinds of raw traces.
func Kinds() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// Recorder is an event.Observer that writes one kind of raw trace.
type Recorder struct {
	w       io.Writer
	kind    int
	only    int                           // thread to record, or -1 for all
	code    func(pc uint64, n int) []byte // the program's code; for values
	loads   []blockLoads                  // by block; for values
	values  []uint64                      // of the remaining blocks in this batch
	blocks  []event.Block
	threads map[event.ThreadID]*thread
	buf     []byte
	bits    uint // of the incomplete byte of branch bits
	bitsN   int
	Entries uint64 // number of records, leaders, data addresses or bits so far
	Written int64  // bytes so far
}

// thread is the state of a thread.
type thread struct {
	lines  [missLines]uint64 // of its cache: line number plus one
	branch *event.Block      // its last branch, whose direction is not known yet
}

// NewRecorder returns a Recorder that writes a kind of trace to w. code returns the
// program's code.
func NewRecorder(w io.Writer, kind string, only int, code func(pc uint64, n int) []byte) *Recorder {
	r := &Recorder{w: w, only: only, code: code, threads: map[event.ThreadID]*thread{}}
	for i, k := range kinds {
		if k.name == kind {
			r.kind = i
		}
	}
	return r
}

// Define implements event.Observer.
func (r *Recorder) Define(blocks []event.Block) error {
	for _, b := range blocks {
		b.Sites = append([]event.Site(nil), b.Sites...)
		for int(b.ID) >= len(r.blocks) {
			r.blocks = append(r.blocks, event.Block{})
		}
		r.blocks[b.ID] = b
		if kinds[r.kind].values {
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

// Batch implements event.Observer.
func (r *Recorder) Batch(b *event.Batch) error {
	if r.only >= 0 && b.Thread != event.ThreadID(r.only) {
		return nil
	}
	th := r.threads[b.Thread]
	if th == nil {
		th = new(thread)
		r.threads[b.Thread] = th
	}
	kind := &kinds[r.kind]
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

// Finish implements event.Observer.
func (r *Recorder) Finish(event.Outcome) error {
	if kinds[r.kind].name == "branch-bits" {
		// A one followed by zeros fills the last byte, so that the bits can be counted.
		r.buf = append(r.buf, byte(r.bits|1<<r.bitsN))
	}
	return r.flush(0)
}

// flush writes the buffer if it has more than keep bytes.
func (r *Recorder) flush(keep int) error {
	if len(r.buf) <= keep {
		return nil
	}
	n, err := r.w.Write(r.buf)
	r.Written += int64(n)
	r.buf = r.buf[:0]
	return err
}

func (r *Recorder) record(pc, addr uint64) {
	r.Entries++
	r.buf = rawtrace.Record{PC: uint32(pc), ED: addr}.Append(r.buf)
}

func (r *Recorder) storesOf(_ *thread, b *event.Block, addrs []uint64) {
	for i, s := range b.Sites {
		if s.Access == event.Write {
			r.record(s.PC, addrs[i])
		}
	}
}

func (r *Recorder) atomicStore(_ *thread, e *event.Event) {
	if e.Kind == event.AtomicStore || e.Kind == event.AtomicRMW {
		r.record(e.PC, e.Obj)
	}
}

// miss records an access unless its line is in the thread's cache.
func (r *Recorder) miss(th *thread, pc, addr uint64) {
	line := addr >> missLineBits
	if slot := &th.lines[line%missLines]; *slot != line+1 {
		*slot = line + 1
		r.record(pc, addr)
	}
}

func (r *Recorder) missesOf(th *thread, b *event.Block, addrs []uint64) {
	for i, s := range b.Sites {
		r.miss(th, s.PC, addrs[i])
	}
}

// isAtomic reports whether an event is an access to memory.
func isAtomic(e *event.Event) bool {
	return e.Kind == event.AtomicLoad || e.Kind == event.AtomicStore || e.Kind == event.AtomicRMW
}

func (r *Recorder) atomicMiss(th *thread, e *event.Event) {
	if isAtomic(e) {
		r.miss(th, e.PC, e.Obj)
	}
}

func (r *Recorder) leaderOf(_ *thread, b *event.Block, addrs []uint64) {
	r.Entries += uint64(1 + len(addrs))
	r.buf = rawtrace.AppendLeader(r.buf, b.PC)
	for _, a := range addrs {
		r.buf = rawtrace.AppendData(r.buf, a)
	}
}

func (r *Recorder) controlOf(_ *thread, b *event.Block, _ []uint64) {
	r.Entries++
	r.buf = rawtrace.AppendLeader(r.buf, b.PC)
}

// atomicData adds the address of an atomic access, which ends its block.
func (r *Recorder) atomicData(_ *thread, e *event.Event) {
	if isAtomic(e) {
		r.Entries++
		r.buf = rawtrace.AppendData(r.buf, e.Obj)
	}
}

// branchOf determines the direction of the thread's last branch from where the thread
// continued.
func (r *Recorder) branchOf(th *thread, b *event.Block, _ []uint64) {
	if last := th.branch; last != nil {
		if b.PC == last.Target {
			r.bits |= 1 << r.bitsN
		}
		r.Entries++
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

func (r *Recorder) numberOf(_ *thread, b *event.Block, _ []uint64) {
	r.Entries++
	r.buf = binary.LittleEndian.AppendUint32(r.buf, uint32(b.ID))
}
