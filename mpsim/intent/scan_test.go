package intent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindsight/mpsim/image"
)

const (
	touches = image.NoteAtomic
	loads   = image.NoteLoad
	stores  = image.NoteStore
	reduces = image.NoteReduction
	backs   = image.NoteWriteBack
)

func TestScanSource(t *testing.T) {
	for _, x := range []struct {
		name, text string
		want       []image.LineNotes
		hides      bool
	}{
		{"nothing", "int x;\nvoid f(void) { x++; }\n", nil, false},
		{"directive", "void f(void)\n{\n#pragma omp atomic read\n\tv = x;\n\tw = x;\n}\n", []image.LineNotes{{From: 3, To: 4, Kind: loads}}, false},
		{"continued", "#pragma omp atomic \\\n write\n\n\tx\n\t  = 1;\n", []image.LineNotes{{From: 1, To: 5, Kind: stores}}, false},
		{"block", "#pragma omp atomic capture\n{ v = x;\n x++; }\nw = x;\n", []image.LineNotes{{From: 1, To: 3, Kind: touches}}, false},
		{"shared line", "#pragma omp atomic read\nv = x; w = x;\n", []image.LineNotes{{From: 1, To: 2, Kind: touches}}, false},
		{"reduction", "#pragma omp parallel for \\\n  reduction(+: s)\nfor (;;) s++;\n", []image.LineNotes{{From: 1, To: 2, Kind: reduces}}, false},
		{"write back", "#pragma omp parallel for simd\nfor (;;) s++;\n#pragma omp simd lastprivate(x)\nfor (;;) s++;\n#pragma omp task\ns++;\n", []image.LineNotes{{From: 1, To: 1, Kind: backs}, {From: 5, To: 5, Kind: backs}}, false},
		{"builtin", "a = 1;\nb = __atomic_load_n(&x,\n __ATOMIC_RELAXED);\n__sync_add_and_fetch(&x, 1);\n", []image.LineNotes{{From: 2, To: 3, Kind: loads}, {From: 4, To: 4, Kind: touches}}, false},
		{"both", "__atomic_store_n(&y, __atomic_load_n(&x, 0), 0);\n", []image.LineNotes{{From: 1, To: 1, Kind: touches}}, false},
		{"fence", "x = 1;\n__sync_synchronize();\n", nil, false},
		{"comments", "/* atomic_int\n */ x = 1; // volatile\nputs(\"_Atomic\"); c = '\"';\n", nil, false},
		{"type", "_Atomic int x;\n", nil, true},
		{"class", "std::atomic<int> x;\n", nil, false}, // see TestSettled
		{"volatile", "volatile int x;\n", nil, true},
		{"macro", "#define READ(x) \\\n __atomic_load_n(&(x), 0)\n", nil, false}, // see TestFindAccesses
		{"macro of a volatile", "#define READ(x) *(volatile int *)&(x)\n", nil, true},
		{"assembly", "asm(\"amoadd.w\");\n", nil, true},
		{"header", "#include <stdatomic.h>\n", nil, true},
		{"other header", "#include <linux/compiler.h>\n", nil, true},
		{"headers", "#include <stdio.h>\n#include <vector>\n", nil, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := scanSource(x.text)
			if got := s.notes(); !slices.Equal(got, x.want) || s.hides != x.hides {
				t.Errorf("%v, hides %v; want %v, %v", got, s.hides, x.want, x.hides)
			}
		})
	}
}

// TestFindOrders checks which memory orders are read, and at which places the line table
// has the operations.
func TestFindOrders(t *testing.T) {
	for _, x := range []struct {
		name, text string
		want, in   []image.OrderNotes
	}{
		{"fence", "x = 1;\n\tatomic_thread_fence(memory_order_acquire);\n", []image.OrderNotes{{Line: 2, Column: 2, Success: 2, Failure: 2}}, nil},
		{"builtin", "__atomic_thread_fence(__ATOMIC_SEQ_CST);", []image.OrderNotes{{Line: 1, Column: 1, Success: 5, Failure: 5}}, nil},
		{"swap", "do ; while (!atomic_compare_exchange_weak_explicit(&f[g(1, 2)], &e, 1,\n memory_order_release, memory_order_relaxed));",
			[]image.OrderNotes{{Line: 1, Column: 14, Success: 3}}, []image.OrderNotes{{Line: 1, Column: 6, Success: 3}}},
		{"two", "f(atomic_thread_fence(memory_order_release), atomic_thread_fence(memory_order_acquire));",
			[]image.OrderNotes{{Line: 1, Column: 3, Success: 3, Failure: 3}, {Line: 1, Column: 46, Success: 2, Failure: 2}}, nil},
		{"a macro", "USE(atomic_thread_fence(memory_order_release);)", []image.OrderNotes{{Line: 1, Column: 5, Success: 3, Failure: 3}}, []image.OrderNotes{{Line: 1, Column: 1, Success: 3, Failure: 3}}},
		{"in another operation", "atomic_exchange(&p, atomic_compare_exchange_strong_explicit(&f, &e, 1, memory_order_acquire, memory_order_acquire));",
			[]image.OrderNotes{{Line: 1, Column: 21, Success: 2, Failure: 2}}, nil},
		{"a variable", "atomic_thread_fence(order);", nil, nil},
		{"other arguments", "atomic_thread_fence();\n__atomic_compare_exchange_n(p, e, 1, 0, __ATOMIC_RELAXED);", nil, nil},
		{"open", "atomic_thread_fence(memory_order_acquire; ((", nil, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got, in := findOrders(x.text); !slices.Equal(got, x.want) || !slices.Equal(in, x.in) {
				t.Errorf("%v, in macros %v; want %v, %v", got, in, x.want, x.in)
			}
		})
	}
}

// TestSettled checks that a file is judged together with the files that it includes, and
// that files newer than the program are ignored.
func TestSettled(t *testing.T) {
	dir := t.TempDir()
	built := time.Now().Add(time.Hour)
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("quiet.h", "#include \"deep.h\"\nint f(void);\n")
	write("deep.h", "#define NEXT(x) ((x) + 1)\n")
	write("loud.h", "#define GET(x) (*(volatile int *)&(x))\n")
	write("uses.h", "#include \"macros.h\"\n")
	write("macros.h", "#define GET(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)\n")
	for _, x := range []struct {
		name, text string
		want       bool
	}{
		{"a.c", "#include \"quiet.h\"\n", true},
		{"b.c", "#include \"loud.h\"\n", false},
		{"f.c", "#include \"macros.h\"\n", true},
		{"g.c", "#include \"uses.h\"\nint f(void) { return GET(x); }\n", true},
		{"c.c", "#include \"absent.h\"\n", false},
		{"d.c", "#include <atomic>\natomic_int x;\n", false},
		{"e.cc", "#include <atomic>\nstd::atomic<int> x;\n", true}, // the library's functions have scopes
	} {
		r := sourceReader{built: built, texts: map[string]*sourceText{}}
		file := write(x.name, x.text)
		files, whole := r.closure(file, r.read(file))
		if got := settled(file, files, whole); got != x.want {
			t.Errorf("%s: settled %v, want %v", x.name, got, x.want)
		}
		if n := len(files[0].text.accesses(macroKinds(files))); (n == 1) != (x.name == "g.c") {
			t.Errorf("%s: %d accesses", x.name, n)
		}
	}
	newer := sourceReader{built: time.Now().Add(-time.Hour), texts: map[string]*sourceText{}}
	if newer.read(filepath.Join(dir, "a.c")) != nil {
		t.Error("a file newer than the program was read")
	}
}

// FuzzScanSource checks that every text is read to its end, that notes are in order, and
// that places are in the text.
func FuzzScanSource(f *testing.F) {
	f.Add("#pragma omp atomic\nx++;")
	f.Add("#define A \\\n\"/*")
	f.Add("}}'\\")
	f.Add("#define A(x) __atomic_load_n(x)\nA((__atomic_clear(A(x")
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, n := range scanSource(text).notes() {
			if n.From < last || n.To < n.From {
				t.Fatalf("%v after line %d", n, last)
			}
			last = n.From
		}
		s := scanSource(text)
		lines := strings.Split(text, "\n")
		for _, a := range findAccesses(s.text, macroKinds([]includedFile{{text: s}})) {
			if a.Line < 1 || a.Line > len(lines) || a.Column < 1 || a.Column > len(lines[a.Line-1]) || a.Kinds == 0 {
				t.Fatalf("%v", a)
			}
		}
	})
}
