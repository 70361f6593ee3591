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

// layers says which packages of this module a package may import. "x/..." stands for x
// and all packages below it. Below cmd and examples the longest prefix counts. Everywhere
// else each package has its own row, so that a new import is a conscious decision.
var layers = map[string][]string{
	// The trace file and its codecs.
	"tracefmt":           {"tracefmt/wire"},
	"tracefmt/app":       {"tracefmt/rangecode", "tracefmt/wire"},
	"tracefmt/archinfo":  {"tracefmt/event", "tracefmt/rangecode", "tracefmt/wire"},
	"tracefmt/buildinfo": {},
	"tracefmt/codectest": {},
	"tracefmt/event":     {},
	"tracefmt/ldr":       {"tracefmt/wire"},
	"tracefmt/numtext":   {},
	"tracefmt/outfile":   {},
	"tracefmt/packed":    {"tracefmt/wire"},
	"tracefmt/rangecode": {},
	"tracefmt/rawtrace":  {},
	"tracefmt/vpc3":      {"tracefmt/rangecode", "tracefmt/wire"},
	"tracefmt/wire":      {},

	// Grammars and static control flow.
	"wpp":     {"tracefmt/wire"},
	"wpp/cfg": {"mpsim/image", "mpsim/rv", "tracefmt/event"},

	// Traces.
	"cdr":                 {"cdr/fold", "cdr/format", "cdr/recorder", "cdr/synclog", "mpsim/image", "mpsim/intent", "tracefmt/...", "wpp", "wpp/cfg"},
	"cdr/fold":            {"cdr/format", "tracefmt", "wpp"},
	"cdr/format":          {"cdr/synclog", "mpsim/image", "tracefmt/...", "wpp", "wpp/cfg"},
	"cdr/internal/madeup": {"tracefmt/event", "wpp/cfg"},
	"cdr/recorder":        {"cdr/format", "cdr/synclog", "tracefmt/...", "wpp", "wpp/cfg"},
	"cdr/synclog":         {"tracefmt/..."},

	// Whole execution traces.
	"wet":        {"mpsim/rv", "tracefmt/...", "wet/stream", "wpp/cfg"},
	"wet/stream": {"tracefmt/wire"},

	// The machine. Only session and its clients use the recorders.
	"mpsim":           {"mpsim/eval", "mpsim/fpu", "mpsim/image", "mpsim/intent", "mpsim/linux", "mpsim/linux/vfs", "mpsim/mem", "mpsim/rewind", "mpsim/rv", "mpsim/schedule", "tracefmt/event"},
	"mpsim/arch":      {"tracefmt/archinfo", "tracefmt/event"},
	"mpsim/asm":       {"mpsim/eval", "mpsim/rv"},
	"mpsim/confirm":   {"mpsim", "mpsim/image", "mpsim/linux", "mpsim/mem", "mpsim/schedule", "tracefmt/event"},
	"mpsim/coverage":  {"tracefmt/event"},
	"mpsim/dap":       {"mpsim", "mpsim/debug", "mpsim/mem", "tracefmt/event"},
	"mpsim/debug":     {"mpsim", "mpsim/image", "mpsim/linux", "mpsim/mem", "tracefmt/event", "tracefmt/numtext"},
	"mpsim/eval":      {"mpsim/fpu", "mpsim/rv"},
	"mpsim/fpu":       {},
	"mpsim/gdbstub":   {"mpsim", "mpsim/debug", "mpsim/mem", "tracefmt/event"},
	"mpsim/gobuild":   {"analyze/report", "cdr/recorder", "mpsim", "mpsim/gorun", "mpsim/image", "mpsim/linux/vfs", "mpsim/session", "wpp/cfg"},
	"mpsim/gorun":     {"mpsim", "mpsim/image", "tracefmt/event"},
	"mpsim/hook":      {"mpsim", "mpsim/image", "tracefmt/event"},
	"mpsim/image":     {},
	"mpsim/intent":    {"mpsim/image", "mpsim/rv", "tracefmt/event"},
	"mpsim/linux":     {"mpsim/image", "mpsim/linux/vfs", "mpsim/mem", "tracefmt/event"},
	"mpsim/linux/vfs": {"mpsim/mem"},
	"mpsim/mem":       {},
	"mpsim/minimize":  {"mpsim", "mpsim/eval", "mpsim/image", "mpsim/rv", "mpsim/schedule", "tracefmt/event"},
	"mpsim/raw":       {"mpsim/rv", "tracefmt/event", "tracefmt/rawtrace"},
	"mpsim/rewind":    {},
	"mpsim/rv":        {"tracefmt/event"},
	"mpsim/schedule":  {"tracefmt/event"},
	"mpsim/session":   {"cdr/...", "mpsim", "mpsim/arch", "mpsim/coverage", "mpsim/debug", "mpsim/eval", "mpsim/gorun", "mpsim/hook", "mpsim/image", "mpsim/intent", "mpsim/linux", "mpsim/linux/vfs", "mpsim/rv", "mpsim/schedule", "mpsim/toolchain", "tracefmt/...", "wet", "wpp/cfg"},
	"mpsim/steer":     {"analyze", "analyze/report", "cdr", "cdr/format", "mpsim", "mpsim/confirm", "mpsim/debug", "mpsim/image", "mpsim/linux", "mpsim/minimize", "mpsim/schedule", "mpsim/session", "tracefmt/..."},
	"mpsim/suite":     {"analyze/report", "mpsim", "mpsim/session", "mpsim/steer", "mpsim/survey", "tracefmt/buildinfo", "tracefmt/numtext", "tracefmt/outfile"},
	"mpsim/survey":    {"analyze", "analyze/report", "mpsim", "mpsim/coverage", "mpsim/image", "mpsim/linux", "mpsim/mem", "mpsim/session", "mpsim/steer", "mpsim/witness", "tracefmt/buildinfo", "tracefmt/numtext", "tracefmt/outfile"},
	"mpsim/toolchain": {},
	"mpsim/witness":   {"analyze/order", "analyze/predict", "analyze/race", "analyze/replay", "analyze/report", "cdr", "mpsim", "mpsim/confirm", "mpsim/image", "mpsim/schedule", "mpsim/session", "tracefmt/event"},

	// The analysis. It does not link the simulator, only packages that name code and
	// compute values.
	"analyze":                       {"analyze/annotate", "analyze/artifact", "analyze/contention", "analyze/local", "analyze/order", "analyze/place", "analyze/predict", "analyze/race", "analyze/replay", "analyze/report", "analyze/rerun", "analyze/sharing", "analyze/slice", "analyze/std", "analyze/vtable", "analyze/written", "cdr", "cdr/format", "mpsim/eval", "mpsim/image", "tracefmt/...", "wet", "wpp/cfg"},
	"analyze/annotate":              {"analyze/internal/jsonform", "analyze/slice", "mpsim/image", "mpsim/rv", "tracefmt/event", "tracefmt/numtext", "wet"},
	"analyze/artifact":              {"analyze/hb", "analyze/place", "analyze/race", "analyze/replay", "cdr/...", "mpsim/image", "mpsim/rv", "tracefmt/event", "wpp", "wpp/cfg"},
	"analyze/contention":            {"analyze/internal/jsonform", "analyze/place", "analyze/replay", "analyze/timeline", "mpsim/image", "tracefmt/event", "tracefmt/numtext"},
	"analyze/export":                {"analyze", "analyze/export/perfetto", "analyze/export/profile", "analyze/report", "analyze/std", "analyze/timeline", "cdr", "cdr/format", "mpsim/image"},
	"analyze/export/perfetto":       {"analyze/timeline", "cdr", "tracefmt/event"},
	"analyze/export/profile":        {"analyze/replay", "analyze/timeline", "cdr", "mpsim/image", "tracefmt/archinfo", "tracefmt/event"},
	"analyze/hb":                    {"tracefmt/event"},
	"analyze/internal/jsonform":     {},
	"analyze/internal/layer":        {"tracefmt/event"},
	"analyze/internal/madeup":       {"analyze/replay", "cdr", "cdr/format", "tracefmt/event"},
	"analyze/internal/recorded":     {"cdr/...", "examples", "mpsim", "mpsim/hook", "mpsim/image", "tracefmt/event"},
	"analyze/internal/stopwatch":    {},
	"analyze/local":                 {"analyze/artifact", "analyze/replay", "cdr", "mpsim/image", "mpsim/rv", "tracefmt/event"},
	"analyze/order":                 {"analyze/hb", "analyze/internal/layer", "analyze/place", "analyze/race", "analyze/replay", "cdr/...", "tracefmt/event"},
	"analyze/place":                 {"tracefmt/event"},
	"analyze/predict":               {"analyze/hb", "analyze/order", "analyze/race", "analyze/replay", "cdr", "cdr/format", "tracefmt/event"},
	"analyze/race":                  {"analyze/hb", "analyze/place", "analyze/race/internal/count", "analyze/race/internal/pass", "analyze/race/internal/resolve", "analyze/race/internal/sieve", "analyze/replay", "cdr/fold", "tracefmt/event"},
	"analyze/race/internal/count":   {"analyze/race/internal/pass", "analyze/replay", "tracefmt/event"},
	"analyze/race/internal/pass":    {"analyze/hb", "analyze/replay", "tracefmt/event"},
	"analyze/race/internal/resolve": {"analyze/race/internal/count", "analyze/race/internal/pass", "analyze/replay", "tracefmt/event"},
	"analyze/race/internal/sieve":   {"analyze/internal/layer", "analyze/race/internal/pass", "analyze/replay", "cdr/fold"},
	"analyze/replay":                {"analyze/hb", "analyze/place", "cdr/...", "mpsim/image", "mpsim/intent", "tracefmt/event"},
	"analyze/report":                {"analyze/artifact", "analyze/hb", "analyze/internal/jsonform", "analyze/local", "analyze/place", "analyze/predict", "analyze/race", "analyze/replay", "analyze/slice", "analyze/written", "cdr/format", "mpsim/image", "tracefmt/event", "tracefmt/numtext"},
	"analyze/rerun":                 {"analyze/predict", "analyze/race", "analyze/report", "cdr", "tracefmt/event"},
	"analyze/sharing":               {"analyze/internal/jsonform", "analyze/place", "analyze/replay", "cdr", "cdr/format", "mpsim/image", "tracefmt/..."},
	"analyze/slice":                 {"mpsim/image", "mpsim/rv", "tracefmt/event", "wet", "wpp/cfg"},
	"analyze/slice/slicetest":       {"analyze/slice", "mpsim/image", "mpsim/rv", "tracefmt/event", "wet", "wpp/cfg"},
	"analyze/std":                   {"analyze/hb", "analyze/place", "analyze/replay", "cdr/...", "mpsim/image", "tracefmt/..."},
	"analyze/timeline":              {"analyze/race", "analyze/replay", "cdr", "cdr/format", "tracefmt/event"},
	"analyze/view":                  {"analyze", "analyze/annotate", "analyze/contention", "analyze/report", "analyze/sharing", "analyze/slice", "analyze/std", "analyze/timeline", "cdr", "cdr/format", "mpsim/image", "tracefmt/..."},
	"analyze/view/browser":          {},
	"analyze/vtable":                {"analyze/race", "cdr", "cdr/format", "mpsim/image", "mpsim/rv", "tracefmt/event"},
	"analyze/written":               {"analyze/artifact", "analyze/local", "cdr/format", "mpsim/image", "mpsim/rv", "tracefmt/event"},

	// Examples, and the programs that build them.
	"examples":       {"examples/..."},
	"examples/cross": {"examples", "mpsim/image"},
	"examples/real":  {"tracefmt/numtext"},

	// Commands.
	"cmd/internal":    {"cdr/...", "cmd/internal/...", "tracefmt/...", "wpp", "wpp/cfg"},
	"cmd/papertables": {"analyze/...", "cdr/...", "cmd/internal/...", "examples/...", "mpsim/...", "tracefmt/...", "wet/...", "wpp", "wpp/cfg"},
	"cmd/hindsight":   {"analyze/...", "cdr/...", "cmd/hindsight/...", "cmd/internal/...", "examples/...", "mpsim/...", "tracefmt/...", "wet/...", "wpp", "wpp/cfg"},
}

// forTests are packages that only tests use. Tests of several top-level folders share
// some of them, so no internal folder can contain those.
var forTests = []string{
	"analyze/internal/madeup", "analyze/internal/recorded", "analyze/internal/stopwatch", "analyze/slice/slicetest",
	"analyze/view/browser", "cdr/internal/madeup", "examples/cross", "mpsim/asm", "tracefmt/codectest",
}

// TestHelpersStayInTests checks that no command links packages for tests, and that no
// other package imports one.
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

// layerOf returns the row of a package.
func layerOf(pkg string) (row string, ok bool) {
	row = pkg
	for {
		if _, ok := layers[row]; ok {
			return row, true
		}
		i := strings.LastIndexByte(row, '/')
		if i < 0 || !strings.HasPrefix(pkg, "cmd/") && !strings.HasPrefix(pkg, "examples/") {
			return "", false
		}
		row = row[:i]
	}
}

// allowed reports whether the packages of a row may import a package.
func allowed(row, imported string) bool {
	return slices.ContainsFunc(layers[row], func(p string) bool {
		if folder, all := strings.CutSuffix(p, "/..."); all {
			return imported == folder || strings.HasPrefix(imported, folder+"/")
		}
		return imported == p
	})
}

// TestLayers checks the direction of imports: what writes the trace file does not know
// about analysis, and what reads it does not link the simulator.
func TestLayers(t *testing.T) {
	list, used := packages(t), map[string]bool{}
	for _, pkg := range list {
		layer, ok := layerOf(pkg.name)
		if !ok {
			t.Errorf("%s has no row in the table of layers", pkg.name)
			continue
		}
		used[layer] = true
		for _, imp := range pkg.imports {
			if !allowed(layer, imp) {
				t.Errorf("%s imports %s, which its row %s does not allow", pkg.name, imp, layer)
			}
		}
	}
	for row := range layers {
		if !used[row] {
			t.Errorf("the row %s is of no package", row)
		}
	}
	if len(list) < 10 {
		t.Errorf("go list showed only %d packages", len(list))
	}
}

// TestWithoutPlots checks that only papertables links the plotting packages, and
// hindsight does not.
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

// TestFolders checks that the table in CONTRIBUTING has exactly the packages of this
// module.
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

// TestAnalysisLinksNoSimulator checks that packages that read traces do not link packages
// that write them.
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
