package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"hindsight/examples"
	"hindsight/examples/cross"
)

// ordinary are correct programs in ordinary style that synchronise often.
var ordinary = []struct {
	source      string // in testdata/ordinary; a folder of Go, or the name of an embedded example
	flags       []string
	short, long []string // arguments
}{
	{"water", nil, []string{"-n", "16", "-s", "2"}, []string{"-n", "128", "-s", "18"}},
	{"cxxmap.cc", nil, []string{"300"}, []string{"100000"}},
	{"striped.c", nil, []string{"500"}, []string{"200000"}},
	{"queue.c", nil, []string{"200"}, []string{"50000"}},
	{"atomics.cc", nil, []string{"300"}, []string{"60000"}},
	{"dyn.c", []string{"-fopenmp"}, []string{"2"}, []string{"60"}},
	{"tasks.c", []string{"-fopenmp"}, []string{"2000"}, []string{"300000"}},
	{"gochan", nil, []string{"100"}, []string{"20000"}},
}

// buildOrdinary builds one of them and returns the path of the program.
func buildOrdinary(t testing.TB, source string, flags []string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	from := filepath.Join("testdata", "ordinary", source)
	var cmd *exec.Cmd
	switch filepath.Ext(source) {
	case ".c":
		needTools(t, cross.Compiler)
		cmd = exec.Command(cross.Compiler, append(flags, "-g", "-O2", "-static", "-pthread", "-o", out, from)...)
	case ".cc":
		needTools(t, "riscv64-linux-gnu-g++")
		cmd = exec.Command("riscv64-linux-gnu-g++", append(flags, "-std=c++17", "-g", "-O2", "-static", "-pthread", "-o", out, from)...)
	default:
		if elf, err := examples.ELF(source); err == nil {
			if err := os.WriteFile(out, elf, 0o755); err != nil {
				t.Fatal(err)
			}
			return out
		}
		cmd = exec.Command("go", "build", "-o", out, filepath.Join(from, "main.go"))
		cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=riscv64", "CGO_ENABLED=0", "GOFLAGS=")
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", source, err, text)
	}
	return out
}

// TestOrdinary checks that no race is reported.
func TestOrdinary(t *testing.T) {
	for _, p := range ordinary {
		t.Run(p.source, func(t *testing.T) {
			t.Parallel()
			program, trace := buildOrdinary(t, p.source, p.flags), filepath.Join(t.TempDir(), "run.hst")
			for seed := range 3 {
				var u usage
				u.run(t, os.Args[0], append([]string{"run", "--seed", strconv.Itoa(seed), "-o", trace, program}, p.short...)...)
				u.run(t, os.Args[0], "races", trace)
			}
		})
	}
}

// BenchmarkOrdinary records each program and looks for races, in turn, as whole
// processes. It reports the processor time of `races` as a multiple of that of `run`, and
// the memory of `races`.
func BenchmarkOrdinary(b *testing.B) {
	for _, p := range ordinary {
		b.Run("program="+p.source, func(b *testing.B) {
			program, trace := buildOrdinary(b, p.source, p.flags), filepath.Join(b.TempDir(), "run.hst")
			var run, races usage
			for b.Loop() {
				run.run(b, os.Args[0], append([]string{"run", "-o", trace, program}, p.long...)...)
				races.run(b, os.Args[0], "races", trace)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(run.insts/1e6/float64(b.N), "M-instructions")
			b.ReportMetric(races.cpu.Seconds()/run.cpu.Seconds(), "races/run")
			b.ReportMetric(float64(races.rss)/1e6, "MB-resident")
		})
	}
}
