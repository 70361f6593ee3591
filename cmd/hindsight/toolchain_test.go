package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/examples/cross"
)

// sourceDir is the folder of this package, because tests change the current directory.
var sourceDir, _ = os.Getwd()

// haveTool reports whether a tool is installed. If it is not, but the environment
// requires the toolchain, the test fails.
func haveTool(t testing.TB, tool string) bool {
	t.Helper()
	_, err := exec.LookPath(tool)
	if err != nil && os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1" {
		t.Fatalf("%s is required: %v", tool, err)
	}
	return err == nil
}

// needTools skips a test where a tool is missing.
func needTools(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if !haveTool(t, tool) {
			t.Skipf("%s is not installed", tool)
		}
	}
}

// compileC builds a source of testdata/programs and returns the path of the
// program, or skips.
func compileC(t testing.TB, source string, flags ...string) string {
	t.Helper()
	needTools(t, cross.Compiler)
	return compileTo(t, t.TempDir(), source, flags...)
}

func compileTo(t testing.TB, dir, source string, flags ...string) string {
	t.Helper()
	out := filepath.Join(dir, strings.TrimSuffix(source, ".c"))
	args := []string{"-g", "-O1", "-static", "-pthread", "-o", out, filepath.Join(sourceDir, "testdata/programs", source)}
	args = append(args, flags...)
	if text, err := exec.Command(cross.Compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", source, err, text)
	}
	return out
}
