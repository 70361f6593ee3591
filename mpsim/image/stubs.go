package image

import (
	"debug/elf"
	"encoding/binary"
	"strings"
)

// StubSuffix is appended to the name of a function to name the code through which another
// image calls it (an entry of the procedure linkage table).
const StubSuffix = "@plt"

// Sizes in the procedure linkage table, as specified by the RISC-V psABI.
const (
	stubHeader = 32
	stubSize   = 16
	relaSize   = 24
)

// stubSymbols returns symbols for the entries of the procedure linkage table, which have
// none. The entries are in the order of their relocations.
func (m *Image) stubSymbols() (stubs []Symbol) {
	table, relocations := m.section(".plt"), m.section(".rela.plt")
	if table == nil || relocations == nil || int(relocations.Link) >= len(m.sections) {
		return nil
	}
	symbols := &m.sections[relocations.Link]
	if elf.SectionType(symbols.Type) != elf.SHT_DYNSYM || int(symbols.Link) >= len(m.sections) {
		return nil
	}
	raw, syms := relocations.raw(m.Data), symbols.raw(m.Data)
	strtab := string(m.sections[symbols.Link].raw(m.Data))
	names := &symbolNames{strings: strtab, budget: 8*len(strtab) + 4*len(raw) + 1<<16}
	for at := uint64(stubHeader); len(raw) >= relaSize && at+stubSize <= table.Size; at += stubSize {
		index := binary.LittleEndian.Uint64(raw[8:]) >> 32
		raw = raw[relaSize:]
		if index >= uint64(len(syms)/symbolSize) {
			continue
		}
		name, err := names.at(binary.LittleEndian.Uint32(syms[index*symbolSize:]))
		if err != nil {
			return stubs
		}
		s := Symbol{Name: name + StubSuffix, Addr: table.Addr + m.Base + at, Size: stubSize}
		if seg := m.segment(s.Addr); name != "" && seg != nil && seg.Exec && s.Size <= seg.End()-s.Addr {
			stubs = append(stubs, s)
		}
	}
	return stubs
}

// section returns the first section with a name, or nil.
func (m *Image) section(name string) *section {
	for i := range m.sections {
		if m.sections[i].name == name {
			return &m.sections[i]
		}
	}
	return nil
}

// Stub reports whether pc is in code through which one image calls another.
func (m *Image) Stub(pc uint64) bool {
	s, ok := m.Func(pc)
	return ok && strings.HasSuffix(s.Name, StubSuffix)
}
