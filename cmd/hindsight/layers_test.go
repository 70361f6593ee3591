package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers says which packages of this module a package may import, by folder;
// the longest prefix counts. A folder may always import what lies below
// itself, unless it is a leaf.
var layers = map[string][]string{
	"tracefmt/event":  {},
	"tracefmt":        {"tracefmt"},
	"wpp":             {"tracefmt/wire"},
	"wpp/cfg":         {"wpp", "mpsim/rv", "mpsim/image", "tracefmt/event"},
	"cdr":             {"tracefmt", "wpp", "wpp/cfg", "mpsim/image"},
	"wet":             {"tracefmt", "wpp", "wpp/cfg", "mpsim/rv", "mpsim/image"},
	"mpsim":           {"tracefmt/event", "mpsim"},
	"mpsim/arch":      {"tracefmt/event", "tracefmt/archinfo"},
	"mpsim/toolchain": {},
	"mpsim/session":   {"mpsim", "cdr", "wet", "tracefmt", "wpp", "wpp/cfg"},
	"mpsim/witness":   {"mpsim", "analyze", "cdr", "tracefmt"},
	"mpsim/debug":     {"mpsim", "tracefmt/event", "tracefmt/numtext"},
	"mpsim/gdbstub":   {"mpsim", "tracefmt/event"},
	"mpsim/raw":       {"tracefmt/event", "tracefmt/rawtrace", "mpsim"},
	"analyze/replay":  {"analyze/hb", "analyze/place", "cdr", "tracefmt/event", "mpsim/image", "mpsim/intent"},
	"analyze":         {"analyze", "cdr", "wet", "wpp", "wpp/cfg", "tracefmt", "tracefmt/numtext", "mpsim/image", "mpsim/intent", "mpsim/rv", "mpsim/eval"},
	"examples":        {"examples"},

	// The rooms of traces.
	"cdr/format":          {"cdr/synclog", "mpsim/image", "tracefmt", "wpp", "wpp/cfg"},
	"cdr/fold":            {"cdr/format", "tracefmt", "wpp"},
	"cdr/recorder":        {"cdr/format", "cdr/synclog", "tracefmt", "wpp", "wpp/cfg"},
	"cdr/synclog":         {"tracefmt", "wpp"},
	"cdr/internal/madeup": {"tracefmt/event", "wpp/cfg"},

	// The rooms of the race analysis.
	"analyze/race/internal/pass":    {"analyze/hb", "analyze/replay", "tracefmt/event"},
	"analyze/race/internal/sieve":   {"analyze/race/internal/pass", "analyze/internal/layer", "analyze/replay", "cdr/fold", "tracefmt/event"},
	"analyze/race/internal/count":   {"analyze/race/internal/pass", "analyze/replay", "tracefmt/event"},
	"analyze/race/internal/resolve": {"analyze/race/internal/count", "analyze/race/internal/pass", "analyze/replay", "tracefmt/event"},

	"examples/real":   {"tracefmt/numtext"},
	"cmd/internal":    {"tracefmt", "wpp", "wpp/cfg", "cdr", "cmd/internal"},
	"cmd/papertables": {"tracefmt", "wpp", "wpp/cfg", "cdr", "wet", "mpsim", "analyze", "examples", "cmd/internal"},
	"cmd/hindsight":   {"tracefmt", "wpp", "wpp/cfg", "cdr", "wet", "mpsim", "analyze", "examples", "cmd/internal", "cmd/hindsight"},

	// For tests.
	"analyze/internal/recorded": {"cdr", "examples", "mpsim", "tracefmt/event"},
}

func layerOf(pkg string) (string, bool) {
	for p := pkg; p != "."; {
		if _, ok := layers[p]; ok {
			return p, true
		}
		i := strings.LastIndexByte(p, '/')
		if i < 0 {
			break
		}
		p = p[:i]
	}
	return "", false
}

func allowed(layer, imported string) bool {
	if imported == layer || strings.HasPrefix(imported, layer+"/") && len(layers[layer]) > 0 && layer != "wpp" {
		return true
	}
	return slices.ContainsFunc(layers[layer], func(p string) bool {
		if p == "wpp" { // wpp/cfg has a row of its own
			return imported == "wpp"
		}
		return imported == p || strings.HasPrefix(imported, p+"/")
	})
}

// TestLayers checks the import direction of DESIGN: left of the trace file
// nothing knows about analysis, right of it nothing links the simulator.
func TestLayers(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "hindsight/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen++
		name := strings.TrimPrefix(pkg.ImportPath, "hindsight/")
		layer, ok := layerOf(name)
		if !ok {
			t.Errorf("%s is in no row of the table of layers", name)
			continue
		}
		for _, imp := range pkg.Imports {
			target, ours := strings.CutPrefix(imp, "hindsight/")
			if ours && !allowed(layer, target) {
				t.Errorf("%s (layer %s) imports %s", name, layer, target)
			}
		}
	}
	if seen < 10 {
		t.Errorf("go list showed %d packages only", seen)
	}
}

// TestWithoutPlots: drawings are for papertables; hindsight itself links nothing
// of them.
func TestWithoutPlots(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "hindsight/cmd/hindsight").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for pkg := range strings.Lines(string(out)) {
		if strings.HasPrefix(pkg, "gonum.org/v1/plot") {
			t.Errorf("cmd/hindsight links %s", strings.TrimSpace(pkg))
		}
	}
}

// TestFolders: the table in CONTRIBUTING has exactly the packages of this module.
func TestFolders(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "list", "hindsight/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9/]+)` \\| ").FindAllStringSubmatch(string(text), -1) {
		listed[row[1]] = true
	}
	for _, pkg := range strings.Fields(string(out)) {
		name := strings.TrimPrefix(pkg, "hindsight/")
		if !listed[name] {
			t.Errorf("%s is not in the table of CONTRIBUTING.md", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("CONTRIBUTING.md has %s, which is no package", name)
	}
}

// TestAnalysisLinksNoSimulator: whoever reads traces does not link what makes
// them.
func TestAnalysisLinksNoSimulator(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "hindsight/analyze").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, pkg := range strings.Fields(string(out)) {
		switch pkg {
		case "hindsight/mpsim", "hindsight/mpsim/linux", "hindsight/mpsim/session", "hindsight/mpsim/mem":
			t.Errorf("analyze links %s", pkg)
		}
	}
}
