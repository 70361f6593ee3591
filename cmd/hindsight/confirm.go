package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/analyze/report"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/confirm"
	"hindsight/mpsim/steer"
)

// defaultInstances is how many instances of a race are tried: often it is not the first one
// that matters, such as the first update of a maximum.
const defaultInstances = 3

// confirmFlags are the flags of `hindsight confirm`.
type confirmFlags struct {
	races  []string
	tries  int
	each   int // instances of each race
	dir    string
	report racesFlags
}

func newConfirm(std cli.Streams) *cobra.Command {
	var f confirmFlags
	cmd := &cobra.Command{
		Use:   "confirm [flags] TRACE",
		Short: "Run the races of a trace in both orders and compare",
		Long: `confirm reruns the program for each race of TRACE, up to just before the two
accesses, and then continues with each of them first. The two runs differ only
in the order of two instructions. confirm tries several continuations and
compares the output, the exit status, written files, crashes and deadlocks, and
at the end the global variables. The verdict on a race is one of

  harmful        what the program's user sees depends on the order
  state-differs  only global variables differ at the end
  no-difference  no difference was seen in the given number of tries
  infeasible     the other order is impossible: the other thread waits or spins,
                 or a check leads it past its access

When runs differ, confirm writes their schedules to --schedules DIR. The report
shows a command that reruns each of them.

confirm tries the first 3 instances of each race (with --instances N, the first
N) until one is harmful, and reports the worst verdict.

With --baseline OLD.json, a JSON report on the program before a fix, confirm
also says what became of each race in it: which remain, which are now ordered
and by what release and acquire, and which the run did not reach.

The exit status is 66 when a race is harmful, 0 when none is, and 2 on errors.
docs/replay.md explains the verdicts.`,
		Example: `  hindsight confirm bank.hst
  hindsight confirm --race R1 --race R3 bank.hst
  hindsight confirm --instances 10 bank.hst
  hindsight confirm --format json -o bank.json bank.hst
  hindsight confirm --baseline bank.json repaired.hst`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			harmful, err := f.confirm(cmd.Context(), std, args[0])
			if err == nil && harmful {
				err = cli.ExitStatus(exitRaces)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.races, "race", nil, "only these races, such as `R1`; may be repeated (default: all)")
	flags.IntVar(&f.each, "instances", defaultInstances, "number of instances of each race to try, the first ones")
	flags.StringVar(&f.report.baseline, "baseline", "", "say what has become of the races in the JSON report `FILE`")
	flags.IntVar(&f.tries, "tries", 3, "random continuations to try, besides two with few preemptions")
	flags.StringVar(&f.dir, "schedules", "", "write the schedules of runs that differ to `DIR` (default: TRACE.schedules)")
	flags.StringVar(&f.report.format, "format", "text", "text, json or sarif")
	flags.StringVarP(&f.report.out, "output", "o", "", "write the report to `FILE`")
	f.report.again.addInput(cmd)
	cli.Complete(cmd, "format", "text", "json", "sarif")
	cli.CompleteDir(cmd, "schedules")
	f.report.atomics, f.report.color, f.report.order, f.report.artifacts, f.report.frames = "relaxed", "auto", "hb", artifactsFold, framesShort
	return cmd
}

// confirm examines the races of a trace, writes the report, and reports whether one of
// them is harmful.
func (f *confirmFlags) confirm(ctx context.Context, std cli.Streams, file string) (harmful bool, err error) {
	if err := cli.CheckFormat(f.report.format, "text", "json", "sarif"); err != nil {
		return false, err
	}
	if f.tries < 1 {
		return false, fmt.Errorf("--tries %d: want 1 or more", f.tries)
	}
	if f.each < 1 {
		return false, fmt.Errorf("--instances %d: want 1 or more", f.each)
	}
	base, err := readBaseline(ctx, f.report.baseline)
	if err != nil {
		return false, err
	}
	if f.dir == "" {
		f.dir = file + ".schedules"
	}
	trace, err := openTrace(ctx, std, file, withAccesses, &f.report.again)
	if err != nil {
		return false, err
	}
	defer trace.Close()
	if err := checkSources(trace.Program, nil, f.report.out); err != nil {
		return false, err
	}
	opts := analyze.RaceOptions{Rerun: f.report.again.rerun(), Values: f.report.again.values,
		Log: func(text string) { fmt.Fprintf(std.Err, "hindsight: %s\n", text) }}
	rep, err := trace.Races(ctx, opts)
	if err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	for _, id := range f.races {
		if !slices.ContainsFunc(rep.Races, func(r report.Race) bool { return r.ID == id }) {
			return false, fmt.Errorf("--race %s: the trace has no such race; it has %d", id, len(rep.Races))
		}
	}
	if base != nil {
		if err := trace.Settled(ctx, rep, base); err != nil {
			return false, err
		}
	}
	if len(rep.Races) > 0 {
		harmful, err = f.judge(ctx, std, trace, rep, file)
		if err != nil {
			return false, err
		}
	}
	return harmful, f.report.write(ctx, std, rep, file)
}

// judge finds out what the races in a report do.
func (f *confirmFlags) judge(ctx context.Context, std cli.Streams, trace *analyze.Trace, rep *report.Report, file string) (harmful bool, err error) {
	var others map[string][][2]report.Access
	if f.each > 1 {
		if others, err = trace.Instances(ctx, rep, f.each); err != nil {
			return false, err
		}
	}
	of, err := steer.Repeat(ctx, trace.Recorded(), f.report.again.rerun(), f.report.again.source(file))
	if err != nil {
		return false, err
	}
	judge := steer.NewJudge(trace.Recorded(), of, f.tries, f.dir)
	defer func() { err = errors.Join(err, judge.Close()) }()
	var races []*report.Race
	for i := range rep.Races {
		if r := &rep.Races[i]; len(f.races) == 0 || slices.Contains(f.races, r.ID) {
			races = append(races, r)
		}
	}
	if err := judge.Prepare(ctx, races, others); err != nil {
		return false, err
	}
	bar := cli.NewProgress(std.Err, "races in both orders", uint64(len(races)))
	for _, r := range races {
		if r.Verdict, err = judge.Race(ctx, r, others[r.ID]); err != nil {
			return false, fmt.Errorf("%s: %w", r.ID, err)
		}
		harmful = harmful || r.Verdict.Verdict == string(confirm.Harmful)
		bar.Step(1)
	}
	bar.End()
	return harmful, nil
}
