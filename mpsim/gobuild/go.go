// Package gobuild calls the go command: it builds Go programs and tests for the
// simulated machine, runs them under one or more seeds, and has each run examined.
//
// [Go] calls the go command. [Load] loads what it has built. [Recording.Program] runs a
// program, and [Tests.All] the tests of a package, each in a run of its own or all in
// one. Both return a sequence of [Result]. What examines a run is the caller's choice
// ([Recording.Examine]); this package only asks for a report of races.
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

// Go calls the go command with GOOS=linux, GOARCH=riscv64 and CGO_ENABLED=0. An error of
// the command itself is an [*exec.ExitError]; the command has then said why on Err.
type Go struct {
	Flags    []string // of go build, each as one word such as -tags=net
	In       io.Reader
	Out, Err io.Writer
}

// Build calls go build for packages or files. Flags say where the program goes.
func (g *Go) Build(ctx context.Context, what ...string) error {
	return g.build(ctx, []string{"build"}, what)
}

// BuildTests calls go test -c for packages.
func (g *Go) BuildTests(ctx context.Context, packages ...string) error {
	return g.build(ctx, []string{"test", "-c"}, packages)
}

// BuildTo is [Go.Build] into a file.
func (g *Go) BuildTo(ctx context.Context, file string, what ...string) error {
	return g.build(ctx, []string{"build", "-o", file}, what)
}

// BuildTestsTo builds the test binary of a package into a file.
func (g *Go) BuildTestsTo(ctx context.Context, file, pkg string) error {
	return g.build(ctx, []string{"test", "-c", "-o", file}, []string{pkg})
}

func (g *Go) build(ctx context.Context, verb, what []string) error {
	return g.command(ctx, slices.Concat(verb, g.Flags, what)...).Run()
}

// command is a call of the go command for the simulated machine.
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

// HasTests reports whether the package has a file of tests.
func (p *Package) HasTests() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// Packages returns the packages that patterns match, as go list does.
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

// listFlags are the build flags that go list needs, too.
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

// Events starts go tool test2json. What is written to the writer that it returns, the
// output of a package's tests, becomes the events of go test -json on Out. finish waits
// until all of them have been written.
func (g *Go) Events(ctx context.Context, pkg string) (w io.Writer, finish func() error, err error) {
	c := g.command(ctx, "tool", "test2json", "-t", "-p", pkg)
	c.Env = nil // it runs here, not in the simulated machine
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

// Program is a program that the go command has built, with what its runs share.
type Program struct {
	File  string
	Image *image.Space
	// Note says that nobody has checked the hooks of Go's runtime with the release that
	// built the program. It is empty if somebody has.
	Note string

	flow   *cfg.Program
	packed recorder.PackedImage
}

// Load loads a program that the go command has built.
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

// ProgramArgs splits the arguments of go run: first the package or the files of the
// program, then the arguments of the program.
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
