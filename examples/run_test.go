package examples_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hindsight/examples"
	"hindsight/examples/cross"
)

const qemu = "qemu-riscv64-static"

// need skips a test when a tool is missing, or fails it when the environment
// says that the toolchain is there.
func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1" {
				t.Fatalf("%s is required: %v", tool, err)
			}
			t.Skipf("%s is not installed: %v", tool, err)
		}
	}
}

// unpacked is a fresh folder with all sources.
func unpacked(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := cross.Unpack(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// execute runs a command and returns its exit status and both outputs. A command
// that hangs is killed after a time that no healthy run comes near.
func execute(t *testing.T, env []string, name string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &o, &e, append(os.Environ(), env...)
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !exit.Exited() {
			t.Errorf("%s %v: %v\n%s", name, args, err, e.String())
			return -1, o.String(), e.String()
		}
		status = exit.ExitCode()
	}
	return status, o.String(), e.String()
}

// expect compares a run with the table.
func expect(t *testing.T, p examples.Program, what string, status int, stdout, stderr string) {
	t.Helper()
	if p.Status != examples.AnyStatus && status != p.Status {
		t.Errorf("%s: status %d, want %d\n%s%s", what, status, p.Status, stdout, stderr)
	}
	if p.Stdout != "" && stdout != p.Stdout {
		t.Errorf("%s: printed %q, want %q", what, stdout, p.Stdout)
	}
	if stdout == "" {
		t.Errorf("%s: printed nothing", what)
	}
}

// teams are the argument lists to try: kernels with several thread counts.
func teams(p examples.Program) [][]string {
	if p.Group != examples.Kernel {
		return [][]string{p.Args}
	}
	var all [][]string
	for _, n := range []int{1, 2, 4, 8} {
		all = append(all, slices.Concat(p.Args, []string{"-p", strconv.Itoa(n)}))
	}
	return all
}

// TestQEMU builds every program at -O0 and -O2 and runs it under qemu.
func TestQEMU(t *testing.T) {
	need(t, cross.Compiler, qemu)
	dir := unpacked(t)
	for _, level := range []string{"-O0", "-O2"} {
		for _, p := range examples.Programs() {
			t.Run(p.Name+level, func(t *testing.T) {
				t.Parallel()
				out := filepath.Join(dir, p.Name+level+".elf")
				if err := cross.Build(t.Context(), dir, p, out, cross.Options{Level: level}); err != nil {
					t.Fatal(err)
				}
				defer os.Remove(out)
				for _, args := range teams(p) {
					status, stdout, stderr := execute(t, nil, qemu, slices.Concat([]string{out}, args)...)
					expect(t, p, level, status, stdout, stderr)
				}
			})
		}
	}
}

// TestPaperInputs runs the kernels, as they are in the archive, on the inputs
// of the paper.
func TestPaperInputs(t *testing.T) {
	if !cross.Long() {
		t.Skip("the paper's inputs take some seconds: set HINDSIGHT_LONG=1")
	}
	need(t, qemu)
	dir := t.TempDir()
	for x, err := range examples.Executables() {
		if err != nil {
			t.Fatal(err)
		}
		p, _ := examples.Lookup(x.Name)
		if p.Group != examples.Kernel || p.Races {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			out := filepath.Join(dir, p.Name)
			if err := os.WriteFile(out, x.ELF, 0o755); err != nil {
				t.Fatal(err)
			}
			status, stdout, stderr := execute(t, nil, qemu, slices.Concat([]string{out}, p.PaperArgs)...)
			if status != 0 || !strings.HasSuffix(stdout, ": PASS\n") {
				t.Errorf("status %d\n%s%s", status, stdout, stderr)
			}
		})
	}
}

// TestLongRuns makes the runs of ten million instructions.
func TestLongRuns(t *testing.T) {
	if !cross.Long() {
		t.Skip("long runs take some seconds: set HINDSIGHT_LONG=1")
	}
	need(t, qemu)
	dir := t.TempDir()
	ran := 0
	for x, err := range examples.Executables() {
		if err != nil {
			t.Fatal(err)
		}
		p, _ := examples.Lookup(x.Name)
		if p.TenMillion == nil {
			if p.Group == examples.Workload || p.HundredMillion != nil {
				t.Errorf("%s: only one of the long runs", p.Name)
			}
			continue
		}
		ran++
		t.Run(p.Name, func(t *testing.T) {
			out := filepath.Join(dir, p.Name)
			if err := os.WriteFile(out, x.ELF, 0o755); err != nil {
				t.Fatal(err)
			}
			status, stdout, stderr := execute(t, nil, qemu, slices.Concat([]string{out}, p.TenMillion)...)
			if status != 0 || !strings.HasSuffix(stdout, ": PASS\n") {
				t.Errorf("status %d\n%s%s", status, stdout, stderr)
			}
		})
	}
	if ran != 9 {
		t.Errorf("%d programs have long runs", ran)
	}
}

// TestUsage: kernels and workloads refuse arguments that make no sense.
func TestUsage(t *testing.T) {
	need(t, cross.Compiler, qemu)
	dir := unpacked(t)
	for name, cases := range map[string][][]string{
		"fft":   {{"-m", "7"}, {"-p", "0"}, {"-p", "17"}, {"-m"}, {"-q"}},
		"lu":    {{"-n", "100"}, {"-n", "0"}},
		"sor":   {{"-n", "x"}, {"-n", ""}},
		"mp3d":  {{"-m", "99999999999999999999"}},
		"water": {{"-n", "-1"}},

		"compiler":    {{"-n", "0"}, {"-n", "x"}, {"-q"}},
		"interpreter": {{"-n", "0"}, {"-n"}},
		"sort":        {{"-n", "0"}, {"-n", "1000001"}, {"-r", "0"}},
		"structures":  {{}, {"heap"}, {"hash", "-n", "0"}, {"hash", "-q"}},
	} {
		p, _ := examples.Lookup(name)
		out := filepath.Join(dir, name+".elf")
		if err := cross.Build(t.Context(), dir, p, out, cross.Options{}); err != nil {
			t.Fatal(err)
		}
		for _, args := range cases {
			status, stdout, stderr := execute(t, nil, qemu, slices.Concat([]string{out}, args)...)
			if status != 2 || stdout != "" || stderr == "" {
				t.Errorf("%s %q: status %d, printed %q and %q", name, args, status, stdout, stderr)
			}
		}
	}
}

// TestRebuild builds every program as the archive has it. With the toolchain
// that made the archive the bytes must be the same; with another one the
// programs must build.
func TestRebuild(t *testing.T) {
	need(t, cross.Compiler)
	recorded, err := examples.Toolchain()
	if err != nil {
		t.Fatal(err)
	}
	present, err := cross.Toolchain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same := present == recorded
	if !same {
		t.Logf("the archive was made by another toolchain, bytes are not compared:\n%swant\n%s", present, recorded)
	}
	embedded := map[string][]byte{}
	for x, err := range examples.Executables() {
		if err != nil {
			t.Fatal(err)
		}
		embedded[x.Name] = x.ELF
	}
	dir := unpacked(t)
	for _, p := range examples.Programs() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(dir, p.Name+".elf")
			if err := cross.Build(t.Context(), dir, p, out, cross.Options{}); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(out)
			built, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if same && !bytes.Equal(built, embedded[p.Name]) {
				t.Error("the archive holds another executable: run make examples")
			}
		})
	}
}
