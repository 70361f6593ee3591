package asm

import (
	"debug/elf"
	"encoding/binary"
)

// Sizes of the parts of an ELF file, in bytes.
const (
	ehdrBytes = 64
	phdrBytes = 56
	shdrBytes = 64
	symBytes  = 24
)

// section is a part of the file.
type section struct {
	header  elf.Section64
	content []byte
}

// ELF returns the program as a static executable that starts with its first instruction.
// The data are writable and followed by 64 KiB of zeros.
func (p *Program) ELF() ([]byte, error) {
	p.endFunc()
	code, err := p.Code()
	if err != nil {
		return nil, err
	}
	names := []byte("\x00.text\x00.data\x00.symtab\x00.strtab\x00")
	text, strs := make([]byte, symBytes), []byte{0}
	for _, s := range p.symbols {
		kind, index := elf.STT_OBJECT, uint16(2)
		if s.function {
			kind, index = elf.STT_FUNC, 1
		}
		text = binary.LittleEndian.AppendUint32(text, uint32(len(strs)))
		text = append(text, byte(elf.STB_GLOBAL)<<4|byte(kind), 0)
		text = binary.LittleEndian.AppendUint16(text, index)
		text = binary.LittleEndian.AppendUint64(text, s.addr)
		text = binary.LittleEndian.AppendUint64(text, s.size)
		strs = append(append(strs, s.name...), 0)
	}
	sections := []section{
		{},
		{elf.Section64{Name: 1, Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_ALLOC | elf.SHF_EXECINSTR), Addr: TextBase, Addralign: 4}, code},
		{elf.Section64{Name: 7, Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_ALLOC | elf.SHF_WRITE), Addr: DataBase, Addralign: 8}, p.data},
		{elf.Section64{Name: 13, Type: uint32(elf.SHT_SYMTAB), Link: 4, Info: 1, Addralign: 8, Entsize: symBytes}, text},
		{elf.Section64{Name: 21, Type: uint32(elf.SHT_STRTAB), Addralign: 1}, append(strs, names...)},
	}
	for i := range sections { // one string table for both
		sections[i].header.Name += uint32(len(strs))
	}
	sections[0].header.Name = 0
	return layOut(sections)
}

// layOut places the sections after the headers, at offsets that equal their addresses
// modulo the page size.
func layOut(sections []section) ([]byte, error) {
	file := make([]byte, ehdrBytes+2*phdrBytes)
	for i := range sections {
		s := &sections[i]
		for s.content != nil && uint64(len(file))%4096 != s.header.Addr%4096 && s.header.Addr != 0 {
			file = append(file, 0)
		}
		s.header.Off, s.header.Size = uint64(len(file)), uint64(len(s.content))
		file = append(file, s.content...)
	}
	for len(file)%8 != 0 {
		file = append(file, 0)
	}
	head := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_RISCV), Version: 1, Entry: TextBase,
		Phoff: ehdrBytes, Shoff: uint64(len(file)), Flags: 5, Ehsize: ehdrBytes, Phentsize: phdrBytes, Phnum: 2,
		Shentsize: shdrBytes, Shnum: uint16(len(sections)), Shstrndx: uint16(len(sections) - 1),
	}
	copy(head.Ident[:], elf.ELFMAG)
	head.Ident[elf.EI_CLASS], head.Ident[elf.EI_DATA], head.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	front, err := binary.Append(nil, binary.LittleEndian, head)
	if err != nil {
		return nil, err
	}
	for i, flags := range []elf.ProgFlag{elf.PF_R | elf.PF_X, elf.PF_R | elf.PF_W} {
		h := sections[1+i].header
		ph := elf.Prog64{
			Type: uint32(elf.PT_LOAD), Flags: uint32(flags), Off: h.Off, Vaddr: h.Addr, Paddr: h.Addr,
			Filesz: h.Size, Memsz: h.Size, Align: 4096,
		}
		if flags&elf.PF_W != 0 {
			ph.Memsz += zeros
		}
		if front, err = binary.Append(front, binary.LittleEndian, ph); err != nil {
			return nil, err
		}
	}
	copy(file, front)
	for _, s := range sections {
		if file, err = binary.Append(file, binary.LittleEndian, s.header); err != nil {
			return nil, err
		}
	}
	return file, nil
}

// zeros is the size of the memory after the data, in bytes.
const zeros = 64 << 10
