package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSliceBoundaries checks that slices follow values through joined threads, pipes,
// files and memory of the kernel, and that they follow nothing else.
// The programs say what each line's slice has.
func TestSliceBoundaries(t *testing.T) {
	for file, want := range map[string]int{"boundaries.cc": 17, "moved.c": 6, "objects.c": 12} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			if sinks := checkSinks(t, file); sinks != want {
				t.Errorf("%d lines with sinks", sinks)
			}
		})
	}
}

// TestSliceBraces: an optimized function whose load has the line of its last brace is in
// the text of a slice, and other braces are not.
func TestSliceBraces(t *testing.T) {
	source := filepath.Join("testdata", "programs", "field.c")
	for level, want := range map[string]int{"-O0": 0, "-O1": 1, "-O2": 1} {
		program := compileWith(t, source, level)
		hindsightText(t, "run", "--record", "wet", "-o", program+".hst", program)
		text := hindsightText(t, "slice", program+".hst", "--at", "stdout:total", "--source-dir", filepath.Dir(source))
		if got := strings.Count(text, "  } of second"); got != want {
			t.Errorf("%s: the end of second %d times:\n%s", level, got, text)
		}
		if n := strings.Count(text, "  }"); n != want {
			t.Errorf("%s: %d braces:\n%s", level, n, text)
		}
	}
}

// TestSliceOrder checks that the slice of a wait has, on request, what it waited for.
func TestSliceOrder(t *testing.T) {
	if sinks := checkSinks(t, "ordered.c", "--deps", "sync"); sinks != 2 {
		t.Errorf("%d lines with sinks", sinks)
	}
}

// checkSinks compares the slices of a program's lines with their comments, and returns
// the number of lines.
func checkSinks(t *testing.T, file string, flags ...string) (sinks int) {
	t.Helper()
	source := filepath.Join("testdata", "programs", file)
	program := compileWith(t, source, "-O0")
	trace := program + ".hst"
	hindsightText(t, "run", "--record", "wet", "-o", trace, program)
	src, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]int{} // the line of each name
	lines := strings.Split(string(src), "\n")
	label := regexp.MustCompile(`// (\w+)$`)
	for n, line := range lines {
		if m := label.FindStringSubmatch(line); m != nil {
			names[m[1]] = n + 1
		}
	}
	for n, line := range lines {
		m := regexp.MustCompile(`; // SINK\((.*)\)$`).FindStringSubmatch(line)
		if m == nil {
			continue
		}
		sinks++
		in := slicedLines(t, trace, file, n+1, flags)
		for _, name := range strings.Split(m[1], ", ") {
			at, ok := names[name]
			if !ok {
				t.Fatalf("line %d: no line is called %s", n+1, name)
			}
			if want := !strings.HasPrefix(name, "not_"); in[at] != want {
				t.Errorf("line %d: %s (line %d) is in its slice: %v", n+1, name, at, in[at])
			}
		}
	}
	return sinks
}

// slicedLines returns the lines of the program in a slice.
func slicedLines(t *testing.T, trace, file string, line int, flags []string) map[int]bool {
	t.Helper()
	var report struct {
		Slices []struct {
			Statements []struct {
				File string
				Line int
			}
		}
	}
	args := append([]string{"slice", trace, "--at", fmt.Sprintf("%s:%d", file, line), "--format", "json", "--summary"}, flags...)
	text := hindsightText(t, args...)
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatal(err)
	}
	in := map[int]bool{}
	for _, s := range report.Slices[0].Statements {
		if filepath.Base(s.File) == file {
			in[s.Line] = true
		}
	}
	return in
}
