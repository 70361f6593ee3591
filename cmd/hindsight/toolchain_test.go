package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// sourceDir is the folder of this package; tests change the current one.
var sourceDir, _ = os.Getwd()

// compileC builds a source of testdata/programs and gives the path of the
// program. Without the cross compiler the test is skipped, or fails when the
// environment says that it must be there.
func compileC(t testing.TB, source string, flags ...string) string {
	t.Helper()
	const compiler = "riscv64-linux-gnu-gcc"
	path, err := exec.LookPath(compiler)
	if err != nil {
		if os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1" {
			t.Fatalf("%s is required: %v", compiler, err)
		}
		t.Skipf("%s is not installed", compiler)
	}
	out := filepath.Join(t.TempDir(), source[:len(source)-len(filepath.Ext(source))])
	args := append([]string{"-g", "-O1", "-static", "-pthread", "-o", out, filepath.Join(sourceDir, "testdata/programs", source)}, flags...)
	if text, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", source, err, text)
	}
	return out
}
