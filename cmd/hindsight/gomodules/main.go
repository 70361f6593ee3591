// Command gomodules compares hindsight go test with go test -race on modules that many
// programs use: a cache, a pool of workers, an event bus, a rate limiter, a router,
// golang.org/x/sync and uses of it. It fetches each from the module proxy, runs the
// module's own tests natively under the race detector and then under hindsight, and
// prints both verdicts of each test side by side.
//
// It exits with status 1 if hindsight reports a race in a test in which the race detector
// reports none. See docs/go.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// module is a module whose tests are run.
type module struct {
	what     string // what it is
	folder   string // of this repository, with the module; "": fetch it
	path     string
	version  string
	packages []string // patterns; nil: all
	setUp    []string // arguments of the go command, run in its folder before the tests
	skip     string   // pattern of tests to skip
}

// modules are the modules of the comparison, each at a fixed version, so that a verdict
// does not change because a module did.
var modules = []module{
	{what: "cache", path: "github.com/hashicorp/golang-lru/v2", version: "v2.0.7"},
	{what: "cache", path: "github.com/patrickmn/go-cache", version: "v2.1.0+incompatible", setUp: []string{"mod", "init", "github.com/patrickmn/go-cache"}},
	{what: "pool of workers", path: "github.com/alitto/pond", version: "v1.9.2"},
	{what: "event bus", path: "github.com/asaskevich/EventBus", version: "v0.0.0-20200907212545-49d423059eef", packages: []string{"."},
		setUp: []string{"mod", "init", "github.com/asaskevich/EventBus"}},
	{what: "rate limiter", path: "golang.org/x/time", version: "v0.11.0"},
	// The skipped test makes a million requests.
	{what: "groups, single flights, semaphores", path: "golang.org/x/sync", version: "v0.24.0"},
	{what: "uses of x/sync and the standard library", path: "example.com/uses", folder: "cmd/hindsight/gomodules/testdata/uses"},
	{what: "router", path: "github.com/go-chi/chi/v5", version: "v5.2.1", skip: "^TestMuxContextIsThreadSafe$"},
}

// options of the command.
type options struct {
	hindsight string
	only      string
	seeds     int
	jobs      int
	timeout   time.Duration
	verbose   bool
}

func main() {
	var o options
	flag.StringVar(&o.hindsight, "hindsight", "hindsight", "the program to be compared")
	flag.StringVar(&o.only, "only", "", "only modules whose path contains this")
	flag.IntVar(&o.seeds, "seeds", 1, "schedules of each test")
	flag.IntVar(&o.jobs, "j", 2, "runs at the same time")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Minute, "of a run of tests")
	flag.BoolVar(&o.verbose, "v", false, "print what tests printed whose verdicts differ")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	clean, err := o.main(ctx, os.Stdout)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "gomodules:", err)
		os.Exit(2)
	case !clean:
		os.Exit(1)
	}
}

func (o *options) main(ctx context.Context, out io.Writer) (clean bool, err error) {
	dir, err := os.MkdirTemp("", "gomodules")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	clean = true
	var total tally
	for n, m := range modules {
		if !strings.Contains(m.path, o.only) {
			continue
		}
		at := filepath.Join(dir, fmt.Sprint(n))
		if err := m.fetch(ctx, at); err != nil {
			return false, fmt.Errorf("%s: %w", m.path, err)
		}
		if len(m.packages) == 0 {
			m.packages = []string{"./..."}
		}
		fmt.Fprintf(out, "%s %s (%s)\n", m.path, m.version, m.what)
		flags := []string{"-v", "-vet=off", "-timeout=" + o.timeout.String()}
		if m.skip != "" {
			flags = append(flags, "-skip="+m.skip)
		}
		native, err := o.tests(ctx, at, "go", slices.Concat([]string{"test", "-race", "-count=1"}, flags, m.packages))
		if err != nil {
			return false, fmt.Errorf("%s: go test -race: %w", m.path, err)
		}
		ours, err := o.tests(ctx, at, o.hindsight, slices.Concat([]string{"go", "test", "-seeds", fmt.Sprint(o.seeds), "-p", fmt.Sprint(o.jobs)},
			flags, m.packages))
		if err != nil {
			return false, fmt.Errorf("%s: hindsight go test: %w", m.path, err)
		}
		t := o.compare(out, native, ours)
		clean = clean && t.false == 0
		total.add(t)
	}
	fmt.Fprintf(out, "%d tests: %d with the same verdict; a race reported by hindsight only: %d, by go test -race only: %d; another difference: %d\n",
		total.tests, total.same, total.false, total.missed, total.other)
	return clean, ctx.Err()
}

// fetch copies the module's files to dir.
func (m *module) fetch(ctx context.Context, dir string) error {
	if m.folder != "" {
		if err := os.CopyFS(dir, os.DirFS(m.folder)); err != nil {
			return fmt.Errorf("run it in the root folder of the repository: %w", err)
		}
		return nil
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", m.path+"@"+m.version)
	cmd.Dir = os.TempDir()
	text, err := cmd.Output()
	var at struct{ Dir, Error string }
	if json.Unmarshal(text, &at) == nil && at.Error != "" {
		return errors.New(at.Error)
	}
	if err != nil {
		return fmt.Errorf("go mod download: %w", err)
	}
	if err := os.CopyFS(dir, writable{os.DirFS(at.Dir)}); err != nil {
		return err
	}
	if m.setUp == nil {
		return nil
	}
	cmd = exec.CommandContext(ctx, "go", m.setUp...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(m.setUp, " "), err, text)
	}
	return nil
}

// tests runs a command that tests the packages in dir, and returns the verdicts.
func (o *options) tests(ctx context.Context, dir, name string, args []string) (*results, error) {
	fmt.Fprintf(os.Stderr, "%s %s\n", filepath.Base(name), strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	start := time.Now()
	text, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() == 1 {
		err = nil // tests failed
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	r := readResults(string(text))
	r.elapsed = time.Since(start)
	return r, nil
}

// tally counts tests by how the verdicts compare.
type tally struct{ tests, same, false, missed, other int }

func (t *tally) add(u tally) {
	t.tests += u.tests
	t.same += u.same
	t.false += u.false
	t.missed += u.missed
	t.other += u.other
}

// compare prints the verdicts of both.
func (o *options) compare(out io.Writer, native, ours *results) (t tally) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  package\ttest\tgo test -race\thindsight\t")
	var differ []string
	for _, name := range native.union(ours) {
		a, b := native.verdicts[name], ours.verdicts[name]
		t.tests++
		note := ""
		switch {
		case a == b:
			t.same++
		case b == race && strings.Contains(name, " TestRace"):
			note, t.other = "races, not seen by -race in this run", t.other+1
		case b == race:
			note, t.false = "only hindsight", t.false+1
		case a == race:
			note, t.missed = "only -race", t.missed+1
		default:
			note, t.other = "differ", t.other+1
		}
		if note != "" {
			differ = append(differ, name)
		}
		pkg, test, _ := strings.Cut(name, " ")
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", pkg, test, a, b, note)
	}
	w.Flush()
	fmt.Fprintf(out, "  %d tests, %d with the same verdict; go test -race took %.1f s, hindsight %.1f s, building included\n\n",
		t.tests, t.same, native.elapsed.Seconds(), ours.elapsed.Seconds())
	for _, name := range differ {
		if o.verbose {
			fmt.Fprintf(out, "== %s: go test -race\n%s\n== hindsight\n%s\n", name, native.texts[name], ours.texts[name])
		}
	}
	return t
}
