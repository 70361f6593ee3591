package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hindsight/cdr"
	"hindsight/examples"
	"hindsight/examples/golang"
)

// benchModule is the module of BenchmarkGoAgainstRace, a cache whose tests end in seconds.
const benchModule = "github.com/patrickmn/go-cache@v2.1.0+incompatible"

// longestOfGo are the three programs of the gallery that execute the most instructions.
var longestOfGo = []string{"norace_go_table", "norace_go_syncmap", "norace_go_append"}

// BenchmarkGoAgainstRace records Go programs, analyses the traces, and runs the same
// sources built natively with -race, in turn, as whole processes. It reports the wall
// time of recording and of analysing as ratios to that of -race, and the size of the
// trace in bytes per instruction, without the program. The size for two of the paper's C
// kernels is reported for comparison.
func BenchmarkGoAgainstRace(b *testing.B) {
	if _, err := exec.LookPath("gcc"); err != nil {
		b.Skip("the race detector needs gcc")
	}
	b.Run("gallery", func(b *testing.B) {
		folder, err := filepath.Abs(filepath.Join("../../examples/golang", golang.Folder))
		if err != nil {
			b.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			b.Fatal(err)
		}
		dir := b.TempDir()
		g := &goBench{dir: dir, args: append([]string{"build"}, files...)}
		g.build(b)
		for _, name := range longestOfGo {
			b.Run("program="+name, func(b *testing.B) { g.compare(b, name) })
		}
	})
	b.Run("module", func(b *testing.B) {
		cmd := exec.Command("go", "mod", "download", "-json", benchModule)
		cmd.Dir = os.TempDir()
		text, err := cmd.Output()
		var at struct{ Dir string }
		if err != nil || json.Unmarshal(text, &at) != nil {
			b.Skipf("%s cannot be fetched: %v", benchModule, err)
		}
		dir := filepath.Join(b.TempDir(), "module")
		if err := os.CopyFS(dir, os.DirFS(at.Dir)); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module github.com/patrickmn/go-cache\n"), 0o600); err != nil {
			b.Fatal(err)
		}
		g := &goBench{dir: dir, args: []string{"test", "-c", "-vet=off"}}
		g.build(b)
		g.compare(b, "-test.short")
	})
	for _, name := range []string{"fft", "lu"} {
		b.Run("kernel="+name, func(b *testing.B) {
			p, _ := examples.Lookup(name)
			elf, err := examples.ELF(name)
			if err != nil {
				b.Fatal(err)
			}
			file, trace := filepath.Join(b.TempDir(), name), filepath.Join(b.TempDir(), "trace.hst")
			if err := os.WriteFile(file, elf, 0o600); err != nil {
				b.Fatal(err)
			}
			var u usage
			for b.Loop() {
				u.run(b, os.Args[0], append([]string{"run", "-o", trace, file}, append(p.PaperArgs, "-p", "4")...)...)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(traceBytes(b, trace)*float64(b.N)/u.insts, "bytes/inst")
		})
	}
}

// goBench is a Go program that was built for the simulated machine and, with -race, for
// this machine.
type goBench struct {
	dir  string
	args []string // of the go command, without -o
}

func (g *goBench) guest() string  { return filepath.Join(g.dir, "guest.out") }
func (g *goBench) native() string { return filepath.Join(g.dir, "native.out") }

func (g *goBench) build(b *testing.B) {
	b.Helper()
	for out, env := range map[string][]string{
		g.guest():  {"GOOS=linux", "GOARCH=riscv64", "CGO_ENABLED=0", "GOFLAGS="},
		g.native(): {"CGO_ENABLED=1", "GOFLAGS=-race"},
	} {
		cmd := exec.Command("go", append([]string{g.args[0], "-o", out}, g.args[1:]...)...)
		cmd.Dir, cmd.Env = g.dir, append(os.Environ(), env...)
		if text, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("go %s: %v\n%s", g.args[0], err, text)
		}
	}
}

func (g *goBench) compare(b *testing.B, args ...string) {
	var race, none, record, analysis usage
	trace := filepath.Join(g.dir, "trace.hst")
	guest := append([]string{g.guest()}, args...)
	for b.Loop() {
		race.run(b, g.native(), args...)
		none.run(b, os.Args[0], append([]string{"run", "--record", "none"}, guest...)...)
		record.run(b, os.Args[0], append([]string{"run", "-o", trace}, guest...)...)
		analysis.run(b, os.Args[0], "races", trace)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(record.insts/float64(b.N), "insts")
	b.ReportMetric(none.wall.Seconds()/race.wall.Seconds(), "none/race")
	b.ReportMetric(record.wall.Seconds()/race.wall.Seconds(), "record/race")
	b.ReportMetric(analysis.wall.Seconds()/record.wall.Seconds(), "analysis/record")
	b.ReportMetric(traceBytes(b, trace)*float64(b.N)/record.insts, "bytes/inst")
}

// traceBytes returns the size of control, data and sync of a trace, in bytes.
func traceBytes(b *testing.B, file string) float64 {
	b.Helper()
	t, err := cdr.OpenFile(file)
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	s := t.Sizes()
	return float64(s.Control + s.Data + s.Sync)
}
