package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// compilers are tried in order: Debian's and Fedora's names.
var (
	ccNames  = []string{"riscv64-linux-gnu-gcc", "riscv64-unknown-linux-gnu-gcc"}
	cxxNames = []string{"riscv64-linux-gnu-g++", "riscv64-unknown-linux-gnu-g++"}
)

func newCC(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "cc ARGS…",
		Short: "Compile with the RISC-V cross compiler, -g -pthread added",
		Long: `cc calls riscv64-linux-gnu-gcc (g++ when a source file is C++) with
-g -pthread in front of the arguments given, and ends with its status. Where the
compiler has no shared C library, -static is added too; give it yourself for a
program of one file. HINDSIGHT_CC names another compiler.`,
		Example: `  hindsight cc -O2 -o bank bank.c
  hindsight cc -fopenmp -o sum sum.cc`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
				return cmd.Help()
			}
			compiler, err := findCompiler(args)
			if err != nil {
				return err
			}
			c := exec.CommandContext(cmd.Context(), compiler, append(ccFlags(compiler), args...)...)
			c.Stdin, c.Stdout, c.Stderr = std.in, std.out, std.err
			err = c.Run()
			var failed *exec.ExitError
			if errors.As(err, &failed) && failed.ExitCode() > 0 {
				return exitStatus(failed.ExitCode())
			}
			return err
		},
	}
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

func findCompiler(args []string) (string, error) {
	if cc := os.Getenv("HINDSIGHT_CC"); cc != "" {
		return cc, nil
	}
	names := ccNames
	for _, a := range args {
		switch filepath.Ext(a) {
		case ".cc", ".cpp", ".cxx", ".C", ".c++":
			names = cxxNames
		}
	}
	return compilerOf(names)
}

// compilerOf gives the first of the compilers that is installed.
func compilerOf(names []string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf(`%s is not installed
  Debian, Ubuntu:  apt-get install gcc-riscv64-linux-gnu g++-riscv64-linux-gnu libc6-dev-riscv64-cross
  Fedora:          a riscv64 gcc with a static glibc; name it in HINDSIGHT_CC
  elsewhere:       any gcc for riscv64-linux with a static glibc; name it in HINDSIGHT_CC`, strings.Join(names, " or "))
}
