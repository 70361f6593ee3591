package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"path"
	"strings"
)

// The relevant parts of a file's dynamic section: its name, and whether it is one of the
// system's libraries.

// maxSoname bounds a name known to the dynamic linker, in bytes.
const maxSoname = 4096

// readDynamic reads the dynamic section, including the file's own name (DT_SONAME). It
// ignores invalid entries.
func (m *Image) readDynamic(progs []elf.Prog64) {
	for i := range progs {
		if elf.ProgType(progs[i].Type) != elf.PT_DYNAMIC {
			continue
		}
		raw, err := contents(m.Data, &progs[i])
		if err != nil {
			return
		}
		m.Dynamic = m.Base + progs[i].Vaddr
		m.dynamic = map[elf.DynTag]uint64{}
		for ; len(raw) >= 16; raw = raw[16:] {
			m.dynamic[elf.DynTag(binary.LittleEndian.Uint64(raw))] = binary.LittleEndian.Uint64(raw[8:])
		}
		if name, named := m.dynamic[elf.DT_SONAME]; named {
			m.soname = m.dynamicString(name)
		}
		return
	}
}

// dynamicString returns the string at offset off of the dynamic linker's table.
func (m *Image) dynamicString(off uint64) string {
	s := m.Bytes(m.Base+m.dynamic[elf.DT_STRTAB]+off, maxSoname)
	return string(s[:max(bytes.IndexByte(s, 0), 0)])
}

// systemLibraries are the shared objects of the C library and of gcc's runtime libraries,
// by the part of their names before the version.
var systemLibraries = map[string]bool{
	"ld-linux-riscv64-lp64d": true, "ld-linux-riscv64-lp64": true, "ld-musl-riscv64": true,
	"libc": true, "libm": true, "libpthread": true, "libdl": true, "librt": true, "libutil": true, "libanl": true,
	"libresolv": true, "libnsl": true, "libthread_db": true, "libnss_files": true, "libnss_dns": true,
	"libnss_compat": true, "libnss_hesiod": true, "libnss_db": true, "libBrokenLocale": true, "libc_malloc_debug": true,
	"libmemusage": true, "libpcprofile": true, "libSegFault": true, "libmvec": true,
	"libgcc_s": true, "libstdc++": true, "libsupc++": true, "libgomp": true, "libatomic": true, "libitm": true,
	"libgfortran": true, "libquadmath": true, "libssp": true, "libobjc": true,
	"libc++": true, "libc++abi": true, "libunwind": true, "libomp": true,
}

// Name returns the name of a shared object, without directories.
func (m *Image) Name() string {
	if m.soname != "" {
		return path.Base(m.soname)
	}
	return path.Base(m.Path)
}

// shortName returns the name up to the first dot.
func (m *Image) shortName() string {
	name, _, _ := strings.Cut(m.Name(), ".")
	return name
}

// System reports whether a shared object is one of the system's libraries: the C library or
// a runtime library of the compiler. What they do internally does not count, with or
// without debug information.
func (m *Image) System() bool { return m.Path != "" && systemLibraries[m.shortName()] }

// Linker reports whether a shared object is the dynamic linker. It finds symbols, loads
// shared objects and creates thread-local storage without the program's request, so its
// accesses do not count.
func (m *Image) Linker() bool { return m.Path != "" && strings.HasPrefix(m.shortName(), "ld-") }
