package main

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/cmd/internal/cli"
)

// tool is something that hindsight calls or that its users want.
type tool struct {
	name   string
	does   string
	needed bool // else only some want it
	find   func() (where string, err error)
	get    []string // how to install it, by system
}

const (
	onDebian = "Debian, Ubuntu:  apt-get install "
	onArch   = "Arch:            pacman -S "
	onMacOS  = "macOS:           brew install "
)

func tools() []tool {
	return []tool{
		{"C compiler", "hindsight cc", true, cCompilers.find, []string{
			onDebian + "gcc-riscv64-linux-gnu libc6-dev-riscv64-cross",
			"Fedora:          gcc-riscv64-linux-gnu has no C library; any gcc for riscv64-linux with glibc will do: name it in HINDSIGHT_CC",
			onArch + "riscv64-linux-gnu-gcc",
			onMacOS + "messense/macos-cross-toolchains/riscv64-unknown-linux-gnu",
		}},
		{"C++ compiler", "hindsight c++", false, cxxCompilers.find, []string{
			onDebian + "g++-riscv64-linux-gnu",
			onArch + "riscv64-linux-gnu-gcc",
			onMacOS + "messense/macos-cross-toolchains/riscv64-unknown-linux-gnu",
		}},
		{"Fortran compiler", "hindsight fortran", false, fortranCompilers.find, []string{
			onDebian + "gfortran-riscv64-linux-gnu",
			onMacOS + "messense/macos-cross-toolchains/riscv64-unknown-linux-gnu",
		}},
		{"shared libraries", "dynamically linked programs", false, func() (string, error) { return sysroot(usualInterp) }, []string{
			onDebian + "libc6-dev-riscv64-cross",
			"elsewhere:       hindsight run --root DIR, with a root directory of a riscv64 system",
		}},
		{"Go", "hindsight go", false, func() (string, error) { return exec.LookPath("go") }, []string{
			"everywhere:      https://go.dev/dl/",
		}},
	}
}

func newDoctor(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what of the toolchain is there, and how to get the rest",
		Long: `doctor looks for the compilers and libraries that programs for the simulated
machine are built with, and says where they are or how to install them. It ends
with status 2 when there is no C compiler. Running and analysing programs needs
none of them; nor does hindsight demo.`,
		Example: `  hindsight doctor    # what is missing, and the command that installs it`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			lacking := false
			var out strings.Builder
			for _, t := range tools() {
				where, err := t.find()
				if err == nil {
					fmt.Fprintf(&out, "ok       %-17s %s\n", t.name, where)
					continue
				}
				lacking = lacking || t.needed
				fmt.Fprintf(&out, "missing  %-17s for %s\n", t.name, t.does)
				for _, g := range t.get {
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
