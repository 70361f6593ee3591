package mpsim

import (
	"hindsight/mpsim/mem"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// reservation is the state that an LR leaves for its SC. As in qemu, the SC succeeds if it
// has the same address and width and memory still holds the loaded value.
type reservation struct {
	valid       bool
	addr, value uint64
	size        uint32
	mode        event.Mode // of the LR
	// How the access narrows to a part of the word; see [rv.Part].
	part, bytes uint32
	fence       event.Mode // what a fence before the LR orders on its own
}

// pendingLoad is the event of an LR that waits for its SC. If the SC succeeds, the two
// become one AtomicRMW; otherwise an AtomicLoad remains.
type pendingLoad struct {
	valid bool
	event event.Event
}

// A granule is the unit in which atomic writes are counted, so that loads that read nothing
// new can be left out.
const (
	granuleSize = 8
	granuleMask = ^uint64(granuleSize - 1)
)

// atomic executes the atomic access at the end of b and emits its event.
func (h *Hart) atomic(b *block) bool {
	in := &b.code.Insts[len(b.code.Insts)-1]
	addr := h.X[in.Rs1&31]
	mode := b.code.Mode
	var order *sourceOrder
	promised := false
	if h.fiber != nil {
		promised, mode = true, acquireRelease // sync/atomic is sequentially consistent
	} else if h.m.rec != nil {
		order = h.source(b)
		promised, mode = h.promised(order), order.mode
		if promised {
			mode = acquireRelease
		} else if order.known {
			mode = h.mode(&order.success) | order.fence
		}
	}
	access, size, plain := in.Mem()
	if plain {
		addr += uint64(int64(in.Imm))
	}
	h.quiet = h.silent(b, addr) || order != nil && order.private
	if plain {
		return h.atomicPlain(in, event.Event{Size: uint32(size), Mode: mode, PC: b.lastPC(), Obj: addr}, access)
	}
	width := uint64(in.AtomicSize())
	if addr&(width-1) != 0 {
		h.fault = &mem.Fault{Addr: addr, Access: mem.Write}
		h.failed = stopAlign
		return false
	}
	if h.m.watch.stops(h, addr, width, atomicAccess(in.Op)) {
		return false
	}
	e := event.Event{Size: uint32(width), Mode: mode, PC: b.lastPC(), Obj: addr}
	if width == 4 && h.m.rec != nil && h.fiber == nil {
		h.narrow(b, in, &e)
	}
	switch in.Op {
	case rv.OpLRW, rv.OpLRD:
		if order != nil && order.known && !promised {
			e.Mode = h.mode(&order.failure)
		}
		if !h.loadReserved(in, e) {
			return false
		}
		if order != nil {
			h.reserved.fence = order.fence
		}
		return true
	case rv.OpSCW, rv.OpSCD:
		return h.storeConditional(in, e, order)
	}
	page := h.writable(addr)
	if page == nil {
		return false
	}
	if in.Compares() {
		h.compareAndSwap(in, page, e, order, promised)
		return true
	}
	operand := h.X[in.Rs2&31]
	var old, now uint64
	if width == 4 {
		old = uint64(int64(int32(load32(page, addr))))
		now = uint64(int64(int32(combine(in.Op-rv.OpAMOSWAPW+rv.OpAMOSWAPD, old, uint64(int64(int32(operand)))))))
		store32(page, addr, uint32(now))
	} else {
		old = load64(page, addr)
		now = combine(in.Op, old, operand)
		store64(page, addr, now)
	}
	h.X[in.Rd&31] = old
	h.was, h.is = old, now
	if order != nil && order.counts {
		e.Mode = ownersMode(old, operand)
	}
	if now == old {
		h.spun(addr, old, width)
	} else {
		h.spin.turns = 0
	}
	h.wrote(addr, width)
	e.Kind = event.AtomicRMW
	if in.Rd == 0 && (in.Op == rv.OpAMOSWAPW || in.Op == rv.OpAMOSWAPD) {
		e.Kind = event.AtomicStore
	}
	h.atomicWrite(e)
	return true
}

// compareAndSwap executes an AMOCAS. If it fails, it is recorded as a load, just as a
// failed SC leaves only the load of its LR.
func (h *Hart) compareAndSwap(in *rv.Inst, page *[mem.PageSize]byte, e event.Event, order *sourceOrder, promised bool) {
	addr, swap := h.X[in.Rs1&31], h.X[in.Rs2&31]
	want := h.X[in.Rd&31]
	var old uint64
	if in.Op == rv.OpAMOCASW {
		old, want = uint64(int64(int32(load32(page, addr)))), uint64(int64(int32(want)))
	} else {
		old = load64(page, addr)
	}
	h.X[in.Rd&31] = old
	if old != want {
		h.spun(addr, old, uint64(in.AtomicSize()))
		if order != nil && order.known && !promised {
			e.Mode = h.mode(&order.failure) | order.fence
		}
		e.Kind, e.Mode = event.AtomicLoad, e.Mode&event.Acquire
		if h.recording && !h.quiet && h.wantsAtomic(&e, old, old) && h.news(e) {
			h.m.rec.event(h, e)
		}
		return
	}
	if in.Op == rv.OpAMOCASW {
		store32(page, addr, uint32(swap))
		swap = uint64(int64(int32(swap)))
	} else {
		store64(page, addr, swap)
	}
	h.was, h.is = old, swap
	h.spin.turns = 0
	h.wrote(addr, uint64(in.AtomicSize()))
	e.Kind = event.AtomicRMW
	h.atomicWrite(e)
}

// silent reports whether the synchronising instruction at the end of b causes no event.
func (h *Hart) silent(b *block, addr uint64) bool {
	return b.quiet || b.inLibrary && h.recording && h.m.cfg.Hooks.Silent(h, b.lastPC(), addr)
}

// narrow changes e, the event of the atomic instruction in at the end of b, to the byte or
// half-word that the code actually accesses. The registers determine which part that is.
// Which registers these are is computed once per instruction.
func (h *Hart) narrow(b *block, in *rv.Inst, e *event.Event) {
	if b.word == nil {
		pc := b.lastPC()
		start := b.pc
		if f, ok := h.m.cfg.Image.Func(pc); ok {
			start = f.Addr
		}
		p := rv.PartAt(start, pc, h.m.fetch)
		b.word = &p
	}
	offset, size := b.word.Bytes(in.Op, uint32(h.X[in.Rs2&31]), &h.X)
	e.Obj, e.Size = e.Obj+uint64(offset), size
}

// combine returns the new value of an AMO. Operations on words work on sign-extended
// values, which preserves both signed and unsigned order.
func combine(code rv.Op, old, operand uint64) uint64 {
	switch code {
	case rv.OpAMOADDD:
		return old + operand
	case rv.OpAMOXORD:
		return old ^ operand
	case rv.OpAMOANDD:
		return old & operand
	case rv.OpAMOORD:
		return old | operand
	case rv.OpAMOMIND:
		return uint64(min(int64(old), int64(operand)))
	case rv.OpAMOMAXD:
		return uint64(max(int64(old), int64(operand)))
	case rv.OpAMOMINUD:
		return min(old, operand)
	case rv.OpAMOMAXUD:
		return max(old, operand)
	}
	return operand
}

// atomicPlain executes an acquire load or a release store.
func (h *Hart) atomicPlain(in *rv.Inst, e event.Event, access event.Access) bool {
	addr, size := e.Obj, uint64(e.Size)
	if access == event.Write {
		if !h.store(addr, size, h.X[in.Rs2&31]) {
			return false
		}
		e.Kind, e.Mode = event.AtomicStore, e.Mode&event.Release
		h.was, h.is = 0, h.X[in.Rs2&31]
		h.spin.turns = 0
		h.atomicWrite(e)
		return true
	}
	v, ok := h.load(addr, size)
	if !ok {
		return false
	}
	h.spun(addr, v, size)
	switch in.Op {
	case rv.OpLB:
		v = uint64(int64(int8(v)))
	case rv.OpLH:
		v = uint64(int64(int16(v)))
	case rv.OpLW:
		v = uint64(int64(int32(v)))
	}
	h.X[in.Rd&31] = v
	e.Kind, e.Mode = event.AtomicLoad, e.Mode&event.Acquire
	if h.recording && !h.quiet && h.wantsAtomic(&e, v, v) && h.news(e) {
		h.m.rec.event(h, e)
	}
	if h.recording && !h.quiet && h.fiber == nil && h.m.intent.Releases(e.PC) {
		h.m.rec.event(h, event.Event{Kind: event.Fence, Mode: event.Release, PC: e.PC})
	}
	return true
}

func (h *Hart) loadReserved(in *rv.Inst, e event.Event) bool {
	addr, width := h.X[in.Rs1&31], uint32(in.AtomicSize())
	v, ok := h.load(addr, uint64(width))
	if !ok {
		return false
	}
	if width == 4 {
		v = uint64(int64(int32(v)))
	}
	h.X[in.Rd&31] = v
	h.spun(addr, v, uint64(width))
	h.keepLoad() // even if this LR is a library's own: the pending load belongs to another
	h.reserved = reservation{true, addr, v, width, e.Mode, uint32(e.Obj - addr), e.Size, 0}
	if h.recording && !h.quiet {
		e.Kind, e.Mode = event.AtomicLoad, e.Mode&event.Acquire
		e.At = uint32(len(h.m.rec.batch.Blocks))
		h.pending = pendingLoad{true, e}
	}
	return true
}

// storeConditional executes an SC. A successful one counts as a release whatever its bits
// say, unless the source says otherwise or the compiler is known to set the bits correctly;
// see [sourceOrder].
func (h *Hart) storeConditional(in *rv.Inst, e event.Event, order *sourceOrder) bool {
	r := h.reserved
	h.reserved.valid = false
	page := h.writable(e.Obj)
	if page == nil {
		return false
	}
	var now uint64
	if e.Size == 4 {
		now = uint64(int64(int32(load32(page, e.Obj))))
	} else {
		now = load64(page, e.Obj)
	}
	if !r.valid || r.addr != e.Obj || r.size != e.Size || now != r.value {
		h.X[in.Rd&31] = 1
		h.keepLoad()
		return true
	}
	if e.Size == 4 {
		store32(page, e.Obj, uint32(h.X[in.Rs2&31]))
	} else {
		store64(page, e.Obj, h.X[in.Rs2&31])
	}
	h.X[in.Rd&31] = 0
	h.was, h.is = r.value, h.X[in.Rs2&31]
	h.spin.turns = 0
	h.wrote(e.Obj, uint64(e.Size))
	h.pending.valid = false
	e.Kind = event.AtomicRMW
	e.Obj, e.Size = e.Obj+uint64(r.part), r.bytes
	e.Mode |= r.fence
	if order != nil && !order.known {
		e.Mode |= r.mode
		if order.losesRelease {
			e.Mode |= event.Release
		}
	}
	h.atomicWrite(e)
	return true
}

// keepLoad stops waiting for the SC of an LR and records the LR as a load.
func (h *Hart) keepLoad() {
	if !h.pending.valid {
		return
	}
	h.pending.valid = false
	e := h.pending.event
	if !h.wantsAtomic(&e, h.reserved.value, h.reserved.value) {
		return
	}
	if e.Mode&event.Acquire != 0 && !h.acquires(e) {
		return
	}
	rec := h.m.rec
	rec.batch.Events = append(rec.batch.Events, e)
}

// version is what is known about a granule that holds atomic variables.
type version struct {
	writes uint64 // number of atomic writes
	bytes  uint8  // bytes that atomic accesses touched in this life of the memory
	noted  bool   // see noteObject
}

// touched returns the bytes of the granule that e touches, as a bit mask.
func touched(e event.Event) uint8 { return uint8((1<<e.Size - 1) << (e.Obj &^ granuleMask)) }

// knows reports whether all bytes that e touches are known to be atomic.
func (v version) knows(e event.Event) bool { return touched(e)&^v.bytes == 0 }

// location returns a key for the bytes that e accesses, for use in the elision of loads.
func location(e event.Event) uint64 { return e.Obj ^ uint64(e.Size)<<58 }

// news reports whether an atomic load may order more than earlier loads did.
func (h *Hart) news(e event.Event) bool {
	if e.Mode&event.Acquire != 0 {
		return h.acquires(e)
	}
	g := e.Obj & granuleMask
	v := h.m.noteObject(g)
	if last, ever := h.relaxed[location(e)]; ever && last == v.writes && v.knows(e) {
		return false
	}
	h.relaxed[location(e)] = v.writes
	v.bytes |= touched(e)
	h.m.versions[g] = v
	return true
}

// acquires reports whether an atomic load acquires anything new: whether its granule was
// written atomically since this thread last acquired from the same bytes. From then on the
// writes count as acquired.
func (h *Hart) acquires(e event.Event) bool {
	g := e.Obj & granuleMask
	v := h.m.noteObject(g)
	if seen, ever := h.seen[location(e)]; ever && seen == v.writes && v.knows(e) {
		return false
	}
	h.seen[location(e)] = v.writes
	v.bytes |= touched(e)
	h.m.versions[g] = v
	return true
}

// atomicWrite counts an atomic access that wrote, and emits its event. The thread acquires
// nothing new from its own write, provided there was nothing new to acquire before it.
func (h *Hart) atomicWrite(e event.Event) {
	if !h.call.active {
		h.SwitchPoint(e.Obj & granuleMask)
	}
	if !h.recording || h.quiet {
		h.wroteOutOfLine(e)
		return
	}
	if !h.wantsAtomic(&e, h.was, h.is) {
		return
	}
	h.m.rec.event(h, e)
	g := e.Obj & granuleMask
	v := h.m.noteObject(g)
	seen, ever := h.seen[location(e)]
	upToDate := ever && seen == v.writes || e.Kind == event.AtomicStore || e.Mode&event.Acquire != 0
	v.writes++
	if !h.m.rec.fences || !h.m.intent.Combines(e.PC, e.Obj) {
		v.bytes |= touched(e)
	}
	h.m.versions[g] = v
	if upToDate {
		h.seen[location(e)] = v.writes
	}
}
