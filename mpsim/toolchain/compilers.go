// Package toolchain finds the cross compilers for the simulated machine and the
// libraries that dynamically linked programs need.
package toolchain

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Compilers are the compilers of a language: names to try in order, Debian's first, and the
// environment variable that overrides them.
type Compilers struct {
	Language string
	Names    []string
	Env      string
}

// The supported languages.
var (
	C       = Compilers{"C", []string{"riscv64-linux-gnu-gcc", "riscv64-unknown-linux-gnu-gcc"}, "HINDSIGHT_CC"}
	CXX     = Compilers{"C++", []string{"riscv64-linux-gnu-g++", "riscv64-unknown-linux-gnu-g++"}, "HINDSIGHT_CXX"}
	Fortran = Compilers{"Fortran", []string{"riscv64-linux-gnu-gfortran", "riscv64-unknown-linux-gnu-gfortran"}, "HINDSIGHT_FC"}
)

// Find returns the path of the first compiler that is installed.
func (l *Compilers) Find() (string, error) {
	if named := os.Getenv(l.Env); named != "" {
		return named, nil
	}
	for _, name := range l.Names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed; hindsight doctor says how to get it", strings.Join(l.Names, " or "))
}

// Flags returns the flags that are added to the arguments. They include static linking if a
// dynamically linked program could not be run.
func Flags(compiler string) []string {
	if sysrootOf(compiler, Interp) == "" {
		return []string{"-g", "-static", "-pthread"}
	}
	return []string{"-g", "-pthread"}
}

// Interp is the dynamic linker of Linux distributions for RV64GC.
const Interp = "/lib/ld-linux-riscv64-lp64d.so.1"

// IsCXX reports whether a source file among the arguments is C++, or a linked object was
// compiled from it.
func IsCXX(args []string) bool {
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

// needsCXX reports whether an object file needs the C++ library.
func needsCXX(file string) bool {
	f, err := elf.Open(file)
	if err != nil {
		return false // the compiler will say what is wrong with it
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
