package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/analyze/report"
	"hindsight/cdr"
	"hindsight/cdr/recorder"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
)

var update = flag.Bool("update", false, "write the generated files anew")

// syncGroup is a source file of twins in examples/sync.
type syncGroup struct {
	File  string
	Title string
	Flags []string
}

var syncGroups = []syncGroup{
	{"buffers.c", "C: library functions on shared buffers, POSIX and C11 threads", nil},
	{"atomics.cc", "Home-made synchronisation on atomics", nil},
	{"atomics_bytes.c", "Atomics of C: bytes and neighbours, lives, mixed accesses", nil},
	{"builtins.c", "Atomic builtin functions on bytes", nil},
	{"signals.c", "Signals, and calls that fail", nil},
	{"kernel.c", "Kernel objects, and the memory that system calls touch", nil},
	{"hidden.c", "What synchronises inside the C library, and whose objects and memory these are", nil},
	{"hidden_cxx.cc", "C++: what synchronises inside the library", nil},
	{"cxx_locks.cc", "C++: threads and locks", nil},
	{"cxx_library.cc", "C++: the rest of the library", nil},
	{"omp.c", "OpenMP: teams, work sharing, locks", []string{"-fopenmp"}},
	{"omp_tasks.c", "OpenMP: tasks", []string{"-fopenmp"}},
	{"omp_depend.c", "OpenMP: dependences, events, task loops", []string{"-fopenmp"}},
	{"omp_cxx.cc", "OpenMP in C++", []string{"-fopenmp"}},
	{"omp_fortran.f90", "OpenMP in Fortran", []string{"-fopenmp"}},
	{"omp_source.c", "OpenMP: what only the source text shows", []string{"-fopenmp"}},
	{"omp_more.c", "OpenMP: more forms of teams, loops, reductions", []string{"-fopenmp"}},
	{"omp_teams.c", "OpenMP: teams and target regions on the host", []string{"-fopenmp"}},
}

// syncFailing are the twins known to get the wrong verdict, with the reason. If one gets
// the right verdict, the test fails, so that it is removed from the list.
var syncFailing = map[string]string{
	"omp_more.c/norace_flush_forms": "at -O2 a relaxed atomic read is an ordinary load, here far from the fence after it",
}

// syncLibrary are the variables of the C library that twins race on.
var syncLibrary = map[string]string{"strtok": "olds", "localtime": "_tmbuf", "drand48": "__libc_drand48_data", "unsynced": "__gnu_internal::buf_cout"}

// syncLevels are the levels of optimisation at which each twin must get the
// right verdict.
var syncLevels = []string{"-O0", "-O2"}

// syncSeeds is the number of schedules under which each twin runs. A correct twin must be
// clean under each, and a broken one must be found under at least one.
const syncSeeds = 3

// syncPair is a pair of twins.
type syncPair struct {
	Name, Construct string
}

var pairLine = regexp.MustCompile(`(?m)^!?(?:PAIR\((\w+), "([^"]*)"\)|SCHEDULE\((\w+), (.*)\))`)

// syncPairs reads the pairs of a source file.
func syncPairs(t *testing.T, file string) []syncPair {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(syncDir, file))
	if err != nil {
		t.Fatal(err)
	}
	var pairs []syncPair
	for _, m := range pairLine.FindAllStringSubmatch(string(src), -1) {
		if m[3] != "" {
			m[1], m[2] = "schedule_"+m[3], "for schedule("+strings.ReplaceAll(m[4], " COMMA", ",")+")"
		}
		pairs = append(pairs, syncPair{m[1], m[2]})
	}
	return pairs
}

var syncDir = filepath.Join("..", "..", "examples", "sync")

// TestSyncTable runs the twins of examples/sync, one construct each, and compares the
// verdicts with the expected ones and with docs/sync-constructs.md.
func TestSyncTable(t *testing.T) {
	if !cross.Long() {
		t.Skip("runs several hundred small programs: set HINDSIGHT_LONG=1")
	}
	needTools(t, cross.Compiler, "riscv64-linux-gnu-g++", qemu)
	dir := t.TempDir()
	var mu sync.Mutex
	verdicts := map[string]string{} // by name of the twin
	t.Run("run", func(t *testing.T) {
		for _, g := range syncGroups {
			t.Run(g.File, func(t *testing.T) {
				t.Parallel()
				var builds []syncBuild
				for _, level := range syncLevels {
					builds = append(builds, g.build(t, dir, level, "-static"))
				}
				for _, p := range syncPairs(t, g.File) {
					for _, broken := range []bool{false, true} {
						twin := "norace_" + p.Name
						if broken {
							twin = "race_" + p.Name
						}
						reason, failing := syncFailing[g.File+"/"+twin]
						name := twin
						if failing {
							name += "_failing"
						}
						t.Run(name, func(t *testing.T) {
							t.Parallel()
							verdict, err := checkTwin(t.Context(), builds, p, broken)
							switch {
							case err != nil && !failing:
								t.Error(err)
							case err == nil && failing:
								t.Errorf("gets the right verdict now; take it off the list (%s)", reason)
							}
							if err != nil {
								verdict = "**wrong**"
								if failing {
									verdict += ": " + reason
								}
							}
							mu.Lock()
							defer mu.Unlock()
							verdicts[g.File+"/"+twin] = verdict
						})
					}
				}
			})
		}
	})
	if !t.Failed() {
		checkSyncDoc(t, verdicts)
	}
}

// syncBuild is a group compiled at one level of optimisation.
type syncBuild struct {
	level, program string
	img            *image.Space
	packed         recorder.PackedImage // compressed once for all runs
	// Of a dynamically linked group:
	files   session.Files
	objects *recorder.PackedObjects
}

// build compiles a group.
func (g syncGroup) build(t *testing.T, dir, level string, linking ...string) syncBuild {
	t.Helper()
	out := filepath.Join(dir, strings.ReplaceAll(g.File, ".", "_")+level)
	compiler, args := "riscv64-linux-gnu-gcc", []string{"-std=gnu17"}
	switch filepath.Ext(g.File) {
	case ".cc":
		compiler, args = "riscv64-linux-gnu-g++", []string{"-std=c++20"}
	case ".f90":
		compiler, args = "riscv64-linux-gnu-gfortran", []string{"-J", dir}
	}
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skip(err) // not every toolchain has a Fortran compiler
	}
	args = append(append(args, linking...), level, "-g", "-pthread", "-o", out)
	args = append(append(args, g.Flags...), filepath.Join(syncDir, g.File))
	if msg, err := exec.CommandContext(t.Context(), compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", g.File, err, msg)
	}
	img, err := image.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	session.ReadSources(img, out)
	packed, err := recorder.PackImage(img.Main.Data)
	if err != nil {
		t.Fatal(err)
	}
	files, err := session.FilesFor(img, out, "")
	if err != nil {
		t.Fatal(err)
	}
	return syncBuild{level, out, img, packed, files, new(recorder.PackedObjects)}
}

// checkTwin runs a twin at each level of optimisation and returns the verdict for the
// table. The error says what is wrong with it.
func checkTwin(ctx context.Context, builds []syncBuild, p syncPair, broken bool) (string, error) {
	all := map[string]bool{}
	for _, b := range builds {
		found, err := b.checkTwin(ctx, p, broken)
		if err != nil {
			return "", fmt.Errorf("at %s: %w", b.level, err)
		}
		maps.Copy(all, found)
	}
	if !broken {
		return "clean", nil
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		names = append(names, "`"+name+"`")
	}
	return "race on " + strings.Join(names, ", "), nil
}

// checkTwin runs a twin under each seed until it finds a race, and returns the racing
// variables.
func (b syncBuild) checkTwin(ctx context.Context, p syncPair, broken bool) (map[string]bool, error) {
	twin := "norace_" + p.Name
	if broken {
		twin = "race_" + p.Name
	}
	var want string
	if !broken {
		out, err := b.underQemu(ctx, twin)
		if err != nil {
			return nil, err
		}
		want = out
	}
	found := map[string]bool{}
	for seed := range syncSeeds {
		r := &session.Run{
			Image: b.img, Packed: b.packed, Files: b.files, Objects: b.objects, Program: p.Name, Args: []string{twin}, Seed: uint64(seed + 1),
			Policy: mpsim.Random, Quantum: []int{100, 1000, 0}[seed%3],
			Mode: "cdr", Keep: "all", Alphabet: "path", MaxInsts: 200_000_000,
		}
		rep, out, err := runTwin(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w", r.Seed, err)
		}
		if !broken && out != want {
			return nil, fmt.Errorf("seed %d: printed %q, under qemu %q", r.Seed, out, want)
		}
		if err := judgeTwin(rep, p, broken, found); err != nil {
			return nil, fmt.Errorf("seed %d: %w", r.Seed, err)
		}
		if len(found) > 0 {
			break
		}
	}
	if broken && len(found) == 0 {
		return nil, errors.New("no race is reported")
	}
	return found, nil
}

// underQemu returns what a correct twin prints under qemu. qemu-user itself sometimes
// aborts when several threads begin at once on a busy machine. A program that aborts does
// so each time.
func (b syncBuild) underQemu(ctx context.Context, twin string) (string, error) {
	for try := 1; ; try++ {
		out, err := exec.CommandContext(ctx, "qemu-riscv64-static", append(b.libraries(), b.program, twin)...).Output()
		if err == nil {
			return string(out), nil
		}
		if err.Error() != "signal: aborted" || try == 3 {
			return "", fmt.Errorf("under qemu: %w", err)
		}
	}
}

func runTwin(ctx context.Context, r *session.Run) (*report.Report, string, error) {
	var out, trace bytes.Buffer
	done, err := r.RecordTo(ctx, session.Streams{Out: &out, Err: &out}, &trace)
	if err != nil {
		return nil, "", err
	}
	if done.Status != 0 {
		return nil, "", fmt.Errorf("status %d: %s\n%s", done.Status, done.Message, &out)
	}
	tr, err := cdr.OpenReaderAt(bytes.NewReader(trace.Bytes()), int64(trace.Len()))
	if err != nil {
		return nil, "", err
	}
	// As findRaces, with images that are already loaded.
	res, err := race.Analyze(ctx, replay.FromTrace(tr), race.Options{Program: done.Image, TLSSize: done.Image.TLSSize()})
	if err != nil {
		return nil, "", err
	}
	rep, err := report.Build(res, done.Image, tr, report.Info{Program: r.Program}, nil)
	return rep, out.String(), err
}

// judgeTwin compares a report with what the twin is known to do, and notes the variables
// of its races.
func judgeTwin(rep *report.Report, p syncPair, broken bool, found map[string]bool) error {
	var text bytes.Buffer
	if err := rep.WriteText(&text, report.TextOptions{}); err != nil {
		return err
	}
	for _, r := range rep.Races {
		symbol, _, _ := strings.Cut(r.Location.Symbol, ".")
		symbol = strings.TrimPrefix(symbol, "__twins_MOD_") // of a Fortran module
		switch {
		case !broken:
			return fmt.Errorf("reported though correct:\n%s", &text)
		case symbol == "" && (r.Location.Kind == "heap" || r.Location.Kind == "stack"):
			symbol = r.Location.Kind
		case syncLibrary[p.Name] == symbol, syncLibrary[p.Name] != "" && symbol == "":
		case !strings.HasPrefix(symbol, p.Name+"_"):
			return fmt.Errorf("a race on %s %q:\n%s", r.Location.Kind, r.Location.Name, &text)
		}
		for _, a := range r.Accesses {
			if !a.Top.User {
				return fmt.Errorf("no frame of the user's on the stack:\n%s", &text)
			}
		}
		found[symbol] = true
	}
	return nil
}

// checkSyncDoc compares docs/sync-constructs.md with the verdicts, or writes it. For
// pairs that did not run, -update keeps the page's text.
func checkSyncDoc(t *testing.T, verdicts map[string]string) {
	t.Helper()
	file := filepath.Join("..", "..", "docs", "sync-constructs.md")
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		was := syncDocVerdicts(string(old))
		maps.Copy(was, verdicts)
		verdicts = was
	}
	var doc bytes.Buffer
	pairs := 0
	var tables bytes.Buffer
	for _, g := range syncGroups {
		fmt.Fprintf(&tables, "\n## %s\n\nPairs in examples/sync/%s.\n\n| construct | pair | correct program | broken program |\n| --- | --- | --- | --- |\n", g.Title, g.File)
		for _, p := range syncPairs(t, g.File) {
			pairs++
			fmt.Fprintf(&tables, "| %s | %s | %s | %s |\n", p.Construct, p.Name,
				verdicts[g.File+"/norace_"+p.Name], verdicts[g.File+"/race_"+p.Name])
		}
	}
	fmt.Fprintf(&doc, `# Synchronisation constructs

This page lists %d constructs with a correct and a broken program for each, and what
`+"`hindsight races`"+` says about both programs. The page is written by
`+"`go test ./cmd/hindsight -run TestSyncTable -update`"+`. That test compiles each program for
the simulated machine at %s, runs it under %d schedules, and fails if a verdict is
wrong or this page is out of date. A broken program counts as found if at least one of
the schedules shows a race. The gallery in examples/src has %d more pairs, which are
checked against their sources line by line.
`, pairs, strings.Join(syncLevels, " and "), syncSeeds, galleryPairs())
	doc.Write(tables.Bytes())
	if *update {
		if err := os.WriteFile(file, doc.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(verdicts) < 2*pairs {
		return // only some pairs ran
	}
	if !bytes.Equal(old, doc.Bytes()) {
		t.Errorf("%s is out of date; write it again with -update", file)
	}
}

var (
	syncDocGroup = regexp.MustCompile(`^Pairs in examples/sync/(.+)\.$`)
	syncDocRow   = regexp.MustCompile(`^\| .* \| (\w+) \| (.*) \| (.*) \|$`)
)

// syncDocVerdicts returns the verdicts on the page, by name of the twin.
func syncDocVerdicts(doc string) map[string]string {
	verdicts := map[string]string{}
	group := ""
	for line := range strings.Lines(doc) {
		line = strings.TrimSpace(line)
		if m := syncDocGroup.FindStringSubmatch(line); m != nil {
			group = m[1]
		} else if m := syncDocRow.FindStringSubmatch(line); m != nil {
			verdicts[group+"/norace_"+m[1]], verdicts[group+"/race_"+m[1]] = m[2], m[3]
		}
	}
	return verdicts
}

// galleryPairs counts the pairs of examples/src.
func galleryPairs() int {
	n := 0
	for _, p := range examples.Programs() {
		if p.Group == examples.Gallery && p.Races {
			n++
		}
	}
	return n
}
