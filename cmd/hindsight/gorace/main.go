// Command gorace checks hindsight with the race tests of the Go distribution ($(go env
// GOROOT)/src/runtime/race/testdata), whose names say which of them race. It copies them
// and runs each with hindsight go test under several seeds. It prints which races were
// found, missed and reported falsely, by file.
//
// It exits with status 1 if a test without a race was reported. See docs/go.md.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// options of the command.
type options struct {
	hindsight string
	dir       string
	run       string
	seeds     int
	jobs      int
	verbose   bool
	flags     string
}

func main() {
	var o options
	flag.StringVar(&o.hindsight, "hindsight", "hindsight", "the program to be held against the tests")
	flag.StringVar(&o.dir, "dir", "", "where to put the tests and traces (default: a temporary directory)")
	flag.StringVar(&o.run, "run", ".", "only tests that match")
	flag.IntVar(&o.seeds, "seeds", 5, "schedules of each test")
	flag.IntVar(&o.jobs, "j", 2, "runs at the same time")
	flag.BoolVar(&o.verbose, "v", false, "print false reports")
	flag.StringVar(&o.flags, "gcflags", "-N -l", "flags of the compiler: without optimisation each access of the source is made")
	flag.Parse()
	os.Exit(o.status())
}

// status runs the tests and returns the exit status.
func (o *options) status() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	clean, err := o.main(ctx, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gorace:", err)
		return 2
	}
	if !clean {
		return 1
	}
	return 0
}

func (o *options) main(ctx context.Context, out io.Writer) (clean bool, err error) {
	only, err := regexp.Compile(o.run)
	if err != nil {
		return false, err
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "gorace"); err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return false, err
	}
	tests, err := copyTests(ctx, o.dir)
	if err != nil {
		return false, err
	}
	tests = slices.DeleteFunc(tests, func(t *test) bool { return !only.MatchString(t.name) && !only.MatchString(t.file) })
	if err := o.runAll(ctx, tests); err != nil {
		return false, err
	}
	return o.summary(out, tests), ctx.Err()
}

// test is one of the tests, and its result.
type test struct {
	name, file string
	races      int // number of runs in which a race was reported
	runs       int
	skipped    bool
	problem    string // of a run that failed in another way
	report     string // a report
	// foundByRuntime says that the runtime ended the last run because it detected a race
	// of a map itself.
	foundByRuntime bool
}

// racy reports whether the test has a race, as its name says.
func (t *test) racy() bool { return strings.HasPrefix(t.name, "TestRace") }

// expected reports whether the outcome agrees with the name. The distribution names those
// tests Failing that its own detector gets wrong.
func (t *test) expected() bool { return t.racy() == (t.races > 0) }

// suppressionsFile names the races in the initialisation of the tests' package, which
// occur in each run.
const (
	suppressionsFile = "init.supp"
	suppressions     = "race:^*.init$\n"
)

// runAll has hindsight run the tests, and reads its output.
func (o *options) runAll(ctx context.Context, tests []*test) error {
	var names []string
	for _, t := range tests {
		names = append(names, t.name)
	}
	cmd := exec.CommandContext(ctx, o.hindsight, "go", "test", "-v", "-seeds", fmt.Sprint(o.seeds), "-p", fmt.Sprint(o.jobs),
		"-suppressions", suppressionsFile, "-vet=off", "-gcflags="+o.flags, "-run", "^("+strings.Join(names, "|")+")$", ".")
	cmd.Dir = o.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readResults(out, tests)
	err = cmd.Wait()
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() == 1 {
		err = nil // tests have failed
	}
	if tests[len(tests)-1].runs == 0 && err == nil {
		err = errors.New("hindsight go test did not run the tests")
	}
	return err
}

// readResults reads the output of hindsight go test -v for tests that run one after
// another.
func readResults(out io.Reader, tests []*test) {
	byName := map[string]*test{}
	for _, t := range tests {
		byName[t.name] = t
	}
	t := &test{} // for lines before the first test
	var text strings.Builder
	ended := func() {
		if t.runs > 0 && !strings.Contains(text.String(), "\n--- ") && !t.foundByRuntime {
			t.problem = text.String()
		}
		text.Reset()
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "=== RUN   "); ok && byName[name] != nil {
			ended()
			t = byName[name]
			t.runs++
			t.foundByRuntime = false
			fmt.Fprintf(os.Stderr, "\r%d of %d ", 1+slices.Index(tests, t), len(tests))
		}
		text.WriteString(line + "\n")
		switch {
		case strings.HasPrefix(line, "--- SKIP: "+t.name):
			t.skipped = true
		case strings.HasPrefix(line, "fatal error: concurrent map"):
			t.races++
			t.foundByRuntime = true
		case strings.HasPrefix(line, "    race detected during execution of test") && !t.foundByRuntime:
			t.races++
			t.report = text.String()
		}
	}
	ended()
	fmt.Fprintln(os.Stderr)
}

func (o *options) summary(out io.Writer, tests []*test) (clean bool) {
	type row struct{ found, missed, silent, false, skipped int }
	rows := map[string]*row{}
	var files []string
	all := &row{}
	for _, t := range tests {
		r := rows[t.file]
		if r == nil {
			r = &row{}
			rows[t.file] = r
			files = append(files, t.file)
		}
		for _, r := range []*row{r, all} {
			switch {
			case t.skipped:
				r.skipped++
			case t.racy() && t.races > 0:
				r.found++
			case t.racy():
				r.missed++
			case t.races > 0:
				r.false++
			default:
				r.silent++
			}
		}
		switch {
		case t.skipped:
		case !t.expected() && t.racy():
			fmt.Fprintf(out, "missed  %s %s\n", t.file, t.name)
		case !t.expected():
			fmt.Fprintf(out, "FALSE   %s %s, in %d of %d runs\n", t.file, t.name, t.races, t.runs)
			if o.verbose {
				fmt.Fprintln(out, t.report)
			}
		}
		if t.problem != "" {
			fmt.Fprintf(out, "problem %s %s: %s\n", t.file, t.name, lastLines(t.problem))
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "file\tfound\tmissed\tsilent\tfalse\tskipped\t")
	for _, f := range append(files, "all") {
		r := rows[f]
		if f == "all" {
			r = all
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t\n", f, r.found, r.missed, r.silent, r.false, r.skipped)
	}
	w.Flush()
	return all.false == 0
}

func lastLines(s string) string {
	const most = 400
	if len(s) > most {
		s = "…" + s[len(s)-most:]
	}
	return s
}
