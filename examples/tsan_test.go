package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hindsight/examples"
	"hindsight/examples/cross"
)

// TestThreadSanitizer checks the expectations against an independent detector:
// built natively with -fsanitize=thread, programs without races are clean, and
// those with races are reported on their marked lines and on no other.
func TestThreadSanitizer(t *testing.T) {
	dir := unpacked(t)
	needTSan(t, dir)
	for _, p := range examples.Programs() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(dir, p.Name+".tsan")
			if err := cross.Build(t.Context(), dir, p, out, tsanOptions()); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(out)
			if !p.Races {
				status, stdout, stderr := runTSan(t, p, out)
				expect(t, p, "native", status, stdout, stderr)
				if strings.Contains(stderr, "WARNING") {
					t.Errorf("reported:\n%s", stderr)
				}
				return
			}
			checkReports(t, p, out)
		})
	}
}

// checkReports runs a program with races until each of its sure races has been
// reported: the sanitizer remembers a few accesses a word only, so that one
// run may miss one.
func checkReports(t *testing.T, p examples.Program, exe string) {
	const runs = 10
	missing := slices.DeleteFunc(slices.Clone(p.Expect), func(r examples.Race) bool { return len(r.Sure) == 0 })
	for range runs {
		_, _, stderr := runTSan(t, p, exe)
		if p.Group == examples.Kernel {
			// A kernel runs too long for the sanitizer's memory: it loses stacks,
			// and on a busy machine the races too. What it reports must be marked.
			missing = nil
		}
		for _, pair := range reports(stderr, p.File) {
			if !slices.ContainsFunc(p.Expect, func(r examples.Race) bool {
				return slices.Contains(r.Lines(), pair[0]) && slices.Contains(r.Lines(), pair[1])
			}) {
				t.Errorf("lines %d and %d race and are not marked", pair[0], pair[1])
			}
			missing = slices.DeleteFunc(missing, func(r examples.Race) bool {
				return slices.Contains(r.Sure, pair[0]) && slices.Contains(r.Sure, pair[1])
			})
		}
		if len(missing) == 0 || t.Failed() {
			return
		}
	}
	for _, r := range missing {
		t.Errorf("no race on %s between lines %v in %d runs", r.Variable, r.Sure, runs)
	}
}

// tsanOptions: at -O1, where lines stay where they are.
func tsanOptions() cross.Options {
	return cross.Options{CC: "gcc", Level: "-O1", Extra: []string{"-fsanitize=thread"}, Dynamic: true}
}

func runTSan(t *testing.T, p examples.Program, exe string) (status int, stdout, stderr string) {
	t.Helper()
	env := []string{"TSAN_OPTIONS=exitcode=66 suppress_equal_addresses=0 suppress_equal_stacks=0 history_size=7"}
	return execute(t, env, exe, p.Args...)
}

// needTSan skips the test when the host cannot build or run a sanitized
// program.
func needTSan(t *testing.T, dir string) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skipf("no native gcc: %v", err)
	}
	p, _ := examples.Lookup("norace_counter")
	out := filepath.Join(dir, "probe")
	if err := cross.Build(t.Context(), dir, p, out, tsanOptions()); err != nil {
		t.Skipf("the native gcc has no thread sanitizer: %v", err)
	}
	if text, err := exec.Command(out).CombinedOutput(); err != nil {
		t.Skipf("sanitized programs do not run here: %v\n%s", err, text)
	}
}

// reports returns the two lines of each data race report, each the innermost
// frame in file. Reports that set an allocation against a later access are
// left out: to the sanitizer malloc writes the block, to us it does not.
func reports(text, file string) [][2]int {
	access := regexp.MustCompile(`(?m)^  (?:Previous )?(?:[Aa]tomic )?(?:[Rr]ead|[Ww]rite) of size .*\n((?:    #.*\n)+)`)
	frame := regexp.MustCompile(`#\d+ \S+ \S*?` + regexp.QuoteMeta(file) + `:(\d+)`)
	var pairs [][2]int
	for _, report := range strings.Split(text, "WARNING: ThreadSanitizer: ")[1:] {
		sides := access.FindAllStringSubmatch(report, -1)
		if len(sides) != 2 || strings.Contains(sides[0][1]+sides[1][1], "#0 malloc ") {
			continue
		}
		var pair [2]int
		for i, side := range sides {
			if m := frame.FindStringSubmatch(side[1]); m != nil {
				pair[i], _ = strconv.Atoi(m[1])
			}
		}
		pairs = append(pairs, pair)
	}
	return pairs
}
