package examples_test

import (
	"debug/elf"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindsight/examples"
)

// TestManifest checks the table against the sources: every source has a row,
// twins name each other, and exactly the programs with races have lines that
// surely race, which a corrected twin has not.
func TestManifest(t *testing.T) {
	used := map[string]bool{"kernel.h": true}
	names := map[string]bool{}
	for _, p := range examples.Programs() {
		used[p.File] = true
		if names[p.Name] {
			t.Errorf("%s: twice in the table", p.Name)
		}
		names[p.Name] = true
		if p.Title == "" || p.Level == "" || p.Group == "" {
			t.Errorf("%s: an empty field", p.Name)
		}
		if !p.Races && (p.Stdout == "" || p.Status != 0) {
			t.Errorf("%s: a program without races must have one result", p.Name)
		}
		if got := slices.ContainsFunc(p.Expect, func(r examples.Race) bool { return len(r.Sure) > 0 }); got != p.Races {
			t.Errorf("%s: surely racing lines: %v, want %v", p.Name, got, p.Races)
		}
		if p.Twin != "" {
			twin, ok := examples.Lookup(p.Twin)
			if !ok || twin.Twin != p.Name || twin.Races == p.Races {
				t.Errorf("%s: its twin %q does not match", p.Name, p.Twin)
			}
		}
		checkSource(t, p)
	}
	files, err := fs.ReadDir(os.DirFS("src"), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !used[f.Name()] {
			t.Errorf("src/%s is in no row of the table", f.Name())
		}
	}
}

// checkSource checks that a source begins with what it shows, and that markers
// are well formed.
func checkSource(t *testing.T, p examples.Program) {
	t.Helper()
	source, err := examples.Source(p.Name)
	if err != nil {
		t.Error(err)
		return
	}
	stem := strings.TrimSuffix(p.File, ".c")
	if !strings.HasPrefix(string(source), "/*\n * "+stem+": ") {
		t.Errorf("%s does not begin with a comment that says what it shows", p.File)
	}
	marked := 0
	for _, r := range p.Expect {
		marked += len(r.Lines())
	}
	spelled := len(regexp.MustCompile(`/\*[^*\n]*\b(race|artifact)\b[^*\n]*\*/`).FindAll(source, -1))
	if p.Races && marked != spelled {
		t.Errorf("%s: %d markers, %d of them understood", p.File, spelled, marked)
	}
	if strings.HasPrefix(p.Name, "norace_") && spelled > 0 {
		t.Errorf("%s: a corrected program has markers", p.File)
	}
}

// TestMarkers pins down how markers are read, on a figure small enough to
// count by hand.
func TestMarkers(t *testing.T) {
	p, ok := examples.Lookup("fig7")
	if !ok || len(p.Expect) != 2 {
		t.Fatalf("fig7: %+v", p)
	}
	source, err := examples.Source("fig7")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(source), "\n")
	subscript, a := p.Expect[0], p.Expect[1]
	if subscript.Variable != "Subscript" || subscript.Artifact || len(subscript.Sure) != 2 || len(subscript.May) != 0 ||
		!strings.Contains(lines[subscript.Sure[0]-1], "Subscript = 1;") {
		t.Errorf("Subscript: %+v", subscript)
	}
	if a.Variable != "A" || !a.Artifact || a.Storage != examples.Global || len(a.Sure) != 0 || len(a.May) != 2 ||
		!strings.Contains(lines[a.May[1]-1], "y = A[x];") {
		t.Errorf("A: %+v", a)
	}
}

// TestNotice: the notice that demo --licenses prints names the compiler, with its
// package version, that the executables were built with.
func TestNotice(t *testing.T) {
	toolchain, err := examples.Toolchain()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(toolchain, "(Debian ")
	version, _, ok := strings.Cut(rest, ")")
	if !ok {
		t.Fatalf("no package version in %q", toolchain)
	}
	var text strings.Builder
	if err := examples.WriteLicenses(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"version " + version, "gcc-12/" + version + "/", "---- LGPL-2.1 ----", "---- GPL-3 ----", "---- GCC-exception-3.1 ----", "---- BSD-3-Clause-Go ----"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the licences do not contain %q: update examples/licenses/NOTICE", want)
		}
	}
}

// TestArchive checks without any toolchain that the archive holds what the
// sources say: every program once, in order, built from the present text, and
// static RISC-V with DWARF that names the source by its bare name.
func TestArchive(t *testing.T) {
	if toolchain, err := examples.Toolchain(); err != nil || !strings.Contains(toolchain, "libc.a ") {
		t.Errorf("toolchain %q, %v", toolchain, err)
	}
	var got []string
	for x, err := range examples.Executables() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, x.Name)
		p, ok := examples.Lookup(x.Name)
		if !ok {
			t.Errorf("%s is not in the table", x.Name)
			continue
		}
		if digest, err := p.Digest(); err != nil || digest != x.Digest {
			t.Errorf("%s was built from another source: run make examples (%v)", x.Name, err)
		}
		checkELF(t, p, x.ELF)
	}
	var want []string
	for _, p := range examples.Programs() {
		want = append(want, p.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("archive holds %v, want %v", got, want)
	}
}

func checkELF(t *testing.T, p examples.Program, data []byte) {
	t.Helper()
	f, err := elf.NewFile(strings.NewReader(string(data)))
	if err != nil {
		t.Errorf("%s: %v", p.Name, err)
		return
	}
	if f.Machine != elf.EM_RISCV || f.Type != elf.ET_EXEC || f.Section(".interp") != nil || f.Section(".note.gnu.build-id") != nil {
		t.Errorf("%s: not a static RISC-V executable without build id", p.Name)
	}
	d, err := f.DWARF()
	if err != nil {
		t.Errorf("%s: %v", p.Name, err)
		return
	}
	lines := map[string]bool{}
	for r := d.Reader(); ; {
		unit, err := r.Next()
		if err != nil || unit == nil {
			break
		}
		if lr, err := d.LineReader(unit); err == nil && lr != nil {
			for _, file := range lr.Files() {
				if file != nil {
					lines[filepath.Clean(file.Name)] = true
				}
			}
		}
		r.SkipChildren()
	}
	if !lines[p.File] {
		t.Errorf("%s: DWARF names %v, not %s", p.Name, lines, p.File)
	}
}

// TestELF checks the one-program door, and what it says to a wrong name.
func TestELF(t *testing.T) {
	data, err := examples.ELF("bank")
	if err != nil || len(data) < 4 || string(data[:4]) != elf.ELFMAG {
		t.Errorf("bank: %d bytes, %v", len(data), err)
	}
	if _, err := examples.ELF("no such program"); err == nil {
		t.Error("an unknown program has an executable")
	}
	if _, err := examples.Source("no such program"); err == nil {
		t.Error("an unknown program has a source")
	}
}
