package image

import (
	"debug/elf"
	"encoding/binary"
)

// Thread-local variables of shared objects that the program loads while running. They have
// no place at the thread pointer. The dynamic linker allocates a block for each thread that
// requests one by calling __tls_get_addr.

// relocation is a row of the table that the dynamic linker applies.
type relocation struct {
	place, info, addend uint64
}

const relocationSize = 24

// Tags of the dynamic section for the address of that table and its size in bytes.
const relocationTable, relocationBytes = elf.DynTag(7), elf.DynTag(8)

// relocations calls yield with the rows of the table.
func (m *Image) relocations(yield func(relocation) bool) {
	table, size := m.dynamic[relocationTable], m.dynamic[relocationBytes]
	raw := m.Bytes(m.Base+table, int(min(size, uint64(len(m.Data)))))
	for ; len(raw) >= relocationSize; raw = raw[relocationSize:] {
		r := relocation{binary.LittleEndian.Uint64(raw), binary.LittleEndian.Uint64(raw[8:]), binary.LittleEndian.Uint64(raw[16:])}
		if !yield(r) {
			return
		}
	}
}

// tlsIndex returns the variable that the argument of __tls_get_addr at address index refers
// to: a variable of the image itself, or one that it knows only by name.
func (m *Image) tlsIndex(index uint64) (name string, own, ok bool) {
	m.relocations(func(r relocation) bool {
		if r.place+m.Base != index || elf.R_RISCV(uint32(r.info)) != elf.R_RISCV_TLS_DTPMOD64 {
			return true
		}
		ok = true
		symbol := m.Bytes(m.Base+m.dynamic[elf.DT_SYMTAB]+r.info>>32*symbolSize, symbolSize)
		if r.info>>32 == 0 || len(symbol) < symbolSize {
			own = true
			return false
		}
		name = m.dynamicString(uint64(binary.LittleEndian.Uint32(symbol)))
		own = elf.SectionIndex(binary.LittleEndian.Uint16(symbol[6:])) != elf.SHN_UNDEF
		return false
	})
	return name, own, ok
}

// TLSOwner returns the image whose thread-local variables a thread requests when it first
// calls __tls_get_addr with argument index, or nil if that is unknown.
func (s *Space) TLSOwner(index uint64) *Image {
	m := s.At(index)
	if m == nil {
		return nil
	}
	name, own, ok := m.tlsIndex(index)
	switch {
	case !ok:
		return nil
	case own:
		return m
	}
	now := s.loaded.Load()
	for _, other := range now.images[now.early:] { // the others have theirs at the thread pointer
		if sym, found := other.Lookup(name); found && sym.Kind == TLSSymbol && sym.Global {
			return other
		}
	}
	return nil
}
