package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Debian has no cross compiler for Rust. Its compiler of trixie, and the standard library
// of the architecture riscv64 there, are unpacked beside the sources; with trixie's C
// library the compiler runs on other releases too.

const rustSources = `deb [arch=%s,riscv64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main
`

// rustPackages are those of the host's architecture.
var rustPackages = []string{"rustc", "libstd-rust-1.85", "libllvm19", "libc6", "libgcc-s1", "libstdc++6", "libbsd0", "libedit2", "libffi8",
	"liblzma5", "libmd0", "libtinfo6", "libxml2", "libz3-4", "libzstd1", "zlib1g"}

// compileRust is the compiler as a command, given where it is unpacked.
const compileRust = `#!/bin/sh
ld=$(ls %[1]s/usr/lib64/ld-linux-x86-64.so.2 %[1]s/usr/lib/ld-linux-aarch64.so.1 2>/dev/null | head -n 1)
exec "$ld" --library-path "$(dirname "$(ls %[1]s/usr/lib/*/libc.so.6)")" %[1]s/usr/bin/rustc --sysroot %[1]s/usr \
  --target riscv64gc-unknown-linux-gnu -C linker=%[2]s-gcc -C opt-level=2 -g "$@"
`

// fetchRust makes rust/compile a Rust compiler for the simulated machine.
func (o *options) fetchRust(ctx context.Context) error {
	dir := o.path("rust")
	command := filepath.Join(dir, "compile")
	if _, err := os.Stat(command); err == nil {
		return nil
	}
	host := runtime.GOARCH // Debian's name too, of what Debian has rustc for here
	s, err := newStoreOf(filepath.Join(dir, "apt"), filepath.Join(dir, "packages"), fmt.Sprintf(rustSources, host), host, "riscv64")
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "real: fetching Rust")
	if err := s.apt(ctx, s.src, "update"); err != nil {
		return err
	}
	args := []string{"download", "-q", "libstd-rust-dev:riscv64"}
	for _, name := range rustPackages {
		args = append(args, name+":"+host)
	}
	if err := s.apt(ctx, s.src, args...); err != nil {
		return err
	}
	packages, err := filepath.Glob(filepath.Join(s.src, "*.deb"))
	if err != nil {
		return err
	}
	system := filepath.Join(dir, "system")
	for _, p := range packages {
		if err := tool(ctx, "dpkg-deb", "-x", p, system); err != nil {
			return err
		}
	}
	return os.WriteFile(command, fmt.Appendf(nil, compileRust, system, target), 0o755)
}
