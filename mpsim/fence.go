package mpsim

import (
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Fences on their own order the relaxed atomic accesses around them (C11,
// 7.17.4). Compilers make plain loads and stores of relaxed accesses, so these
// are looked for among the plain ones: where the program's own code has such
// fences at all, a plain access of that code to a granule that is known to be atomic becomes
// an event too, a relaxed one.
//
// The events must take their places in the total order where nothing of other
// threads comes between them and the accesses. One hart runs at a time; what it
// did since its batch began, or since its last event, is looked through before
// its next event, and at the latest when the batch ends. A load that reads what
// the thread has read before is no event again.
//
// What escapes is a relaxed store to a variable that nothing made known as
// atomic before: no read-modify-write, acquire load or release store.

// hasFences tells whether the user's code has fences on their own.
func hasFences(img *image.Image) bool {
	read := func(addr uint64) (uint16, bool) {
		b := img.Code(addr, 2)
		if len(b) < 2 {
			return 0, false
		}
		return uint16(b[0]) | uint16(b[1])<<8, true
	}
	for _, sym := range img.Symbols() {
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
	if h.recording && !h.silent(b, 0) {
		h.m.rec.event(h, event.Event{Kind: event.Fence, Mode: b.code.Fence, PC: b.lastPC()})
	}
}

// blockSites is what capture needs of a block.
type blockSites struct {
	sites []event.Site
	user  bool // in the user's code
}

// capture emits the relaxed atomic accesses among what h did since the last
// time.
func (r *recorder) capture(h *Hart) {
	if !r.fences {
		return
	}
	from, at := r.seenBlocks, r.seenAddrs
	r.seenBlocks, r.seenAddrs = len(r.batch.Blocks), r.used
	for _, id := range r.batch.Blocks[from:] {
		of := &r.sites[id]
		if of.user {
			for n, site := range of.sites {
				h.captureAccess(site, r.addrs[at+n])
			}
		}
		at += len(of.sites)
	}
}

func (h *Hart) captureAccess(site event.Site, addr uint64) {
	e := event.Event{Kind: event.AtomicLoad, Size: uint32(site.Size), PC: site.PC, Obj: addr}
	g := addr & granuleMask
	v, atomic := h.m.versions[g]
	if !atomic || v.bytes&touched(e) == 0 {
		return
	}
	if site.Access == event.Write {
		e.Kind = event.AtomicStore
		v.writes++
		h.m.versions[g] = v
		h.m.rec.append(h, e)
		return
	}
	if last, ever := h.relaxed[location(e)]; ever && last == v.writes || v.writes == 0 {
		return
	}
	h.relaxed[location(e)] = v.writes
	h.m.rec.append(h, e)
}
