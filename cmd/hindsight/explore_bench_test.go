package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hindsight/examples/cross"
)

// BenchmarkExplore compares an exploration of a small program with as many pairs of
// `hindsight run --seed N` and `hindsight races`, with and without shared objects.
// Reported: processor milliseconds a run of each, and their ratio.
func BenchmarkExplore(b *testing.B) {
	const runs = 20
	flags := map[string][]string{"static": {"-static"}}
	spent := func(command string, args ...string) time.Duration {
		b.Helper()
		cmd := exec.Command(os.Args[0], append([]string{command}, args...)...)
		cmd.Env = append(os.Environ(), benchExec+"=1")
		out, _ := cmd.CombinedOutput()
		if status := cmd.ProcessState.ExitCode(); status != 0 && status != exitRaces {
			b.Fatalf("%s %v: status %d\n%s", command, args, status, out)
		}
		ru := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	}
	for _, kind := range []string{"static", "dynamic"} {
		b.Run("program="+kind, func(b *testing.B) {
			needTools(b, cross.Compiler)
			source := filepath.Join(sourceDir, "testdata/programs/sums.c")
			b.Chdir(b.TempDir())
			const prog = "./sums"
			spent("cc", append(flags[kind], "-o", prog, source)...)
			var one, all time.Duration
			for b.Loop() {
				if err := os.RemoveAll("x"); err != nil {
					b.Fatal(err)
				}
				all += spent("explore", "-j", "1", "--runs", fmt.Sprint(runs), "-o", "x", prog)
				for seed := range runs {
					one += spent("run", "--seed", fmt.Sprint(seed+1), "-o", "one.hst", prog)
					one += spent("races", "one.hst")
				}
			}
			n := float64(runs * b.N)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(all.Milliseconds())/n, "explore-ms/run")
			b.ReportMetric(float64(one.Milliseconds())/n, "apart-ms/run")
			b.ReportMetric(float64(one)/float64(all), "ratio")
		})
	}
}
