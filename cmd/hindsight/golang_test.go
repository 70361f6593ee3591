package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindsight/cmd/internal/cli"
	"hindsight/examples/golang"
	"hindsight/mpsim"
	"hindsight/mpsim/gorun"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
)

// racesOfGo runs a Go program and returns the races of the run.
func racesOfGo(t *testing.T, img *image.Space, name string, seed uint64, args ...string) (races []goRace) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.hst")
	r := &session.Run{
		Image: img, Program: name, Args: args, Policy: mpsim.Random, Seed: seed,
		Mode: "cdr", Keep: "all", Alphabet: "path", Out: file,
	}
	var out bytes.Buffer
	done, err := r.Record(t.Context(), session.Streams{Out: &out, Err: &out})
	if err != nil {
		t.Fatal(err)
	}
	if done.Status != 0 && !strings.Contains(out.String(), "fatal error: concurrent map") { // the runtime itself may find this
		t.Fatalf("%s ended with status %d: %s", name, done.Status, out.String())
	}
	var text bytes.Buffer
	f := racesFlags{memory: defaultAnalysisMemory, format: "json", atomics: "relaxed", color: "never", order: "hb", artifacts: "fold"}
	if _, err := f.report(t.Context(), cli.Streams{Out: &text, Err: &out}, file); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	var report struct{ Races []goRace }
	if err := json.Unmarshal(text.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	return report.Races
}

type goRace struct {
	ArtifactOf []string `json:"artifact_of"`
	Accesses   []struct {
		File  string
		Line  int
		Stack []struct{ Function, File string }
		Task  *struct {
			ID    int
			Stack []struct{ Function string }
		}
	}
}

// TestGalleryOfGo checks that the races of the gallery are reported at the lines that say
// so, and no others.
func TestGalleryOfGo(t *testing.T) {
	elf, err := golang.ELF()
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(elf)
	if err != nil {
		t.Fatal(err)
	}
	list, err := golang.Programs()
	if err != nil || len(list) < 20 {
		t.Fatalf("%d programs: %v", len(list), err)
	}
	for _, p := range list {
		t.Run(p.Name, func(t *testing.T) {
			races := racesOfGo(t, image.NewSpace(img.Main), p.Name, 1, p.Name)
			if p.Races != (len(races) > 0) {
				t.Errorf("%d races were reported", len(races))
			}
			for _, r := range races {
				if !slices.ContainsFunc(r.Accesses[0].Stack, func(f struct{ Function, File string }) bool { return f.File == p.File }) {
					t.Errorf("a race elsewhere: %+v", r)
				}
				for _, a := range r.Accesses {
					if a.File == p.File && !slices.Contains(p.Lines, a.Line) {
						t.Errorf("a race in line %d, not in one of %v", a.Line, p.Lines)
					}
					if a.Task == nil {
						t.Errorf("no goroutine: %+v", a)
					}
				}
			}
		})
	}
}

// TestGoLayout checks that the offsets of the runtime's structures are read from the
// debug information.
func TestGoLayout(t *testing.T) {
	elf, err := golang.ELF()
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(elf)
	if err != nil {
		t.Fatal(err)
	}
	found := img.Main.Members("runtime", "runtime.hchan", "runtime.g")
	for _, name := range []string{"runtime.hchan.qcount", "runtime.hchan.lock", "runtime.g.bubble"} {
		if _, ok := found[name]; !ok {
			t.Errorf("no %s in %v", name, found)
		}
	}
}

// buildGo compiles Go sources for the simulated machine.
func buildGo(t *testing.T, sources ...string) *image.Space {
	t.Helper()
	img, err := image.Load(goProgram(t, sources...))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// goProgram compiles Go sources for the simulated machine and returns the path of the
// program.
func goProgram(t *testing.T, sources ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", out}, sources...)...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=riscv64", "CGO_ENABLED=0", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	return out
}

// TestGoMemoryModel runs programs whose functions are named for what they do: every
// race_… must be reported, and no norace_….
func TestGoMemoryModel(t *testing.T) {
	for _, folder := range []string{"memorymodel", "pairs"} {
		t.Run(folder, func(t *testing.T) {
			sources, err := filepath.Glob("testdata/golang/" + folder + "/*.go")
			if err != nil {
				t.Fatal(err)
			}
			testMemoryModel(t, sources)
		})
	}
}

func testMemoryModel(t *testing.T, sources []string) {
	img := buildGo(t, sources...)
	if note := gorun.Unchecked(img.Main); note != "" {
		t.Error(note)
	}
	testTrampolines(t, img.Main)
	racy := map[string]bool{} // by function
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			name, ok := strings.CutPrefix(line, "func ")
			name, _, _ = strings.Cut(name, "(")
			if ok && strings.Contains(name, "race_") {
				racy[name] = strings.HasPrefix(name, "race_")
			}
		}
	}
	if len(racy) < 20 {
		t.Errorf("%d functions in %v", len(racy), sources)
	}
	for _, seed := range []uint64{1, 2} {
		found := map[string]bool{}
		for _, r := range racesOfGo(t, image.NewSpace(img.Main), "program", seed) {
			for name := range r.functions() {
				found[name] = true
			}
		}
		for name, racy := range racy {
			if racy != found[name] {
				t.Errorf("seed %d: %s: reported: %v", seed, name, found[name])
			}
		}
	}
}

// testTrampolines checks that a linker's jump to a function of the runtime counts as the
// runtime's code, whatever package surrounds it, and is not hooked.
func testTrampolines(t *testing.T, img *image.Image) {
	k, hooked := gorun.New(img)
	for _, s := range img.Symbols() {
		name, _, jumps := strings.Cut(s.Name, "-tramp")
		if _, ok := hooked[s.Addr]; ok && jumps {
			t.Errorf("%s is hooked", s.Name)
		}
		to, _ := img.Lookup(name)
		if got, want := k.Code(s.Addr), k.Code(to.Addr); jumps && got != want {
			t.Errorf("%s is recorded as %v, %s as %v", s.Name, got, name, want)
		}
	}
}

// functions returns the functions of package main, named like tests, that contain the
// race or whose goroutines race.
func (r *goRace) functions() map[string]bool {
	names := map[string]bool{}
	add := func(function string) {
		name, ok := strings.CutPrefix(function, "main.")
		name, _, _ = strings.Cut(name, ".")
		if ok && strings.Contains(name, "race_") {
			names[name] = true
		}
	}
	for _, a := range r.Accesses {
		for _, f := range a.Stack {
			add(f.Function)
		}
		if a.Task != nil {
			for _, f := range a.Task.Stack {
				add(f.Function)
			}
		}
	}
	return names
}

// TestGoTest compares the tests of a module, and the status, with go test -race.
func TestGoTest(t *testing.T) {
	t.Chdir("testdata/golang/module")
	for _, step := range []struct {
		args []string
		want []string
		fail bool
	}{
		{[]string{"test", "-run", "TestSafe", "-v", "."}, []string{"=== RUN   TestSafe", "--- PASS: TestSafe", "ok  \texample.com/counter"}, false},
		{[]string{"test", "-run", "TestBubbleOrder", "."}, []string{"ok  \texample.com/counter"}, false},
		{[]string{"test", "-run", "TestBubbleRace", "."}, []string{"--- FAIL: TestBubbleRace", "bubble_test.go:38"}, true},
		{[]string{"test", "--together", "-v", "-run", "Safe", "."}, []string{"=== RUN   TestSafe\n", "--- PASS: TestSafe", "PASS\nok  "}, false},
		{[]string{"test", "--together", "."}, []string{"--- FAIL: TestUnsafe (0.00s)\n    race detected during execution of test, seed 1: R", "--- FAIL: TestBubbleRace ("}, true},
		{[]string{"test", "-json", "-run", "TestSafe", "."}, []string{`"Action":"pass","Package":"example.com/counter","Test":"TestSafe"`}, false},
		{[]string{"test", "-json", "-run", "safe$", "."}, []string{`"Test":"TestUnsafe","Output":"WARNING: hindsight: data race`,
			`"Action":"fail","Package":"example.com/counter","Test":"TestUnsafe"`, `"Action":"fail","Package":"example.com/counter","Elapsed"`}, true},
		{[]string{"test", "-timeout", "1ns", "-run", "Safe", "."}, []string{"FAIL\texample.com/counter"}, true},
		{[]string{"test", "-run", "safe$", "."}, []string{"--- FAIL: TestUnsafe (", "s)\n    race detected during execution of test", "goroutine", "FAIL\texample.com/counter"}, true},
	} {
		g, err := parseGo(step.args)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		g.std = cli.Streams{Out: &out, Err: &out}
		err = g.test(context.WithoutCancel(t.Context()))
		if (err != nil) != step.fail {
			t.Errorf("%v: %v\n%s", step.args, err, out.String())
		}
		for _, want := range step.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%v: no %q in\n%s", step.args, want, out.String())
			}
		}
	}
}
