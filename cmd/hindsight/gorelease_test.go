package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/cmd/internal/cli"
	"hindsight/examples/golang"
	"hindsight/mpsim/gorun"
	"hindsight/mpsim/image"
)

// TestUnknownGoRelease checks that hindsight warns about a release that has not been
// checked, and runs its programs all the same.
func TestUnknownGoRelease(t *testing.T) {
	elf, err := golang.ELF()
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(elf)
	if err != nil {
		t.Fatal(err)
	}
	release := img.Main.Go()
	if note := gorun.Unchecked(img.Main); note != "" {
		t.Errorf("the gallery's release: %s", note)
	}
	major, rest, _ := strings.Cut(release, ".")
	unknown := major + ".9" + rest[1:] // a version of the same length
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, bytes.ReplaceAll(elf, []byte(release), []byte(unknown)), 0o600); err != nil {
		t.Fatal(err)
	}
	var notes bytes.Buffer
	p, err := loadGo(cli.Streams{Err: &notes}, file)
	if err != nil {
		t.Fatal(err)
	}
	if want := "the program was built by " + unknown; !strings.Contains(notes.String(), want) {
		t.Errorf("no %q in %q", want, notes.String())
	}
	if races := racesOfGo(t, p.Image, "program", 1, "race_go_map"); len(races) == 0 {
		t.Error("no race was reported")
	}
	if races := racesOfGo(t, image.NewSpace(p.Image.Main), "program", 1, "norace_go_map"); len(races) > 0 {
		t.Errorf("%d races were reported", len(races))
	}
}

// previousGo is the release before the one in go.mod, and previousRelease is one of its
// minor releases.
const (
	previousGo      = "1.25"
	previousRelease = "go1.25.0"
)

// TestPreviousGoRelease builds the programs of the memory model with the previous
// release, as far as it can build them. Without that toolchain, and without a module
// proxy that has it, there is nothing to test.
func TestPreviousGoRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches a toolchain")
	}
	text, err := os.ReadFile("testdata/golang/memorymodel/main.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	for file, text := range map[string]string{source: string(text), filepath.Join(dir, "go.mod"): "module memorymodel\n\ngo " + previousGo + "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "version")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+previousRelease)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no toolchain %s: %v\n%s", previousRelease, err, text)
	}
	t.Setenv("GOTOOLCHAIN", previousRelease)
	t.Chdir(dir)
	testMemoryModel(t, []string{"main.go"})
}
