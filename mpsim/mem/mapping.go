package mem

// Map maps [addr, addr+length), both multiples of PageSize, with new zero pages. If
// something is mapped there, Map removes it if replace is set, and otherwise returns
// ErrExists.
func (s *Space) Map(addr, length uint64, attr Attr, replace bool) error {
	if !valid(addr, length) {
		return ErrInvalid
	}
	if addr < LowestAddress {
		return ErrInvalid
	}
	end := addr + length
	var had, freed uint64
	for v := range s.vmas.overlapping(addr, end) {
		had += v.Len()
		freed += v.charge(v.Len())
	}
	if had != 0 && !replace {
		return ErrExists
	}
	if err := s.admit(attr.charge(length), freed, 2); err != nil {
		return err
	}
	if had != 0 {
		s.discard(addr, end, nil)
	}
	s.vmas = s.vmas.replace(addr, end, VMA{addr, end, attr})
	s.last = nil
	s.changed(Change{Kind: Mapped, Addr: addr, Len: length, Attr: attr})
	return nil
}

// admit charges more bytes and releases freed bytes, unless that or the number of
// additional mappings would exceed a limit.
func (s *Space) admit(more, freed uint64, mappings int) error {
	// An eighth is reserved for what is not charged: tables, code, stacks. A program then
	// learns that there is no more memory before it touches memory that does not exist.
	limit := s.max - s.max/8
	if more > limit || s.charged-freed+s.held > limit-more {
		s.refused++
		return ErrNoMemory
	}
	if mappings > 0 && len(s.vmas)+mappings > MaxMappings {
		return ErrNoMemory
	}
	s.charged = s.charged - freed + more
	return nil
}

// Unmap removes whatever is mapped in [addr, addr+length). It is not an error if nothing
// is.
func (s *Space) Unmap(addr, length uint64) error {
	if !valid(addr, length) {
		return ErrInvalid
	}
	end := addr + length
	var freed uint64
	parts := 0
	for v := range s.vmas.overlapping(addr, end) {
		freed += v.charge(v.Len())
		parts++
	}
	if parts == 0 {
		return nil
	}
	// Only a hole in the middle of a mapping increases their number.
	split := 0
	if v, _ := s.Find(addr); v.Start < addr && v.End > end {
		split = 1
	}
	if err := s.admit(0, freed, split); err != nil {
		return err
	}
	s.discard(addr, end, nil)
	s.vmas = s.vmas.replace(addr, end)
	s.last = nil
	s.changed(Change{Kind: Gone, Addr: addr, Len: length})
	return nil
}

// Protect changes the permissions of [addr, addr+length). If not all of it is mapped, it
// returns ErrNoMemory, as mprotect does.
func (s *Space) Protect(addr, length uint64, prot Prot) error {
	if !valid(addr, length) {
		return ErrInvalid
	}
	end := addr + length
	if !s.vmas.covered(addr, end) {
		return ErrNoMemory
	}
	var before, after uint64
	var parts []VMA
	stale, code := false, false
	for v := range s.vmas.overlapping(addr, end) {
		before += v.charge(v.Len())
		if v.Prot&^prot != 0 {
			stale = true
		}
		if v.Prot&Exec != 0 {
			code = true
		}
		v.Prot = prot
		after += v.charge(v.Len())
		parts = append(parts, v)
	}
	if err := s.admit(after, before, 2); err != nil {
		return err
	}
	s.vmas = s.vmas.replace(addr, end, merged(parts)...)
	s.last = nil
	if stale {
		s.gen++
	}
	if code {
		s.codeGen++
	}
	s.changed(Change{Kind: Protected, Addr: addr, Len: length, Attr: Attr{Prot: prot}})
	return nil
}

// Drop discards the content of the pages in [addr, addr+length), which read as zero again
// (madvise MADV_DONTNEED on anonymous memory).
func (s *Space) Drop(addr, length uint64) error {
	if !valid(addr, length) {
		return ErrInvalid
	}
	s.discard(addr, addr+length, func(vpn uint64) { s.Tell(vpn<<PageShift, PageSize, Write) })
	s.changed(Change{Kind: Dropped, Addr: addr, Len: length})
	return nil
}

// discard removes pages, updates the generations, and calls drop for each page.
func (s *Space) discard(addr, end uint64, drop func(vpn uint64)) {
	removed := false
	s.table.walk(addr>>PageShift, end>>PageShift, func(vpn uint64, _ *Page) bool {
		if drop != nil {
			drop(vpn)
		}
		delete(s.owned, vpn)
		removed = true
		return true
	})
	if removed {
		s.gen++
		if drop == nil {
			s.Tell(addr, end-addr, 0)
		}
	}
	for v := range s.vmas.overlapping(addr, end) {
		if v.Prot&Exec != 0 {
			s.codeGen++
			break
		}
	}
}

// Mapped reports whether every byte of [addr, addr+length) is mapped.
func (s *Space) Mapped(addr, length uint64) bool {
	return addr+length >= addr && s.vmas.covered(addr, addr+length)
}

// Free reports whether nothing is mapped in [addr, addr+length).
func (s *Space) Free(addr, length uint64) bool {
	if !valid(addr, length) {
		return false
	}
	i := s.vmas.search(addr)
	return i == len(s.vmas) || s.vmas[i].Start >= addr+length
}

// FindFree returns the highest free range of length bytes, a multiple of PageSize, below
// the top for mappings. It reports false if there is none.
func (s *Space) FindFree(length uint64) (uint64, bool) {
	if length == 0 || length&pageMask != 0 || length > s.mapTop {
		return 0, false
	}
	end := s.mapTop
	for i := s.vmas.search(s.mapTop); ; i-- {
		if i < len(s.vmas) && s.vmas[i].Start < end {
			end = s.vmas[i].Start
		}
		low := uint64(LowestAddress)
		if i > 0 {
			low = max(low, s.vmas[i-1].End)
		}
		if end > low && end-low >= length {
			return end - length, true
		}
		if i == 0 {
			return 0, false
		}
	}
}

// Move moves the mapping [from, from+oldLen) to [to, to+newLen), which must be free and not
// overlap it. Pages and attributes are kept, and additional pages are new. The old range,
// which must lie in one mapping, is unmapped.
func (s *Space) Move(from, oldLen, to, newLen uint64) error {
	if !valid(from, oldLen) || !valid(to, newLen) || to < LowestAddress {
		return ErrInvalid
	}
	v, ok := s.Find(from)
	if !ok || from+oldLen > v.End || !s.Free(to, newLen) {
		return ErrInvalid
	}
	if err := s.Map(to, newLen, v.Attr, false); err != nil {
		return err
	}
	length := min(oldLen, newLen)
	if s.movePages(from, length, to) {
		if s.watchMoves != nil {
			s.watchMoves(from, length, to)
		} else {
			s.Tell(from, length, Read)
			s.Tell(to, length, Write)
		}
	}
	s.changed(Change{Kind: Moved, Addr: from, Len: length, To: to})
	if v.Prot&Exec != 0 {
		s.codeGen++
	}
	return s.Unmap(from, oldLen)
}

// movePages moves the pages in [from, from+length) to a place that has none. It reports
// whether there were any.
func (s *Space) movePages(from, length, to uint64) bool {
	// The nodes for the pages' new place may for a moment exceed what is left of the limit.
	// The pages themselves are not copied.
	var pages []placed
	s.table.walk(from>>PageShift, (from+length)>>PageShift, func(vpn uint64, p *Page) bool {
		pages = append(pages, placed{vpn, p})
		delete(s.owned, vpn)
		return true
	})
	for _, m := range pages {
		s.table.put(m.vpn-from>>PageShift+to>>PageShift, m.page)
	}
	if len(pages) > 0 {
		s.gen++
	}
	return len(pages) > 0
}

// InitBreak places the brk area, which is empty, at addr.
func (s *Space) InitBreak(addr uint64) { s.brkStart, s.brk = Pages(addr), Pages(addr) }

// Break returns the end of the brk area.
func (s *Space) Break() uint64 { return s.brk }

// SetBreak moves the end of the brk area and returns the new end. If the request cannot be
// met, it returns the old end, as brk does.
func (s *Space) SetBreak(addr uint64) uint64 {
	if addr < s.brkStart || addr > Top-PageSize {
		return s.brk
	}
	have, want := Pages(s.brk), Pages(addr)
	switch {
	case want > have:
		if !s.Free(have, want-have) {
			return s.brk
		}
		attr := Attr{Prot: Read | Write, Kind: Heap, Name: "[heap]"}
		if s.Map(have, want-have, attr, false) != nil {
			return s.brk
		}
	case want < have:
		if s.Unmap(want, have-want) != nil {
			return s.brk
		}
	}
	s.brk = addr
	return addr
}
