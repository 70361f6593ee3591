package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/session"
	"hindsight/mpsim/survey"
)

// BenchmarkExplore compares the runs of an exploration with as many pairs of `hindsight
// run --seed N` and `hindsight races`, and with an exploration that writes and analyses
// each run and keeps nothing from run to run (every-ms/run). It reports the processor
// time of a run in milliseconds for each, and the ratios.
func BenchmarkExplore(b *testing.B) {
	const runs, pairs = 100, 10
	for _, p := range []struct {
		name, source string
		flags, args  []string
	}{
		{"sums-static", "testdata/programs/sums.c", []string{"-static"}, nil},
		{"sums-dynamic", "testdata/programs/sums.c", nil, nil},
		{"omp-static", "../../examples/schedules/share.c", []string{"-static", "-fopenmp"}, []string{"race_sections"}},
		{"omp-dynamic", "../../examples/schedules/share.c", []string{"-fopenmp"}, []string{"race_sections"}},
		{"bank", "", nil, nil}, {"race_list", "", nil, nil}, {"race_double_checked", "", nil, nil},
	} {
		b.Run("program="+p.name, func(b *testing.B) {
			prog := "./prog"
			if p.source == "" {
				prog = exampleFile(b, p.name)
			} else {
				needTools(b, cross.Compiler)
			}
			source := filepath.Join(sourceDir, p.source)
			b.Chdir(b.TempDir())
			if p.source != "" {
				spentBy(b, "cc", append(p.flags, "-o", prog, source)...)
			}
			var apart, every, all time.Duration
			for b.Loop() {
				all += exploring(b, prog, p.args, runs, false)
				every += exploring(b, prog, p.args, runs, true)
				for seed := range pairs {
					apart += spentBy(b, "run", append([]string{"--seed", fmt.Sprint(seed + 1), "-o", "one.hst", prog}, p.args...)...)
					apart += spentBy(b, "races", "one.hst")
				}
			}
			perRun := func(d time.Duration, n int) float64 { return d.Seconds() * 1000 / float64(n*b.N) }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(perRun(all, runs), "explore-ms/run")
			b.ReportMetric(perRun(every, runs), "every-ms/run")
			b.ReportMetric(perRun(apart, pairs), "apart-ms/run")
			b.ReportMetric(perRun(every, runs)/perRun(all, runs), "every/explore")
			b.ReportMetric(perRun(apart, pairs)/perRun(all, runs), "apart/explore")
		})
	}
}

// spentBy returns the processor time of a command.
func spentBy(b *testing.B, command string, args ...string) time.Duration {
	b.Helper()
	cmd := exec.Command(os.Args[0], append([]string{command}, args...)...)
	cmd.Env = append(os.Environ(), benchExec+"=1")
	out, _ := cmd.CombinedOutput()
	if status := cmd.ProcessState.ExitCode(); status != 0 && status != exitRaces {
		b.Fatalf("%s %v: status %d\n%s", command, args, status, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// exploring returns the processor time of the runs of an exploration, without what is
// done once.
func exploring(b *testing.B, prog string, args []string, runs int, all bool) time.Duration {
	b.Helper()
	r, err := session.Load(prog, "")
	if err != nil {
		b.Fatal(err)
	}
	r.Policy, r.Args = mpsim.Random, args
	analysis := &survey.Analysis{Program: r.Image}
	e, err := session.OpenExploration(b.Context(), session.ExploreOptions{
		Run: *r, Dir: b.TempDir(), First: 1, Runs: runs, WriteAll: all, Races: briefly(analysis),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	before := ownTime()
	if err := e.Explore(b.Context()); err != nil {
		b.Fatal(err)
	}
	return ownTime() - before
}

// briefly returns the fingerprints of a trace's races.
func briefly(analysis *survey.Analysis) func(context.Context, string) ([]string, error) {
	return func(ctx context.Context, trace string) ([]string, error) {
		rep, err := analysis.Brief(ctx, trace)
		if err != nil {
			return nil, err
		}
		return survey.Fingerprints(rep), nil
	}
}
