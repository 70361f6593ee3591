package race

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"

	"hindsight/analyze/internal/recorded"
	"hindsight/analyze/internal/stopwatch"
	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/examples"
)

// exampleTrace runs an example into a trace in memory.
func exampleTrace(b testing.TB, name string, args ...string) (*cdr.Trace, Options) {
	b.Helper()
	elf, err := examples.ELF(name)
	if err != nil {
		b.Fatal(err)
	}
	file, opts := recordedELF(b, elf, args...)
	return recorded.Open(b, file), opts
}

// recordedELF runs a program and returns the trace's file.
func recordedELF(b testing.TB, elf []byte, args ...string) ([]byte, Options) {
	b.Helper()
	file, img := recorded.File(b, elf, append([]string{"program"}, args...), 1)
	return file, Options{Program: img, TLSSize: img.TLSSize()}
}

func accessesOf(t *cdr.Trace) (n uint64) {
	for _, th := range t.Threads() {
		n += th.Accesses
	}
	return n
}

// processorSeconds returns the processor time of this process so far.
func processorSeconds() float64 { return stopwatch.ProcessorTime().Seconds() }

// BenchmarkGrowth analyses the regular kernels on growing data, and reports the exponent
// of its processor time in the number of accesses. 1 means that the time grows like the
// trace.
func BenchmarkGrowth(b *testing.B) {
	kernels := []struct {
		name, flag string
		sizes      []int
		more       []string
	}{
		{"lu", "-n", []int{128, 256, 512}, nil},
		{"fft", "-m", []int{12, 14, 16, 18}, nil}, // of even powers of two only
		{"sor", "-n", []int{100, 283, 800}, []string{"-i", "20"}},
		{"lu_nobarrier", "-n", []int{64, 128, 256, 512}, nil},
	}
	for _, k := range kernels {
		var accesses, seconds float64 // for the previous size
		for _, size := range k.sizes {
			args := append([]string{"-p", "4", "-x", k.flag, fmt.Sprint(size)}, k.more...)
			b.Run(fmt.Sprintf("program=%s/size=%d/threads=4", k.name, size), func(b *testing.B) {
				trace, opts := exampleTrace(b, k.name, args...)
				before := processorSeconds()
				var res *Result
				for b.Loop() {
					var err error
					if res, err = Analyze(context.Background(), replay.FromTrace(trace), opts); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(res.Stats.Groups), "groups")
				b.ReportMetric(float64(res.Stats.Runs), "runs")
				b.ReportMetric(float64(res.Stats.Peak), "records")
				n, s := float64(accessesOf(trace)), (processorSeconds()-before)/float64(b.N)
				b.ReportMetric(n, "accesses")
				b.ReportMetric(s*1e3, "cpu-ms")
				if accesses > 0 {
					b.ReportMetric(math.Log(s/seconds)/math.Log(n/accesses), "exponent")
				}
				accesses, seconds = n, s
			})
		}
	}
}

// BenchmarkIrregular analyses MP3D, with locks and without, and compares the processor
// time with that of the plain vector-clock detector on the run access by access: of-plain
// if that run is already in memory, and of-expanded including the time to expand it from
// the trace.
func BenchmarkIrregular(b *testing.B) {
	for _, name := range []string{"mp3d", "mp3d_nolock"} {
		for _, threads := range []int{2, 4, 8, 16} {
			b.Run(fmt.Sprintf("program=%s/threads=%d", name, threads), func(b *testing.B) {
				trace, opts := exampleTrace(b, name, "-m", "20000", "-s", "3", "-x", "-p", fmt.Sprint(threads))
				opts.Program = nil // the plain detector does not know the owner of an access
				src := replay.FromTrace(trace)
				var engine, expanding, plain float64
				var res *Result
				for b.Loop() {
					runtime.GC()
					t0 := processorSeconds()
					var err error
					if res, err = Analyze(context.Background(), src, opts); err != nil {
						b.Fatal(err)
					}
					runtime.GC()
					t1 := processorSeconds()
					x := expand(b, src)
					runtime.GC()
					t2 := processorSeconds()
					racy := vectorDetect(x)
					t3 := processorSeconds()
					engine, expanding, plain = engine+t1-t0, expanding+t2-t1, plain+t3-t2
					if (racy > 0) != (len(res.Races) > 0) {
						b.Fatalf("%d races, and %d locations with one", len(res.Races), racy)
					}
				}
				b.ReportMetric(float64(accessesOf(trace)), "accesses")
				b.ReportMetric(float64(res.Dynamic()), "pairs")
				b.ReportMetric(engine/float64(b.N)*1e3, "cpu-ms")
				b.ReportMetric(engine/plain, "of-plain")
				b.ReportMetric(engine/(plain+expanding), "of-expanded")
			})
		}
	}
}

// BenchmarkLocks analyses a million lock operations of 16 threads: with one lock, with a
// lock for each thread, so that every access races, and with a hundred thousand locks, so
// that most do.
func BenchmarkLocks(b *testing.B) {
	for _, own := range []bool{false, true} {
		for _, scattered := range []bool{false, true} {
			b.Run(fmt.Sprintf("threads=16/own=%v/scattered=%v", own, scattered), func(b *testing.B) {
				measure(b, lockStep{threads: 16, rounds: 1_000_000 / 32, own: own, scattered: scattered})
			})
		}
	}
}

func BenchmarkManyLocks(b *testing.B) {
	b.Run("threads=16/locks=100000", func(b *testing.B) {
		measure(b, lockStep{threads: 16, rounds: 1_000_000 / 32, locks: 100_000})
	})
}

// BenchmarkRandom analyses a million accesses at random places.
func BenchmarkRandom(b *testing.B) {
	for _, threads := range []int{2, 4, 8, 16} {
		b.Run(fmt.Sprintf("accesses=1000000/threads=%d", threads), func(b *testing.B) { measure(b, manyRandom(1_000_000, threads)) })
	}
}

// measure analyses a run and reports the cost.
func measure(b *testing.B, src replay.Source) {
	var res *Result
	before := processorSeconds()
	for b.Loop() {
		var err error
		if res, err = Analyze(context.Background(), src, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((processorSeconds()-before)/float64(b.N)*1e3, "cpu-ms")
	b.ReportMetric(float64(res.Dynamic()), "pairs")
	b.ReportMetric(float64(res.Stats.Accesses), "accesses")
	b.ReportMetric(float64(res.Stats.Groups), "groups")
	b.ReportMetric(float64(res.Stats.Peak), "records")
}
