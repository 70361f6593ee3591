package image

import (
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"os"
	"slices"
)

// PIEBase is the base address of a position-independent executable. It is added to every
// address of the file.
const PIEBase = 0x4000_0000

// Limits of a file.
const (
	// MaxAddress is the first address above user space (the Sv39 layout of Linux).
	MaxAddress = 1 << 38
	// MaxMemory bounds the sum of the segments' sizes in memory, in bytes.
	MaxMemory = 4 << 30
	// MaxFile bounds the length of the file, in bytes.
	MaxFile = 1 << 30

	maxPhdrs    = 4096
	maxSections = 1 << 16
)

// Image is an executable or a shared object: what is loaded into memory, and what is known
// about it.
type Image struct {
	// Data is the file as it was passed to Parse. It must not be changed.
	Data []byte
	// Path is the file from which a shared object was loaded, as the program sees it. It is
	// "" for the executable.
	Path string
	// Base is added to every address of the file.
	Base uint64
	// Interp is the dynamic linker that an executable requests (PT_INTERP), or "" if it
	// needs none.
	Interp string
	// ExecStack says that the program requests executable stacks (PT_GNU_STACK). gcc puts
	// code there for nested functions.
	ExecStack bool
	// Entry is the address of the first instruction.
	Entry uint64
	// PIE says that the program is position-independent and was placed at PIEBase.
	PIE bool
	// Segments are the loadable segments in order of address. They do not overlap.
	Segments []Segment
	// Phdr is the address of the program headers in memory (AT_PHDR), or 0 if no segment
	// contains them. PhdrCount (AT_PHNUM) is their number and PhdrSize (AT_PHENT) the size
	// of each in bytes.
	Phdr      uint64
	PhdrCount int
	PhdrSize  int
	// GP is the value of the global pointer, __global_pointer$; 0 if unknown.
	GP uint64
	// Dynamic is the address of the dynamic section in memory, 0 if there is none.
	Dynamic uint64
	// TLS is the initial image of thread-local storage. Its zero value means that the
	// program has none.
	TLS TLS

	// Digest is the SHA-256 of Data. It is set for a shared object that a Space has read.
	Digest [sha256.Size]byte
	file   [sha256.Size]byte // of the file itself; Data differs if there was a debug file

	low, high uint64                // bounds of the segments
	soname    string                // DT_SONAME
	dynamic   map[elf.DynTag]uint64 // the dynamic section
	stripped  bool                  // only the symbols for other files are known

	sections []section
	symbols  symbolTable
	called   called
	runtime  runtime
	guarded  guarded
	golang   golang
	debug    debugInfo
}

// Segment is a range of memory that exists when the program starts.
type Segment struct {
	Addr    uint64
	Data    []byte // the part in the file, i.e. the first bytes of the segment; shares Image.Data
	MemSize uint64 // size in memory, at least len(Data); the rest is zero
	Read    bool
	Write   bool
	Exec    bool
}

// End returns the address after the segment.
func (s *Segment) End() uint64 { return s.Addr + s.MemSize }

// TLS describes the initial image of thread-local storage.
type TLS struct {
	Addr    uint64
	Data    []byte // initialised part; shares Image.Data
	MemSize uint64 // bytes of the block
	Align   uint64 // a power of two, at least 1
}

// Load reads the executable at path and parses it.
func Load(path string) (*Space, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s: is a directory", path)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	if info.Size() > MaxFile {
		return nil, fmt.Errorf("%s: %w: %d bytes, the limit is %d", path, ErrTooBig, info.Size(), MaxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Parse reads an executable from its bytes, which the space keeps and which must not be
// changed afterwards. The error wraps one of the Err… values of this package.
func Parse(data []byte) (*Space, error) {
	m, err := parse(data, nil)
	if err != nil {
		return nil, err
	}
	return NewSpace(m), nil
}

// ParseShared reads a shared object that was loaded from the file at path, at address base.
// Data and errors are as for [Parse].
func ParseShared(data []byte, path string, base uint64) (*Image, error) {
	m, err := parse(data, &base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m.Path = path
	return m, nil
}

// parse reads an executable, or a shared object at base.
func parse(data []byte, base *uint64) (*Image, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooBig, len(data), MaxFile)
	}
	h, err := readHeader(data)
	if err != nil {
		return nil, err
	}
	progs, err := readProgs(data, h)
	if err != nil {
		return nil, err
	}
	m := &Image{Data: data, PhdrCount: int(h.Phnum), PhdrSize: int(h.Phentsize)}
	if err := m.checkKind(h, base); err != nil {
		return nil, err
	}
	if err := m.addSegments(progs); err != nil {
		return nil, err
	}
	if err := m.addTLS(progs); err != nil {
		return nil, err
	}
	m.ExecStack = slices.ContainsFunc(progs, func(p elf.Prog64) bool {
		return elf.ProgType(p.Type) == elf.PT_GNU_STACK && elf.ProgFlag(p.Flags)&elf.PF_X != 0
	})
	if err := m.readInterp(progs); err != nil {
		return nil, err
	}
	m.findPhdr(h, progs)
	m.Entry = h.Entry + m.Base
	if s := m.segment(m.Entry); base == nil && (s == nil || !s.Exec) {
		return nil, fmt.Errorf("%w: entry point %#x is not in executable memory", ErrFormat, h.Entry)
	}
	if m.sections, err = readSections(data, h); err != nil {
		return nil, err
	}
	m.readDynamic(progs)
	if err := m.readSymbols(); err != nil {
		return nil, err
	}
	return m, nil
}

// checkKind checks that the file can be run, or loaded at base, and determines its base.
func (m *Image) checkKind(h *elf.Header64, base *uint64) error {
	switch elf.Type(h.Type) {
	case elf.ET_EXEC:
		if base != nil && *base != 0 {
			return fmt.Errorf("%w: its addresses are fixed", ErrNotShared)
		}
	case elf.ET_DYN:
		m.PIE, m.Base = true, PIEBase
		if base != nil {
			m.Base = *base
		}
	case elf.ET_REL:
		return fmt.Errorf("%w: an object file; link it", ErrNotExecutable)
	default:
		return fmt.Errorf("%w: ELF type %v", ErrNotExecutable, elf.Type(h.Type))
	}
	return nil
}

// Size returns the number of bytes of memory that an ELF file needs, starting at its base.
func Size(data []byte) (size uint64, err error) {
	progs, err := Segments(data)
	for _, p := range progs {
		if p.Memsz > MaxMemory || p.Vaddr > MaxMemory {
			return 0, fmt.Errorf("%w: segment at %#x, %d bytes", ErrTooBig, p.Vaddr, p.Memsz)
		}
		size = max(size, p.Vaddr+p.Memsz)
	}
	return size, err
}

// segment returns the segment that contains addr, or nil.
func (m *Image) segment(addr uint64) *Segment {
	for i := range m.Segments {
		if s := &m.Segments[i]; addr-s.Addr < s.MemSize {
			return s
		}
	}
	return nil
}

// Static reports whether addr is in memory whose content comes from the file: code and
// global variables.
func (m *Image) Static(addr uint64) bool { return m.segment(addr) != nil }

// Code returns up to n bytes of the file's executable memory at pc. It returns fewer at the
// end of a segment, and none if pc is in no segment. The result shares Image.Data.
func (m *Image) Code(pc uint64, n int) []byte {
	s := m.segment(pc)
	if s == nil || !s.Exec {
		return nil
	}
	return s.bytes(pc, n)
}

// Bytes returns up to n bytes of the initial memory at addr, executable or not. It returns
// fewer at the end of the part of a segment that is in the file, and none if addr is in no
// segment. The result shares Image.Data.
func (m *Image) Bytes(addr uint64, n int) []byte {
	s := m.segment(addr)
	if s == nil {
		return nil
	}
	return s.bytes(addr, n)
}

func (s *Segment) bytes(addr uint64, n int) []byte {
	off := addr - s.Addr
	if n <= 0 || off >= uint64(len(s.Data)) {
		return nil
	}
	d := s.Data[off:]
	return d[:min(n, len(d)):min(n, len(d))]
}

// Exec reports whether addr is in executable memory.
func (m *Image) Exec(addr uint64) bool {
	s := m.segment(addr)
	return s != nil && s.Exec
}
