package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hindsight/analyze/report"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/gobuild"
)

// test builds and runs the tests of the packages.
func (g *goCommand) test(ctx context.Context) error {
	if g.compile {
		return failed(g.toolchain().BuildTests(ctx, g.rest...))
	}
	packages, err := g.toolchain().Packages(ctx, g.rest...)
	if err != nil {
		return failed(err)
	}
	dir, err := os.MkdirTemp("", "hindsight-go-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if g.json && !g.verbose {
		g.verbose = true
		g.tests.Flags = append(g.tests.Flags, "-test.v=true")
	}
	ok := true
	for _, p := range packages {
		passed, err := g.testAs(ctx, p, dir)
		if err != nil {
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

// testAs tests a package. With -json, its output is converted to events.
func (g *goCommand) testAs(ctx context.Context, p gobuild.Package, dir string) (passed bool, err error) {
	if !g.json {
		return g.testPackage(ctx, p, dir)
	}
	converted := *g
	var finish func() error
	if converted.std.Out, finish, err = g.toolchain().Events(ctx, p.ImportPath); err != nil {
		return false, err
	}
	passed, err = converted.testPackage(ctx, p, dir)
	return passed, errors.Join(err, finish())
}

func (g *goCommand) testPackage(ctx context.Context, p gobuild.Package, dir string) (passed bool, err error) {
	if !p.HasTests() {
		_, err := fmt.Fprintf(g.std.Out, "?   \t%s\t[no test files]\n", p.ImportPath)
		return true, err
	}
	start := time.Now()
	binary := filepath.Join(dir, "package.test")
	if err := g.toolchain().BuildTestsTo(ctx, binary, p.ImportPath); err != nil {
		fmt.Fprintf(g.std.Out, "FAIL\t%s [build failed]\n", p.ImportPath)
		return false, nil
	}
	t := g.tests
	t.Recording, t.Package = g.recording(dir), p
	if t.Program, err = loadGo(g.std, binary); err != nil {
		return false, err
	}
	t.Err = g.std.Err
	status := newTestStatus(g.std.Err, g.std.Out, p.ImportPath)
	t.Started, t.Output = status.started, status
	names, err := t.Names(ctx)
	if err != nil {
		return false, err
	}
	passed = true
	for r, err := range t.All(ctx, names) {
		if r != nil {
			err = errors.Join(err, g.tell(status, r))
		}
		if err != nil {
			return false, err
		}
		passed = passed && r.Passed()
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

// tell prints what go test -race would print about a run.
func (g *goCommand) tell(out io.Writer, r *gobuild.Result) error {
	v := verdict{name: cmp.Or(r.Name, "all tests"), output: string(r.Output), report: string(r.Log), elapsed: r.Elapsed}
	if r.Races() > 0 && !g.tests.Together {
		v.why = append(v.why, fmt.Sprintf("race detected during execution of test, seed %d", r.Seed))
	}
	if r.TimedOut {
		v.why = append(v.why, fmt.Sprintf("stopped after %v of real time; -timeout sets the limit, -run a part of the tests", g.tests.Timeout))
	}
	if g.tests.Together && r.Report != nil {
		return v.writeTogether(out, r.Report, r.Seed)
	}
	_, err := io.WriteString(out, v.String())
	return err
}

// verdict is what is printed about one run of a test.
type verdict struct {
	name           string
	output, report string   // of the test, and on its races
	why            []string // reasons why it failed, in addition to its own output
	elapsed        time.Duration
}

// String returns the output in the form of go test -race: the report comes before the
// test's own result line, which says that it failed, and the reason follows that line.
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

// cutLine is strings.Cut at a separator at the beginning of a line.
func cutLine(text, start string) (before, after string, found bool) {
	if after, found = strings.CutPrefix(text, start); found {
		return "", after, true
	}
	before, after, found = strings.Cut(text, "\n"+start)
	return before + "\n", after, found
}

// writeTogether writes the verdicts on the tests of one run after the report of its
// races. Their result lines are already written.
func (v *verdict) writeTogether(out io.Writer, rep *report.Report, seed uint64) error {
	var b strings.Builder
	b.WriteString(v.report)
	names, races := gobuild.ByTest(rep)
	others := len(rep.Deadlocks) > 0
	for _, name := range names {
		if name == "" {
			others = true
		} else {
			fmt.Fprintf(&b, "--- FAIL: %s (0.00s)\n    race detected during execution of test, seed %d: %s\n", name, seed, strings.Join(races[name], ", "))
		}
	}
	if others {
		fmt.Fprintf(&b, "--- FAIL: %s (%.2fs)\n    race detected in no test, seed %d: %s\n", v.name, v.elapsed.Seconds(), seed, strings.Join(races[""], ", "))
	}
	if len(v.why) > 0 {
		fmt.Fprintf(&b, "--- FAIL: %s (%.2fs)\n    %s\n", v.name, v.elapsed.Seconds(), strings.Join(v.why, "\n    "))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// testStatus writes a line on a terminal that says which test is running, and writes the
// output of tests without mixing the two.
type testStatus struct {
	terminal io.Writer // nil if there is none
	out      io.Writer
	all      string // name of the run of all tests

	mu    sync.Mutex
	shown bool // the line is visible
}

// statusEvery is how often the status line is written.
const statusEvery = 2 * time.Second

// newTestStatus returns a status line on terminal, if that is one. out receives the output
// of tests.
func newTestStatus(terminal, out io.Writer, all string) *testStatus {
	s := &testStatus{out: out, all: all}
	if cli.IsTerminal(terminal) {
		s.terminal = terminal
	}
	return s
}

// started writes the line periodically until the returned function is called.
func (s *testStatus) started(name string) (ended func()) {
	if s.terminal == nil {
		return func() {}
	}
	start, stop := time.Now(), make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		tick := time.NewTicker(statusEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				s.clear()
				return
			case <-tick.C:
				s.mu.Lock()
				s.shown = true
				fmt.Fprintf(s.terminal, "\r\x1b[Khindsight: %s runs for %v", cmp.Or(name, s.all), time.Since(start).Round(time.Second))
				s.mu.Unlock()
			}
		}
	})
	return func() { close(stop); writer.Wait() }
}

// clear removes the line.
func (s *testStatus) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown {
		fmt.Fprint(s.terminal, "\r\x1b[K")
		s.shown = false
	}
}

// Write writes output of tests.
func (s *testStatus) Write(text []byte) (int, error) {
	s.clear()
	return s.out.Write(text)
}
