package mpsim

import (
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Fences that are statements of their own order the relaxed atomic accesses around them
// (C11, 7.17.4). Compilers emit plain loads and stores for relaxed accesses, so these have
// to be found among the plain ones. If the program's own code contains such fences at all,
// each plain access of that code to a granule known to be atomic also becomes an event, a
// relaxed one.
//
// The events must be placed in the total order so that nothing of other threads comes
// between them and the accesses. One hart runs at a time. What it did since its batch
// began, or since its last event, is examined before its next event, and at the latest when
// the batch ends. A load that reads what the thread has read before causes no further
// event.
//
// Not covered is a relaxed store to a variable that nothing has marked as atomic before,
// i.e. no read-modify-write, acquire load or release store.

// hasFences reports whether the user's code in one of the images has fences that are
// statements of their own.
func hasFences(img *image.Space, in *image.Image) bool {
	read := func(addr uint64) (uint16, bool) {
		b := img.Code(addr, 2)
		if len(b) < 2 {
			return 0, false
		}
		return uint16(b[0]) | uint16(b[1])<<8, true
	}
	for _, sym := range in.Symbols() {
		if !img.User(sym.Addr) {
			continue
		}
		for pc := sym.Addr; pc < sym.Addr+sym.Size; {
			b := rv.Scan(pc, read, 0)
			if b.Fence != 0 {
				return true
			}
			if len(b.Insts) == 0 {
				break
			}
			pc += uint64(b.Bytes)
		}
	}
	return false
}

// fence executes the fence that ends b.
func (h *Hart) fence(b *block) {
	if !h.recording || h.fiber != nil || h.silent(b, 0) {
		return
	}
	if mode := b.code.Fence & h.m.intent.FenceMode(b.lastPC()); mode != 0 {
		h.m.rec.event(h, event.Event{Kind: event.Fence, Mode: mode, PC: b.lastPC()})
	}
}

// With debug information, relaxed atomic accesses are known without such fences (package
// intent). They are events whether there are fences or not: stores always, because they end
// a release sequence; loads if they are the first to show that the variable is atomic.

// blockSites is what capture needs to know about a block. It is empty if there is nothing
// to capture.
type blockSites struct {
	sites  []event.Site
	n      int    // number of the block's sites
	atomic uint64 // bit i: site i is an atomic access in the source
}

// captured computes what capture needs to know about a block.
func (r *recorder) captured(code *rv.Block) blockSites {
	b := blockSites{sites: code.Sites()}
	b.n = len(b.sites)
	if b.n == 0 || !r.user(code.PC) {
		return blockSites{n: b.n}
	}
	if r.atomic != nil {
		for i, site := range b.sites {
			if r.atomic(site.PC) {
				b.atomic |= 1 << i
				r.relaxed = true
			}
		}
	}
	if !r.fences && b.atomic == 0 {
		b.sites = nil
	}
	return b
}

// capture emits the relaxed atomic accesses of what h did since the last call.
func (r *recorder) capture(h *Hart) {
	from, at := r.seenBlocks, r.seenAddrs
	r.seenBlocks, r.seenAddrs = len(r.batch.Blocks), r.used
	if !r.fences && !r.relaxed {
		return
	}
	for _, id := range r.batch.Blocks[from:] {
		of := &r.sites[id]
		for i, site := range of.sites {
			h.captureAccess(site, r.addrs[at+i], of.atomic>>i&1 != 0)
		}
		at += of.n
	}
}

// captureAccess emits an event for an access that is, or may be, a relaxed atomic one. The
// batch may thereby grow beyond its size.
func (h *Hart) captureAccess(site event.Site, addr uint64, atomic bool) {
	rec := h.m.rec
	e := event.Event{Kind: event.AtomicLoad, Size: uint32(site.Size), PC: site.PC, Obj: addr, At: uint32(len(rec.batch.Blocks))}
	g := addr & granuleMask
	v := h.m.versions[g]
	if v.bytes&touched(e) == 0 && !atomic {
		return
	}
	if atomic {
		v = h.m.noteObject(g)
	}
	known := v.knows(e)
	v.bytes |= touched(e)
	if site.Access == event.Write {
		e.Kind = event.AtomicStore
		v.writes++
	} else if last, ever := h.relaxed[location(e)]; (known || !atomic) && (!rec.fences || v.writes == 0 || ever && last == v.writes) {
		return
	}
	h.m.versions[g] = v
	h.relaxed[location(e)] = v.writes
	rec.batch.Events = append(rec.batch.Events, e)
}
