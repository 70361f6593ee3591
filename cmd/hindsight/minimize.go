package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/minimize"
	"hindsight/mpsim/schedule"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/numtext"
)

// minimizeFlags are the flags of `hindsight minimize`.
type minimizeFlags struct {
	schedule string
	seed     uint64
	env      []string
	out      string
	runs     int
	failing  failureFlags
	again    againFlags
}

// failureFlags say which runs fail.
type failureFlags struct {
	status          int // -1: any
	output          string
	crash, deadlock bool
	race            string
}

func newMinimize(std cli.Streams) *cobra.Command {
	var f minimizeFlags
	cmd := &cobra.Command{
		Use:   "minimize [flags] TRACE | --schedule FILE PROGRAM [ARGS…]",
		Short: "Find the shortest schedule that still fails",
		Long: `minimize takes a run that fails and reruns the program with fewer and fewer
preemptions (switches away from a thread that could go on), as long as it still
fails. It describes the final schedule as a story, one line for each turn. It
also writes the schedule to a file and prints a command that runs it.

The run is that of TRACE, or that of PROGRAM under --schedule. By default a run
fails if it ends as the original did: with its exit status, a crash, or a
deadlock. A flag selects another failure:

  --status N         it ends with exit status N
  --output PATTERN   it writes a line that matches the regular expression
  --crash            a signal ends it
  --deadlock         no thread can go on
  --race R1          its trace contains that race of TRACE

The search stops after --runs runs, or when it is interrupted, and keeps the
best schedule so far. See docs/replay.md.`,
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
	flags.IntVar(&f.failing.status, "status", -1, "a run fails if it ends with this exit status")
	flags.StringVar(&f.failing.output, "output", "", "a run fails if it writes a line that matches `PATTERN`")
	flags.BoolVar(&f.failing.crash, "crash", false, "a run fails if a signal ends it")
	flags.BoolVar(&f.failing.deadlock, "deadlock", false, "a run fails if it ends in a deadlock")
	flags.StringVar(&f.failing.race, "race", "", "a run fails if it has this race of TRACE, such as `R1`")
	flags.StringVar(&f.schedule, "schedule", "", "run PROGRAM under the schedule in `FILE`")
	flags.Uint64Var(&f.seed, "seed", 1, "with --schedule: seed of the run")
	flags.StringArrayVar(&f.env, "env", nil, "with --schedule: environment variable `K=V` of the guest; may be repeated")
	flags.IntVar(&f.runs, "runs", 500, "stop the search after this number of runs")
	flags.StringVarP(&f.out, "save-schedule", "o", "", "write the schedule to `FILE` (default: TRACE.minimal.txt or PROGRAM.minimal.txt)")
	f.again.addInput(cmd)
	return cmd
}

// minimize does the command.
func (f *minimizeFlags) minimize(ctx context.Context, std cli.Streams, args []string) error {
	if f.runs < 1 {
		return fmt.Errorf("--runs %d: want 1 or more", f.runs)
	}
	m, start, err := f.failingRun(ctx, std, args)
	if err != nil {
		return err
	}
	first, err := m.once(ctx, start, mpsim.Random)
	if err != nil {
		return err
	}
	if d := first.res.Diverged; d != nil {
		return fmt.Errorf("%v", d)
	}
	if err := m.choose(&f.failing, first); err != nil {
		return err
	}
	before := len(minimize.Preemptions(minimize.Turns(first.res.Schedule)))
	m.best, m.limit = first, max(patience*first.res.Insts, leastPatience)
	bar := cli.NewProgress(std.Err, "runs", uint64(f.runs))
	found, err := minimize.Search(first.res.Schedule, f.runs, func(s *schedule.Schedule) (*schedule.Schedule, error) {
		bar.Step(1)
		return m.try(ctx, s)
	})
	bar.End()
	if err != nil && ctx.Err() == nil {
		return err
	}
	m.interrupted = ctx.Err() != nil
	return m.tell(context.WithoutCancel(ctx), std, f, found, before)
}

// failingRun is the run to begin with, and the schedule that it follows.
func (f *minimizeFlags) failingRun(ctx context.Context, std cli.Streams, args []string) (*minimization, *schedule.Schedule, error) {
	if f.schedule != "" {
		return f.failingProgram(ctx, args)
	}
	if len(args) > 1 {
		return nil, nil, fmt.Errorf("%s: want one TRACE, or --schedule FILE before a program and its arguments", args[1])
	}
	trace, err := openTrace(ctx, std, args[0], withAccesses, &f.again)
	if err != nil {
		return nil, nil, err
	}
	defer trace.Close()
	t, m := trace.Recorded(), &minimization{}
	if f.failing.race != "" {
		if m.race, err = fingerprint(ctx, t, args[0], f.failing.race); err != nil {
			return nil, nil, err
		}
	}
	replay, r, input, err := replayOf(ctx, t, &f.again)
	if err != nil {
		return nil, nil, err
	}
	m.run, m.input, m.name, m.rerun = *r, input, args[0], rerunCommand(r, f.again.stdin, args[0])
	return m, replay.Schedule, nil
}

// failingProgram is failingRun of a program under a schedule.
func (f *minimizeFlags) failingProgram(ctx context.Context, args []string) (*minimization, *schedule.Schedule, error) {
	if f.failing.race != "" {
		return nil, nil, errors.New("--race: races are named by a trace; record the run (hindsight run --schedule) and name that")
	}
	s, err := readSchedule(ctx, f.schedule)
	if err != nil {
		return nil, nil, err
	}
	r, err := session.Load(args[0], f.again.root)
	if err != nil {
		return nil, nil, err
	}
	r.Args, r.Env, r.Seed, r.Written = args[1:], f.env, f.seed, f.again.written.Written
	m := &minimization{run: *r, name: filepath.Base(args[0]), rerun: rerunCommand(r, f.again.stdin, args[0])}
	if f.again.stdin != "" {
		in, err := cli.OpenFile(ctx, f.again.stdin)
		if err != nil {
			return nil, nil, err
		}
		defer in.Close()
		if m.input, err = io.ReadAll(in); err != nil {
			return nil, nil, err
		}
	}
	return m, s, nil
}

// minimization is a run whose schedule is made shorter.
type minimization struct {
	run   session.Run
	input []byte
	name  string // of the trace or program
	rerun string // the command, without a schedule
	limit uint64 // instructions

	fails       func(*attempt) bool
	failure     string // how it fails, for messages
	race        string // fingerprint, of --race; "": none
	best        *attempt
	interrupted bool
}

// A run that takes so many times as long as the first does not fail as it did.
const (
	patience      = 10
	leastPatience = 4 << 20 // instructions
	longTurn      = 1 << 20 // instructions: after a schedule, threads are hardly preempted
)

// attempt is a run that was made.
type attempt struct {
	res    *mpsim.Result
	img    *image.Space
	output []byte // and error output
	races  bool   // with --race: it has the race
	story  *minimize.Story
}

// try is the oracle of the search.
func (m *minimization) try(ctx context.Context, s *schedule.Schedule) (*schedule.Schedule, error) {
	a, err := m.once(ctx, s, mpsim.RoundRobin)
	if err != nil {
		return nil, err
	}
	if !m.fails(a) {
		return nil, nil
	}
	if got := minimize.Turns(a.res.Schedule); len(minimize.Preemptions(got)) < len(minimize.Preemptions(minimize.Turns(m.best.res.Schedule))) {
		m.best = a
	}
	return a.res.Schedule, nil
}

// once runs the program under a schedule. The error is that of ctx when it was
// interrupted.
func (m *minimization) once(ctx context.Context, s *schedule.Schedule, policy mpsim.Policy) (*attempt, error) {
	r := m.run
	r.Follow, r.Trail, r.Policy, r.Quantum, r.MaxInsts = s, true, policy, 0, m.limit
	if policy == mpsim.RoundRobin {
		r.Quantum = longTurn
	}
	a := &attempt{img: r.Image.Anew(), story: new(minimize.Story)}
	r.Sliced = a.story.Heard
	var out bytes.Buffer
	std := session.Streams{In: bytes.NewReader(m.input), Out: &out, Err: &out}
	var err error
	if m.race == "" {
		a.res, err = r.SimulateIn(ctx, a.img, std, nil)
	} else {
		err = m.recorded(ctx, &r, std, a)
	}
	if err == nil {
		err = ctx.Err()
	}
	a.output = out.Bytes()
	return a, err
}

// recorded is once with a trace, and looks for the race in that.
func (m *minimization) recorded(ctx context.Context, r *session.Run, std session.Streams, a *attempt) error {
	f, err := os.CreateTemp("", "hindsight-*.hst")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return err
	}
	r.Mode, r.Keep, r.Out, r.Scratch = string(format.ModeCDR), "all", f.Name(), true
	done, err := r.Record(ctx, std)
	if err != nil {
		return err
	}
	a.res, a.img = done.Result, done.Image
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t, err := analyze.Open(f.Name())
	if err != nil {
		return err
	}
	defer t.Close()
	rep, err := t.Races(ctx, analyze.RaceOptions{})
	if err != nil {
		return err
	}
	for i := range rep.Races {
		a.races = a.races || rep.Races[i].Fingerprint == m.race
	}
	return nil
}

// fingerprint is that of a race of a trace.
func fingerprint(ctx context.Context, t *cdr.Trace, file, id string) (string, error) {
	rep, err := analyze.New(t, file).Races(ctx, analyze.RaceOptions{})
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

// choose settles which runs fail, and whether the first does.
func (m *minimization) choose(f *failureFlags, first *attempt) error {
	var all []func(*attempt) bool
	var names []string
	add := func(name string, fails func(*attempt) bool) { names, all = append(names, name), append(all, fails) }
	if f.status >= 0 {
		add(fmt.Sprintf("exit status %d", f.status), func(a *attempt) bool { return a.res.Status == f.status })
	}
	if f.output != "" {
		pattern, err := regexp.Compile("(?m)" + f.output)
		if err != nil {
			return fmt.Errorf("--output: %w", err)
		}
		add(fmt.Sprintf("output that matches %q", f.output), func(a *attempt) bool { return pattern.Match(a.output) })
	}
	if f.crash {
		add("a crash", (*attempt).crashed)
	}
	if f.deadlock {
		add("a deadlock", (*attempt).deadlocked)
	}
	if f.race != "" {
		add("race "+f.race, func(a *attempt) bool { return a.races })
	}
	if len(all) == 0 {
		name, fails := ending(first)
		if fails == nil {
			return fmt.Errorf("%s: the run ended with %s; say what counts as failing: --status, --output, --crash, --deadlock or --race", m.name, name)
		}
		add(name, fails)
	}
	m.failure = strings.Join(names, " and ")
	m.fails = func(a *attempt) bool {
		for _, fails := range all {
			if a.res.LimitReached || !fails(a) {
				return false
			}
		}
		return true
	}
	if !m.fails(first) {
		name, _ := ending(first)
		return fmt.Errorf("%s: the run does not fail with %s; it ended with %s", m.name, m.failure, name)
	}
	return nil
}

func (a *attempt) deadlocked() bool { return a.res.Deadlock != nil }
func (a *attempt) crashed() bool    { return a.res.Signal != 0 && !a.deadlocked() && !a.res.LimitReached }

// crash is the signal that ended the run, and the function, if an instruction is to
// blame.
func (a *attempt) crash() string {
	text := linux.SignalName(a.res.Signal)
	if f := a.res.Fault; f != nil {
		if s, ok := a.img.Func(f.PC); ok {
			text += " in " + s.Name
		}
	}
	return text
}

// ending is how a run ended, and which runs end so; nil for one that ended well or was
// stopped.
func ending(a *attempt) (string, func(*attempt) bool) {
	switch {
	case a.deadlocked():
		return "a deadlock", (*attempt).deadlocked
	case a.res.LimitReached:
		return "its limit: " + a.res.Message, nil
	case a.crashed():
		name := a.crash()
		return name, func(b *attempt) bool { return b.crashed() && b.crash() == name }
	case a.res.Status != 0:
		status := a.res.Status
		return fmt.Sprintf("exit status %d", status), func(b *attempt) bool { return !b.crashed() && b.res.Status == status }
	}
	return "exit status 0", nil
}

// shownTurns is how many turns of a story are printed.
const shownTurns = 60

// tell prints what was found and writes its schedule.
func (m *minimization) tell(ctx context.Context, std cli.Streams, f *minimizeFlags, found *minimize.Result, before int) error {
	lines := m.best.story.Lines(m.best.img, func(pc uint64) string { return placeName(m.best.img, pc) })
	out := f.out
	if out == "" {
		out = m.name + ".minimal.txt"
	}
	write := func(w io.Writer) error { return m.write(w, found.Schedule, lines) }
	if err := std.WriteTo(ctx, out, write, f.schedule, f.again.stdin, m.name); err != nil {
		return err
	}
	w := std.Out
	fmt.Fprintf(w, "%s: %s with %d of %s (%s), after %s\n", m.name, m.failure, found.Preemptions,
		numtext.Plural(uint64(before), "preemption"), numtext.Plural(uint64(len(lines)), "turn"), numtext.Plural(uint64(found.Runs), "run"))
	switch {
	case found.Minimal && found.Preemptions > 0:
		fmt.Fprintln(w, "None of them can be left out.")
	case m.interrupted:
		fmt.Fprintln(w, "The search was interrupted; perhaps some can be left out.")
	case !found.Minimal:
		fmt.Fprintf(w, "The search stopped after --runs %d; perhaps some can be left out.\n", f.runs)
	}
	fmt.Fprintln(w)
	for i, line := range lines {
		if i == shownTurns {
			fmt.Fprintf(w, "  … %d more turns, in the schedule\n", len(lines)-i)
			break
		}
		fmt.Fprintf(w, "  %s\n", line)
	}
	_, err := fmt.Fprintf(w, "  The run ends: %s\n\nschedule: %s\nrerun:    %s\n", m.failure, out, strings.Replace(m.rerun, "%s", quoted(out), 1))
	return err
}

// write writes a schedule with the story in its comments, each sentence at the end of
// its turn.
func (m *minimization) write(w io.Writer, s *schedule.Schedule, lines []string) error {
	turns := minimize.Turns(s)
	at, left := -1, 0
	err := s.Write(w, func(*schedule.Step) string {
		for left == 0 && at+1 < len(turns) {
			at++
			left = len(turns[at].Steps)
		}
		if left--; left == 0 && at < len(lines) {
			return lines[at]
		}
		return ""
	})
	if err == nil {
		_, err = fmt.Fprintf(w, "# The run ends: %s\n", m.failure)
	}
	return err
}
