package image

// Methods of Space that call the same method of the image that contains the address. For an
// address in no image, they return what that method returns for an unknown address.

// Static calls [Image.Static] for the image that contains addr.
func (s *Space) Static(addr uint64) bool {
	if m := s.At(addr); m != nil {
		return m.Static(addr)
	}
	return false
}

// Code calls [Image.Code] for the image that contains pc.
func (s *Space) Code(pc uint64, n int) []byte {
	if m := s.At(pc); m != nil {
		return m.Code(pc, n)
	}
	return nil
}

// Reader returns a function that reads 16 bits of executable memory at an even address. The
// function reports false if there are none. It caches the segment of the last read, so that
// neighbouring code is read quickly. It must be used by one goroutine.
func (s *Space) Reader() func(addr uint64) (uint16, bool) {
	last := &Segment{}
	return func(addr uint64) (uint16, bool) {
		if addr-last.Addr >= uint64(len(last.Data)) {
			m := s.At(addr)
			if m == nil {
				return 0, false
			}
			seg := m.segment(addr)
			if seg == nil || !seg.Exec {
				return 0, false
			}
			last = seg
		}
		b := last.bytes(addr, 2)
		if len(b) < 2 {
			return 0, false
		}
		return uint16(b[0]) | uint16(b[1])<<8, true
	}
}

// Bytes calls [Image.Bytes] for the image that contains addr.
func (s *Space) Bytes(addr uint64, n int) []byte {
	if m := s.At(addr); m != nil {
		return m.Bytes(addr, n)
	}
	return nil
}

// Exec calls [Image.Exec] for the image that contains addr.
func (s *Space) Exec(addr uint64) bool {
	if m := s.At(addr); m != nil {
		return m.Exec(addr)
	}
	return false
}

// Func calls [Image.Func] for the image that contains pc.
func (s *Space) Func(pc uint64) (Symbol, bool) {
	if m := s.At(pc); m != nil {
		return m.Func(pc)
	}
	return Symbol{}, false
}

// FuncEnd calls [Image.FuncEnd] for the image that contains pc.
func (s *Space) FuncEnd(pc uint64) uint64 {
	if m := s.At(pc); m != nil {
		return m.FuncEnd(pc)
	}
	return 0
}

// Object calls [Image.Object] for the image that contains addr.
func (s *Space) Object(addr uint64) (Symbol, uint64, bool) {
	if m := s.At(addr); m != nil {
		return m.Object(addr)
	}
	return Symbol{}, 0, false
}

// Locals calls [Image.Locals] for the image that contains pc.
func (s *Space) Locals(pc uint64) []Local {
	if m := s.At(pc); m != nil {
		return m.Locals(pc)
	}
	return nil
}

// Pointed calls [Image.Pointed] for the image that contains pc.
func (s *Space) Pointed(pc uint64) []Local {
	if m := s.At(pc); m != nil {
		return m.Pointed(pc)
	}
	return nil
}

// LocalPath calls [Image.LocalPath] for a variable of the function that contains pc.
func (s *Space) LocalPath(pc uint64, l Local, off, size uint64) string {
	if m := s.At(pc); m != nil {
		return m.LocalPath(l, off, size)
	}
	return ""
}

// FrameAddress calls [Image.FrameAddress] for the image that contains pc.
func (s *Space) FrameAddress(pc uint64) (reg uint8, offset int64, ok bool) {
	if m := s.At(pc); m != nil {
		return m.FrameAddress(pc)
	}
	return 0, 0, false
}

// GCC calls [Image.GCC] for the image that contains pc.
func (s *Space) GCC(pc uint64) int {
	if m := s.At(pc); m != nil {
		return m.GCC(pc)
	}
	return 0
}

// Statement calls [Image.Statement] for the image that contains pc.
func (s *Space) Statement(pc uint64) (Statement, bool) {
	if m := s.At(pc); m != nil {
		return m.Statement(pc)
	}
	return Statement{}, false
}

// AtomicScope calls [Image.AtomicScope] for the image that contains pc.
func (s *Space) AtomicScope(pc uint64) (AtomicScope, bool) {
	if m := s.At(pc); m != nil {
		return m.AtomicScope(pc)
	}
	return AtomicScope{}, false
}

// Params calls [Image.Params] for the image that contains pc.
func (s *Space) Params(pc uint64) int {
	if m := s.At(pc); m != nil {
		return m.Params(pc)
	}
	return -1
}

// Passed calls [Image.Passed] for the image that contains fn.
func (s *Space) Passed(fn uint64) uint64 {
	if m := s.At(fn); m != nil {
		return m.Passed(fn)
	}
	return 0
}

// Privatized calls [Image.Privatized] for the image that contains pc.
func (s *Space) Privatized(pc uint64) []Range {
	if m := s.At(pc); m != nil {
		return m.Privatized(pc)
	}
	return nil
}

// Declared calls [Image.Declared] for the image that contains addr.
func (s *Space) Declared(addr uint64) (string, int, bool) {
	if m := s.At(addr); m != nil {
		return m.Declared(addr)
	}
	return "", 0, false
}

// ObjectPath calls [Image.ObjectPath] for the image that contains addr.
func (s *Space) ObjectPath(addr uint64) string {
	if m := s.At(addr); m != nil {
		return m.ObjectPath(addr)
	}
	return ""
}

// ObjectPathSize calls [Image.ObjectPathSize] for the image that contains addr.
func (s *Space) ObjectPathSize(addr, size uint64) string {
	if m := s.At(addr); m != nil {
		return m.ObjectPathSize(addr, size)
	}
	return ""
}

// Go calls [Image.Go] for the executable.
func (s *Space) Go() string { return s.Main.Go() }

// LineCode calls [Image.LineCode] for all images.
func (s *Space) LineCode(file string, line int) (pcs []uint64, at int) {
	for _, m := range s.Images() {
		found, n := m.LineCode(file, line)
		switch {
		case len(found) == 0 || at != 0 && n > at:
			continue
		case n != at:
			pcs, at = nil, n
		}
		pcs = append(pcs, found...)
	}
	return pcs, at
}
