package mem

import (
	"bytes"
	"encoding/binary"
)

// Read copies len(p) bytes from addr. On a fault, which contains the address of the first
// unreadable byte, p contains the bytes before it.
func (s *Space) Read(addr uint64, p []byte) *Fault {
	s.Tell(addr, uint64(len(p)), Read)
	return s.Peek(addr, p)
}

// Peek is like Read, but does not call the watcher; see [Space.Watch].
func (s *Space) Peek(addr uint64, p []byte) *Fault {
	return s.each(addr, uint64(len(p)), Read, func(mem []byte) {
		n := copy(p, mem)
		p = p[n:]
	})
}

// Write copies p to addr. On a fault, which contains the address of the first unwritable
// byte, the bytes before it have been written.
func (s *Space) Write(addr uint64, p []byte) *Fault {
	s.Tell(addr, uint64(len(p)), Write)
	return s.each(addr, uint64(len(p)), Write, func(mem []byte) {
		n := copy(mem, p)
		p = p[n:]
	})
}

// Check reports whether length bytes at addr can be accessed. It touches the pages.
func (s *Space) Check(addr, length uint64, acc Access) *Fault {
	return s.each(addr, length, acc, func([]byte) {})
}

// Fill copies p to addr regardless of the permissions, so that the loader can write
// read-only segments. All of the range must be mapped.
func (s *Space) Fill(addr uint64, p []byte) *Fault {
	s.Tell(addr, uint64(len(p)), Write)
	for len(p) > 0 {
		v, ok := s.Find(addr)
		if !ok || v.Hole {
			return &Fault{addr, Write, Unmapped}
		}
		page, f := s.touch(addr>>PageShift, Write)
		if f != nil {
			return f
		}
		n := copy(page[addr&pageMask:], p)
		p, addr = p[n:], addr+uint64(n)
	}
	return nil
}

// each calls f with the pieces of pages that make up [addr, addr+n).
func (s *Space) each(addr, n uint64, acc Access, f func([]byte)) *Fault {
	for n > 0 {
		page, fault := s.Page(addr>>PageShift, acc)
		if fault != nil {
			fault.Addr = addr
			return fault
		}
		off := addr & pageMask
		k := min(n, PageSize-off)
		f(page[off : off+k])
		addr, n = addr+k, n-k
	}
	return nil
}

// ReadCString reads the bytes at addr up to a zero byte, which is not part of the result.
// ok is false if there is none among the first limit bytes.
func (s *Space) ReadCString(addr uint64, limit int) (str string, ok bool, fault *Fault) {
	var out []byte
	for len(out) < limit {
		page, fault := s.Page(addr>>PageShift, Read)
		if fault != nil {
			fault.Addr = addr
			return "", false, fault
		}
		rest := page[addr&pageMask:]
		if more := limit - len(out); len(rest) > more {
			rest = rest[:more]
		}
		if i := bytes.IndexByte(rest, 0); i >= 0 {
			s.Tell(addr-uint64(len(out)), uint64(len(out)+i+1), Read)
			return string(append(out, rest[:i]...)), true, nil
		}
		out = append(out, rest...)
		addr += uint64(len(rest))
	}
	return "", false, nil
}

// Uint32 reads a little-endian word.
func (s *Space) Uint32(addr uint64) (uint32, *Fault) {
	var b [4]byte
	f := s.Read(addr, b[:])
	return binary.LittleEndian.Uint32(b[:]), f
}

// Uint64 reads a little-endian doubleword.
func (s *Space) Uint64(addr uint64) (uint64, *Fault) {
	var b [8]byte
	f := s.Read(addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), f
}

// PutUint32 writes a little-endian word.
func (s *Space) PutUint32(addr uint64, v uint32) *Fault {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v)
	return s.Write(addr, b[:])
}

// PutUint64 writes a little-endian doubleword.
func (s *Space) PutUint64(addr uint64, v uint64) *Fault {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return s.Write(addr, b[:])
}
