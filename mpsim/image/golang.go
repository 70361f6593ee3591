package image

import (
	"bytes"
	"debug/buildinfo"
	"debug/dwarf"
	"slices"
	"strings"
	"sync"
)

// golang is what is known about a program built by the Go toolchain.
type golang struct {
	once    sync.Once
	release string
}

// Go returns the release of Go that built the program, such as "go1.26.0", or "" if it is
// not a Go program.
func (m *Image) Go() string {
	g := &m.golang
	g.once.Do(func() {
		if !slices.ContainsFunc(m.sections, func(s section) bool { return s.name == ".go.buildinfo" || s.name == ".gopclntab" }) {
			return
		}
		g.release = "go?"
		if info, err := buildinfo.Read(bytes.NewReader(m.Data)); err == nil && info.GoVersion != "" {
			g.release = info.GoVersion
		}
	})
	return g.release
}

// Package returns the import path of the Go package that contains the instruction at pc, or
// "" if the debug information does not say.
func (m *Image) Package(pc uint64) string {
	d := m.lockDebug()
	defer d.mu.Unlock()
	if u := d.unitAt(pc - m.Base); u != nil {
		return u.name()
	}
	return ""
}

// name returns the name of a unit: its source file, or the Go package.
func (u *unit) name() string {
	name, _ := u.root.Val(dwarf.AttrName).(string)
	return name
}

// GoRuntime reports whether a Go package is part of the runtime (see the list in
// cmd/internal/objabi).
func GoRuntime(pkg string) bool {
	switch pkg {
	case "runtime", "internal/abi", "internal/bytealg", "internal/byteorder", "internal/chacha8rand", "internal/cpu", "internal/race",
		"internal/synctest", "internal/godebugs", "internal/stringslite", "internal/profilerecord":
		return true
	}
	return strings.HasPrefix(pkg, "internal/runtime/") || strings.HasPrefix(pkg, "runtime/internal/")
}

// standardRoots are the first elements of the standard library's import paths. File names
// cannot be used instead, because -trimpath removes GOROOT from them.
var standardRoots = strings.Fields(`archive bufio bytes cmp compress container context crypto database debug embed
	encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin
	reflect regexp runtime simd slices sort strconv strings structs sync syscall testing text time unicode unique
	unsafe vendor weak`)

// GoStandard reports whether a Go package is in the standard library.
func GoStandard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return slices.Contains(standardRoots, first)
}

// Members returns the offsets of structure members, by "type.member", as a Go package
// declares them. The linker adds a second unit with a package's name, for types that other
// packages use.
func (m *Image) Members(pkg string, types ...string) map[string]uint64 {
	found := map[string]uint64{}
	d := m.lockDebug()
	defer d.mu.Unlock()
	d.note(guard(func() error {
		for _, u := range d.units {
			if u.name() != pkg {
				continue
			}
			if err := d.membersOf(u, types, found); err != nil {
				return err
			}
		}
		return nil
	}))
	return found
}

func (d *debugInfo) membersOf(u *unit, types []string, found map[string]uint64) error {
	r := d.data.Reader()
	r.Seek(u.root.Offset)
	root, err := r.Next()
	if err != nil || root == nil {
		return err
	}
	return children(r, root, func(e *dwarf.Entry) {
		name, _ := e.Val(dwarf.AttrName).(string)
		if e.Tag != dwarf.TagStructType || !slices.Contains(types, name) {
			return
		}
		inner := d.data.Reader()
		inner.Seek(e.Offset)
		if again, err := inner.Next(); err == nil && again != nil {
			d.note(children(inner, again, func(member *dwarf.Entry) {
				field, _ := member.Val(dwarf.AttrName).(string)
				if off, ok := member.Val(dwarf.AttrDataMemberLoc).(int64); ok {
					found[name+"."+field] = uint64(off)
				}
			}))
		}
	})
}

// Stores of a write barrier are recognised as follows: they go through the register in
// which gcWriteBarrier returns the buffer's address (riscv64 ABI of cmd/compile), shortly
// after the call.
const (
	barrierRegister = 24
	barrierReach    = 96 // bytes
	opcodeLoad      = 0x03
	opcodeStore     = 0x23
	opcodeJAL       = 0x6f
)

// notSource reports whether the load or store at pc does not occur in the source: a store
// of a write barrier, or a load into the zero register, with which the compiler checks for
// nil pointers.
func (m *Image) notSource(pc uint64) bool {
	half := func(at uint64) uint32 {
		b := m.Code(at, 2)
		if len(b) < 2 {
			return 0
		}
		return uint32(b[0]) | uint32(b[1])<<8
	}
	in := half(pc)
	if in&3 != 3 {
		return false // compressed loads and stores cannot use these registers
	}
	in |= half(pc+2) << 16
	if in&0x7f == opcodeLoad && in>>7&31 == 0 {
		return true
	}
	if in&0x7f != opcodeStore || in>>15&31 != barrierRegister {
		return false
	}
	for at := pc - 4; at > pc-barrierReach; at -= 2 {
		call := half(at) | half(at+2)<<16
		if call&0x7f != opcodeJAL {
			continue
		}
		off := int64(int32(call)>>31)<<20 | int64(call>>12&0xff)<<12 | int64(call>>20&1)<<11 | int64(call>>21&0x3ff)<<1
		if s, ok := m.Func(at + uint64(off)); ok && strings.HasPrefix(s.Name, "runtime.gcWriteBarrier") {
			return true
		}
	}
	return false
}
