package main

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/cmd/internal/cli"
)

// compilers are those of a language: names to try in order, Debian's first, and
// the environment variable that names another.
type compilers struct {
	language string
	names    []string
	env      string
}

var (
	cCompilers       = compilers{"C", []string{"riscv64-linux-gnu-gcc", "riscv64-unknown-linux-gnu-gcc"}, "HINDSIGHT_CC"}
	cxxCompilers     = compilers{"C++", []string{"riscv64-linux-gnu-g++", "riscv64-unknown-linux-gnu-g++"}, "HINDSIGHT_CXX"}
	fortranCompilers = compilers{"Fortran", []string{"riscv64-linux-gnu-gfortran", "riscv64-unknown-linux-gnu-gfortran"}, "HINDSIGHT_FC"}
)

func newCC(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "cc ARGS…",
		Short: "Compile with the RISC-V cross compiler, -g -pthread added",
		Long: `cc calls riscv64-linux-gnu-gcc with -g -pthread in front of the arguments given,
and ends with its status; g++ when a source file is C++ or an object to link was
compiled from it. Where the compiler has no shared C library, -static is added
too; give it yourself for a program of one file. HINDSIGHT_CC names another
compiler. For other languages there are hindsight c++ and hindsight fortran.

Alone, --cmake-toolchain prints a toolchain file for CMake and --meson-cross a
cross file for Meson: what they build is for the simulated machine, and its
tests run under hindsight.`,
		Example: `  hindsight cc -O2 -o bank bank.c
  hindsight cc -fopenmp -o sum sum.c
  hindsight cc --cmake-toolchain > riscv.cmake
  cmake -B build -DCMAKE_TOOLCHAIN_FILE=$PWD/riscv.cmake`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case slices.Equal(args, []string{"--cmake-toolchain"}):
				return writeToolchain(std.Out, cmakeToolchain)
			case slices.Equal(args, []string{"--meson-cross"}):
				return writeToolchain(std.Out, mesonCross)
			}
			if cc := os.Getenv(cCompilers.env); cc == "" && isCXX(args) {
				return cxxCompilers.compile(cmd, std, args)
			}
			return cCompilers.compile(cmd, std, args)
		},
	}
}

func newCXX(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "c++ ARGS…",
		Short: "Compile C++ with the RISC-V cross compiler",
		Long: `c++ calls riscv64-linux-gnu-g++ as hindsight cc calls gcc. HINDSIGHT_CXX names
another compiler.`,
		Example:            `  hindsight c++ -std=c++20 -O2 -o pool pool.cc`,
		DisableFlagParsing: true,
		RunE:               func(cmd *cobra.Command, args []string) error { return cxxCompilers.compile(cmd, std, args) },
	}
}

func newFortran(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "fortran ARGS…",
		Short: "Compile Fortran with the RISC-V cross compiler",
		Long: `fortran calls riscv64-linux-gnu-gfortran as hindsight cc calls gcc. HINDSIGHT_FC
names another compiler.`,
		Example:            `  hindsight fortran -fopenmp -O2 -o heat heat.f90`,
		DisableFlagParsing: true,
		RunE:               func(cmd *cobra.Command, args []string) error { return fortranCompilers.compile(cmd, std, args) },
	}
}

// compile calls the compiler of a language.
func (l *compilers) compile(cmd *cobra.Command, std cli.Streams, args []string) error {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		return cmd.Help()
	}
	compiler, err := l.find()
	if err != nil {
		return err
	}
	flags := ccFlags(compiler)
	if cli.IsTerminal(std.Err) {
		flags = append(flags, "-fdiagnostics-color=always") // it does not see the terminal
	}
	c := exec.CommandContext(cmd.Context(), compiler, append(flags, args...)...)
	quiet := &withoutDlopen{w: std.Err}
	c.Stdin, c.Stdout, c.Stderr = std.In, std.Out, quiet
	err = c.Run()
	quiet.end()
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() > 0 {
		return cli.ExitStatus(failed.ExitCode())
	}
	return err
}

// ccFlags are what is added to the arguments: static linking where a dynamically
// linked program could not be run.
func ccFlags(compiler string) []string {
	if sysrootOf(compiler, usualInterp) == "" {
		return []string{"-g", "-static", "-pthread"}
	}
	return []string{"-g", "-pthread"}
}

// usualInterp is the dynamic linker of Linux distributions for RV64GC.
const usualInterp = "/lib/ld-linux-riscv64-lp64d.so.1"

// isCXX says whether a source file among the arguments is C++, or an object that
// is linked was compiled from it.
func isCXX(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		switch filepath.Ext(a) {
		case ".cc", ".cpp", ".cxx", ".C", ".c++", ".ii":
			return true
		case ".o":
			return needsCXX(a)
		}
		return false
	})
}

// needsCXX says whether an object file wants the C++ library.
func needsCXX(file string) bool {
	f, err := elf.Open(file)
	if err != nil {
		return false // the compiler says what is wrong with it
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(symbols, func(s elf.Symbol) bool {
		return s.Section == elf.SHN_UNDEF && (strings.HasPrefix(s.Name, "_Z") || strings.HasPrefix(s.Name, "__cxa_") || strings.HasPrefix(s.Name, "__gxx_"))
	})
}

// find returns the path of the first of the compilers that is installed.
func (l *compilers) find() (string, error) {
	if named := os.Getenv(l.env); named != "" {
		return named, nil
	}
	for _, name := range l.names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed; hindsight doctor says how to get it", strings.Join(l.names, " or "))
}

// withoutDlopen passes on what a compiler says, but for the linker's warning about
// dlopen in a static program: libgomp contains the call and does not reach it.
type withoutDlopen struct {
	w    io.Writer
	part []byte // of a line
	held []byte // a line that says in which function
}

var (
	inFunction    = regexp.MustCompile(`: in function .*:\s*$`)
	dlopenWarning = regexp.MustCompile(`: warning: Using 'dlopen' in statically linked applications`)
)

func (q *withoutDlopen) Write(b []byte) (int, error) {
	q.part = append(q.part, b...)
	for {
		n, line, err := bufio.ScanLines(q.part, false)
		if err != nil || n == 0 {
			return len(b), err
		}
		if err := q.line(q.part[:n], line); err != nil {
			return 0, err
		}
		q.part = q.part[n:]
	}
}

// line takes a whole line, with what ends it and without.
func (q *withoutDlopen) line(whole, line []byte) error {
	if dlopenWarning.Match(line) {
		q.held = nil
		return nil
	}
	if err := q.flush(); err != nil {
		return err
	}
	if inFunction.Match(line) {
		q.held = slices.Clone(whole)
		return nil
	}
	_, err := q.w.Write(whole)
	return err
}

func (q *withoutDlopen) flush() error {
	held := q.held
	if q.held = nil; held == nil {
		return nil
	}
	_, err := q.w.Write(held)
	return err
}

// end passes on what is left.
func (q *withoutDlopen) end() {
	if q.flush() == nil && len(q.part) > 0 {
		_, _ = q.w.Write(q.part) // the compiler's status tells what matters
	}
}
