package image

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
)

// maxDebugSection bounds the size of a compressed debug section after decompression, in
// bytes.
const maxDebugSection = 256 << 20

// section is an entry of the section header table.
type section struct {
	elf.Section64
	name string
}

// readSections reads the section header table, which may be missing.
func readSections(data []byte, h *elf.Header64) ([]section, error) {
	if h.Shoff == 0 {
		return nil, nil
	}
	if h.Shentsize != sectionSize {
		return nil, fmt.Errorf("%w: section headers of %d bytes", ErrFormat, h.Shentsize)
	}
	n, names := uint64(h.Shnum), uint64(h.Shstrndx)
	if n == 0 || names == uint64(elf.SHN_XINDEX) {
		// Large numbers are in the first section.
		raw, err := table(data, "section headers", h.Shoff, 1, sectionSize)
		if err != nil {
			return nil, err
		}
		var first elf.Section64
		if _, err := binary.Decode(raw, binary.LittleEndian, &first); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		if n == 0 {
			n = first.Size
		}
		if names == uint64(elf.SHN_XINDEX) {
			names = uint64(first.Link)
		}
	}
	if n > maxSections {
		return nil, fmt.Errorf("%w: %d sections", ErrFormat, n)
	}
	raw, err := table(data, "section headers", h.Shoff, int(n), sectionSize)
	if err != nil {
		return nil, err
	}
	headers := make([]elf.Section64, n)
	if _, err := binary.Decode(raw, binary.LittleEndian, headers); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	sections := make([]section, n)
	for i := range sections {
		sections[i].Section64 = headers[i]
	}
	if names < n {
		strings := sections[names].raw(data)
		for i := range sections {
			sections[i].name = sectionName(strings, sections[i].Name)
		}
	}
	return sections, nil
}

// sectionName returns the name of a section, truncated at 64 bytes. No relevant section has
// a longer name.
func sectionName(strings []byte, off uint32) string {
	if uint64(off) >= uint64(len(strings)) {
		return ""
	}
	s := strings[off:]
	s = s[:min(len(s), 64)]
	if i := bytes.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return string(s)
}

// raw returns the content of the section in the file, or nil if that is not within the
// file.
func (s *section) raw(data []byte) []byte {
	if elf.SectionType(s.Type) == elf.SHT_NOBITS || s.Off > uint64(len(data)) || s.Size > uint64(len(data))-s.Off {
		return nil
	}
	return data[s.Off : s.Off+s.Size : s.Off+s.Size]
}

// contents returns the section's data, decompressed if necessary.
func (s *section) contents(data []byte) ([]byte, error) {
	raw := s.raw(data)
	if raw == nil && s.Size != 0 {
		return nil, fmt.Errorf("section %s: %w: not within the file", s.name, ErrFormat)
	}
	if elf.SectionFlag(s.Flags)&elf.SHF_COMPRESSED == 0 {
		return raw, nil
	}
	if len(raw) < 24 {
		return nil, fmt.Errorf("section %s: %w: compression header cut short", s.name, ErrFormat)
	}
	kind := elf.CompressionType(binary.LittleEndian.Uint32(raw))
	size := binary.LittleEndian.Uint64(raw[8:])
	if kind != elf.COMPRESS_ZLIB {
		return nil, fmt.Errorf("section %s: compression %v is not supported; link with --compress-debug-sections=none", s.name, kind)
	}
	if size > maxDebugSection {
		return nil, fmt.Errorf("section %s: %w: %d bytes decompressed", s.name, ErrTooBig, size)
	}
	z, err := zlib.NewReader(bytes.NewReader(raw[24:]))
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.name, err)
	}
	// The buffer grows with the actual data, not with the size that the header claims.
	var out bytes.Buffer
	if _, err := io.Copy(&out, io.LimitReader(z, int64(size)+1)); err != nil {
		return nil, fmt.Errorf("section %s: %w", s.name, err)
	}
	if uint64(out.Len()) != size {
		return nil, fmt.Errorf("section %s: %w: %d bytes decompressed, header says %d", s.name, ErrFormat, out.Len(), size)
	}
	return out.Bytes(), nil
}
