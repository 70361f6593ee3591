package main

import (
	"bytes"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestInputs: inputs are the same each time, and of the sizes that their headers say.
func TestInputs(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		if err := writeInputs(dir); err != nil {
			t.Fatal(err)
		}
	}
	count := 0
	err := fs.WalkDir(os.DirFS(a), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		count++
		x, err := fs.ReadFile(os.DirFS(a), name)
		if err != nil {
			return err
		}
		if y, err := fs.ReadFile(os.DirFS(b), name); err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs: %v", name, err)
		}
		return nil
	})
	if err != nil || count < 4 {
		t.Fatalf("%d inputs, %v", count, err)
	}
	frame := videoWidth * videoHeight * 3 / 2
	if _, rest, ok := bytes.Cut(video(), []byte("\n")); !ok || len(rest) != videoFrames*(frame+len("FRAME\n")) {
		t.Errorf("%d bytes of frames", len(rest))
	}
	if n := strings.Count(string(alignment()), ">"); n != taxa {
		t.Errorf("%d sequences", n)
	}
}

// TestPrograms: names are different, and every driver that a script names is there.
func TestPrograms(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range programs {
		if seen[p.name] || len(p.packages) == 0 && !p.rust || len(p.runs) == 0 {
			t.Errorf("%s: twice, or without packages or runs", p.name)
		}
		seen[p.name] = true
		if strings.Contains(p.build, "drivers/") && driversOf(p.build) == "" {
			t.Errorf("%s: its driver is not there", p.name)
		}
	}
	p := program{anyOrder: true}
	if !bytes.Equal(p.comparable([]byte("b\na\n")), p.comparable([]byte("a\nb\n"))) {
		t.Error("the order of lines counts")
	}
}
