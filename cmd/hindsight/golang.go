package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hindsight/analyze/report"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/gobuild"
	"hindsight/mpsim/session"
)

func newGo(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "go build|run|test [flags] [ARGS…]",
		Short: "Build, run or test Go code and report its races",
		Long: `go calls the go command with GOOS=linux, GOARCH=riscv64 and CGO_ENABLED=0, and
passes all other arguments on. The build is not instrumented.

  go build   builds the program; hindsight run records it.
  go run     builds, runs and records the program, then reports its races. The
             exit status is 66 if there are races, else the program's own.
  go test    builds the tests of each package and runs each test separately
             (--together: all in one run). It prints what go test -race
             prints: the races of a test's run, and that the test failed.

--seed N is the seed of the schedule. --seeds N runs each test N times, with
this seed and the following ones; -p N runs N tests at a time. --traces DIR
keeps the traces, as PACKAGE.TEST.hst. --suppressions FILE lists races not to
report. -json prints the events of go test -json: a race is output of its test,
which fails. A test sees the files of its package's directory. -timeout D (10m)
stops a run of tests after D, by the simulated clock and by real time.`,
		Example: `  hindsight go test ./...
  hindsight go test --seeds 5 -run TestCache ./cache
  hindsight go run . -n 4
  hindsight go build -o server . && hindsight run ./server`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
				return cmd.Help()
			}
			g, err := parseGo(args)
			if err != nil {
				return err
			}
			g.std = std
			switch g.verb {
			case "build":
				return failed(g.toolchain().Build(cmd.Context(), g.rest...))
			case "run":
				return g.run(cmd.Context())
			case "test":
				return g.test(cmd.Context())
			}
			return fmt.Errorf("go %s: want build, run or test", g.verb)
		},
	}
}

// goCommand is a call of `hindsight go`.
type goCommand struct {
	std      cli.Streams
	verb     string
	build    []string // flags of go build
	rest     []string // packages, and for run also the program's arguments
	tests    gobuild.Tests
	verbose  bool
	compile  bool // test -c: only build
	json     bool
	traces   string
	suppress []string // files of suppressions
}

// Flags of go test that belong to the test binary, with and without a value.
var (
	testValues = []string{"run", "skip", "count", "timeout", "parallel", "cpu", "shuffle", "bench", "benchtime", "list", "fuzz", "fuzztime"}
	testBools  = []string{"short", "failfast", "fullpath", "v"}
	goBools    = []string{"a", "n", "x", "work", "trimpath", "modcacherw", "linkshared", "cover", "race", "msan", "asan", "json", "i", "c", "buildvcs"}
)

// defaultTestTimeout is the default of go test.
const defaultTestTimeout = 10 * time.Minute

// parseGo splits the arguments as the go command does.
func parseGo(args []string) (*goCommand, error) {
	g := &goCommand{verb: args[0]}
	g.tests.Seed, g.tests.Seeds = 1, 1
	g.tests.Jobs, g.tests.Timeout = runtime.GOMAXPROCS(0), defaultTestTimeout
	args = args[1:]
	for len(args) > 0 {
		arg := args[0]
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			if g.verb == "run" {
				break // what follows the package belongs to the program
			}
			g.rest = append(g.rest, arg)
			args = args[1:]
			continue
		}
		name, value, inline := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		name = strings.TrimPrefix(name, "test.")
		if name == "args" && g.verb == "test" {
			g.tests.Args = args[1:]
			break
		}
		isBool := slices.Contains(testBools, name) || slices.Contains(goBools, name) || name == "together"
		args = args[1:]
		if !inline && !isBool {
			if len(args) == 0 {
				return nil, fmt.Errorf("%s needs a value", arg)
			}
			value, args = args[0], args[1:]
		}
		if err := g.flag(name, value, inline, isBool); err != nil {
			return nil, err
		}
	}
	if g.verb == "run" {
		g.rest = args
	}
	return g, nil
}

func (g *goCommand) flag(name, value string, inline, isBool bool) (err error) {
	spelled := "-" + name
	if inline || !isBool {
		spelled += "=" + value
	}
	switch {
	case name == "seed":
		g.tests.Seed, err = strconv.ParseUint(value, 10, 64)
	case name == "seeds":
		if g.tests.Seeds, err = strconv.Atoi(value); err == nil && g.tests.Seeds < 1 {
			err = fmt.Errorf("--seeds %s: want 1 or more", value)
		}
	case name == "together":
		g.tests.Together = true
	case name == "traces":
		g.traces = value
	case name == "suppressions":
		g.suppress = append(g.suppress, value)
	case name == "race", name == "msan", name == "asan":
		err = fmt.Errorf("%s: hindsight needs no instrumentation; leave the flag out", spelled)
	case g.verb == "test" && name == "run":
		g.tests.Pattern = value
	case g.verb == "test" && name == "json":
		g.json = value != "false"
	case g.verb == "test" && name == "v":
		g.verbose = value != "false"
		g.tests.Flags = append(g.tests.Flags, "-test.v="+strconv.FormatBool(g.verbose))
	case g.verb == "test" && name == "timeout":
		if g.tests.Timeout, err = time.ParseDuration(value); err != nil {
			err = fmt.Errorf("-timeout %s: want a duration such as 30s or 10m", value)
		}
	case g.verb == "test" && name == "c":
		g.compile = true
	case g.verb == "test" && name == "failfast":
		g.tests.FailFast = value != "false"
		g.tests.Flags = append(g.tests.Flags, "-test."+spelled[1:])
	case g.verb == "test" && name == "p":
		if g.tests.Jobs, err = strconv.Atoi(value); err == nil && g.tests.Jobs < 1 {
			err = fmt.Errorf("-p %s: want 1 or more", value)
		}
		g.build = append(g.build, spelled)
	case g.verb == "test" && (slices.Contains(testValues, name) || slices.Contains(testBools, name)):
		g.tests.Flags = append(g.tests.Flags, "-test."+spelled[1:])
	default:
		g.build = append(g.build, spelled)
	}
	return err
}

// toolchain returns the go command with the flags of this command.
func (g *goCommand) toolchain() *gobuild.Go {
	return &gobuild.Go{Flags: g.build, In: g.std.In, Out: g.std.Out, Err: g.std.Err}
}

// failed converts the end of the go command to that of this command.
func failed(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return cli.ExitStatus(exit.ExitCode())
	}
	return err
}

// run builds the program, runs it and reports its races.
func (g *goCommand) run(ctx context.Context) error {
	what, args := gobuild.ProgramArgs(g.rest)
	if len(what) == 0 {
		return errors.New("go run: no package or Go files named")
	}
	dir, err := os.MkdirTemp("", "hindsight-go-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "program")
	if err := g.toolchain().BuildTo(ctx, binary, what...); err != nil {
		return failed(err)
	}
	p, err := loadGo(g.std, binary)
	if err != nil {
		return err
	}
	var ended error
	races := 0
	runs := g.recording(dir)
	for r, err := range runs.Program(ctx, p, args, session.Streams(g.std)) {
		if err != nil {
			return err
		}
		races += r.Races()
		if ended == nil {
			ended = endedWith(ctx, r.Summary.Result)
		}
	}
	if races > 0 {
		return cli.ExitStatus(exitRaces)
	}
	return ended
}

// loadGo loads a program that the go command has built, and prints a note about it.
func loadGo(std cli.Streams, file string) (*gobuild.Program, error) {
	p, err := gobuild.Load(file)
	if err == nil && p.Note != "" {
		fmt.Fprintf(std.Err, "hindsight: %s\n", p.Note)
	}
	return p, err
}

// recording says how to record runs: into dir, unless --traces names another directory.
func (g *goCommand) recording(dir string) gobuild.Recording {
	r := g.tests.Recording
	r.Dir, r.Keep, r.Examine = dir, g.traces != "", g.examine
	if r.Keep {
		r.Dir = g.traces
	}
	return r
}

// examine prints the problems of a run, and its races.
func (g *goCommand) examine(ctx context.Context, r *session.Run, done *session.Summary, log io.Writer) (*report.Report, error) {
	trouble(log, done)
	f := defaultRaces()
	f.suppressions, f.program = g.suppress, r.Image
	var text bytes.Buffer
	rep, err := f.analyse(ctx, cli.Streams{Out: &text, Err: log}, r.Out)
	if rep.Count() > 0 {
		_, write := log.Write(text.Bytes())
		err = errors.Join(err, write)
	}
	return rep, err
}
