package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// store fetches source packages with a separate apt configuration: the system's sources and
// lists stay as they are.
type store struct {
	config, src string
}

const aptSources = `deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main
deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main
`

// newStore makes the directories; lists are fetched with the first package.
func newStore(apt, src string) (*store, error) { return newStoreOf(apt, src, aptSources) }

// newStoreOf is newStore with other sources, for packages of some architectures, the
// host's first; none: the system's.
func newStoreOf(apt, src, sources string, architectures ...string) (*store, error) {
	for _, dir := range []string{apt + "/lists/partial", apt + "/cache/archives/partial", src} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	s := &store{config: filepath.Join(apt, "apt.conf"), src: src}
	list := filepath.Join(apt, "sources.list")
	// What the host has installed would be looked up as well, and in other releases.
	config := fmt.Sprintf("Dir::Etc::sourcelist %q;\nDir::Etc::sourceparts \"/dev/null\";\nDir::State::lists %q;\nDir::State::Status \"/dev/null\";\n"+
		"Dir::Cache %q;\nAPT::Sandbox::User \"\";\n", list, filepath.Join(apt, "lists"), filepath.Join(apt, "cache"))
	if len(architectures) > 0 {
		config += fmt.Sprintf("APT::Architecture %q;\nAPT::Architectures {\"%s\";};\nAcquire::Languages \"none\";\n",
			architectures[0], strings.Join(architectures, `";"`))
	}
	if err := os.WriteFile(list, []byte(sources), 0o644); err != nil {
		return nil, err
	}
	return s, os.WriteFile(s.config, []byte(config), 0o644)
}

// fetch makes src/NAME/tree the unpacked source of a package, given as NAME or
// NAME/RELEASE.
func (s *store) fetch(ctx context.Context, source string) error {
	name, release, ok := strings.Cut(source, "/")
	if !ok {
		release = "bookworm"
	}
	dir := filepath.Join(s.src, name)
	tree := filepath.Join(dir, "tree")
	if _, err := os.Stat(tree); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if listed, _ := filepath.Glob(filepath.Join(filepath.Dir(s.config), "lists", "*_Sources*")); len(listed) == 0 {
		if err := s.apt(ctx, dir, "update"); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "real: fetching %s from %s\n", name, release)
	if err := s.apt(ctx, dir, "source", "-q", "-t", release, name+"/"+release); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			return os.Symlink(e.Name(), tree)
		}
	}
	return fmt.Errorf("apt-get source %s left no directory in %s", name, dir)
}

func (s *store) apt(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "APT_CONFIG="+s.config)
	return done(cmd)
}

// tool runs a program of the host.
func tool(ctx context.Context, name string, args ...string) error {
	return done(exec.CommandContext(ctx, name, args...))
}

// done runs a command; what it printed last is part of an error.
func done(cmd *exec.Cmd) error {
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, lastLines(text))
	}
	return nil
}

// The cross compiler is that of Debian's gcc-riscv64-linux-gnu.
const target = "riscv64-linux-gnu"

// buildHead is in front of each build script.
const buildHead = `set -e
copy() {
  mkdir -p "$1"
  cp -a "$SRC/$1/tree/." "$1"
  # Patches of Debian must not make make call autoconf and automake.
  for f in aclocal.m4 configure config.h.in Makefile.in; do find "$1" -name $f -exec touch {} +; done
}
`

// build runs the script of a program, unless it has already been run in its current form. The
// script finds sources in $SRC/PACKAGE/tree and leaves programs in $OUT.
func (o *options) build(ctx context.Context, p program, kind, out string) error {
	stamp := filepath.Join(out, ".built")
	want := fmt.Sprintf("%x\n", sha256.Sum256([]byte(buildHead+p.build+driversOf(p.build))))
	if have, err := os.ReadFile(stamp); err == nil && string(have) == want {
		return nil
	}
	work := o.path("build", p.name+"-"+kind)
	for _, dir := range []string{work, out} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := writeDrivers(work); err != nil {
		return err
	}
	static, all := "", ""
	if kind == "static" {
		static, all = "-static", "LDFLAGS=-all-static" // the second for libtool
	}
	fmt.Fprintf(os.Stderr, "real: building %s, %s\n", p.name, kind)
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", buildHead+p.build)
	cmd.Dir = work
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "SRC="+o.path("src"), "OUT="+out, "HOST="+target, "KIND="+kind, "ALLSTATIC="+all,
		"CC="+target+"-gcc "+static, "CXX="+target+"-g++ "+static, "FC="+target+"-gfortran "+static,
		"AR="+target+"-ar", "RANLIB="+target+"-ranlib", "STRIP="+target+"-strip", "NM="+target+"-nm",
		"CFLAGS=-g -O2", "CXXFLAGS=-g -O2", "FFLAGS=-g -O2", "HINDSIGHT="+o.hindsight, "LC_ALL=C", "RUSTC="+o.path("rust", "compile"))
	log, err := cmd.CombinedOutput()
	file := filepath.Join(work, "build.log")
	if e := os.WriteFile(file, log, 0o644); e != nil {
		return e
	}
	if err != nil {
		return fmt.Errorf("build: %w (whole log: %s)\n%s", err, file, lastLines(log))
	}
	return os.WriteFile(stamp, []byte(want), 0o644)
}

// lastLines is the end of a log.
func lastLines(text []byte) string {
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
