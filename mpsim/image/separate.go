package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// Separate debug files. A stripped file refers to the file that has its symbols and DWARF
// by a build id (DEBUG/.build-id/xx/yyyy.debug) or by name and checksum (.gnu_debuglink).
// The content of that file is merged into the stripped file, so that the image and the
// trace do not need the other file any more.

// Unstripped returns the space of the same executable with its separate debug file. The
// debug file is searched beside program, which is the file that the executable was loaded
// from, and below the directories dirs. Shared objects get their debug files when they are
// loaded.
func (s *Space) Unstripped(program string, dirs []string) (*Space, error) {
	if whole := unstrip(s.Main.Data, program, dirs); whole != nil {
		other, err := Parse(whole)
		if err != nil {
			return nil, fmt.Errorf("%s, with its debug file: %w", program, err)
		}
		s = other
	}
	s.parsed.debug = dirs
	return s, nil
}

// unstrip returns a file merged with its separate debug file. It returns nil if the file
// needs none or none is found.
func unstrip(data []byte, path string, dirs []string) []byte {
	h, err := readHeader(data)
	if err != nil {
		return nil
	}
	sections, err := readSections(data, h)
	if err != nil {
		return nil
	}
	id, link, sum := "", "", uint32(0)
	for i := range sections {
		s := &sections[i]
		raw := s.raw(data)
		switch s.name {
		case ".debug_info":
			return nil
		case ".note.gnu.build-id":
			if len(raw) > buildIDAt {
				id = hex.EncodeToString(raw[buildIDAt:])
			}
		case ".gnu_debuglink": // a name, zeros up to a multiple of 4, a checksum
			if name, _, ok := bytes.Cut(raw, []byte{0}); ok && len(raw) >= 4 {
				link, sum = filepath.Base(string(name)), binary.LittleEndian.Uint32(raw[len(raw)-4:])
			}
		}
	}
	for _, file := range debugFiles(id, link, path, dirs) {
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Size() > MaxFile {
			continue
		}
		debug, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if whole := merge(data, h, sections, debug, id, sum); whole != nil {
			return whole
		}
	}
	return nil
}

// buildIDAt is the offset of the identifier in its note, after the header and "GNU".
const buildIDAt = 16

// debugFiles returns the places where the debug file of the file at path may be.
func debugFiles(id, link, path string, dirs []string) (files []string) {
	if len(id) > 2 {
		for _, dir := range dirs {
			files = append(files, filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"))
		}
	}
	if link == "" {
		return files
	}
	near := filepath.Dir(path)
	files = append(files, filepath.Join(near, link), filepath.Join(near, ".debug", link))
	for _, dir := range dirs {
		files = append(files, filepath.Join(dir, near, link))
	}
	return files
}

// merge appends the sections of a debug file to a file. The section table is the debug
// file's, which describes the file before it was stripped. merge returns nil if the two do
// not belong together.
func merge(data []byte, h *elf.Header64, sections []section, debug []byte, id string, sum uint32) []byte {
	dh, err := readHeader(debug)
	if err != nil {
		return nil
	}
	all, err := readSections(debug, dh)
	if err != nil || len(all) == 0 || len(all) >= int(elf.SHN_LORESERVE) {
		return nil
	}
	same := crc32.ChecksumIEEE(debug) == sum
	for i := range all {
		if raw := all[i].raw(debug); all[i].name == ".note.gnu.build-id" && len(raw) > buildIDAt && id != "" {
			same = hex.EncodeToString(raw[buildIDAt:]) == id
		}
	}
	if !same {
		return nil
	}
	out := bytes.Clone(data)
	for i := range all {
		s := &all[i]
		if kept := sectionLike(sections, s); kept != nil {
			s.Type, s.Off, s.Size = kept.Type, kept.Off, kept.Size
			continue
		}
		if raw := s.raw(debug); elf.SectionFlag(s.Flags)&elf.SHF_ALLOC == 0 && len(raw) > 0 {
			out = append(out, make([]byte, -len(out)&7)...)
			s.Off = uint64(len(out))
			out = append(out, raw...)
		}
	}
	out = append(out, make([]byte, -len(out)&7)...)
	head := *h
	head.Shoff, head.Shentsize, head.Shnum, head.Shstrndx = uint64(len(out)), sectionSize, uint16(len(all)), dh.Shstrndx
	for i := range all {
		if out, err = binary.Append(out, binary.LittleEndian, &all[i].Section64); err != nil {
			return nil
		}
	}
	if _, err := binary.Encode(out, binary.LittleEndian, &head); err != nil {
		return nil
	}
	return out
}

// sectionLike returns the section of the stripped file that a section of the debug file
// describes.
func sectionLike(sections []section, s *section) *section {
	if s.name == "" || elf.SectionFlag(s.Flags)&elf.SHF_ALLOC == 0 && elf.SectionType(s.Type) != elf.SHT_NOBITS {
		return nil
	}
	for i := range sections {
		if sections[i].name == s.name && sections[i].Addr == s.Addr {
			return &sections[i]
		}
	}
	return nil
}

// Of reports whether the image comes from the file with this digest.
func (m *Image) Of(digest [32]byte) bool { return m.file == digest }
