package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/session"
)

// goPackage is what go list prints about a package.
type goPackage struct {
	Dir, ImportPath           string
	TestGoFiles, XTestGoFiles []string
}

// test builds and runs the tests of the packages.
func (g *goCommand) test(ctx context.Context) error {
	if g.compile {
		g.build = append([]string{"-c"}, g.build...)
		return g.passOn(ctx)
	}
	packages, err := g.packages(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "hindsight-go-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if g.json && !g.verbose {
		g.verbose = true
		g.tests = append(g.tests, "-test.v=true")
	}
	ok := true
	for _, p := range packages {
		converted, closed, err := g.convert(ctx, p.ImportPath)
		if err != nil {
			return err
		}
		passed, err := converted.testPackage(ctx, p, dir)
		if err := errors.Join(err, closed()); err != nil {
			return err
		}
		ok = ok && passed
	}
	if !ok {
		if len(packages) > 1 && !g.json {
			fmt.Fprintln(g.std.Out, "FAIL")
		}
		return cli.ExitStatus(1)
	}
	return nil
}

func (g *goCommand) packages(ctx context.Context) ([]goPackage, error) {
	args := append([]string{"list", "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles"}, g.listFlags()...)
	c := g.command(ctx, append(args, g.rest...)...)
	c.Stdout, c.Stdin = nil, nil
	out, err := c.Output()
	if err != nil {
		return nil, failed(err)
	}
	var list []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		list = append(list, p)
	}
}

// listFlags are the build flags that go list needs, too.
func (g *goCommand) listFlags() (flags []string) {
	for _, f := range g.build {
		for _, name := range []string{"-C=", "-tags=", "-mod=", "-modfile=", "-overlay="} {
			if strings.HasPrefix(f, name) {
				flags = append(flags, f)
			}
		}
	}
	return flags
}

// testRun is the runs of one test binary.
type testRun struct {
	*goCommand
	pkg     goPackage
	program *goProgram
	dir     string
}

func (g *goCommand) testPackage(ctx context.Context, p goPackage, dir string) (passed bool, err error) {
	if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
		_, err := fmt.Fprintf(g.std.Out, "?   \t%s\t[no test files]\n", p.ImportPath)
		return true, err
	}
	start := time.Now()
	t := &testRun{goCommand: g, pkg: p, dir: dir}
	binary := filepath.Join(dir, "package.test")
	args := append(append([]string{"test", "-c", "-o", binary}, g.build...), p.ImportPath)
	if err := g.command(ctx, args...).Run(); err != nil {
		fmt.Fprintf(g.std.Out, "FAIL\t%s [build failed]\n", p.ImportPath)
		return false, nil
	}
	if t.program, err = loadGo(g.std, binary); err != nil {
		return false, err
	}
	names, err := t.names(ctx)
	if err != nil {
		return false, err
	}
	if passed, err = t.all(ctx, names); err != nil {
		return false, err
	}
	word := "ok  "
	if !passed {
		word = "FAIL"
		fmt.Fprintln(g.std.Out, word)
	} else if g.verbose {
		fmt.Fprintln(g.std.Out, "PASS")
	}
	note := ""
	if len(names) == 0 {
		note = " [no tests to run]"
	}
	fmt.Fprintf(g.std.Out, "%s\t%s\t%.3fs%s\n", word, p.ImportPath, time.Since(start).Seconds(), note)
	return passed, nil
}

// names are the tests to be run, each by itself; with --together one name, "".
func (t *testRun) names(ctx context.Context) ([]string, error) {
	if t.together {
		return []string{""}, nil
	}
	top, _, _ := strings.Cut(t.pattern, "/")
	if top == "" {
		top = "."
	}
	r := t.recording(t.program, "list", 0, t.dir)
	r.Mode, r.Args, r.Root, r.Env = "none", []string{"-test.list=" + top}, t.pkg.Dir, t.environment()
	var out bytes.Buffer
	done, err := r.Record(ctx, session.Streams{Out: &out, Err: t.std.Err})
	if err != nil {
		return nil, err
	}
	if done.Status != 0 {
		return nil, fmt.Errorf("%s: listing the tests: %s", t.pkg.ImportPath, summary(done, ""))
	}
	var names []string
	for name := range strings.Lines(out.String()) {
		name = strings.TrimSpace(name)
		if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") || strings.HasPrefix(name, "Fuzz") {
			names = append(names, name)
		}
	}
	return names, nil
}

func (t *testRun) environment() []string { return []string{"PWD=/", "HOME=/", "TMPDIR=/tmp"} }

// testFiles is what a test finds beside the files of its package: the names of the
// machine itself, which tests of servers connect to.
var testFiles = session.Files{Objects: map[string]linux.Object{"/etc/hosts": {Data: []byte("127.0.0.1 localhost\n::1 localhost\n")}}}

// all runs the tests, several at a time, and prints in their order what one prints.
func (t *testRun) all(ctx context.Context, names []string) (passed bool, err error) {
	if t.together {
		return t.one(ctx, "", t.std.Out)
	}
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer func() { cancel(); workers.Wait() }()
	type outcome struct {
		text   bytes.Buffer
		passed bool
		err    error
		done   chan struct{}
	}
	outcomes := make([]outcome, len(names))
	for i := range outcomes {
		outcomes[i].done = make(chan struct{})
	}
	var next atomic.Int64
	for range min(t.jobs, len(names)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(names); i = int(next.Add(1)) - 1 {
				o := &outcomes[i]
				if o.err = ctx.Err(); o.err == nil {
					o.passed, o.err = t.one(ctx, names[i], &o.text)
				}
				close(o.done)
			}
		})
	}
	passed = true
	for i := range outcomes {
		o := &outcomes[i]
		<-o.done
		if _, err := o.text.WriteTo(t.std.Out); err != nil || o.err != nil {
			return false, errors.Join(o.err, err)
		}
		if passed = passed && o.passed; !passed && t.failfast {
			break
		}
	}
	return passed, nil
}

// one runs a test, under each seed, and prints what go test -race would.
func (t *testRun) one(ctx context.Context, name string, out io.Writer) (passed bool, err error) {
	passed = true
	args := append([]string{"-test.paniconexit0", "-test.timeout=" + t.timeout.String()}, t.tests...)
	pattern := t.pattern
	if name != "" {
		pattern = "^" + name + "$"
		if _, sub, ok := strings.Cut(t.pattern, "/"); ok {
			pattern += "/" + sub
		}
	}
	args = append(append(args, "-test.run="+pattern), t.args...)
	for n := range t.seeds {
		r := t.recording(t.program, filepath.Base(t.pkg.ImportPath)+"."+name, uint64(n), t.dir)
		r.Args, r.Root, r.Env, r.Files = args, t.pkg.Dir, t.environment(), testFiles
		good, err := t.under(ctx, r, name, out)
		if err != nil {
			return false, err
		}
		passed = passed && good
	}
	return passed, nil
}

// under makes one run of a test. The test's standard output and error go where go
// test has both: on one stream. What is printed together is printed at once; of one
// test, whose line is written otherwise if it has races, when the run has ended.
func (t *testRun) under(ctx context.Context, r *session.Run, name string, out io.Writer) (passed bool, err error) {
	start := time.Now()
	var text bytes.Buffer
	to, title := io.Writer(&text), name
	if t.together {
		to, title = out, t.pkg.ImportPath
	}
	lines := newTestOutput(to, t.std.Err, title)
	limited, cancel := ctx, context.CancelFunc(func() {})
	if t.timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, t.timeout)
	}
	defer cancel()
	done, err := r.Record(limited, session.Streams{Out: lines, Err: lines})
	if err := errors.Join(err, lines.Close()); err != nil {
		return false, err
	}
	var report bytes.Buffer
	found, rep, err := t.report(ctx, r, done, cli.Streams{Out: &report, Err: &report})
	v := verdict{name: cmp.Or(name, "all tests"), output: text.String(), report: report.String(), elapsed: time.Since(start)}
	if found > 0 && !t.together {
		v.why = append(v.why, fmt.Sprintf("race detected during execution of test, seed %d", r.Seed))
	}
	if err == nil && done.Interrupted && ctx.Err() == nil {
		v.why = append(v.why, fmt.Sprintf("stopped after %v of real time; -timeout sets the limit, -run a part of the tests", t.timeout))
	}
	write := func() error { _, err := io.WriteString(out, v.String()); return err }
	if t.together && rep != nil {
		write = func() error { return v.writeTogether(out, rep, r.Seed) }
	}
	if err := write(); err != nil {
		return false, err
	}
	return err == nil && found == 0 && done.Status == 0 && len(v.why) == 0 && !done.Interrupted, err
}

// verdict is what is printed of one run of a test.
type verdict struct {
	name           string
	output, report string   // the test's, and of its races
	why            []string // it failed, beside what it says itself
	elapsed        time.Duration
}

// String is the output as go test -race has it: the report comes before the
// test's own line of result, which says that it failed, and the reason follows it.
func (v verdict) String() string {
	if len(v.why) == 0 {
		return v.output + v.report
	}
	why := ""
	for _, line := range v.why {
		why += "    " + line + "\n"
	}
	fail := "--- FAIL: " + v.name + " ("
	for _, result := range []string{fail, "--- PASS: " + v.name + " ("} {
		before, after, ok := cutLine(v.output, result)
		if !ok {
			continue
		}
		seconds, rest, _ := strings.Cut(after, "\n")
		return before + v.report + fail + seconds + "\n" + why + rest
	}
	return fmt.Sprintf("%s%s%s%.2fs)\n%s", v.output, v.report, fail, v.elapsed.Seconds(), why)
}

// cutLine is strings.Cut around a separator at the beginning of a line.
func cutLine(text, start string) (before, after string, found bool) {
	if after, found = strings.CutPrefix(text, start); found {
		return "", after, true
	}
	before, after, found = strings.Cut(text, "\n"+start)
	return before + "\n", after, found
}

// testOutput passes on what a test binary prints, line by line, but for its
// verdict on the package ([testOutput.Write] drops those lines). On a terminal it
// says now and then that the tests still run.
type testOutput struct {
	mu     sync.Mutex
	out    io.Writer
	status io.Writer // terminal for the status line; nil: none
	line   []byte    // that has no end yet
	shown  bool      // the status line is there
	stop   chan struct{}
	done   sync.WaitGroup
}

// statusEvery is how often the status line is written.
const statusEvery = 2 * time.Second

// newTestOutput is the output of the tests called name. Its Close must be called.
func newTestOutput(out, status io.Writer, name string) *testOutput {
	o := &testOutput{out: out, stop: make(chan struct{})}
	if !cli.IsTerminal(status) {
		return o
	}
	o.status = status
	start := time.Now()
	o.done.Go(func() {
		tick := time.NewTicker(statusEvery)
		defer tick.Stop()
		for {
			select {
			case <-o.stop:
				return
			case <-tick.C:
				o.mu.Lock()
				o.shown = true
				fmt.Fprintf(o.status, "\r\x1b[Khindsight: %s runs for %v", name, time.Since(start).Round(time.Second))
				o.mu.Unlock()
			}
		}
	})
	return o
}

// Write implements [io.Writer]. Lines are written when they are whole.
func (o *testOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.line = append(o.line, p...)
	end := bytes.LastIndexByte(o.line, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	if err := o.lines(o.line[:end]); err != nil {
		return 0, err
	}
	o.line = append(o.line[:0], o.line[end:]...)
	return len(p), nil
}

// lines passes on whole lines.
func (o *testOutput) lines(text []byte) error {
	for line := range bytes.Lines(text) {
		switch string(line) {
		case "PASS\n", "FAIL\n", "testing: warning: no tests to run\n":
			continue // about the package
		}
		o.clear()
		if _, err := o.out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// clear takes the status line away.
func (o *testOutput) clear() {
	if o.shown {
		fmt.Fprint(o.status, "\r\x1b[K")
		o.shown = false
	}
}

// Close passes on what is left, a line without an end.
func (o *testOutput) Close() error {
	close(o.stop)
	o.done.Wait()
	o.clear()
	err := o.lines(o.line)
	o.line = nil
	return err
}
