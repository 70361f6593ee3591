package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/toolchain"
)

func newCC(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:                   "cc ARGS…",
		DisableFlagsInUseLine: true,
		Short:                 "Compile with the RISC-V cross compiler and -g -pthread",
		Long: `cc calls riscv64-linux-gnu-gcc, adds -g -pthread before the given arguments, and
exits with its status. It calls g++ instead when a source file is C++, or when
an object to link was compiled from C++. If the compiler has no shared C
library, cc also adds -static. Pass -static yourself to get a program that is a
single file. HINDSIGHT_CC names another compiler. See hindsight c++ and
hindsight fortran for other languages.

Given as the only argument, --cmake-toolchain prints a toolchain file for CMake
and --meson-cross prints a cross file for Meson. They build for the simulated
machine and run tests under hindsight.`,
		Example: `  hindsight cc -O2 -o bank bank.c
  hindsight cc -fopenmp -o sum sum.c
  hindsight cc --cmake-toolchain > riscv.cmake
  cmake -B build -DCMAKE_TOOLCHAIN_FILE=$PWD/riscv.cmake`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case slices.Equal(args, []string{"--cmake-toolchain"}):
				return toolchain.WriteCMake(std.Out)
			case slices.Equal(args, []string{"--meson-cross"}):
				return toolchain.WriteMeson(std.Out)
			}
			if cc := os.Getenv(toolchain.C.Env); cc == "" && toolchain.IsCXX(args) {
				return compile(&toolchain.CXX, cmd, std, args)
			}
			return compile(&toolchain.C, cmd, std, args)
		},
	}
}

func newCXX(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:                   "c++ ARGS…",
		DisableFlagsInUseLine: true,
		Short:                 "Compile C++ with the RISC-V cross compiler",
		Long: `c++ calls riscv64-linux-gnu-g++ in the way that hindsight cc calls gcc.
HINDSIGHT_CXX names another compiler.`,
		Example:            `  hindsight c++ -std=c++20 -O2 -o pool pool.cc`,
		DisableFlagParsing: true,
		RunE:               func(cmd *cobra.Command, args []string) error { return compile(&toolchain.CXX, cmd, std, args) },
	}
}

func newFortran(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:                   "fortran ARGS…",
		DisableFlagsInUseLine: true,
		Short:                 "Compile Fortran with the RISC-V cross compiler",
		Long: `fortran calls riscv64-linux-gnu-gfortran in the way that hindsight cc calls gcc.
HINDSIGHT_FC names another compiler.`,
		Example:            `  hindsight fortran -fopenmp -O2 -o heat heat.f90`,
		DisableFlagParsing: true,
		RunE:               func(cmd *cobra.Command, args []string) error { return compile(&toolchain.Fortran, cmd, std, args) },
	}
}

// compile calls the compiler of a language.
func compile(l *toolchain.Compilers, cmd *cobra.Command, std cli.Streams, args []string) error {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		return cmd.Help()
	}
	compiler, err := l.Find()
	if err != nil {
		return err
	}
	flags := toolchain.Flags(compiler)
	if cli.IsTerminal(std.Err) {
		flags = append(flags, "-fdiagnostics-color=always") // the compiler does not see the terminal
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

// withoutDlopen passes on what a compiler prints, without the linker's warning about
// dlopen in a static program. libgomp contains that call and never reaches it.
type withoutDlopen struct {
	w    io.Writer
	part []byte // the beginning of an incomplete line
	held []byte // a line that names a function, held until the next one
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

// line processes a whole line, with its line break and without.
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
	q.held = nil
	if held == nil {
		return nil
	}
	_, err := q.w.Write(held)
	return err
}

// end passes on the rest.
func (q *withoutDlopen) end() {
	if q.flush() == nil && len(q.part) > 0 {
		_, _ = q.w.Write(q.part) // the compiler's status is what matters
	}
}

func newDoctor(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check which parts of the toolchain are installed",
		Long: `doctor looks for the compilers and libraries that build programs for the
simulated machine. It prints where they are or how to install them. It exits
with status 2 when there is no C compiler. To run and analyse programs, or to
use hindsight demo, you need none of them.`,
		Example: `  hindsight doctor    # what is missing, and the command that installs it`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			lacking := false
			var out strings.Builder
			for _, t := range toolchain.Tools() {
				where, err := t.Find()
				if err == nil {
					fmt.Fprintf(&out, "ok       %-17s %s\n", t.Name, where)
					continue
				}
				lacking = lacking || t.Needed
				fmt.Fprintf(&out, "missing  %-17s for %s\n", t.Name, t.Does)
				for _, g := range t.Get {
					fmt.Fprintf(&out, "           %s\n", g)
				}
			}
			if _, err := std.Out.Write([]byte(out.String())); err != nil {
				return err
			}
			if lacking {
				return cli.ExitStatus(exitError)
			}
			return nil
		},
	}
}
