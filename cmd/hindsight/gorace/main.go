// Command gorace holds hindsight against the race tests of the Go distribution
// ($(go env GOROOT)/src/runtime/race/testdata), whose names say which of them race. It
// copies them out, builds them as one test binary for the simulated machine, runs each
// under several seeds, and prints what was found, missed and reported falsely, by file.
//
// It ends with status 1 if a test without a race was reported. See docs/go.md.
package main

import (
	"bytes"
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
	"sync"
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

// status does it all and returns the exit status.
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
	binary, err := o.build(ctx)
	if err != nil {
		return false, err
	}
	tests = slices.DeleteFunc(tests, func(t *test) bool { return !only.MatchString(t.name) && !only.MatchString(t.file) })
	o.runAll(ctx, binary, tests)
	return o.summary(out, tests), ctx.Err()
}

func (o *options) build(ctx context.Context) (string, error) {
	binary := filepath.Join(o.dir, "race.test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-gcflags="+o.flags, "-o", binary, ".")
	cmd.Dir = o.dir
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=riscv64", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the tests: %w\n%s", err, msg)
	}
	return binary, nil
}

// test is one of the tests, and what came of it.
type test struct {
	name, file string
	races      int // runs in which a race was reported
	runs       int
	skipped    bool
	problem    string // of a run that failed in another way
	report     string // a report
}

// racy says whether the test has a race, as its name says.
func (t *test) racy() bool { return strings.HasPrefix(t.name, "TestRace") }

// expected says whether the outcome is what the name says; the distribution names
// those Failing that its own detector gets wrong.
func (t *test) expected() bool { return t.racy() == (t.races > 0) }

func (o *options) runAll(ctx context.Context, binary string, tests []*test) {
	queue := make(chan *test)
	var wg sync.WaitGroup
	for range max(o.jobs, 1) {
		wg.Go(func() {
			for t := range queue {
				o.runTest(ctx, binary, t)
			}
		})
	}
	for i, t := range tests {
		fmt.Fprintf(os.Stderr, "\r%d of %d ", i+1, len(tests))
		queue <- t
	}
	close(queue)
	wg.Wait()
	fmt.Fprintln(os.Stderr)
}

// suppressionsFile names the races of the initialisation of the tests' package, which
// has one too, in each run.
const (
	suppressionsFile = "init.supp"
	suppressions     = "race:^*.init$\n"
)

// statusRaces is that of hindsight races when there are some.
const statusRaces = 66

func (o *options) runTest(ctx context.Context, binary string, t *test) {
	trace := filepath.Join(o.dir, t.name+".hst")
	defer os.Remove(trace)
	for seed := 1; seed <= o.seeds && ctx.Err() == nil; seed++ {
		cmd := exec.CommandContext(ctx, o.hindsight, "run", "--seed", fmt.Sprint(seed), "--root", o.dir, "-o", trace, binary, "-test.run", "^"+t.name+"$", "-test.v")
		out, _ := cmd.CombinedOutput()
		t.runs++
		switch {
		case bytes.Contains(out, []byte("--- SKIP")):
			t.skipped = true
			return
		case bytes.Contains(out, []byte("fatal error: concurrent map")):
			t.races++ // the runtime has found it
			continue
		case !bytes.Contains(out, []byte("--- PASS")) && !bytes.Contains(out, []byte("--- FAIL")):
			t.problem = string(out)
		}
		report, err := exec.CommandContext(ctx, o.hindsight, "races", "--suppressions", filepath.Join(o.dir, suppressionsFile), trace).Output()
		var failed *exec.ExitError
		switch {
		case err == nil:
		case errors.As(err, &failed) && failed.ExitCode() == statusRaces:
			t.races++
			t.report = string(report)
		default:
			t.problem = fmt.Sprintf("hindsight races: %v\n%s", err, failed.Stderr)
		}
	}
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
