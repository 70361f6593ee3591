package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hindsight/cdr"
	"hindsight/examples"
	"hindsight/examples/cross"
)

// benchExec makes the test binary the hindsight command, so that a benchmark
// can measure whole processes.
const benchExec = "HINDSIGHT_BENCH_EXEC"

// kernels are the five kernels of the paper.
var kernels = []string{"fft", "lu", "mp3d", "water", "sor"}

// usage has the resources that a process used.
type usage struct {
	wall  time.Duration
	cpu   time.Duration
	rss   int64 // bytes, at its highest
	insts float64
}

var instsSaid = regexp.MustCompile(`hindsight: ([0-9,]+) instructions`)

func (u *usage) run(b testing.TB, name string, args ...string) {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), benchExec+"=1")
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	u.wall += time.Since(start)
	u.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	u.rss = max(u.rss, peakMemory(cmd.ProcessState))
	if m := instsSaid.FindSubmatch(out); m != nil {
		n, _ := strconv.ParseFloat(strings.ReplaceAll(string(m[1]), ",", ""), 64)
		u.insts += n
	}
}

// best keeps the smaller of two measurements, for each figure separately.
func (u *usage) best(other usage) {
	if u.wall == 0 {
		*u = other
		return
	}
	u.wall, u.cpu, u.rss = min(u.wall, other.wall), min(u.cpu, other.cpu), min(u.rss, other.rss)
}

func (u *usage) mips() float64 { return u.insts / 1e6 / u.wall.Seconds() }

// BenchmarkRun runs the five kernels with the paper's inputs, and LU 512² for memory:
// simulated alone, recorded as CDR and, if it is installed, under qemu-riscv64, in turn,
// as whole processes. It reports million instructions per second without and with
// recording, the ratios of wall time, the largest resident memory while recording, and
// the size of the trace in % of the raw one.
func BenchmarkRun(b *testing.B) {
	qemu, _ := exec.LookPath("qemu-riscv64-static")
	type job struct {
		name, threads string
		args          []string
	}
	var jobs []job
	for _, name := range kernels {
		p, ok := examples.Lookup(name)
		if !ok {
			b.Fatalf("no example %s", name)
		}
		for _, threads := range []string{"2", "4"} {
			jobs = append(jobs, job{name, threads, p.PaperArgs})
		}
	}
	jobs = append(jobs, job{"lu", "4", []string{"-n", "512", "-x"}})
	for _, j := range jobs {
		b.Run("program="+j.name+"/args="+strings.Join(j.args, "")+"/threads="+j.threads, func(b *testing.B) {
			dir := b.TempDir()
			elf, err := examples.ELF(j.name)
			if err != nil {
				b.Fatal(err)
			}
			prog, trace := filepath.Join(dir, j.name), filepath.Join(dir, "trace.hst")
			if err := os.WriteFile(prog, elf, 0o755); err != nil {
				b.Fatal(err)
			}
			guest := append(append([]string{prog}, j.args...), "-p", j.threads)
			var none, cdr, native usage
			for b.Loop() {
				none.run(b, os.Args[0], append([]string{"run", "--record", "none"}, guest...)...)
				cdr.run(b, os.Args[0], append([]string{"run", "-o", trace}, guest...)...)
				if qemu != "" {
					native.run(b, qemu, guest...)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(none.mips(), "MIPS")
			b.ReportMetric(cdr.mips(), "cdr-MIPS")
			b.ReportMetric(cdr.wall.Seconds()/none.wall.Seconds(), "cdr/none")
			if qemu != "" {
				b.ReportMetric(none.wall.Seconds()/native.wall.Seconds(), "none/qemu")
			}
			b.ReportMetric(float64(cdr.rss)/1e6, "MB-resident")
			b.ReportMetric(tracePercent(b, trace), "trace-%")
		})
	}
}

// tracePercent returns control, data and sync of a trace in % of the raw trace.
func tracePercent(b *testing.B, file string) float64 {
	b.Helper()
	t, err := cdr.OpenFile(file)
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	s := t.Sizes()
	return 100 * float64(s.Control+s.Data+s.Sync) / float64(s.RawControl+s.RawData)
}

// BenchmarkRecordAgainstHelgrind records the five kernels with the paper's inputs, and
// runs the same sources built natively under Helgrind, in turn, as whole processes. It
// reports the ratio of wall times (below 1 means that recording is faster) and both times
// of a run.
func BenchmarkRecordAgainstHelgrind(b *testing.B) {
	for _, tool := range []string{"valgrind", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			b.Skipf("%s is not installed (Debian: apt-get install valgrind gcc libc6-dbg)", tool)
		}
	}
	sources := b.TempDir()
	if err := cross.Unpack(sources); err != nil {
		b.Fatal(err)
	}
	for _, name := range kernels {
		p, _ := examples.Lookup(name)
		for _, threads := range []string{"2", "4"} {
			b.Run("program="+name+"/args="+strings.Join(p.PaperArgs, "")+"/threads="+threads, func(b *testing.B) {
				dir := b.TempDir()
				native, guest := filepath.Join(dir, "native"), filepath.Join(dir, name)
				if err := cross.Build(b.Context(), sources, p, native, cross.Options{CC: "gcc", Dynamic: true}); err != nil {
					b.Fatal(err)
				}
				elf, err := examples.ELF(name)
				if err != nil {
					b.Fatal(err)
				}
				if err := os.WriteFile(guest, elf, 0o755); err != nil {
					b.Fatal(err)
				}
				args := append(slices.Clone(p.PaperArgs), "-p", threads)
				var ours, helgrind usage
				for b.Loop() {
					ours.run(b, os.Args[0], append([]string{"run", "-o", filepath.Join(dir, "trace.hst"), guest}, args...)...)
					helgrind.run(b, "valgrind", append([]string{"--tool=helgrind", "-q", native}, args...)...)
				}
				n := float64(b.N)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(ours.wall.Seconds()/n, "record-s")
				b.ReportMetric(helgrind.wall.Seconds()/n, "helgrind-s")
				b.ReportMetric(ours.wall.Seconds()/helgrind.wall.Seconds(), "record/helgrind")
			})
		}
	}
}
