package gobuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hindsight/mpsim/linux/vfs"
	"hindsight/mpsim/session"
)

// Tests describes the tests of a package, and how to run them.
type Tests struct {
	Recording
	Package  Package
	Program  *Program      // the test binary
	Pattern  string        // selects tests, like -run of go test
	Flags    []string      // of the test binary, each with its prefix -test.
	Args     []string      // of the test binary, after its flags
	Together bool          // all tests run in one run
	FailFast bool          // no test starts after one that failed
	Jobs     int           // maximum number of concurrent tests
	Timeout  time.Duration // of a run, in the program's time and in real time; 0: none
	// Output receives the output of a run with Together as it is written.
	Output io.Writer
	// Started, if not nil, is called when a run begins, with the name of its test ("" for
	// the run of all tests). The function that it returns is called when the run has ended.
	// Runs of several tests may begin and end concurrently.
	Started func(name string) (ended func())
	Err     io.Writer // of the run that lists the tests
}

// Names returns the tests to run, or only "" if they run together.
func (t *Tests) Names(ctx context.Context) ([]string, error) {
	if t.Together {
		return []string{""}, nil
	}
	top, _, _ := strings.Cut(t.Pattern, "/")
	if top == "" {
		top = "."
	}
	r := t.run(t.Program, "list", 0)
	r.Mode, r.Args = session.ModeNone, []string{"-test.list=" + top}
	r.Root, r.Env = t.Package.Dir, testEnvironment
	var out bytes.Buffer
	done, err := r.Record(ctx, session.Streams{Out: &out, Err: t.Err})
	if err != nil {
		return nil, err
	}
	if done.Status != 0 {
		return nil, fmt.Errorf("%s: listing the tests ended with status %d%s", t.Package.ImportPath, done.Status, because(done.Message))
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

func because(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

// testEnvironment is the environment of a test, which sees its package's directory as /.
var testEnvironment = []string{"PWD=/", "HOME=/", "TMPDIR=/tmp"}

// testFiles are the files that a test sees besides those of its package: the names of the
// machine itself, to which tests of servers connect.
var testFiles = session.Files{Objects: map[string]vfs.Object{"/etc/hosts": {Data: []byte("127.0.0.1 localhost\n::1 localhost\n")}}}

// All runs the tests called names, several at a time, each under every seed. Results are in
// the order of the names and, for each name, in the order of the seeds. The sequence ends
// after the first error. A result that comes with an error is of a run whose examination
// failed. Break out of the loop to stop the tests.
func (t *Tests) All(ctx context.Context, names []string) iter.Seq2[*Result, error] {
	return func(yield func(*Result, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var workers sync.WaitGroup
		defer func() { cancel(); workers.Wait() }()
		outcomes := make([]chan outcome, len(names))
		for i := range outcomes {
			outcomes[i] = make(chan outcome, t.Seeds+1)
		}
		var next atomic.Int64
		for range min(max(t.Jobs, 1), len(names)) {
			workers.Go(func() {
				for i := int(next.Add(1)) - 1; i < len(names); i = int(next.Add(1)) - 1 {
					t.seeds(ctx, names[i], outcomes[i])
					close(outcomes[i])
				}
			})
		}
		for i := range outcomes {
			passed := true
			for o := range outcomes[i] {
				if !yield(o.result, o.err) || o.err != nil {
					return
				}
				passed = passed && o.result.Passed()
			}
			if !passed && t.FailFast {
				return
			}
		}
	}
}

// outcome is an element of the sequence that [Tests.All] returns.
type outcome struct {
	result *Result
	err    error
}

// seeds runs a test under each seed, until one run returns an error.
func (t *Tests) seeds(ctx context.Context, name string, to chan<- outcome) {
	if err := ctx.Err(); err != nil {
		to <- outcome{nil, err}
		return
	}
	args := t.argsOf(name)
	for n := range t.Seeds {
		r := t.run(t.Program, filepath.Base(t.Package.ImportPath)+"."+name, uint64(n))
		r.Args, r.Root, r.Env, r.Files = args, t.Package.Dir, testEnvironment, testFiles
		res, err := t.under(ctx, r, name)
		to <- outcome{res, err}
		if err != nil {
			return
		}
	}
}

// argsOf returns the arguments of the test binary for a test.
func (t *Tests) argsOf(name string) []string {
	args := append([]string{"-test.paniconexit0", "-test.timeout=" + t.Timeout.String()}, t.Flags...)
	pattern := t.Pattern
	if name != "" {
		pattern = "^" + name + "$"
		if _, sub, ok := strings.Cut(t.Pattern, "/"); ok {
			pattern += "/" + sub
		}
	}
	return append(append(args, "-test.run="+pattern), t.Args...)
}

// under makes one run of a test. The test's standard output and error become one stream, as
// in go test. The result is nil if there was no run.
func (t *Tests) under(ctx context.Context, r *session.Run, name string) (*Result, error) {
	start := time.Now()
	var text, log bytes.Buffer
	out := &testOutput{out: &text}
	if t.Together && t.Output != nil {
		out.out = t.Output
	}
	ended := func() {}
	if t.Started != nil {
		ended = t.Started(name)
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if t.Timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, t.Timeout)
	}
	defer cancel()
	done, err := r.Record(limited, session.Streams{Out: out, Err: out})
	ended()
	if err := errors.Join(err, out.Close()); err != nil {
		return nil, err
	}
	res := &Result{Name: name, Seed: r.Seed, Summary: done}
	err = t.examine(ctx, r, res, &log)
	res.Elapsed, res.Output, res.Log = time.Since(start), text.Bytes(), log.Bytes()
	res.TimedOut = err == nil && done.Interrupted && ctx.Err() == nil
	return res, err
}

// testOutput passes on the output of a test binary, line by line, without its verdict on
// the package.
type testOutput struct {
	mu   sync.Mutex
	out  io.Writer
	line []byte // an incomplete line
}

// Write implements [io.Writer]. It passes on complete lines.
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

// lines passes on complete lines.
func (o *testOutput) lines(text []byte) error {
	for line := range bytes.Lines(text) {
		switch string(line) {
		case "PASS\n", "FAIL\n", "testing: warning: no tests to run\n":
			continue // the verdict on the package
		}
		if _, err := o.out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// Close passes on what is left, an incomplete line.
func (o *testOutput) Close() error {
	err := o.lines(o.line)
	o.line = nil
	return err
}
