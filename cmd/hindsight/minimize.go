package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
	"hindsight/mpsim/steer"
	"hindsight/tracefmt/numtext"
	"hindsight/tracefmt/outfile"
)

// minimizeFlags are the flags of `hindsight minimize`.
type minimizeFlags struct {
	schedule string
	seed     uint64
	env      []string
	out      string
	runs     int
	failing  steer.Failure
	output   string
	again    againFlags
}

func newMinimize(std cli.Streams) *cobra.Command {
	var f minimizeFlags
	cmd := &cobra.Command{
		Use:   "minimize [flags] TRACE | --schedule FILE PROGRAM [ARGS…]",
		Short: "Find the shortest schedule that still fails",
		Long: `minimize takes a run that fails and reruns the program with fewer and fewer
preemptions (switches away from a thread that could continue), as long as it
still fails. It describes the final schedule as a story, one line for each turn.
It also writes the schedule to a file and prints a command that runs it.

The run is that of TRACE, or that of PROGRAM under --schedule. By default a run
fails if it ends as the original did: with its exit status, a crash, or a
deadlock. A flag selects another failure:

  --status N         it ends with exit status N
  --output PATTERN   it writes a line that matches the regular expression
  --crash            a signal ends it
  --deadlock         no thread can continue
  --race R1          its trace contains that race of TRACE

The search stops after --runs runs, or when it is interrupted, and keeps the
best schedule so far. An interrupted search ends with status 130 (SIGINT), 143
(SIGTERM) or 129 (SIGHUP). See docs/replay.md.`,
		Example: `  hindsight minimize bank.hst
  hindsight minimize --output 'found another sum' -o short.txt bank.hst
  hindsight minimize --race R1 bank.hst
  hindsight minimize --status 1 --schedule bank.txt ./bank 4 1000`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.minimize(cmd.Context(), std, args)
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.IntVar(&f.failing.Status, "status", -1, "a run fails if it ends with this exit status")
	flags.StringVar(&f.output, "output", "", "a run fails if it writes a line that matches `PATTERN`")
	flags.BoolVar(&f.failing.Crash, "crash", false, "a run fails if a signal ends it")
	flags.BoolVar(&f.failing.Deadlock, "deadlock", false, "a run fails if it ends in a deadlock")
	flags.StringVar(&f.failing.Race, "race", "", "a run fails if it has this race of TRACE, such as `R1`")
	flags.StringVar(&f.schedule, "schedule", "", "run PROGRAM under the schedule in `FILE`")
	flags.Uint64Var(&f.seed, "seed", 1, "with --schedule: seed of the run")
	flags.StringArrayVar(&f.env, "env", nil, "with --schedule: environment variable `K=V` of the guest; may be repeated")
	flags.IntVar(&f.runs, "runs", 500, "stop the search after this number of runs")
	flags.StringVarP(&f.out, "save-schedule", "o", "", "write the schedule to `FILE` (default: TRACE.minimal.txt or PROGRAM.minimal.txt)")
	f.again.addInput(cmd)
	return cmd
}

// minimize executes the command.
func (f *minimizeFlags) minimize(ctx context.Context, std cli.Streams, args []string) (err error) {
	if f.runs < 1 {
		return fmt.Errorf("--runs %d: want 1 or more", f.runs)
	}
	if f.output != "" {
		if f.failing.Output, err = steer.LinePattern(f.output); err != nil {
			return fmt.Errorf("--output: %w", err)
		}
	}
	failing, err := f.failingRun(ctx, std, args)
	if err != nil {
		return err
	}
	if f.out == "" {
		f.out = failing.Name + ".minimal.txt"
	}
	program := func() (*image.Space, error) { return failing.Of.Run.Image, nil }
	inputs := std.Besides(args[0], f.schedule, f.again.stdin)
	if err := errors.Join(outfile.Check(f.out, inputs), checkSources(program, nil, f.out)); err != nil {
		return err
	}
	bar := cli.NewProgress(std.Err, "runs", uint64(f.runs))
	found, err := failing.Minimize(ctx, f.runs, func() { bar.Step(1) })
	bar.End()
	if errors.Is(err, steer.ErrNoFailure) {
		err = fmt.Errorf("%w: --status, --output, --crash, --deadlock or --race", err)
	}
	if err != nil {
		return err
	}
	if err := f.tell(context.WithoutCancel(ctx), std, failing, found); err != nil || !found.Interrupted {
		return err
	}
	return cli.Interrupted(ctx)
}

// failingRun returns the run to begin with.
func (f *minimizeFlags) failingRun(ctx context.Context, std cli.Streams, args []string) (*steer.Failing, error) {
	if f.schedule != "" {
		return f.failingProgram(ctx, args)
	}
	if len(args) > 1 {
		return nil, fmt.Errorf("%s: want one TRACE, or --schedule FILE before a program and its arguments", args[1])
	}
	trace, err := openTrace(ctx, std, args[0], withAccesses, &f.again)
	if err != nil {
		return nil, err
	}
	defer trace.Close()
	if f.failing.Race != "" {
		if f.failing.Fingerprint, err = fingerprint(ctx, trace, f.failing.Race); err != nil {
			return nil, fmt.Errorf("%s: %w", args[0], err)
		}
	}
	of, err := steer.Repeat(ctx, trace.Recorded(), f.again.rerun(), f.again.source(args[0]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", args[0], err)
	}
	return &steer.Failing{Of: of, Name: args[0], Failure: f.failing}, nil
}

// failingProgram returns the run of a program under a schedule as the run to begin with.
func (f *minimizeFlags) failingProgram(ctx context.Context, args []string) (*steer.Failing, error) {
	if f.failing.Race != "" {
		return nil, errors.New("--race: races are named by a trace; record the run (hindsight run --schedule) and name that")
	}
	s, err := readSchedule(ctx, f.schedule)
	if err != nil {
		return nil, err
	}
	r, err := session.Load(args[0], f.again.root)
	if err != nil {
		return nil, err
	}
	r.Args, r.Env, r.Seed, r.Written = args[1:], f.env, f.seed, f.again.written.Written
	of := &steer.Original{Run: *r, Schedule: s, Command: steer.Command(r, f.again.source(args[0]))}
	if f.again.stdin != "" {
		if of.Input, err = cli.ReadFile(ctx, f.again.stdin); err != nil {
			return nil, err
		}
	}
	return &steer.Failing{Of: of, Name: filepath.Base(args[0]), Failure: f.failing}, nil
}

// fingerprint returns the fingerprint of a race of a trace.
func fingerprint(ctx context.Context, t *analyze.Trace, id string) (string, error) {
	rep, err := t.Races(ctx, analyze.RaceOptions{})
	if err != nil {
		return "", err
	}
	for i := range rep.Races {
		if rep.Races[i].ID == id {
			return rep.Races[i].Fingerprint, nil
		}
	}
	return "", fmt.Errorf("--race %s: the trace has no such race; it has %d", id, len(rep.Races))
}

// shownTurns is the number of turns of a story that are printed.
const shownTurns = 60

// tell prints what was found, and writes the schedule.
func (f *minimizeFlags) tell(ctx context.Context, std cli.Streams, of *steer.Failing, found *steer.Shortest) error {
	if err := std.WriteTo(ctx, f.out, found.Write, f.schedule, f.again.stdin, of.Name); err != nil {
		return err
	}
	w := std.Out
	fmt.Fprintf(w, "%s: %s with %d of %s (%s), after %s\n", of.Name, found.Failure, found.Preemptions,
		numtext.Plural(uint64(found.Before), "preemption"), numtext.Plural(uint64(len(found.Story)), "turn"), numtext.Plural(uint64(found.Runs), "run"))
	switch {
	case found.Minimal && found.Preemptions > 0:
		fmt.Fprintln(w, "None of them can be left out.")
	case found.Interrupted:
		fmt.Fprintln(w, "The search was interrupted; perhaps some can be left out.")
	case !found.Minimal:
		fmt.Fprintf(w, "The search stopped after --runs %d; perhaps some can be left out.\n", f.runs)
	}
	fmt.Fprintln(w)
	for i, line := range found.Story {
		if i == shownTurns {
			fmt.Fprintf(w, "  … %d more turns, in the schedule\n", len(found.Story)-i)
			break
		}
		fmt.Fprintf(w, "  %s\n", line)
	}
	_, err := fmt.Fprintf(w, "  The run ends: %s\n\nschedule: %s\nrerun:    %s\n", found.Failure, f.out, steer.WithSchedule(of.Of.Command, f.out, ""))
	return err
}
