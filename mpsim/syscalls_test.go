package mpsim_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hindsight/mpsim"
	"hindsight/mpsim/image"
)

// tool returns the path of a program that the test needs, or skips the test.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1" {
			t.Fatalf("%s is required: %v", name, err)
		}
		t.Skipf("%s is not installed (Debian: gcc-riscv64-linux-gnu, qemu-user-static)", name)
	}
	return path
}

// ending is the observable behaviour of a program that has ended.
type ending struct {
	out, errs string
	status    int
}

// TestSystemCalls runs C programs that make many system calls under qemu and under the
// simulator, and compares what they print and how they end.
func TestSystemCalls(t *testing.T) {
	qemu := tool(t, "qemu-riscv64-static")
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "data", "in.txt"), []byte("alpha\nbeta gamma\n\nend without newline"), 0o644); err != nil {
		t.Fatal(err)
	}
	bin, built := t.TempDir(), map[string]bool{}
	for _, c := range []struct {
		name, program, stdin string
		args                 []string
		flags                []string // of the compiler
	}{
		{name: "files", program: "files", args: []string{"a b", "", "c"}},
		{name: "input", program: "input", stdin: "first line\nsecond\n12 34\n" + strings.Repeat("more of it\n", 2000)},
		{name: "input-empty-lines", program: "input", stdin: "\n\n1 2"},
		{name: "pipes", program: "pipes"},
		{name: "sockets", program: "sockets"},
		{name: "batch", program: "batch"},
		{name: "again", program: "again"},
		{name: "shared", program: "shared"},
		{name: "ipc", program: "ipc"},
		{name: "transfer", program: "transfer"},
		{name: "posixtimers", program: "posixtimers"},
		{name: "eventfiles", program: "eventfiles"},
		{name: "itself", program: "itself", args: []string{"a", "b c", ""}},
		{name: "signals", program: "signals"},
		{name: "signals-abort", program: "signals", args: []string{"abort"}},
		{name: "signals-term", program: "signals", args: []string{"term"}},
		{name: "signals-segv", program: "signals", args: []string{"segv"}},
		{name: "threads", program: "threads"},
		{name: "threads-pie", program: "threads", flags: []string{"-static-pie", "-fPIE"}},
		{name: "memory", program: "memory"},
		{name: "errors", program: "errors"},
		{name: "timers", program: "timers", flags: []string{"-lm"}},
		{name: "openmp", program: "openmp", flags: []string{"-fopenmp"}},
		{name: "openmp-1", program: "openmp", flags: []string{"-fopenmp"}, args: []string{"1"}},
		{name: "openmp-8", program: "openmp", flags: []string{"-fopenmp"}, args: []string{"8"}},
		{name: "library", program: "library", stdin: "x\n\ny z", flags: []string{"-std=c++17"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			elf := filepath.Join(bin, c.program+strings.Join(c.flags, ""))
			if !built[elf] {
				compile(t, elf, c.program, c.flags)
				built[elf] = true
			}
			env := []string{"GREETING=hi"}
			want := underQemu(t, qemu, elf, root, env, c.stdin, c.args)
			for _, policy := range []mpsim.Policy{mpsim.RoundRobin, mpsim.Random} {
				got := simulated(t, elf, mpsim.Config{
					Root: root, Env: env, Stdin: strings.NewReader(c.stdin), Policy: policy, Seed: 3,
					Quantum: mpsim.DefaultQuantum, // the programs expect others to run while they sleep
					Args:    append([]string{elf}, c.args...),
				})
				if got.status != want.status {
					t.Errorf("%v: status %d, qemu's is %d\n%s", policy, got.status, want.status, got.errs)
				}
				compareLines(t, policy.String(), got.out, want.out)
			}
		})
	}
}

// compile builds a program of testdata/syscalls, in C or C++.
func compile(t *testing.T, elf, program string, flags []string) {
	t.Helper()
	src, compiler := filepath.Join("testdata", "syscalls", program+".c"), "riscv64-linux-gnu-gcc"
	if _, err := os.Stat(src); err != nil {
		src, compiler = filepath.Join("testdata", "syscalls", program+".cc"), "riscv64-linux-gnu-g++"
	}
	args := append([]string{"-g", "-O1", "-w", "-static", "-pthread", "-o", elf, src}, flags...)
	if msg, err := exec.Command(tool(t, compiler), args...).CombinedOutput(); err != nil {
		t.Fatalf("compiling %s: %v\n%s", src, err, msg)
	}
}

func compareLines(t *testing.T, policy, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Errorf("%s: line %d\n got %q\nqemu %q", policy, i+1, a, b)
		}
	}
}

// underQemu runs a program in dir.
func underQemu(t *testing.T, qemu, elf, dir string, env []string, stdin string, args []string) ending {
	t.Helper()
	cmd := exec.Command(qemu, append([]string{elf}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, env, strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	status := cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		status = 128 + int(ws.Signal())
	}
	return ending{out.String(), errs.String(), status}
}

func simulated(t *testing.T, elf string, cfg mpsim.Config) ending {
	t.Helper()
	img, err := image.Load(elf)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cfg.Image, cfg.Stdout, cfg.Stderr = img, &out, &errs
	m, err := mpsim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if res.Message != "" {
		errs.WriteString(res.Message + "\n")
	}
	return ending{out.String(), errs.String(), res.Status}
}

// TestMemoryLimit checks that a guest that asks for too much memory is refused, and that
// one that uses it anyway is ended.
func TestMemoryLimit(t *testing.T) {
	elf := filepath.Join(t.TempDir(), "limit")
	compile(t, elf, "limit", nil)
	cfg := mpsim.Config{MaxMemory: 64 << 20, Args: []string{"limit"}}
	const told = "malloc failed after 50 MB\n"
	if got := simulated(t, elf, cfg); got.status != 5 || got.out != told {
		t.Errorf("status %d, printed %q, %s", got.status, got.out, got.errs)
	}
	cfg.Args = append(cfg.Args, "touch")
	if got := simulated(t, elf, cfg); got.status != 128+9 || got.out != told || !strings.Contains(got.errs, "memory") {
		t.Errorf("status %d, printed %q, %s", got.status, got.out, got.errs)
	}
}
