package race

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"hindsight/analyze/internal/recorded"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// BenchmarkTasks analyses runs of OpenMP tasks, each a separate strand with next to
// nothing to do. It reports the processor time per task, in total and for reading S_synch
// alone.
func BenchmarkTasks(b *testing.B) {
	const compiler = "riscv64-linux-gnu-gcc"
	if _, err := exec.LookPath(compiler); err != nil {
		b.Skip(compiler + " is missing")
	}
	out := filepath.Join(b.TempDir(), "fib")
	if text, err := exec.Command(compiler, "-g", "-O2", "-static", "-fopenmp", "-o", out, filepath.Join("testdata", "fib.c")).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, text)
	}
	elf, err := os.ReadFile(out)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{18, 20, 22} {
		b.Run("fib="+strconv.Itoa(n), func(b *testing.B) {
			file, opts := recordedELF(b, elf, strconv.Itoa(n))
			var all, reading float64
			tasks := 0
			for b.Loop() {
				tasks = 0
				begun := processorSeconds()
				t := recorded.Open(b, file)
				for ev, err := range t.Events() {
					if err != nil {
						b.Fatal(err)
					}
					if ev.Kind == event.StrandBegin {
						tasks++
					}
				}
				reading += processorSeconds() - begun
				if _, err := Analyze(context.Background(), replay.FromTrace(t), opts); err != nil {
					b.Fatal(err)
				}
				all += processorSeconds() - begun
			}
			each := 1e6 / float64(b.N) / float64(tasks)
			b.ReportMetric(all*each, "µs/task")
			b.ReportMetric(reading*each, "reading-µs/task")
			b.ReportMetric(float64(tasks), "tasks")
		})
	}
}
