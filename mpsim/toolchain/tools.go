package toolchain

import "os/exec"

// Tool is a program that hindsight calls or that its users need.
type Tool struct {
	Name   string
	Does   string // its purpose
	Needed bool   // required; otherwise only some users need it
	Find   func() (where string, err error)
	Get    []string // how to install it, by system
}

const (
	onDebian = "Debian, Ubuntu:  apt-get install "
	onArch   = "Arch:            pacman -S "
	onMacOS  = "macOS:           brew install "
)

// Tools returns the tools to look for, the most important first.
func Tools() []Tool {
	return []Tool{
		{"C compiler", "hindsight cc", true, C.Find, []string{
			onDebian + "gcc-riscv64-linux-gnu libc6-dev-riscv64-cross",
			"Fedora:          gcc-riscv64-linux-gnu has no C library; any gcc for riscv64-linux with glibc will do: name it in HINDSIGHT_CC",
			onArch + "riscv64-linux-gnu-gcc",
			onMacOS + "messense/macos-cross-toolchains/riscv64-unknown-linux-gnu",
		}},
		{"C++ compiler", "hindsight c++", false, CXX.Find, []string{
			onDebian + "g++-riscv64-linux-gnu",
			onArch + "riscv64-linux-gnu-gcc",
			onMacOS + "messense/macos-cross-toolchains/riscv64-unknown-linux-gnu",
		}},
		{"Fortran compiler", "hindsight fortran", false, Fortran.Find, []string{
			onDebian + "gfortran-riscv64-linux-gnu",
			onMacOS + "messense/macos-cross-toolchains/riscv64-unknown-linux-gnu",
		}},
		{"shared libraries", "dynamically linked programs", false, func() (string, error) { return Sysroot(Interp) }, []string{
			onDebian + "libc6-dev-riscv64-cross",
			"elsewhere:       hindsight run --root DIR, with a root directory of a riscv64 system",
		}},
		{"Go", "hindsight go", false, func() (string, error) { return exec.LookPath("go") }, []string{
			"everywhere:      https://go.dev/dl/",
		}},
	}
}
