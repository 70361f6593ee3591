package mpsim

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hindsight/mpsim/image"
)

const (
	compiler = "riscv64-linux-gnu-gcc"
	qemu     = "qemu-riscv64-static"
)

// need returns the path of a tool, or skips the test. If the environment requires the
// tools, it fails instead.
func need(t testing.TB, tool string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		if os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1" {
			t.Fatalf("%s is required: %v", tool, err)
		}
		t.Skipf("%s is not installed", tool)
	}
	return path
}

// compile builds sources of testdata and returns the path of the program.
func compile(t testing.TB, source string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	args := append([]string{"-g", "-static", "-pthread", "-o", out, source}, flags...)
	cmd := exec.Command(need(t, compiler), append(args, "-lm")...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", source, err, text)
	}
	return out
}

// output is what a run produces.
type output struct {
	stdout, stderr string
	status         int
}

// qemuCPU is qemu's processor with Zfhmin, whose spelling depends on the version.
var qemuCPU = sync.OnceValue(func() string {
	for _, cpu := range []string{"rv64,Zfhmin=true", "rv64,zfhmin=true"} {
		out, _ := exec.Command(qemu, "-cpu", cpu, os.DevNull).CombinedOutput()
		if !strings.Contains(string(out), "Property") {
			return cpu
		}
	}
	return "rv64"
})

func runQemu(t testing.TB, program, stdin string, args ...string) output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(need(t, qemu), append([]string{program}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	cmd.Dir = t.TempDir() // where a core file may go
	cmd.Env = append(os.Environ(), "QEMU_CPU="+qemuCPU())
	err := cmd.Run()
	status := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status = exit.ExitCode(); status < 0 { // killed by a signal
			status = 128 + signalOf(exit)
		}
	} else if err != nil {
		t.Fatal(err)
	}
	text := stderr.String()
	if at := strings.Index(text, "qemu: uncaught target signal"); at >= 0 {
		text = text[:at]
	}
	return output{stdout.String(), text, status}
}

func load(t testing.TB, program string) *image.Space {
	t.Helper()
	img, err := image.Load(program)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func run(t testing.TB, cfg Config) (*Result, output) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cfg.Stdout, cfg.Stderr = &stdout, &stderr
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return res, output{stdout.String(), stderr.String(), res.Status}
}
