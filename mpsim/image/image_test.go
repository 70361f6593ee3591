package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const prefix = "riscv64-linux-gnu-"

// tool returns the path of a program of the cross toolchain, or skips the test.
func tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(prefix + name)
	if err != nil {
		if os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1" {
			t.Fatalf("%s%s is required: %v", prefix, name, err)
		}
		t.Skipf("needs %s%s", prefix, name)
	}
	return path
}

// build compiles testdata files with the given compiler and flags.
func build(t testing.TB, compiler string, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "a.out")
	cmd := exec.Command(tool(t, compiler), append(args, "-o", out)...)
	cmd.Dir = "testdata"
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, msg)
	}
	return out
}

func load(t testing.TB, path string) *Image {
	t.Helper()
	s, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return s.Main
}

// parseMain parses an executable.
func parseMain(data []byte) (*Image, error) { return parse(data, nil) }

func output(t testing.TB, stdin string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(tool(t, name), args...)
	cmd.Stdin = strings.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, errs.String())
	}
	return string(out)
}

// tiny is a small executable, built from testdata/tiny.c by
//
//	riscv64-linux-gnu-gcc -g -O1 -nostdlib -static -ffile-prefix-map=$PWD=/src
//	    -Wl,--build-id=none,-z,norelro,-z,max-page-size=4096,-z,common-page-size=64
func tiny(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/tiny.elf")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestClang checks the variables of the same source, compiled by Clang 14 in the same way
// (clang --target=riscv64-linux-gnu). Their addresses are in a table (DWARF 5 section 7.27).
func TestClang(t *testing.T) {
	data, err := os.ReadFile("testdata/clang.elf")
	if err != nil {
		t.Fatal(err)
	}
	m, err := parseMain(data)
	if err != nil {
		t.Fatal(err)
	}
	g, ok := m.Lookup("g")
	if !ok || !m.UserObject(g.Addr) {
		t.Errorf("g %+v: it is not the program's", g)
	}
	if got := m.ObjectPath(g.Addr + 24); got != "g.b[2]" {
		t.Errorf("ObjectPath(g+24) = %q", got)
	}
	if got := m.TLSPath(0); got != "t" || !m.UserTLS(0) {
		t.Errorf("TLSPath(0) = %q", got)
	}
	if err := m.DebugErr(); err != nil {
		t.Error(err)
	}
}

func TestTiny(t *testing.T) {
	m, err := parseMain(tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	f, ok := m.Func(m.Entry)
	if !ok || f.Name != "_start" || m.PIE {
		t.Fatalf("entry %#x: %+v", m.Entry, f)
	}
	if m.TLS.MemSize != 4 || m.TLS.Align != 4 || len(m.TLS.Data) != 0 {
		t.Errorf("TLS %+v", m.TLS)
	}
	g, ok := m.Lookup("g")
	if !ok || g.Kind != ObjectSymbol || g.Size != 40 {
		t.Fatalf("g: %+v", g)
	}
	for off, want := range map[uint64]string{0: "g.a", 1: "g.a+1", 4: "g+4", 8: "g.b[0]", 24: "g.b[2]", 33: "g.b[3]+1"} {
		if got := m.ObjectPath(g.Addr + off); got != want {
			t.Errorf("ObjectPath(g+%d) = %q, want %q", off, got, want)
		}
	}
	if got := m.ObjectPathSize(g.Addr, 16); got != "g" {
		t.Errorf("16 bytes at g: %q", got)
	}
	if got := m.TLSPath(0); got != "t" || !m.UserTLS(0) {
		t.Errorf("TLSPath(0) = %q", got)
	}
	if !m.User(m.Entry) || m.User(0) || !m.UserObject(g.Addr) || m.UserObject(g.Addr+1<<20) {
		t.Error("what is the user's")
	}
	work, _ := m.Lookup("work")
	inlined := false
	for pc := work.Addr; pc < work.Addr+work.Size; pc += 2 {
		if fr := m.Frames(pc); len(fr) == 2 && fr[0].Function == "inl" && fr[0].Inlined && fr[0].Line == 2 &&
			fr[1].Function == "work" && fr[1].Line == 3 && !fr[1].Inlined && fr[0].Base() == "tiny.c" {
			inlined = true
		}
	}
	if !inlined {
		t.Error("inl is nowhere inlined into work")
	}
	if err := m.DebugErr(); err != nil {
		t.Error(err)
	}
}

// TestRefused alters the small executable so that it must be refused.
func TestRefused(t *testing.T) {
	good := tiny(t)
	le := func(off, n int, v uint64) func([]byte) []byte {
		return func(b []byte) []byte {
			for i := range n {
				b[off+i] = byte(v >> (8 * i))
			}
			return b
		}
	}
	firstLoad := 0
	f, err := elf.NewFile(bytes.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			firstLoad = 64 + 56*i
			break
		}
	}
	tests := []struct {
		name  string
		alter func([]byte) []byte
		want  error
		text  string
	}{
		{"empty", func([]byte) []byte { return nil }, ErrNotELF, ""},
		{"script", func([]byte) []byte { return []byte("#!/bin/sh\n") }, ErrNotELF, "script"},
		{"magic only", func(b []byte) []byte { return b[:4] }, ErrFormat, "cut short"},
		{"half header", func(b []byte) []byte { return b[:40] }, ErrFormat, "cut short"},
		{"x86-64", le(18, 2, uint64(elf.EM_X86_64)), ErrMachine, "x86-64 ELF: hindsight runs RV64GC"},
		{"aarch64", le(18, 2, uint64(elf.EM_AARCH64)), ErrMachine, "AArch64 ELF"},
		{"32-bit", le(elf.EI_CLASS, 1, uint64(elf.ELFCLASS32)), ErrMachine, "32-bit RISC-V"},
		{"big-endian", le(elf.EI_DATA, 1, uint64(elf.ELFDATA2MSB)), ErrMachine, "big-endian"},
		{"object file", le(16, 2, uint64(elf.ET_REL)), ErrNotExecutable, "object file"},
		{"core", le(16, 2, uint64(elf.ET_CORE)), ErrNotExecutable, ""},
		{"no program headers", le(56, 2, 0), ErrNotExecutable, ""},
		{"program headers outside", le(32, 8, 1<<62), ErrFormat, "not within"},
		{"interpreter", le(64, 4, uint64(elf.PT_INTERP)), ErrFormat, ""},
		{"entry nowhere", le(24, 8, 2), ErrFormat, "entry point"},
		{"huge memory", le(firstLoad+40, 8, 1<<40), ErrTooBig, ""},
		{"wraps around", le(firstLoad+16, 8, ^uint64(0xfff)), ErrTooBig, ""},
		{"huge in file", le(firstLoad+32, 8, 1<<40), ErrFormat, "not within"},
		{"less memory than file", le(firstLoad+40, 8, 8), ErrFormat, "in memory"},
		{"overlap", le(firstLoad+40, 8, 1<<20), ErrFormat, "overlap"},
		{"not executable", le(firstLoad+4, 4, uint64(elf.PF_R)), ErrNotExecutable, "executed"},
		{"section headers outside", le(40, 8, 1<<40), ErrFormat, "section headers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.alter(bytes.Clone(good)))
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got error %v, want %v with %q", err, tt.want, tt.text)
			}
		})
	}
}

// TestBrokenDebug damages each debug section in turn. The image must remain usable and
// report the error.
func TestBrokenDebug(t *testing.T) {
	good := tiny(t)
	f, err := elf.NewFile(bytes.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".debug_info", ".debug_abbrev", ".debug_line"} {
		t.Run(name, func(t *testing.T) {
			s := f.Section(name)
			data := bytes.Clone(good)
			for i := range s.Size {
				data[s.Offset+i] = 0xff
			}
			m, err := parseMain(data)
			if err != nil {
				t.Fatal(err)
			}
			fr := m.Frames(m.Entry)
			if len(fr) != 1 || fr[0].Function != "_start" || fr[0].Line != 0 {
				t.Errorf("frames %+v", fr)
			}
			if err := m.DebugErr(); !errors.Is(err, ErrDebug) {
				t.Errorf("DebugErr: %v", err)
			}
		})
	}
}

func TestLoadErrors(t *testing.T) {
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	good := tiny(f)
	f.Add(good)
	f.Add(good[:len(good)/2])
	for _, off := range []int{16, 18, 24, 32, 40, 56, 60, 96, 104, 0x100, len(good) - 64} {
		b := bytes.Clone(good)
		b[off] ^= 0xff
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMain(data)
		if err != nil {
			return
		}
		queryAll(m)
	})
}

// FuzzDebug damages the debug information of the small executable in one place. The image
// must remain usable.
func FuzzDebug(f *testing.F) {
	good := tiny(f)
	e, err := elf.NewFile(bytes.NewReader(good))
	if err != nil {
		f.Fatal(err)
	}
	low, high := uint64(len(good)), uint64(0)
	for _, s := range e.Sections {
		if strings.HasPrefix(s.Name, ".debug_") {
			low, high = min(low, s.Offset), max(high, s.Offset+s.Size)
			f.Add(uint16(s.Offset), []byte{0xff, 0xff, 0xff, 0xff, 0x7f})
			f.Add(uint16(s.Offset+s.Size/2), []byte{0, 0x80, 1})
		}
	}
	f.Fuzz(func(t *testing.T, at uint16, patch []byte) {
		data := bytes.Clone(good)
		copy(data[low+uint64(at)%(high-low):high], patch)
		m, err := parseMain(data)
		if err != nil {
			t.Fatal(err)
		}
		queryAll(m)
		queryTypes(m)
		if fr := m.Frames(m.Entry); len(fr) == 0 {
			t.Error("no frame at all")
		}
	})
}

// queryTypes asks for the variables at the entry and their types.
func queryTypes(m *Image) {
	var types []Type
	for _, l := range m.Locals(m.Entry) {
		types = append(types, m.LocalType(l))
	}
	composed := m.Composed(m.Entry)
	for i := range composed {
		types = append(types, m.ComposedType(&composed[i]))
	}
	for _, s := range m.Objects() {
		if g, ok := m.GlobalAt(s.Addr); ok {
			types = append(types, g.Type)
		}
		for _, g := range m.GlobalsNamed(s.Name) {
			types = append(types, g.Type)
		}
	}
	if t, ok := m.TypeNamed("int"); ok {
		types = append(types, t)
	}
	m.InlinedCode(func(string) bool { return true })
	m.SourceFiles()
	for n := 0; n < len(types) && n < 1000; n++ {
		s := types[n].Shape()
		types = append(types, s.Elem)
		for _, f := range s.Fields {
			types = append(types, f.Type)
		}
	}
}

// TestNameBomb gives every symbol the same name, which is as long as the file allows.
func TestNameBomb(t *testing.T) {
	good := tiny(t)
	e, err := elf.NewFile(bytes.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	header := func(b []byte, index int) []byte {
		shoff := binary.LittleEndian.Uint64(b[40:])
		return b[shoff+uint64(index)*sectionSize:]
	}
	data := bytes.Clone(good)
	const n = 1 << 16
	symtab := bytes.Repeat(append([]byte{0, 0, 0, 0, byte(elf.STT_FUNC), 0, 1, 0}, make([]byte, 16)...), n)
	strtab := append(bytes.Repeat([]byte{'x'}, 1<<20), 0)
	for i, s := range e.Sections {
		if s.Type == elf.SHT_SYMTAB {
			h := header(data, i)
			binary.LittleEndian.PutUint64(h[24:], uint64(len(good)))
			binary.LittleEndian.PutUint64(h[32:], uint64(len(symtab)))
			h = header(data, int(s.Link))
			binary.LittleEndian.PutUint64(h[24:], uint64(len(good)+len(symtab)))
			binary.LittleEndian.PutUint64(h[32:], uint64(len(strtab)))
		}
	}
	data = append(append(data, symtab...), strtab...)
	if _, err := Parse(data); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "symbol names") {
		t.Errorf("got %v", err)
	}
}

// queryAll makes every query for some addresses of the image.
func queryAll(m *Image) {
	var at []uint64
	for _, s := range m.Segments {
		at = append(at, s.Addr, s.Addr+1, s.Addr+s.MemSize/2, s.End()-1, s.End())
	}
	for i, s := range m.Symbols() {
		if i < 32 {
			at = append(at, s.Addr, s.Addr+s.Size/2, s.Addr+s.Size)
			m.Lookup(s.Name)
		}
	}
	for i, s := range m.Objects() {
		if i < 32 {
			at = append(at, s.Addr, s.Addr+s.Size/2)
		}
	}
	for _, a := range append(at, m.Entry, 0, ^uint64(0)) {
		m.Func(a)
		m.FuncEnd(a)
		m.Object(a)
		m.ObjectPath(a)
		m.ObjectPathSize(a, 8)
		m.Frames(a)
		m.User(a)
		m.UserObject(a)
		m.Code(a, 16)
		m.Bytes(a, 16)
	}
	for _, off := range []uint64{0, 1, 8, m.TLS.MemSize} {
		m.TLSObject(off)
		m.TLSPath(off)
		m.UserTLS(off)
	}
	_ = m.DebugErr()
}
