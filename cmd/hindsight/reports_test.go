package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hindsight/analyze"
	"hindsight/analyze/report"
	"hindsight/cmd/internal/cli"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
)

// racesOf records a program and returns its report.
func racesOf(t *testing.T, elf string) *report.Report {
	t.Helper()
	img, err := image.Load(elf)
	if err != nil {
		t.Fatal(err)
	}
	r := &session.Run{Image: img, Program: elf, Policy: mpsim.Random, Seed: 1, Mode: "cdr", Keep: "all", Alphabet: "path", Out: filepath.Join(t.TempDir(), "t.hst")}
	if _, err := r.Record(context.Background(), session.Streams{Out: io.Discard, Err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	rep, err := reportOf(context.Background(), cli.Streams{Out: io.Discard, Err: io.Discard}, r.Out, "", analyze.RaceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func compileText(t *testing.T, name, source string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	file, elf := filepath.Join(dir, name+".c"), filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-g", "-static", "-pthread", "-o", elf, file}, flags...)
	if text, err := exec.Command(cross.Compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return elf
}

// TestFingerprintsRecompiled recompiles programs in another folder, with lines, code and
// data added above and between functions. Every race must keep its fingerprint. With
// another optimisation, at least one must.
func TestFingerprintsRecompiled(t *testing.T) {
	needTools(t, cross.Compiler)
	const more = "static int added_table[100] = {1};\n\nint added_function(int n)\n{\n\treturn added_table[n % 100] * n;\n}\n\n/* and\n * a comment\n */\n"
	for _, name := range []string{"race_counter", "race_wrong_lock", "race_list", "race_check_then_act"} {
		t.Run(name, func(t *testing.T) {
			text, err := examples.Source(name)
			if err != nil {
				t.Fatal(err)
			}
			source := string(text)
			prints := func(source string, flags ...string) map[string]bool {
				set := map[string]bool{}
				for _, r := range racesOf(t, compileText(t, name, source, flags...)).Races {
					set[r.Fingerprint] = true
				}
				return set
			}
			before := prints(source, "-O1")
			if len(before) == 0 {
				t.Fatal("no races")
			}
			at := strings.LastIndex(source, "#include")
			at += strings.IndexByte(source[at:], '\n') + 1
			after := prints("// moved\n\n"+source[:at]+more+source[at:], "-O1")
			for f := range before {
				if !after[f] {
					t.Errorf("%s is lost", f)
				}
			}
			if len(after) != len(before) {
				t.Errorf("%d races became %d", len(before), len(after))
			}
			kept := 0
			for f := range prints(source, "-O2") {
				if before[f] {
					kept++
				}
			}
			if t.Logf("%d of %d races keep their fingerprints with -O2", kept, len(before)); kept == 0 {
				t.Error("no fingerprint survives another optimisation")
			}
		})
	}
}

// TestTasksNamed runs tasks that race, some of them on one thread. Each side must name
// its task, and where the task was created.
func TestTasksNamed(t *testing.T) {
	needTools(t, cross.Compiler)
	rep := racesOf(t, compileText(t, "tasks", `static long total;
static void add(int i)
{
	total += i;
}
int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
	{
#pragma omp task
		add(1);
#pragma omp task
		add(2);
#pragma omp taskwait
	}
	return 0;
}
`, "-O1", "-fopenmp"))
	if len(rep.Races) == 0 {
		t.Fatal("no races")
	}
	for _, r := range rep.Races {
		var tasks []uint64
		for _, a := range r.Accesses {
			if a.Task == nil {
				t.Fatalf("%s: no task", r.ID)
			}
			tasks = append(tasks, a.Task.ID)
			if top := a.Task.Top; top.File != "tasks.c" || !strings.HasPrefix(top.Function, "main") {
				t.Errorf("%s: task %d created at %+v", r.ID, a.Task.ID, top)
			}
		}
		if slices.Sort(tasks); !slices.Equal(tasks, []uint64{1, 2}) {
			t.Errorf("%s: tasks %v", r.ID, tasks)
		}
	}
	var out bytes.Buffer
	if err := rep.WriteText(&out, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, reported := parseTSan(t, strings.ReplaceAll(out.String(), "hindsight: ", "ThreadSanitizer: ")); len(got) == 0 || reported != len(got) {
		t.Errorf("a script sees %d of %d reports", len(got), reported)
	}
}

// The lines that scripts for ThreadSanitizer's output look for.
var (
	tsanWarning  = regexp.MustCompile(`^WARNING: ThreadSanitizer: data race\b`)
	tsanAccess   = regexp.MustCompile(`^  (?i:(previous )?(atomic )?(read|write|update|free)) of size (\d+) at (0x[0-9a-f]+) by (main thread|thread T(\d+))(?: \(mutexes: ([^)]*)\))?:$`)
	tsanFrame    = regexp.MustCompile(`^    #(\d+) (.+?) (?:([^\s:]+):(\d+)|\((?:\S+\+)?0x[0-9a-f]+\))$`)
	tsanLocation = regexp.MustCompile(`^  Location is (global '.*' of size \d+ at 0x[0-9a-f]+ \(\S+\+0x[0-9a-f]+\)|heap block of size \d+ at 0x[0-9a-f]+ allocated by .*:|stack of .*\.|TLS.*\.|unknown.*)$`)
	tsanThread   = regexp.MustCompile(`^  Thread T(\d+) (?:'[^']*' )?\((?:tid=\d+, )?(running|finished)\) created by (main thread|thread T\d+) at:$`)
	tsanMutex    = regexp.MustCompile(`^  Mutex M(\d+) \(0x[0-9a-f]+\).* at:$`)
	tsanSummary  = regexp.MustCompile(`^SUMMARY: ThreadSanitizer: data race (\S+):(\d+) in (.+)$`)
	tsanReported = regexp.MustCompile(`^ThreadSanitizer: reported (\d+) warnings$`)
)

// tsanReport is what such a script reads from a block.
type tsanReport struct {
	accesses        [][]string // submatches
	frames          [2]int
	location        bool
	threads         []string
	mutexes         int
	file, line, fun string
}

// parseTSan parses text as such a script does: blocks between lines of =, sections that
// begin with two spaces, frames below them.
func parseTSan(t *testing.T, text string) (reports []tsanReport, reported int) {
	t.Helper()
	reported = -1
	var r *tsanReport
	section := -1
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "==================":
			if r != nil {
				reports = append(reports, *r)
			}
			r = nil
		case tsanWarning.MatchString(line):
			r, section = &tsanReport{}, -1
		case r == nil:
			if m := tsanReported.FindStringSubmatch(line); m != nil {
				reported, _ = strconv.Atoi(m[1])
			}
		case strings.HasPrefix(line, "    #"):
			if !tsanFrame.MatchString(line) {
				t.Errorf("no frame: %q", line)
			}
			if section >= 0 && section < 2 {
				r.frames[section]++
			}
		case tsanAccess.MatchString(line):
			section = len(r.accesses)
			r.accesses = append(r.accesses, tsanAccess.FindStringSubmatch(line))
		case tsanLocation.MatchString(line):
			section, r.location = 2, true
		case tsanThread.MatchString(line):
			section, r.threads = 2, append(r.threads, tsanThread.FindStringSubmatch(line)[1])
		case tsanMutex.MatchString(line):
			section = 2
			r.mutexes++
		case tsanSummary.MatchString(line):
			m := tsanSummary.FindStringSubmatch(line)
			r.file, r.line, r.fun = m[1], m[2], m[3]
		case strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   "):
			section = 2
		}
	}
	return reports, reported
}

// TestTextForScripts parses reports with the expressions that scripts for ThreadSanitizer
// use, and compares the result with the report.
func TestTextForScripts(t *testing.T) {
	for _, name := range []string{"bank", "race_wrong_lock", "race_memcpy", "race_early_free", "race_stack_args", "race_tls_leak", "race_counter", "fig7"} {
		t.Run(name, func(t *testing.T) {
			data, err := examples.ELF(name)
			if err != nil {
				t.Fatal(err)
			}
			elf := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(elf, data, 0o755); err != nil {
				t.Fatal(err)
			}
			rep := racesOf(t, elf)
			var out bytes.Buffer
			if err := rep.WriteText(&out, report.TextOptions{Width: 1000, Frames: true}); err != nil {
				t.Fatal(err)
			}
			got, reported := parseTSan(t, strings.ReplaceAll(out.String(), "hindsight: ", "ThreadSanitizer: "))
			if reported != len(got) || len(got) == 0 {
				t.Fatalf("%d blocks, said to be %d:\n%s", len(got), reported, out.String())
			}
			heads := map[string]*report.Race{} // by what a script reads about the later access
			for i := range rep.Races {
				if r := &rep.Races[i]; r.Group == r.ID {
					heads[key(r)] = r
				}
			}
			for _, g := range got {
				if len(g.accesses) != 2 || g.accesses[1][1] == "" || g.accesses[0][1] != "" || !g.location || g.file == "" {
					t.Errorf("a script sees %+v", g)
					continue
				}
				var r *report.Race
				for k, x := range heads {
					if strings.HasPrefix(k, sees(g.accesses[0])+" "+sees(g.accesses[1])+" "+g.file+":"+g.line+" in "+g.fun) {
						r = x
					}
				}
				if r == nil {
					t.Errorf("no race is %+v", g)
					continue
				}
				for i, a := range r.Accesses {
					if g.accesses[i][4] != strconv.FormatUint(a.Size, 10) || g.frames[i] != len(a.Stack) || (g.accesses[i][7] == "") != (a.Thread == 0) {
						t.Errorf("access %d is %q with %d frames, want %+v", i, g.accesses[i], g.frames[i], a)
					}
					if n := len(a.Locks); n > 0 && strings.Count(g.accesses[i][8], "M") != n {
						t.Errorf("access %d holds %q, want %+v", i, g.accesses[i][8], a.Locks)
					}
				}
			}
		})
	}
}

// sees returns what identifies an access for a script.
func sees(m []string) string { return strings.ToLower(m[2]+m[3]) + " " + m[5] }

func key(r *report.Race) string {
	hex := func(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }
	a := &r.Accesses[0]
	b := &r.Accesses[1]
	return a.Op.String() + " " + hex(a.Address) + " " + b.Op.String() + " " + hex(b.Address) + " " + a.Top.File + ":" + strconv.Itoa(a.Top.Line) + " in " + a.Top.Function + " " + r.ID
}
