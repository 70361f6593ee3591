//go:build amd64 || arm64

package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestClosedOutput checks that every command that writes to standard output fails if that
// is closed or full, but not if it is /dev/null, however that was opened. It builds the
// program, because a test binary starts with other instructions.
func TestClosedOutput(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "hindsight")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, args := range []string{"version", "--version", "races --help", "completion bash", "demo --list", "demo", "run norace_counter"} {
		for output, want := range map[string]int{
			">&-": 2, "<&- >&-": 2, ">&- 2>&-": 2, "</dev/null >&-": 2, ">/dev/full": 2,
			">/dev/null": 0, "1<>/dev/null": 0, "0<>/dev/null >&0": 0, "<&- >/dev/null": 0,
		} {
			if args == "run norace_counter" && want != 0 {
				want = exitRunError
			}
			cmd := exec.Command("sh", "-c", binary+" "+args+" "+output)
			cmd.Dir = filepath.Dir(exampleFile(t, "norace_counter"))
			var errs bytes.Buffer
			cmd.Stderr = &errs
			_ = cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != want {
				t.Errorf("%s %s: status %d, want %d\n%s", args, output, got, want, &errs)
			}
			if want != 0 && !strings.Contains(output, "2>") && !strings.Contains(errs.String(), "hindsight: standard output: ") {
				t.Errorf("%s %s: %s", args, output, &errs)
			}
		}
	}
}
