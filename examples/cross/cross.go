// Package cross compiles and loads the example programs, for tests.
package cross

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hindsight/examples"
)

// Compiler is the RISC-V cross compiler of Debian's gcc-riscv64-linux-gnu.
const Compiler = "riscv64-linux-gnu-gcc"

// Options of Build. The zero value builds what the archive holds.
type Options struct {
	CC    string   // default Compiler
	Level string   // default the program's own
	Extra []string // further flags, after the program's
	// Dynamic leaves out -static, which sanitizers cannot have.
	Dynamic bool
}

// Unpack writes every source and the header into dir, once for many builds.
func Unpack(dir string) error {
	name, text, err := examples.Header()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
		return err
	}
	for _, p := range examples.Programs() {
		source, err := examples.Source(p.Name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, p.File), source, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Build compiles a program from the sources in dir into the file out. Sources
// are named relative to dir and nothing else of the place is left in the
// result, so that the same toolchain returns the same bytes anywhere.
func Build(ctx context.Context, dir string, p examples.Program, out string, o Options) error {
	cc, level := o.CC, o.Level
	if cc == "" {
		cc = Compiler
	}
	if level == "" {
		level = p.Level
	}
	base := examples.BaseFlags()
	if o.Dynamic {
		base = slices.DeleteFunc(base, func(flag string) bool { return flag == "-static" })
	}
	args := slices.Concat(base, []string{level}, p.Defines,
		[]string{"-Wl,--build-id=none", "-ffile-prefix-map=" + dir + "=."},
		o.Extra, []string{"-o", out, p.File}, p.Libs)
	cmd := exec.CommandContext(ctx, cc, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SOURCE_DATE_EPOCH=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", cc, strings.Join(args, " "), err, text)
	} else if len(text) > 0 {
		return fmt.Errorf("%s %s: warnings:\n%s", cc, p.File, text)
	}
	return nil
}

// Toolchain describes what decides the bytes of a build: the versions of
// compiler and linker, and the digest of the C library.
func Toolchain(ctx context.Context) (string, error) {
	var b strings.Builder
	for _, args := range [][]string{{"--version"}, {"-Wl,--version"}} {
		out, err := exec.CommandContext(ctx, Compiler, args...).Output()
		if err != nil {
			return "", fmt.Errorf("%s %s: %w", Compiler, args[0], err)
		}
		line, _, _ := bytes.Cut(out, []byte("\n"))
		fmt.Fprintf(&b, "%s\n", line)
	}
	out, err := exec.CommandContext(ctx, Compiler, "-print-file-name=libc.a").Output()
	if err != nil {
		return "", fmt.Errorf("%s -print-file-name: %w", Compiler, err)
	}
	libc, err := os.ReadFile(strings.TrimSpace(string(out)))
	if err != nil {
		return "", fmt.Errorf("the C library: %w", err)
	}
	fmt.Fprintf(&b, "libc.a %x\n", sha256.Sum256(libc))
	return b.String(), nil
}
