package image

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Reasons to reject a file.
var (
	ErrNotELF        = errors.New("not an ELF file")
	ErrMachine       = errors.New("hindsight runs RV64GC programs: compile with riscv64-linux-gnu-gcc, or `hindsight cc`")
	ErrNotExecutable = errors.New("not an executable")
	ErrNotShared     = errors.New("not a shared object")
	ErrFormat        = errors.New("damaged ELF file")
	ErrTooBig        = errors.New("program too big")
)

const (
	headerSize  = 64
	progSize    = 56
	sectionSize = 64
	symbolSize  = 24
)

// readHeader reads the ELF header. It rejects everything but little-endian 64-bit RISC-V.
func readHeader(data []byte) (*elf.Header64, error) {
	if len(data) < 4 || string(data[:4]) != elf.ELFMAG {
		if len(data) >= 2 && string(data[:2]) == "#!" {
			return nil, fmt.Errorf("%w: a script", ErrNotELF)
		}
		return nil, ErrNotELF
	}
	if len(data) < 20 {
		return nil, fmt.Errorf("%w: header cut short", ErrFormat)
	}
	class, order := elf.Class(data[elf.EI_CLASS]), elf.Data(data[elf.EI_DATA])
	if order == elf.ELFDATA2MSB {
		return nil, fmt.Errorf("%s big-endian ELF: %w", machineName(elf.Machine(binary.BigEndian.Uint16(data[18:]))), ErrMachine)
	}
	machine := elf.Machine(binary.LittleEndian.Uint16(data[18:]))
	if machine != elf.EM_RISCV {
		return nil, fmt.Errorf("%s ELF: %w", machineName(machine), ErrMachine)
	}
	if class == elf.ELFCLASS32 {
		return nil, fmt.Errorf("32-bit RISC-V ELF: %w", ErrMachine)
	}
	if class != elf.ELFCLASS64 || order != elf.ELFDATA2LSB {
		return nil, fmt.Errorf("%w: class %d, data encoding %d", ErrFormat, class, order)
	}
	if len(data) < headerSize {
		return nil, fmt.Errorf("%w: header cut short", ErrFormat)
	}
	h := new(elf.Header64)
	if _, err := binary.Decode(data, binary.LittleEndian, h); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return h, nil
}

// machineName returns the usual name of a machine.
func machineName(m elf.Machine) string {
	switch m {
	case elf.EM_X86_64:
		return "x86-64"
	case elf.EM_386:
		return "x86 32-bit"
	case elf.EM_AARCH64:
		return "AArch64"
	case elf.EM_ARM:
		return "ARM 32-bit"
	}
	if s := m.String(); strings.HasPrefix(s, "EM_") {
		return strings.TrimPrefix(s, "EM_")
	}
	return fmt.Sprintf("machine %d", uint16(m))
}

// table returns n entries of size bytes each, at offset off of the file.
func table(data []byte, what string, off uint64, n, size int) ([]byte, error) {
	bytes := uint64(n) * uint64(size)
	if off > uint64(len(data)) || bytes > uint64(len(data))-off {
		return nil, fmt.Errorf("%w: %s at %#x, %d bytes, are not within the file's %d bytes", ErrFormat, what, off, bytes, len(data))
	}
	return data[off : off+bytes], nil
}

// readProgs reads the program headers.
func readProgs(data []byte, h *elf.Header64) ([]elf.Prog64, error) {
	if h.Phnum == 0 {
		if elf.Type(h.Type) == elf.ET_REL {
			return nil, nil
		}
		return nil, fmt.Errorf("%w: no program headers", ErrNotExecutable)
	}
	if h.Phentsize != progSize {
		return nil, fmt.Errorf("%w: program headers of %d bytes", ErrFormat, h.Phentsize)
	}
	if h.Phnum > maxPhdrs {
		return nil, fmt.Errorf("%w: %d program headers", ErrFormat, h.Phnum)
	}
	raw, err := table(data, "program headers", h.Phoff, int(h.Phnum), progSize)
	if err != nil {
		return nil, err
	}
	progs := make([]elf.Prog64, h.Phnum)
	if _, err := binary.Decode(raw, binary.LittleEndian, progs); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return progs, nil
}

// Segments reads the headers of the loadable segments of an ELF file.
func Segments(data []byte) ([]elf.Prog64, error) {
	h, err := readHeader(data)
	if err != nil {
		return nil, err
	}
	progs, err := readProgs(data, h)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(progs, func(p elf.Prog64) bool { return elf.ProgType(p.Type) != elf.PT_LOAD }), nil
}

// contents returns the part of a segment that is in the file.
func contents(data []byte, p *elf.Prog64) ([]byte, error) {
	if p.Off > uint64(len(data)) || p.Filesz > uint64(len(data))-p.Off {
		return nil, fmt.Errorf("%w: segment at %#x: its %d bytes at offset %#x are not within the file's %d bytes",
			ErrFormat, p.Vaddr, p.Filesz, p.Off, len(data))
	}
	if p.Filesz > p.Memsz {
		return nil, fmt.Errorf("%w: segment at %#x: %d bytes in the file, %d in memory", ErrFormat, p.Vaddr, p.Filesz, p.Memsz)
	}
	return data[p.Off : p.Off+p.Filesz : p.Off+p.Filesz], nil
}

// addSegments checks the loadable segments and sorts them.
func (m *Image) addSegments(progs []elf.Prog64) error {
	total, exec := uint64(0), false
	for i := range progs {
		p := &progs[i]
		if elf.ProgType(p.Type) != elf.PT_LOAD || p.Memsz == 0 {
			continue
		}
		bytes, err := contents(m.Data, p)
		if err != nil {
			return err
		}
		if p.Memsz > MaxMemory || p.Vaddr >= MaxAddress-m.Base || p.Memsz > MaxAddress-m.Base-p.Vaddr {
			return fmt.Errorf("%w: segment at %#x, %d bytes", ErrTooBig, p.Vaddr, p.Memsz)
		}
		total += p.Memsz
		if total > MaxMemory {
			return fmt.Errorf("%w: its segments take more than %d bytes", ErrTooBig, uint64(MaxMemory))
		}
		flags := elf.ProgFlag(p.Flags)
		s := Segment{
			Addr: p.Vaddr + m.Base, Data: bytes, MemSize: p.Memsz,
			Read: flags&elf.PF_R != 0, Write: flags&elf.PF_W != 0, Exec: flags&elf.PF_X != 0,
		}
		exec = exec || s.Exec
		m.Segments = append(m.Segments, s)
	}
	slices.SortStableFunc(m.Segments, func(a, b Segment) int { return cmp.Compare(a.Addr, b.Addr) })
	for i := 1; i < len(m.Segments); i++ {
		if a, b := &m.Segments[i-1], &m.Segments[i]; a.End() > b.Addr {
			return fmt.Errorf("%w: segments at %#x and %#x overlap", ErrFormat, a.Addr, b.Addr)
		}
	}
	if !exec {
		return fmt.Errorf("%w: nothing in it can be executed", ErrNotExecutable)
	}
	m.bound()
	return nil
}

// bound computes the address range of the segments.
func (m *Image) bound() {
	if n := len(m.Segments); n > 0 {
		m.low, m.high = m.Segments[0].Addr, m.Segments[n-1].End()
	}
}

// maxInterp bounds the path of a dynamic linker, as in Linux.
const maxInterp = 4096

// readInterp finds the dynamic linker that the file requests.
func (m *Image) readInterp(progs []elf.Prog64) error {
	for i := range progs {
		if elf.ProgType(progs[i].Type) != elf.PT_INTERP {
			continue
		}
		raw, err := contents(m.Data, &progs[i])
		if err != nil {
			return err
		}
		path, _, closed := bytes.Cut(raw, []byte{0})
		if !closed || len(path) == 0 || len(path) > maxInterp {
			return fmt.Errorf("%w: the name of its dynamic linker", ErrFormat)
		}
		m.Interp = string(path)
		return nil
	}
	return nil
}

// addTLS checks the segment of thread-local storage.
func (m *Image) addTLS(progs []elf.Prog64) error {
	seen := false
	for i := range progs {
		p := &progs[i]
		if elf.ProgType(p.Type) != elf.PT_TLS {
			continue
		}
		if seen {
			return fmt.Errorf("%w: more than one TLS segment", ErrFormat)
		}
		seen = true
		bytes, err := contents(m.Data, p)
		if err != nil {
			return err
		}
		align := max(p.Align, 1)
		if p.Memsz > MaxMemory || p.Vaddr >= MaxAddress-m.Base || align > 1<<20 {
			return fmt.Errorf("%w: thread-local storage at %#x, %d bytes, alignment %d", ErrTooBig, p.Vaddr, p.Memsz, align)
		}
		if align&(align-1) != 0 {
			return fmt.Errorf("%w: thread-local storage aligned to %d", ErrFormat, align)
		}
		m.TLS = TLS{Addr: p.Vaddr + m.Base, Data: bytes, MemSize: p.Memsz, Align: align}
	}
	return nil
}

// findPhdr sets the address of the program headers as Linux computes it: from PT_PHDR, or
// from the segment that loads the part of the file that contains them.
func (m *Image) findPhdr(h *elf.Header64, progs []elf.Prog64) {
	for i := range progs {
		p := &progs[i]
		if elf.ProgType(p.Type) == elf.PT_PHDR {
			m.Phdr = p.Vaddr + m.Base
			return
		}
	}
	for i := range progs {
		p := &progs[i]
		if elf.ProgType(p.Type) == elf.PT_LOAD && h.Phoff >= p.Off && h.Phoff-p.Off < p.Filesz {
			m.Phdr = h.Phoff - p.Off + p.Vaddr + m.Base
			return
		}
	}
}
