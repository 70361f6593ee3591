package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	"hindsight/cdr/recorder"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim"
	"hindsight/mpsim/gorun"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
	"hindsight/wpp/cfg"
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
				return g.passOn(cmd.Context())
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
	tests    []string // flags of the test binary, without -test.
	rest     []string // packages, then, of run, the program's arguments
	args     []string // of the test binary, after -args
	verbose  bool
	compile  bool // test -c: only build
	pattern  string
	seed     uint64
	seeds    int
	jobs     int // tests at a time
	failfast bool
	together bool
	json     bool
	timeout  time.Duration // of a run of tests, in the program's time and in real time; 0: none
	traces   string
	ignored  []string // files of suppressions
}

// Flags of go test that are the test binary's, with and without a value.
var (
	testValues = []string{"run", "skip", "count", "timeout", "parallel", "cpu", "shuffle", "bench", "benchtime", "list", "fuzz", "fuzztime"}
	testBools  = []string{"short", "failfast", "fullpath", "v"}
	goBools    = []string{"a", "n", "x", "work", "trimpath", "modcacherw", "linkshared", "cover", "race", "msan", "asan", "json", "i", "c", "buildvcs"}
)

// defaultTestTimeout is go test's.
const defaultTestTimeout = 10 * time.Minute

// parseGo splits the arguments as the go command does.
func parseGo(args []string) (*goCommand, error) {
	g := &goCommand{verb: args[0], seed: 1, seeds: 1, jobs: runtime.GOMAXPROCS(0), timeout: defaultTestTimeout}
	args = args[1:]
	for len(args) > 0 {
		arg := args[0]
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			if g.verb == "run" {
				break // what follows the package is the program's
			}
			g.rest = append(g.rest, arg)
			args = args[1:]
			continue
		}
		name, value, inline := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		name = strings.TrimPrefix(name, "test.")
		if name == "args" && g.verb == "test" {
			g.args = args[1:]
			break
		}
		isBool := slices.Contains(testBools, name) || slices.Contains(goBools, name) || name == "together"
		if args = args[1:]; !inline && !isBool {
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
		g.seed, err = strconv.ParseUint(value, 10, 64)
	case name == "seeds":
		if g.seeds, err = strconv.Atoi(value); err == nil && g.seeds < 1 {
			err = fmt.Errorf("--seeds %s: want 1 or more", value)
		}
	case name == "together":
		g.together = true
	case name == "traces":
		g.traces = value
	case name == "suppressions":
		g.ignored = append(g.ignored, value)
	case name == "race", name == "msan", name == "asan":
		err = fmt.Errorf("%s: hindsight needs no instrumentation; leave the flag out", spelled)
	case g.verb == "test" && name == "run":
		g.pattern = value
	case g.verb == "test" && name == "json":
		g.json = value != "false"
	case g.verb == "test" && name == "v":
		g.verbose = value != "false"
		g.tests = append(g.tests, "-test.v="+strconv.FormatBool(g.verbose))
	case g.verb == "test" && name == "timeout":
		if g.timeout, err = time.ParseDuration(value); err != nil {
			err = fmt.Errorf("-timeout %s: want a duration such as 30s or 10m", value)
		}
	case g.verb == "test" && name == "c":
		g.compile = true
	case g.verb == "test" && name == "failfast":
		g.failfast = value != "false"
		g.tests = append(g.tests, "-test."+spelled[1:])
	case g.verb == "test" && name == "p":
		if g.jobs, err = strconv.Atoi(value); err == nil && g.jobs < 1 {
			err = fmt.Errorf("-p %s: want 1 or more", value)
		}
		g.build = append(g.build, spelled)
	case g.verb == "test" && (slices.Contains(testValues, name) || slices.Contains(testBools, name)):
		g.tests = append(g.tests, "-test."+spelled[1:])
	default:
		g.build = append(g.build, spelled)
	}
	return err
}

// command is a call of the go command for the simulated machine.
func (g *goCommand) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Env = append(os.Environ(), "GOOS=linux", "GOARCH=riscv64", "CGO_ENABLED=0")
	c.Stdin, c.Stdout, c.Stderr = g.std.In, g.std.Out, g.std.Err
	return c
}

// failed turns the end of the go command into that of this one.
func failed(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return cli.ExitStatus(exit.ExitCode())
	}
	return err
}

// passOn calls go build, or go test -c.
func (g *goCommand) passOn(ctx context.Context) error {
	args := append([]string{g.verb}, g.build...)
	return failed(g.command(ctx, append(args, g.rest...)...).Run())
}

// run builds the program, runs it and reports its races.
func (g *goCommand) run(ctx context.Context) error {
	files := 0
	for files < len(g.rest) && strings.HasSuffix(g.rest[files], ".go") {
		files++
	}
	if files == 0 && len(g.rest) > 0 {
		files = 1
	}
	if files == 0 {
		return errors.New("go run: no package or Go files named")
	}
	dir, err := os.MkdirTemp("", "hindsight-go-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "program")
	args := append(append([]string{"build", "-o", binary}, g.build...), g.rest[:files]...)
	if err := g.command(ctx, args...).Run(); err != nil {
		return failed(err)
	}
	p, err := loadGo(g.std, binary)
	if err != nil {
		return err
	}
	var ended error
	races := 0
	for n := range g.seeds {
		r := g.recording(p, "program", uint64(n), dir)
		r.Args = g.rest[files:]
		done, found, err := g.recordAndReport(ctx, r, g.std)
		if err != nil {
			return err
		}
		races += found
		if ended == nil {
			ended = endedWith(ctx, done.Result)
		}
	}
	if races > 0 {
		return cli.ExitStatus(exitRaces)
	}
	return ended
}

// goProgram is a program that the go command has built, with what its runs share.
type goProgram struct {
	file   string
	img    *image.Space
	flow   *cfg.Program
	packed recorder.PackedImage
}

// loadGo loads a program that the go command has built.
func loadGo(std cli.Streams, file string) (*goProgram, error) {
	img, err := image.Load(file)
	if err != nil {
		return nil, err
	}
	if note := gorun.Unchecked(img.Main); note != "" {
		fmt.Fprintf(std.Err, "hindsight: %s\n", note)
	}
	packed, err := recorder.PackImage(img.Main.Data)
	if err != nil {
		return nil, err
	}
	return &goProgram{file, img, cfg.New(img), packed}, nil
}

// recording is run number n of a program.
func (g *goCommand) recording(p *goProgram, name string, n uint64, dir string) *session.Run {
	if g.traces != "" {
		dir = g.traces
	}
	if g.seeds > 1 {
		name += fmt.Sprintf(".%d", g.seed+n)
	}
	return &session.Run{
		Image: p.img, Program: p.file, Policy: mpsim.Random, Seed: g.seed + n,
		Mode: "cdr", Keep: "all", Alphabet: "path", Out: filepath.Join(dir, name+".hst"),
		Flow: p.flow, Packed: p.packed, Scratch: g.traces == "",
	}
}

// recordAndReport makes a run, and prints what it prints and its races.
func (g *goCommand) recordAndReport(ctx context.Context, r *session.Run, std cli.Streams) (*session.Summary, int, error) {
	done, err := r.Record(ctx, session.Streams(std))
	if err != nil {
		return nil, 0, err
	}
	found, _, err := g.report(ctx, r, done, std)
	return done, found, err
}

// report prints what went wrong in a run and its races, and says how many there
// are, with the report; nil if it could not be made.
func (g *goCommand) report(ctx context.Context, r *session.Run, done *session.Summary, std cli.Streams) (int, *report.Report, error) {
	trouble(std.Err, done)
	f := defaultRaces()
	f.suppressions, f.program = g.ignored, r.Image
	var text bytes.Buffer
	rep, err := f.analyse(ctx, cli.Streams{Out: &text, Err: std.Err}, r.Out)
	found := reported(rep)
	if found > 0 {
		_, write := std.Err.Write(text.Bytes())
		err = errors.Join(err, write)
	}
	if g.traces == "" {
		err = errors.Join(err, os.Remove(r.Out))
	}
	return found, rep, err
}
