package coverage

import (
	"math/bits"

	"hindsight/tracefmt/event"
)

// Class identifies what a run did and in which order; see the package comment. No run has
// class 0.
type Class uint64

// Observer computes the class of a run, and its pairs. [Observer.Reset] prepares it for
// another run and keeps its storage.
type Observer struct {
	// Muted reports whether code belongs to a runtime whose accesses do not count, because
	// events record its synchronisation; how long it waits is then left out. nil means that
	// there is none. It must be set before the run.
	Muted func(pc uint64) bool

	blocks  []block
	sites   []event.Site // of all blocks
	threads []thread
	objects map[object]uint64
	lived   ranges // memory that has begun a life
	heap    uint64 // hash of the later lives of memory, because the meaning of addresses depends on them
	class   Class

	pairs pairs
}

// block is the hash of a block, and its sites.
type block struct {
	hash        uint64
	first, last uint32 // indices in Observer.sites
	muted       bool
}

// thread is the hash of what a thread did, as of some heap.
type thread struct{ hash, heap uint64 }

// object is what operations are ordered by.
type object struct {
	kind  objectKind
	id    uint64
	round uint64 // of a barrier
}

type objectKind uint8

const (
	memoryObject objectKind = iota // a granule, or a synchronisation object identified by its address
	threadObject
	strandObject
	handleObject
	barrierObject
)

// New returns an observer for one run.
func New() *Observer {
	o := &Observer{}
	o.Reset()
	return o
}

// Reset prepares the observer for another run.
func (o *Observer) Reset() {
	o.blocks, o.sites, o.threads = o.blocks[:0], o.sites[:0], o.threads[:0]
	if o.objects == nil {
		o.objects = map[object]uint64{}
	}
	clear(o.objects)
	o.lived, o.heap, o.class = o.lived[:0], 1, 0
	o.pairs.reset()
}

// Class returns the class of the run, which must have ended.
func (o *Observer) Class() Class { return o.class }

// mix returns the hash of h and x: the halves of a product, as in wyhash.
func mix(h, x uint64) uint64 {
	high, low := bits.Mul64(h^0x9e3779b97f4a7c15, x^0xe7037ed1a0b428db)
	return high ^ low ^ bits.RotateLeft64(h, 23)
}

// Define implements [event.Observer].
func (o *Observer) Define(blocks []event.Block) error {
	for i := range blocks {
		b := &blocks[i]
		first := uint32(len(o.sites))
		o.sites = append(o.sites, b.Sites...)
		// Numbers of blocks depend on the schedule, but their code does not.
		hash := mix(mix(b.PC, uint64(b.Bytes)), uint64(b.Insts)<<8|uint64(b.End))
		o.blocks = append(o.blocks, block{hash, first, uint32(len(o.sites)), o.Muted != nil && o.Muted(b.PC)})
	}
	return nil
}

// Load implements [event.ImageObserver]. Where objects are loaded affects the meaning of
// addresses.
func (o *Observer) Load(images []event.Image) error {
	for i := range images {
		o.heap = mix(o.heap, images[i].Base)
		for _, c := range []byte(images[i].Path) {
			o.heap = mix(o.heap, uint64(c))
		}
	}
	return nil
}

// Batch implements [event.Observer].
func (o *Observer) Batch(b *event.Batch) error {
	for int(b.Thread) >= len(o.threads) {
		o.threads = append(o.threads, thread{hash: uint64(len(o.threads))})
	}
	t := &o.threads[b.Thread]
	t.sees(o.heap)
	addrs, from := b.Addrs, 0
	for i := range b.Events {
		e := &b.Events[i]
		t.hash, addrs = o.run(t.hash, b.Thread, b.Blocks[from:e.At], addrs)
		from = int(e.At)
		o.event(t, b.Thread, e)
	}
	t.hash, _ = o.run(t.hash, b.Thread, b.Blocks[from:], addrs)
	return nil
}

// sees mixes in the heap. Which life of memory an access belongs to depends on its position
// among the allocations of all threads.
func (t *thread) sees(heap uint64) {
	if t.heap != heap {
		t.heap, t.hash = heap, mix(t.hash, heap)
	}
}

// run hashes blocks with their addresses. It returns the remaining addresses.
func (o *Observer) run(h uint64, t event.ThreadID, blocks []event.BlockID, addrs []uint64) (uint64, []uint64) {
	for _, id := range blocks {
		b := &o.blocks[id]
		if b.muted {
			addrs = addrs[b.last-b.first:]
			continue
		}
		h = mix(h, b.hash)
		sites := o.sites[b.first:b.last]
		for i := range sites {
			h = mix(h, addrs[i])
			o.pairs.access(t, &sites[i], addrs[i])
		}
		addrs = addrs[len(sites):]
	}
	return h, addrs
}

// effect is the effect of an event on the hashes of its object and of its thread.
type effect uint8

const (
	alone    effect = iota // none: it is ordered only within its thread
	acquires               // it comes after the releases so far
	releases               // it comes before later acquisitions, unordered with other releases
	both                   // it is ordered with all others
)

// event hashes an event of a thread.
func (o *Observer) event(t *thread, id event.ThreadID, e *event.Event) {
	if e.Kind == event.None {
		return // depends on who ran during a hooked call
	}
	o.pairs.event(id, e)
	h := mix(t.hash, uint64(e.Kind)<<40|uint64(e.Mode&^event.Returns)<<32|uint64(e.Size))
	h = mix(mix(mix(h, e.PC), e.Obj), e.Arg)
	what, size, does := dependence(id, e)
	for does != alone {
		h = o.order(h, what, does)
		if size <= 8 {
			break
		}
		size -= 8
		what.id++
	}
	t.hash = h
	if low, bytes := newLife(e); o.lived.add(low, bytes) {
		o.heap = mix(h, o.heap)
		t.sees(o.heap)
	}
}

// taskStack bounds the frames of a task whose event does not contain their size.
const taskStack = 256 << 10

// newLife returns the memory of which e begins a new life (docs/semantics.md, "Lives of
// memory"), or 0 bytes if there is none.
func newLife(e *event.Event) (low, bytes uint64) {
	switch e.Kind {
	case event.Alloc, event.Map, event.StackMap, event.Renew, event.Private, event.ThreadLocal:
		return e.Obj, max(e.Arg, uint64(e.Size))
	case event.StrandBegin, event.StrandEnd, event.StrandSuspend, event.StrandResume:
		bytes = min(max(uint64(e.Size), taskStack), e.Arg)
		return e.Arg - bytes, bytes
	}
	return 0, 0
}

func (o *Observer) order(h uint64, what object, does effect) uint64 {
	was := o.objects[what]
	switch does {
	case acquires:
		return mix(h, was)
	case releases:
		o.objects[what] = was + mix(h, 3)
		return h
	}
	h = mix(h, was)
	o.objects[what] = h
	return h
}

// dependence returns the object of an event, the number of bytes of granules from the first
// one on, and the effect of the event on the order.
func dependence(t event.ThreadID, e *event.Event) (what object, size uint64, does effect) {
	address := object{kind: memoryObject, id: e.Obj >> 3}
	switch e.Kind {
	case event.ThreadStart:
		return object{kind: threadObject, id: uint64(t)}, 0, acquires
	case event.ThreadEnd:
		return object{kind: threadObject, id: uint64(t)}, 0, releases
	case event.Create:
		return object{kind: threadObject, id: e.Obj}, 0, releases
	case event.Join:
		return object{kind: threadObject, id: e.Obj}, 0, acquires
	case event.BarrierEnter:
		return object{barrierObject, e.Obj, e.Arg}, 0, releases
	case event.BarrierLeave:
		return object{barrierObject, e.Obj, e.Arg}, 0, acquires
	case event.MutexLock, event.ReadLock, event.WriteLock, event.SemWait, event.OnceSeen:
		return address, 0, acquires
	case event.MutexUnlock, event.ReadUnlock, event.WriteUnlock, event.SemPost, event.OnceDone:
		return address, 0, releases
	case event.AtomicLoad:
		return address, e.Obj&7 + uint64(e.Size), acquires
	case event.AtomicStore, event.AtomicRMW:
		return address, e.Obj&7 + uint64(e.Size), both
	case event.Publish:
		return object{kind: handleObject, id: e.Obj}, 0, releases
	case event.Observe:
		return object{kind: handleObject, id: e.Obj}, 0, acquires
	case event.StrandCreate, event.StrandBegin, event.StrandEnd, event.StrandSuspend, event.StrandResume:
		return object{kind: strandObject, id: e.Obj}, 0, both
	case event.Init, event.Destroy:
		return address, 0, both
	}
	if e.Kind.Info().Orders && e.Kind != event.Fence {
		return address, 0, both
	}
	return object{}, 0, alone
}

// Finish implements [event.Observer].
func (o *Observer) Finish(outcome event.Outcome) error {
	sum := mix(o.heap, uint64(len(o.threads)))
	for _, t := range o.threads {
		sum = mix(sum, t.hash)
	}
	for _, c := range []byte(outcome.Message) {
		sum = mix(sum, uint64(c))
	}
	o.class = Class(max(mix(sum, uint64(outcome.Status)), 1))
	return nil
}
