package mpsim

import "hindsight/mpsim/mem"

// The translation cache of a hart. It is direct-mapped by page number, with one table for
// reads and one for writes.
const (
	tlbBits = 8
	tlbSize = 1 << tlbBits
	tlbMask = tlbSize - 1
	offset  = mem.PageSize - 1
)

// Masks for the comparison of an address with a tag. They keep the page and the low bits
// that are zero in an aligned access of 1, 2, 4 or 8 bytes. A misaligned access therefore
// misses, and one comparison serves for both.
const (
	page1 = ^uint64(offset)
	page2 = page1 | 1
	page4 = page1 | 3
	page8 = page1 | 7
)

// noTag equals no address under these masks.
const noTag = 8

type translation struct {
	tag  uint64 // address of the page
	page *mem.Page
}

// flush discards all translations.
func (h *Hart) flush() {
	for n := range h.reads {
		h.reads[n] = translation{tag: noTag}
		h.writes[n] = translation{tag: noTag}
	}
	h.generation = h.m.space.Generation()
}

// forgetWrites discards the translation for writes to one page.
func (h *Hart) forgetWrites(vpn uint64) {
	if e := &h.writes[vpn&tlbMask]; e.tag == vpn<<mem.PageShift {
		*e = translation{tag: noTag}
	}
}

// readable returns the page of a for reading, and caches its translation.
func (h *Hart) readable(a uint64) *mem.Page {
	vpn := a >> mem.PageShift
	page, fault := h.m.space.Page(vpn, mem.Read)
	if fault != nil {
		fault.Addr = a
		h.fault = fault
		return nil
	}
	if !h.m.watch.page(vpn) {
		h.reads[vpn&tlbMask] = translation{a &^ offset, page}
	}
	return page
}

// writable returns the page of a for writing. It caches the translation unless the page
// holds decoded code.
func (h *Hart) writable(a uint64) *mem.Page {
	vpn := a >> mem.PageShift
	page, fault := h.m.space.Page(vpn, mem.Write)
	if fault != nil {
		fault.Addr = a
		h.fault = fault
		return nil
	}
	if e := &h.reads[vpn&tlbMask]; e.tag == a&^offset {
		e.page = page // it may be a copy, see mem.Space.Snapshot
	}
	if h.m.code.pages[vpn] == nil && !h.m.watch.page(vpn) {
		h.writes[vpn&tlbMask] = translation{a &^ offset, page}
	}
	return page
}

// load executes a load that exec cannot serve from the translations, because of a miss or
// misalignment. size is in bytes. If it reports false, the fault is in Hart.fault.
func (h *Hart) load(a uint64, size uint64) (v uint64, ok bool) {
	if h.m.watch.stops(h, a, size, mem.Read) {
		return 0, false
	}
	page := h.readable(a)
	if page == nil {
		return 0, false
	}
	second := page
	if at := a & offset; at+size > mem.PageSize {
		second = h.readable((a | offset) + 1)
		if second == nil {
			return 0, false
		}
	}
	for n := range size {
		at := a&offset + n
		if at < mem.PageSize {
			v |= uint64(page[at]) << (8 * n)
		} else {
			v |= uint64(second[at-mem.PageSize]) << (8 * n)
		}
	}
	return v, true
}

// store is the counterpart of load for stores. Neither page is written unless both can be.
func (h *Hart) store(a uint64, size uint64, v uint64) bool {
	if h.m.watch.stops(h, a, size, mem.Write) {
		return false
	}
	page := h.writable(a)
	if page == nil {
		return false
	}
	second := page
	if at := a & offset; at+size > mem.PageSize {
		second = h.writable((a | offset) + 1)
		if second == nil {
			return false
		}
	}
	for n := range size {
		at := a&offset + n
		if at < mem.PageSize {
			page[at] = uint8(v >> (8 * n))
		} else {
			second[at-mem.PageSize] = uint8(v >> (8 * n))
		}
	}
	h.wrote(a, size)
	return true
}

// wrote discards decoded code when a page that contains some was written.
func (h *Hart) wrote(a, size uint64) {
	if h.m.code.pages[a>>mem.PageShift] != nil || h.m.code.pages[(a+size-1)>>mem.PageShift] != nil {
		h.m.code.stores++
		h.m.flushCode()
	}
}
