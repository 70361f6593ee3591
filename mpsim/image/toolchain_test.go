package image

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// programs are the builds for which the image is compared with the toolchain's own
// programs.
var programs = []struct {
	name, compiler string
	args           []string
}{
	{"c-O0", "gcc", []string{"-g", "-O0", "-static", "-pthread", "threads.c"}},
	{"c-O2", "gcc", []string{"-g", "-O2", "-static", "-pthread", "threads.c"}},
	{"c-dwarf4-compressed", "gcc", []string{"-gdwarf-4", "-gz", "-O2", "-static", "-pthread", "threads.c"}},
	{"c++-O0", "g++", []string{"-g", "-O0", "-static", "-pthread", "threads.cc"}},
	{"c++-O2", "g++", []string{"-g", "-O2", "-static", "-pthread", "threads.cc"}},
}

// TestFramesLikeAddr2line compares the frames of the user's code, and of a sample of
// library code, with the output of addr2line -i -f.
func TestFramesLikeAddr2line(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			path := build(t, p.compiler, p.args...)
			m := load(t, path)
			pcs := samplePCs(m)
			var in strings.Builder
			for _, pc := range pcs {
				fmt.Fprintf(&in, "%#x\n", pc)
			}
			want, names := addr2line(t, path, in.String())
			inlined, lined := 0, 0
			for _, pc := range pcs {
				frames := m.Frames(pc)
				got := make([]string, 0, len(frames))
				for _, f := range frames {
					got = append(got, place(f))
				}
				if w := want[pc]; strings.Join(got, "; ") != strings.Join(w, "; ") && !wrongFile(w) {
					t.Errorf("%#x:\n got %v\nwant %v", pc, got, w)
				}
				for i, f := range frames {
					if n := names[pc]; i < len(n) && m.User(pc) && !sameFunction(m, pc, f, n[i]) {
						t.Errorf("%#x: frame %d is in %s (%s), want %s", pc, i, f.Function, f.Linkage, n[i])
					}
				}
				if len(frames) > 1 {
					inlined++
				}
				if frames != nil && frames[0].Line != 0 {
					lined++
				}
			}
			if err := m.DebugErr(); err != nil {
				t.Error(err)
			}
			t.Logf("%d addresses, %d with a line, %d inlined", len(pcs), lined, inlined)
			if lined == 0 {
				t.Error("no lines")
			}
		})
	}
}

// sameFunction compares a frame's function with addr2line's. addr2line prints the linker's
// name if there is one, and replaces a name that is not the linker's by the symbol at pc.
func sameFunction(m *Image, pc uint64, f Frame, name string) bool {
	if name == f.Linkage || name == f.Function || demangled(name) == f.Function || strings.HasSuffix(f.Function, "::"+name) {
		return true
	}
	s, ok := m.Lookup(name)
	return ok && f.Linkage == "" && pc-s.Addr < s.Size
}

// wrongFile reports whether addr2line named a line that the short test program does not
// have: for the first file of some DWARF 5 line tables, binutils 2.40 prints the unit's own
// name.
func wrongFile(places []string) bool {
	if len(places) == 0 {
		return false
	}
	file, line, _ := strings.Cut(places[0], ":")
	n, _ := strconv.Atoi(line)
	return strings.HasSuffix(file, "threads.cc") && n > 100
}

// samplePCs returns every second address of the user's functions and one in fifty of the
// rest.
func samplePCs(m *Image) []uint64 {
	rng, pcs := rand.New(rand.NewPCG(1, 2)), []uint64(nil)
	for _, s := range m.Segments {
		if !s.Exec {
			continue
		}
		for pc := s.Addr; pc < s.Addr+uint64(len(s.Data)); pc += 2 {
			if f, ok := m.Func(pc); ok && f.Size > 0 && (m.User(pc) || rng.IntN(50) == 0) {
				pcs = append(pcs, pc)
			}
		}
	}
	return pcs
}

func place(f Frame) string {
	if f.Line == 0 {
		return "??:?"
	}
	return f.File + ":" + strconv.Itoa(f.Line)
}

// addr2line returns the places and functions, innermost first, of each address.
func addr2line(t *testing.T, path, addrs string) (places, functions map[uint64][]string) {
	t.Helper()
	places, functions = map[uint64][]string{}, map[uint64][]string{}
	pc, lines := uint64(0), strings.Split(output(t, addrs, "addr2line", "-a", "-i", "-f", "-e", path), "\n")
	for i := 0; i < len(lines); i++ {
		if s, ok := strings.CutPrefix(lines[i], "0x"); ok {
			pc, _ = strconv.ParseUint(s, 16, 64)
			continue
		}
		if i+1 < len(lines) {
			functions[pc] = append(functions[pc], lines[i])
			i++
			where, _, _ := strings.Cut(lines[i], " (discriminator")
			if strings.HasSuffix(where, ":0") || strings.HasSuffix(where, ":?") {
				where = "??:?" // addr2line takes object files from the symbol table
			}
			places[pc] = append(places[pc], where)
		}
	}
	return places, functions
}

// TestSymbolsLikeNM compares the symbols with nm's.
func TestSymbolsLikeNM(t *testing.T) {
	path := build(t, "g++", "-g", "-O2", "-static", "-pthread", "threads.cc")
	m := load(t, path)
	got := map[string]bool{}
	for _, s := range m.Symbols() {
		got[fmt.Sprintf("%x %s", s.Addr, s.Name)] = true
	}
	n := 0
	for line := range strings.Lines(output(t, "", "nm", "-S", path)) {
		f := strings.Fields(line)
		if len(f) != 4 || !slices.Contains([]string{"t", "T", "w", "W"}, f[2]) {
			continue // no size, or not code
		}
		addr, _ := strconv.ParseUint(f[0], 16, 64)
		size, _ := strconv.ParseUint(f[1], 16, 64)
		if n++; !got[fmt.Sprintf("%x %s", addr, f[3])] {
			t.Errorf("%s is missing", f[3])
		}
		if s, ok := m.Lookup(f[3]); !ok || s.Global && s.Addr != addr && f[2] != "t" && f[2] != "w" {
			t.Errorf("Lookup(%s) = %+v", f[3], s)
		}
		for _, pc := range []uint64{addr, addr + size - 1} {
			if s, ok := m.Func(pc); !ok || pc-s.Addr >= s.Size {
				t.Errorf("Func(%#x) = %+v, want %s", pc, s, f[3])
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d functions", n)
	}
}

func TestBestAlias(t *testing.T) {
	m := load(t, build(t, "gcc", "-g", "-O1", "-static", "-pthread", "threads.c"))
	for _, name := range []string{"pthread_mutex_lock", "malloc", "write", "_start", "main", "worker"} {
		s, ok := m.Lookup(name)
		if !ok {
			t.Errorf("no %s", name)
			continue
		}
		if f, ok := m.Func(s.Addr); !ok || f.Name != name {
			t.Errorf("Func(%s) = %+v", name, f)
		}
	}
}

// TestUser checks what counts as the user's code, with and without debug information.
func TestUser(t *testing.T) {
	for _, flags := range [][]string{{"-g", "-O2"}, {"-O0"}, {"-O2"}} {
		m := load(t, build(t, "gcc", append(flags, "-static", "-pthread", "threads.c")...))
		for name, want := range map[string]bool{
			"main": true, "worker": true, "choose": true, "_start": false, "printf": false, "malloc": false,
			"pthread_create": false, "__libc_start_main": false, "frame_dummy": false, "memcpy": false,
		} {
			s, ok := m.Lookup(name)
			if !ok {
				t.Errorf("%v: no %s", flags, name)
			} else if got := m.User(s.Addr); got != want {
				t.Errorf("%v: User(%s) = %v", flags, name, got)
			}
		}
		for name, want := range map[string]bool{"account": true, "counter": true, "grid": true, "main_arena": false, "_IO_2_1_stdout_": false} {
			s, ok := m.Lookup(name)
			if !ok {
				t.Errorf("%v: no %s", flags, name)
			} else if got := m.UserObject(s.Addr); got != want {
				t.Errorf("%v: UserObject(%s) = %v", flags, name, got)
			}
		}
		if s, ok := m.Lookup("tacc"); !ok || !m.UserTLS(s.Addr) {
			t.Errorf("%v: tacc is not the user's", flags)
		}
	}
}

func TestObjectPath(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			m := load(t, build(t, p.compiler, p.args...))
			tests := map[string][]struct {
				off  uint64
				want string
			}{
				"account":                 {{0, "account.id"}, {8, "account.balance"}, {12, "account.in[0].name[0]"}, {40, "account.in[2].name[4]"}, {44, "account.in[2].hits"}, {46, "account.in[2].hits+2"}},
				"grid":                    {{48*7 + 8, "grid[1][2].balance"}},
				"_ZN4bank3accE":           {{0, "bank::acc.balance"}, {2, "bank::acc.balance+2"}, {8, "bank::acc.m"}, {12, "bank::acc.m+4"}},
				"words":                   {{8, "words+8"}},
				"_ZN4bank7Account5totalE": {{0, "bank::Account::total"}},
			}
			seen := 0
			for name, list := range tests {
				s, ok := m.Lookup(name)
				if !ok {
					continue
				}
				seen++
				for _, tt := range list {
					if got := m.ObjectPath(s.Addr + tt.off); got != tt.want {
						t.Errorf("ObjectPath(%s+%d) = %q, want %q", name, tt.off, got, tt.want)
					}
				}
			}
			if seen == 0 {
				t.Error("no variable found")
			}
			if s, ok := m.Lookup("tacc"); ok {
				if got := m.TLSPath(s.Addr + 8); got != "tacc.balance" {
					t.Errorf("TLSPath(tacc+8) = %q", got)
				}
			}
		})
	}
}

// TestPIE compares a position-independent executable with the file's own
// addresses.
func TestPIE(t *testing.T) {
	path := build(t, "gcc", "-g", "-O1", "-fPIE", "-nostdlib", "-static", "-Wl,-pie,--no-dynamic-linker", "tiny.c")
	m := load(t, path)
	if !m.PIE || m.Entry < PIEBase || m.Phdr < PIEBase || m.Segments[0].Addr < PIEBase {
		t.Fatalf("entry %#x, headers %#x, first segment %#x", m.Entry, m.Phdr, m.Segments[0].Addr)
	}
	work, ok := m.Lookup("work")
	if !ok {
		t.Fatal("no work")
	}
	for pc := work.Addr; pc < work.Addr+work.Size; pc += 2 {
		places, _ := addr2line(t, path, fmt.Sprintf("%#x\n", pc-PIEBase))
		want := places[pc-PIEBase]
		var got []string
		for _, f := range m.Frames(pc) {
			got = append(got, place(f))
		}
		if strings.Join(got, ";") != strings.Join(want, ";") {
			t.Errorf("%#x: got %v, want %v", pc, got, want)
		}
	}
	g, _ := m.Lookup("g")
	if got := m.ObjectPath(g.Addr + 24); got != "g.b[2]" || !m.UserObject(g.Addr) || !m.User(work.Addr) {
		t.Errorf("ObjectPath = %q", got)
	}
}

func TestForeignPrograms(t *testing.T) {
	path := build(t, "gcc", "-g", "tiny.c", "-nostdlib", "-pie", "-fPIE")
	if s, err := Load(path); err != nil || !strings.HasPrefix(s.Main.Interp, "/lib/ld-linux-riscv64") {
		t.Errorf("a dynamic executable: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("uname"); err == nil {
		if _, err := Load(self); err == nil {
			t.Error("a host executable is accepted")
		}
	}
}

// TestLambda finds the function of a lambda expression where it was inlined. In the debug
// information it has no linkage name.
func TestLambda(t *testing.T) {
	m := load(t, build(t, "g++", "-g", "-O2", "-static", "-pthread", "threads.cc"))
	names := map[string]bool{}
	for _, pc := range samplePCs(m) {
		for _, f := range m.Frames(pc) {
			names[f.Function] = true
		}
	}
	for _, want := range []string{"main::<lambda>::operator()", "bank::Account::add(int)", "main", "__gthread_mutex_lock"} {
		if !names[want] {
			t.Errorf("no frame of %s", want)
		}
	}
	for name := range names {
		if (strings.Contains(name, "lambda") || strings.Contains(name, "main")) && t.Failed() {
			t.Log(name)
		}
	}
}

// TestConcurrentQueries is useful under the race detector.
func TestConcurrentQueries(t *testing.T) {
	m := load(t, build(t, "g++", "-g", "-O2", "-static", "-pthread", "threads.cc"))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { queryAll(m) })
	}
	wg.Wait()
}
