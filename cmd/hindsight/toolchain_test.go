package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const crossCompiler = "riscv64-linux-gnu-gcc"

// sourceDir is the folder of this package; tests change the current one.
var sourceDir, _ = os.Getwd()

// haveCompiler says whether the cross compiler is installed, and fails if not
// though the environment says that it must be.
func haveCompiler(t testing.TB) bool {
	t.Helper()
	_, err := exec.LookPath(crossCompiler)
	if err != nil && os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1" {
		t.Fatalf("%s is required: %v", crossCompiler, err)
	}
	return err == nil
}

// compileC builds a source of testdata/programs and gives the path of the
// program, or skips.
func compileC(t testing.TB, source string) string {
	t.Helper()
	if !haveCompiler(t) {
		t.Skipf("%s is not installed", crossCompiler)
	}
	return compileTo(t, t.TempDir(), source)
}

func compileTo(t testing.TB, dir, source string) string {
	t.Helper()
	out := filepath.Join(dir, strings.TrimSuffix(source, ".c"))
	args := []string{"-g", "-O1", "-static", "-pthread", "-o", out, filepath.Join(sourceDir, "testdata/programs", source)}
	if text, err := exec.Command(crossCompiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", source, err, text)
	}
	return out
}
