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
	"mpsim/steer":     {"mpsim", "analyze", "cdr", "tracefmt"},
	"mpsim/survey":    {"mpsim", "analyze", "tracefmt"},
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
	"tracefmt/codectest":        {},
}

// forTests are packages that only tests use. Tests of several top-level folders
// share some of them, so that no internal folder can hold those.
var forTests = []string{
	"analyze/internal/madeup", "analyze/internal/recorded", "analyze/internal/stopwatch", "analyze/slice/slicetest",
	"analyze/view/browser", "cdr/internal/madeup", "examples/cross", "mpsim/asm", "tracefmt/codectest",
}

// TestHelpersStayInTests: no command links what only tests use, and no package that
// is for use imports it.
func TestHelpersStayInTests(t *testing.T) {
	for _, pkg := range packages(t) {
		if slices.Contains(forTests, pkg.name) || strings.HasPrefix(pkg.name, "examples/") && pkg.command {
			continue // a command that builds examples may compile them as tests do
		}
		for _, imp := range pkg.imports {
			if slices.Contains(forTests, imp) {
				t.Errorf("%s imports %s, which is for tests", pkg.name, imp)
			}
		}
	}
}

// pkgInfo is a package of this module.
type pkgInfo struct {
	name    string
	command bool
	imports []string // of this module, without those of tests
}

// packages lists the packages of this module by name.
func packages(t *testing.T) (list []pkgInfo) {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Name,Imports", "hindsight/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var pkg struct {
			ImportPath, Name string
			Imports          []string
		}
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		info := pkgInfo{name: strings.TrimPrefix(pkg.ImportPath, "hindsight/"), command: pkg.Name == "main"}
		for _, imp := range pkg.Imports {
			if name, ours := strings.CutPrefix(imp, "hindsight/"); ours {
				info.imports = append(info.imports, name)
			}
		}
		list = append(list, info)
	}
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
	list := packages(t)
	for _, pkg := range list {
		layer, ok := layerOf(pkg.name)
		if !ok {
			t.Errorf("%s is in no row of the table of layers", pkg.name)
			continue
		}
		for _, imp := range pkg.imports {
			if !allowed(layer, imp) {
				t.Errorf("%s (layer %s) imports %s, which the table does not allow", pkg.name, layer, imp)
			}
		}
	}
	if len(list) < 10 {
		t.Errorf("go list showed only %d packages", len(list))
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
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9/]+)` \\| ").FindAllStringSubmatch(string(text), -1) {
		listed[row[1]] = true
	}
	for _, pkg := range packages(t) {
		if !listed[pkg.name] {
			t.Errorf("%s is not in the table of CONTRIBUTING.md", pkg.name)
		}
		delete(listed, pkg.name)
	}
	for name := range listed {
		t.Errorf("the table of CONTRIBUTING.md has %s, which is not a package", name)
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
