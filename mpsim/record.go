package mpsim

import (
	"bytes"
	"sync"

	"hindsight/mpsim/linux"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Sizes of a batch, and the number of batches in flight between the machine and the
// observer.
const (
	batchBlocks = 1 << 14
	batchAddrs  = 1 << 16
	batchEvents = 1 << 12
	batches     = 16
)

// recorder collects the current batch and hands full ones to the observer.
type recorder struct {
	batch *event.Batch
	addrs []uint64 // the whole storage of the batch; filled up to used
	used  int
	since uint64 // the hart's Insts when the batch began
	owner *Hart  // the hart that the batch belongs to

	images []event.Image // loaded since the last batch
	blocks []event.Block // defined since the last batch
	nextID event.BlockID
	cuts   map[cutKey]event.BlockID

	// See capture: whether to look for relaxed accesses, the sites of blocks, and how much
	// of the batch has been examined.
	fences     bool
	user       func(pc uint64) bool
	atomic     func(pc uint64) bool // see intent.Code; nil: nothing is known
	relaxed    bool                 // such accesses have been seen
	sites      []blockSites
	seenBlocks int
	seenAddrs  int

	// See pastEvents: how many entries of the batch have been counted, and how many of
	// these are ordered events.
	counted int
	ordered uint64

	// See values.go.
	values   bool     // the observer asks for values
	results  []uint64 // the whole storage of the batch for values
	told     int      // results is filled up to here
	inKernel bool
	acting   func() *linux.Task // on whose behalf the kernel works; nil: the caller's
	placed   []event.Effect     // what the kernel unmapped and moved, in order
	flows    []flow
	open     event.EffectKind // kind of what the kernel does
	before   registers        // the registers before it
	pc       uint64           // and the place

	out    chan message
	free   chan *event.Batch
	done   chan struct{}
	mu     sync.Mutex
	failed error
}

type cutKey struct {
	id   event.BlockID
	done int
}

// message is what the observer receives: shared objects and definitions, then the batch.
type message struct {
	images []event.Image
	blocks []event.Block
	batch  *event.Batch
}

// spareBatches holds batches of runs that have ended.
var spareBatches sync.Pool

func newRecorder(to event.Observer) *recorder {
	r := &recorder{
		cuts: map[cutKey]event.BlockID{},
		out:  make(chan message, batches), free: make(chan *event.Batch, batches), done: make(chan struct{}),
	}
	r.values = event.WantsValues(to)
	for range batches {
		b, ok := spareBatches.Get().(*event.Batch)
		if !ok {
			b = &event.Batch{Blocks: make([]event.BlockID, 0, batchBlocks), Addrs: make([]uint64, 0, batchAddrs)}
		}
		if r.values && cap(b.Values) == 0 {
			b.Values = make([]uint64, 0, batchValues)
		}
		r.free <- b
	}
	go r.deliver(to)
	r.next()
	return r
}

// deliver calls the observer for each message, in order. After an error it only recycles
// the batches.
func (r *recorder) deliver(to event.Observer) {
	defer close(r.done)
	for m := range r.out {
		if r.err() == nil {
			var err error
			if len(m.images) > 0 {
				err = event.Load(to, m.images)
			}
			if err == nil && len(m.blocks) > 0 {
				err = to.Define(m.blocks)
			}
			if err == nil && m.batch != nil {
				err = to.Batch(m.batch)
			}
			if err != nil {
				r.mu.Lock()
				r.failed = err
				r.mu.Unlock()
			}
		}
		if m.batch != nil {
			m.batch.Reset()
			r.free <- m.batch
		}
	}
}

// err returns the observer's error, if there was one.
func (r *recorder) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) next() {
	r.batch = <-r.free
	r.addrs = r.batch.Addrs[:cap(r.batch.Addrs)]
	r.used = 0
	r.results, r.told = r.batch.Values[:cap(r.batch.Values)], 0
	r.seenBlocks, r.seenAddrs = 0, 0
	r.counted, r.ordered = 0, 0
}

// flush hands over the batch of hart h, if there is anything in it.
func (r *recorder) flush(h *Hart) {
	h.keepLoad()
	r.capture(h)
	h.call.marked = false
	switch {
	case !r.values:
	case h.call.active:
		r.tellPart(h)
	case h.fiber != nil:
		r.stored(h)
	}
	insts := h.Insts() - r.since
	r.since += insts
	h.events, h.accesses = h.pastEvents(), h.pastAccesses()
	if b := r.batch; len(b.Blocks) > 0 || len(b.Events) > 0 || len(b.Effects) > 0 || insts > 0 {
		r.handOver(h.id, insts)
	}
}

// pastEvents returns how many events of the kind that schedules count the thread has had.
func (h *Hart) pastEvents() uint64 {
	r := h.m.rec
	if r == nil || r.owner != h {
		return h.events
	}
	r.capture(h)
	for ; r.counted < len(r.batch.Events); r.counted++ {
		if r.batch.Events[r.counted].Kind.IsStep() {
			r.ordered++
		}
	}
	return h.events + r.ordered
}

// pastAccesses returns how many plain accesses the thread has executed outside hooked
// calls.
func (h *Hart) pastAccesses() uint64 {
	if r := h.m.rec; r != nil && r.owner == h {
		return h.accesses + uint64(r.used)
	}
	return h.accesses
}

// handOver sends the batch to the observer.
func (r *recorder) handOver(id event.ThreadID, insts uint64) {
	b := r.batch
	b.Thread, b.Insts = id, insts
	b.Addrs = r.addrs[:r.used]
	b.Values = r.results[:r.told]
	r.out <- message{r.images, r.blocks, b}
	r.images, r.blocks = nil, nil
	r.next()
}

// begin starts to record hart h, to which the next batches belong.
func (r *recorder) begin(h *Hart) { r.owner, r.since = h, h.Insts() }

// close waits until the observer has received everything.
func (r *recorder) close() error {
	close(r.out)
	<-r.done
	r.batch.Reset()
	spareBatches.Put(r.batch)
	for range len(r.free) {
		spareBatches.Put(<-r.free)
	}
	r.batch = nil
	return r.err()
}

// block notes that h is about to execute b, and returns the place for the addresses of its
// accesses.
func (r *recorder) block(h *Hart, b *block) *[64]uint64 {
	if !h.recording {
		return r.hidden(h, b)
	}
	if h.fiber != nil {
		if (b.kept != Recorded || h.fiberKey == 0) && h.muted(b) {
			return r.mutedBlock(h, b)
		}
		if h.fiber.mute.on {
			h.unmute()
		}
	}
	if len(r.batch.Blocks) == batchBlocks || r.used+rv.MaxBlock > len(r.addrs) {
		r.flush(h)
	}
	if r.values {
		if r.told+blockValues > len(r.results) || len(r.batch.Effects) >= batchEvents {
			r.flush(h)
		}
		h.values = (*[blockValues]uint64)(r.results[r.told:])
		r.told += int(b.values)
	}
	if b.id == noID {
		b.id = r.define(&b.code)
	}
	r.batch.Blocks = append(r.batch.Blocks, b.id)
	window := (*[rv.MaxBlock]uint64)(r.addrs[r.used:])
	r.used += int(b.sites)
	return window
}

func (r *recorder) define(code *rv.Block) event.BlockID {
	id := r.nextID
	r.nextID++
	r.sites = append(r.sites, r.captured(code))
	r.blocks = append(r.blocks, event.Block{
		ID: id, PC: code.PC, Bytes: code.Bytes, Insts: uint32(len(code.Insts)),
		End: code.End, Target: code.Target, Sites: code.Sites(), Code: r.made(code),
	})
	return id
}

// made returns the code of a block if it is needed and differs from the code that an image
// has there.
func (r *recorder) made(code *rv.Block) []byte {
	if !r.values {
		return nil
	}
	m := r.owner.m
	raw := make([]byte, code.Bytes)
	if m.space.Peek(code.PC, raw) != nil || bytes.Equal(raw, m.cfg.Image.Code(code.PC, len(raw))) {
		return nil
	}
	return raw
}

// cut removes block b, which was noted last, and notes its first done instructions instead.
func (r *recorder) cut(b *block, done int) {
	r.batch.Blocks = r.batch.Blocks[:len(r.batch.Blocks)-1]
	r.used -= int(b.sites)
	r.told -= int(b.values)
	if done == 0 {
		return
	}
	part := b.part(done)
	if r.values {
		r.told += rv.Values(part.Insts, part.End)
	}
	key := cutKey{b.id, done}
	id, known := r.cuts[key]
	if !known {
		id = r.define(&part)
		r.cuts[key] = id
	}
	r.batch.Blocks = append(r.batch.Blocks, id)
	r.used += len(part.Sites())
}

// event appends an ordered event of h at the present place.
func (r *recorder) event(h *Hart, e event.Event) {
	h.keepLoad()
	r.capture(h)
	r.append(h, e)
}

func (r *recorder) append(h *Hart, e event.Event) {
	h.m.renewed(&e)
	e.At = uint32(len(r.batch.Blocks))
	r.batch.Events = append(r.batch.Events, e)
	if len(r.batch.Events) >= batchEvents {
		r.flush(h)
	}
}
