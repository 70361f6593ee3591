package image

// The methods of Space that call the method of the image which contains the address.
// For an address in no image, they return what that method returns for an unknown
// address.

// Static is [Image.Static] of the image that addr is in.
func (s *Space) Static(addr uint64) bool {
	if m := s.At(addr); m != nil {
		return m.Static(addr)
	}
	return false
}

// Code is [Image.Code] of the image that pc is in.
func (s *Space) Code(pc uint64, n int) []byte {
	if m := s.At(pc); m != nil {
		return m.Code(pc, n)
	}
	return nil
}

// Reader returns a function that reads 16 bits of executable memory at an even address
// and reports false where there are none. It remembers the segment that it read last,
// so that neighbouring code is read fast. The function belongs to one goroutine.
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

// Bytes is [Image.Bytes] of the image that addr is in.
func (s *Space) Bytes(addr uint64, n int) []byte {
	if m := s.At(addr); m != nil {
		return m.Bytes(addr, n)
	}
	return nil
}

// Exec is [Image.Exec] of the image that addr is in.
func (s *Space) Exec(addr uint64) bool {
	if m := s.At(addr); m != nil {
		return m.Exec(addr)
	}
	return false
}

// Func is [Image.Func] of the image that pc is in.
func (s *Space) Func(pc uint64) (Symbol, bool) {
	if m := s.At(pc); m != nil {
		return m.Func(pc)
	}
	return Symbol{}, false
}

// FuncEnd is [Image.FuncEnd] of the image that pc is in.
func (s *Space) FuncEnd(pc uint64) uint64 {
	if m := s.At(pc); m != nil {
		return m.FuncEnd(pc)
	}
	return 0
}

// Object is [Image.Object] of the image that addr is in.
func (s *Space) Object(addr uint64) (Symbol, uint64, bool) {
	if m := s.At(addr); m != nil {
		return m.Object(addr)
	}
	return Symbol{}, 0, false
}

// Locals is [Image.Locals] of the image that pc is in.
func (s *Space) Locals(pc uint64) []Local {
	if m := s.At(pc); m != nil {
		return m.Locals(pc)
	}
	return nil
}

// Pointed is [Image.Pointed] of the image that pc is in.
func (s *Space) Pointed(pc uint64) []Local {
	if m := s.At(pc); m != nil {
		return m.Pointed(pc)
	}
	return nil
}

// LocalPath is [Image.LocalPath] of a variable of the function around pc.
func (s *Space) LocalPath(pc uint64, l Local, off, size uint64) string {
	if m := s.At(pc); m != nil {
		return m.LocalPath(l, off, size)
	}
	return ""
}

// FrameAddress is [Image.FrameAddress] of the image that pc is in.
func (s *Space) FrameAddress(pc uint64) (reg uint8, offset int64, ok bool) {
	if m := s.At(pc); m != nil {
		return m.FrameAddress(pc)
	}
	return 0, 0, false
}

// GCC is [Image.GCC] of the image that pc is in.
func (s *Space) GCC(pc uint64) int {
	if m := s.At(pc); m != nil {
		return m.GCC(pc)
	}
	return 0
}

// Statement is [Image.Statement] of the image that pc is in.
func (s *Space) Statement(pc uint64) (Statement, bool) {
	if m := s.At(pc); m != nil {
		return m.Statement(pc)
	}
	return Statement{}, false
}

// AtomicScope is [Image.AtomicScope] of the image that pc is in.
func (s *Space) AtomicScope(pc uint64) (AtomicScope, bool) {
	if m := s.At(pc); m != nil {
		return m.AtomicScope(pc)
	}
	return AtomicScope{}, false
}

// Params is [Image.Params] of the image that pc is in.
func (s *Space) Params(pc uint64) int {
	if m := s.At(pc); m != nil {
		return m.Params(pc)
	}
	return -1
}

// Passed is [Image.Passed] of the image that fn is in.
func (s *Space) Passed(fn uint64) uint64 {
	if m := s.At(fn); m != nil {
		return m.Passed(fn)
	}
	return 0
}

// Privatized is [Image.Privatized] of the image that pc is in.
func (s *Space) Privatized(pc uint64) []Range {
	if m := s.At(pc); m != nil {
		return m.Privatized(pc)
	}
	return nil
}

// Declared is [Image.Declared] of the image that addr is in.
func (s *Space) Declared(addr uint64) (string, int, bool) {
	if m := s.At(addr); m != nil {
		return m.Declared(addr)
	}
	return "", 0, false
}

// ObjectPath is [Image.ObjectPath] of the image that addr is in.
func (s *Space) ObjectPath(addr uint64) string {
	if m := s.At(addr); m != nil {
		return m.ObjectPath(addr)
	}
	return ""
}

// ObjectPathSize is [Image.ObjectPathSize] of the image that addr is in.
func (s *Space) ObjectPathSize(addr, size uint64) string {
	if m := s.At(addr); m != nil {
		return m.ObjectPathSize(addr, size)
	}
	return ""
}

// Go is [Image.Go] of the executable.
func (s *Space) Go() string { return s.Main.Go() }

// LineCode is [Image.LineCode] of all images.
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
