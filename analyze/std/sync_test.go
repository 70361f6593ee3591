package std

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hindsight/cdr"
	"hindsight/cdr/recorder"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
)

var twin = regexp.MustCompile(`(?m)^(?:PAIR\((\w+),|SCHEDULE\((\w+),)`)

// TestExportSync is TestExport for a program for each way to synchronise, including
// OpenMP, synchronised and not: barriers, work sharing, conditions, semaphores, atomics
// and fences, locks, tasks.
func TestExportSync(t *testing.T) {
	racy, clean := 0, 0
	for _, file := range []string{"omp.c", "omp_tasks.c", "atomics.cc", "cxx_locks.cc"} {
		t.Run(file, func(t *testing.T) {
			source := filepath.Join("..", "..", "examples", "sync", file)
			img := compiled(t, source)
			text, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			pairs := twin.FindAllSubmatch(text, -1)
			if len(pairs) < 5 {
				t.Fatalf("only %d pairs", len(pairs))
			}
			for i, p := range pairs {
				name := string(p[1])
				if len(p[2]) > 0 {
					name = "schedule_" + string(p[2])
				}
				if !cross.Long() && i%4 != 0 {
					continue
				}
				for _, name := range []string{"race_" + name, "norace_" + name} {
					t.Run(name, func(t *testing.T) {
						if there(t, simulated(t, img, name), img) > 0 {
							racy++
						} else {
							clean++
						}
					})
				}
			}
		})
	}
	t.Logf("%d racy, %d clean", racy, clean)
}

// there compares the races of a trace with those of its export, and of the trace that is
// read back. It returns their number.
func there(t *testing.T, tr *cdr.Trace, img *image.Space) int {
	t.Helper()
	var text bytes.Buffer
	if _, err := Export(t.Context(), &text, tr, Options{Program: img, TLSSize: img.TLSSize()}); err != nil {
		t.Fatal(err)
	}
	want := ours(t, tr, img)
	same(t, "export", detect(t, text.Bytes()).pairs, want)
	back, _ := imported(t, text.Bytes())
	same(t, "import", ours(t, back, nil), want)
	if got, want := counts(t, back, nil), counts(t, tr, img); !maps.Equal(got, want) {
		t.Errorf("counts of an import %v, want %v", got, want)
	}
	return len(want)
}

func compiled(t *testing.T, source string) *image.Space {
	t.Helper()
	compiler, args := "riscv64-linux-gnu-gcc", []string{"-std=gnu17"}
	if filepath.Ext(source) == ".cc" {
		compiler, args = "riscv64-linux-gnu-g++", []string{"-std=c++20"}
	}
	if strings.HasPrefix(filepath.Base(source), "omp") {
		args = append(args, "-fopenmp")
	}
	if _, err := exec.LookPath(compiler); err != nil {
		if os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	out := filepath.Join(t.TempDir(), "program")
	args = append(args, "-O1", "-g", "-static", "-pthread", "-o", out, source)
	if msg, err := exec.CommandContext(t.Context(), compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	elf, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(elf)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func simulated(t *testing.T, img *image.Space, args ...string) *cdr.Trace {
	t.Helper()
	var out bytes.Buffer
	r, err := recorder.New(&out, recorder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hooks, at := hook.New(img)
	m, err := mpsim.New(mpsim.Config{Image: img, Args: append([]string{"program"}, args...), Seed: 1, Policy: mpsim.Random,
		Stdout: io.Discard, Stderr: io.Discard, Observer: r, Hooks: hooks, HookAt: at})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return open(t, out.Bytes())
}
