package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoSlice checks that the slice at the result of a function has the lines that say
// "in", and none that says "out", whatever path the values took: channels, maps,
// interfaces, closures, deferred functions, a panic. In an optimised program, slices
// begin at the lines where the values are computed.
func TestGoSlice(t *testing.T) {
	sources, err := filepath.Glob("testdata/golang/values/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, build := range []struct{ name, flag string }{{"unoptimised", "-gcflags=-N -l"}, {"optimised", "-gcflags="}} {
		t.Run(build.name, func(t *testing.T) {
			dir := t.TempDir()
			program, trace := filepath.Join(dir, "values"), filepath.Join(dir, "values.hst")
			img := buildGo(t, append([]string{build.flag}, sources...)...)
			if err := os.WriteFile(program, img.Main.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			hindsight(t, 0, "run", "--record", "wet", "-o", trace, program)
			checked := 0
			for _, source := range sources {
				for _, f := range sliced(t, source) {
					checked++
					t.Run(f.name, func(t *testing.T) { f.check(t, trace, build.name == "optimised") })
				}
			}
			if checked < 30 {
				t.Errorf("%d functions were checked", checked)
			}
		})
	}
}

// slicedFunc is a function of a program, and what its comments say of the slice at its
// result.
type slicedFunc struct {
	name, file string
	result     int
	in, out    []int
	made       map[int]bool // lines that compute a value
}

func sliced(t *testing.T, source string) (list []slicedFunc) {
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	f := slicedFunc{made: map[int]bool{}}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "func "); ok {
			name, _, _ = strings.Cut(name, "(")
			f = slicedFunc{name: name, file: filepath.Base(source), made: map[int]bool{}}
		}
		f.made[n] = strings.Contains(line, "made(")
		switch {
		case strings.HasSuffix(line, "// in"):
			f.in = append(f.in, n)
		case strings.HasSuffix(line, "// out"):
			f.out = append(f.out, n)
		case strings.HasSuffix(line, "// result"), strings.Contains(line, "// puts "):
			f.result = n
			list = append(list, f)
		}
	}
	return list
}

func (f *slicedFunc) check(t *testing.T, trace string, optimised bool) {
	t.Helper()
	f.checkAt(t, trace, fmt.Sprintf("%s:%d", f.file, f.result), optimised)
}

// checkAt checks the slice at a place of the program, or at its output.
func (f *slicedFunc) checkAt(t *testing.T, trace, place string, optimised bool) {
	t.Helper()
	text := hindsight(t, 0, "slice", trace, "--at", place, "--deps", "data", "--format", "json")
	var report struct {
		Slices []struct {
			Statements []struct {
				File string
				Line int
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatal(err)
	}
	has := map[int]bool{}
	for _, s := range report.Slices[0].Statements {
		has[s.Line] = has[s.Line] || filepath.Base(s.File) == f.file
	}
	for _, n := range f.in {
		if !has[n] && (f.made[n] || !optimised) {
			t.Errorf("the slice does not have %s:%d", f.file, n)
		}
	}
	for _, n := range f.out {
		if has[n] && (f.made[n] || !optimised) {
			t.Errorf("the slice has %s:%d", f.file, n)
		}
	}
}
