package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoSlice: a backward slice of a Go program goes through interfaces, closures,
// deferred functions, and from a panic to where it was recovered.
func TestGoSlice(t *testing.T) {
	const source = "testdata/golang/values/main.go"
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program, trace := filepath.Join(dir, "values"), filepath.Join(dir, "values.hst")
	img := buildGo(t, "-gcflags=-N -l", source)
	if err := os.WriteFile(program, img.Main.Data, 0o600); err != nil {
		t.Fatal(err)
	}
	hindsight(t, 0, "run", "--record", "wet", "-o", trace, program)
	slice := hindsight(t, 0, "slice", trace, "--at", "main.go:22", "--deps", "data")
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		code, comment, ok := strings.Cut(strings.TrimSpace(line), " // ")
		if !ok || strings.HasPrefix(line, "//") {
			continue
		}
		if n == 22 && comment != "result" {
			t.Fatalf("line 22 is %s", code)
		}
		if !strings.Contains(slice, code) {
			t.Errorf("the slice has no line %d, %s", n, comment)
		}
	}
	if strings.Contains(slice, "println(unused)") {
		t.Error("the slice has println(unused)")
	}
	if t.Failed() {
		t.Log(slice)
	}
}
