// Package gobuild calls the go command. It builds Go programs and tests for the simulated
// machine, runs them under one or more seeds, and has each run examined.
//
// [Go] calls the go command. [Load] loads what it has built. [Recording.Program] runs a
// program, and [Tests.All] runs the tests of a package, each in its own run or all in one.
// Both return a sequence of [Result]. The caller chooses how runs are examined
// ([Recording.Examine]); this package only expects a report of races.
package gobuild

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hindsight/cdr/recorder"
	"hindsight/mpsim/gorun"
	"hindsight/mpsim/image"
	"hindsight/wpp/cfg"
)

// Go calls the go command with GOOS=linux, GOARCH=riscv64 and CGO_ENABLED=0. If the command
// itself fails, the error is an [*exec.ExitError], and the command has written the reason
// to Err.
type Go struct {
	Flags    []string // of go build, each a single word such as -tags=net
	In       io.Reader
	Out, Err io.Writer
}

// Build calls go build for packages or files. Flags say where the program is written.
func (g *Go) Build(ctx context.Context, what ...string) error {
	return g.build(ctx, []string{"build"}, what)
}

// BuildTests calls go test -c for packages.
func (g *Go) BuildTests(ctx context.Context, packages ...string) error {
	return g.build(ctx, []string{"test", "-c"}, packages)
}

// BuildTo is like [Go.Build], but writes the program to a file.
func (g *Go) BuildTo(ctx context.Context, file string, what ...string) error {
	return g.build(ctx, []string{"build", "-o", file}, what)
}

// BuildTestsTo builds the test binary of a package and writes it to a file.
func (g *Go) BuildTestsTo(ctx context.Context, file, pkg string) error {
	return g.build(ctx, []string{"test", "-c", "-o", file}, []string{pkg})
}

func (g *Go) build(ctx context.Context, verb, what []string) error {
	return g.command(ctx, slices.Concat(verb, g.Flags, what)...).Run()
}

// command returns a call of the go command for the simulated machine.
func (g *Go) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Env = append(os.Environ(), "GOOS=linux", "GOARCH=riscv64", "CGO_ENABLED=0")
	c.Stdin, c.Stdout, c.Stderr = g.In, g.Out, g.Err
	return c
}

// Package is a package with its tests, as go list describes it.
type Package struct {
	Dir, ImportPath           string
	TestGoFiles, XTestGoFiles []string
}

// HasTests reports whether the package has test files.
func (p *Package) HasTests() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// Packages returns the packages that match the patterns, as go list does.
func (g *Go) Packages(ctx context.Context, patterns ...string) ([]Package, error) {
	args := append([]string{"list", "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles"}, g.listFlags()...)
	c := g.command(ctx, append(args, patterns...)...)
	c.Stdout, c.Stdin = nil, nil
	out, err := c.Output()
	if err != nil {
		return nil, err
	}
	var list []Package
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		list = append(list, p)
	}
}

// listFlags returns the build flags that go list needs, too.
func (g *Go) listFlags() (flags []string) {
	for _, f := range g.Flags {
		for _, name := range []string{"-C=", "-tags=", "-mod=", "-modfile=", "-overlay="} {
			if strings.HasPrefix(f, name) {
				flags = append(flags, f)
			}
		}
	}
	return flags
}

// Events starts go tool test2json. The output of a package's tests, written to w, becomes
// the events of go test -json on Out. finish waits until all of them have been written.
func (g *Go) Events(ctx context.Context, pkg string) (w io.Writer, finish func() error, err error) {
	c := g.command(ctx, "tool", "test2json", "-t", "-p", pkg)
	c.Env = nil // it runs here, not on the simulated machine
	c.Stdin = nil
	to, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("go tool test2json: %w", err)
	}
	return to, func() error { return errors.Join(to.Close(), c.Wait()) }, nil
}

// Program is a program built by the go command, with what its runs share.
type Program struct {
	File  string
	Image *image.Space
	// Note says that the hooks of Go's runtime were not checked with the release that built
	// the program. It is empty if they were.
	Note string

	flow   *cfg.Program
	packed recorder.PackedImage
}

// Load loads a program built by the go command.
func Load(file string) (*Program, error) {
	img, err := image.Load(file)
	if err != nil {
		return nil, err
	}
	packed, err := recorder.PackImage(img.Main.Data)
	if err != nil {
		return nil, err
	}
	return &Program{file, img, gorun.Unchecked(img.Main), cfg.New(img), packed}, nil
}

// ProgramArgs splits the arguments of go run into the package or files of the program and
// the program's arguments.
func ProgramArgs(args []string) (program, rest []string) {
	files := 0
	for files < len(args) && filepath.Ext(args[files]) == ".go" {
		files++
	}
	if files == 0 && len(args) > 0 {
		files = 1
	}
	return args[:files], args[files:]
}
