package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/analyze/report"
	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/confirm"
	"hindsight/mpsim/image"
	"hindsight/mpsim/schedule"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/outfile"
)

// confirmFlags are the flags of `hindsight confirm`.
type confirmFlags struct {
	races  []string
	tries  int
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

The exit status is 66 when a race is harmful, 0 when none is, and 2 on errors.
docs/replay.md explains the verdicts.`,
		Example: `  hindsight confirm bank.hst
  hindsight confirm --race R1 --race R3 bank.hst
  hindsight confirm --format json -o bank.json bank.hst`,
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

// confirm looks at the races of a trace, writes the report, and tells whether one is
// harmful.
func (f *confirmFlags) confirm(ctx context.Context, std cli.Streams, file string) (harmful bool, err error) {
	if err := cli.CheckFormat(f.report.format, "text", "json", "sarif"); err != nil {
		return false, err
	}
	if f.tries < 1 {
		return false, fmt.Errorf("--tries %d: want 1 or more", f.tries)
	}
	if f.dir == "" {
		f.dir = file + ".schedules"
	}
	trace, err := openTrace(ctx, std, file, withAccesses, &f.report.again)
	if err != nil {
		return false, err
	}
	defer trace.Close()
	opts := analyze.RaceOptions{Rerun: f.report.again.rerun(), Values: f.report.again.values,
		Log: func(text string) { fmt.Fprintf(std.Err, "hindsight: %s\n", text) }}
	rep, err := trace.Races(ctx, opts)
	if err != nil {
		return false, err
	}
	for _, id := range f.races {
		if !slices.ContainsFunc(rep.Races, func(r report.Race) bool { return r.ID == id }) {
			return false, fmt.Errorf("--race %s: the trace has no such race; it has %d", id, len(rep.Races))
		}
	}
	c, err := newConfirmation(ctx, trace.Recorded(), file, f)
	if err != nil {
		return false, err
	}
	bar := cli.NewProgress(std.Err, "races in both orders", uint64(len(rep.Races)))
	for i := range rep.Races {
		r := &rep.Races[i]
		if len(f.races) > 0 && !slices.Contains(f.races, r.ID) {
			continue
		}
		if r.Verdict, err = c.race(ctx, r); err != nil {
			return false, fmt.Errorf("%s: %w", r.ID, err)
		}
		harmful = harmful || r.Verdict.Verdict == string(confirm.Harmful)
		bar.Step(1)
	}
	bar.End()
	return harmful, f.report.write(ctx, std, rep, file)
}

// confirmation is what the races of a trace are looked at with.
type confirmation struct {
	*confirm.Confirmer
	t     *cdr.Trace
	img   *image.Space
	rerun string // the command, without a schedule
	dir   string
	calls map[event.ThreadID][]uint64 // places of events, in order, by thread
}

// newConfirmation runs the program of the trace once, for its schedule.
func newConfirmation(ctx context.Context, t *cdr.Trace, file string, f *confirmFlags) (*confirmation, error) {
	replay, r, input, err := replayOf(ctx, t, &f.report.again)
	if err != nil {
		return nil, err
	}
	c := &confirmation{t: t, img: r.Image, dir: f.dir, rerun: rerunCommand(r, f.report.again.stdin, file)}
	conf := r.Config(r.Image, session.Streams{})
	c.Confirmer = confirm.New(confirm.Options{Config: conf, Image: r.Image, Hooks: r.Hooks, Schedule: replay.Schedule,
		Input: input, Insts: replay.Insts, Tries: f.tries})
	return c, nil
}

// rerunCommand is the command line of a run, as far as one can be told.
func rerunCommand(r *session.Run, stdin, file string) string {
	words := []string{"hindsight", "run", "--record", "none", fmt.Sprintf("--seed %d", r.Seed), "--schedule %s"}
	if r.CPUs != 0 {
		words = append(words, fmt.Sprintf("--cpus %d", r.CPUs))
	}
	for _, e := range r.Env {
		words = append(words, "--env "+quoted(e))
	}
	if r.Root != "" {
		words = append(words, "--root "+quoted(r.Root))
	}
	if stdin != "" {
		words = append(words, "--stdin "+quoted(stdin))
	}
	program := r.Program
	if _, err := os.Stat(program); err != nil {
		if at := filepath.Join(filepath.Dir(file), filepath.Base(program)); exists(at) {
			program = at
		}
	}
	if !strings.Contains(program, "/") {
		program = "./" + program
	}
	words = append(words, quoted(program))
	for _, a := range r.Args {
		words = append(words, quoted(a))
	}
	return strings.Join(words, " ")
}

func exists(file string) bool { _, err := os.Stat(file); return err == nil }

// quoted is a word for the shell.
func quoted(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$&|;<>()*?[]#~`!{}%") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// race confirms the first instance of a race.
func (c *confirmation) race(ctx context.Context, r *report.Race) (*report.Verdict, error) {
	var pair confirm.Pair
	for i, to := range []*confirm.Access{&pair.B, &pair.A} {
		a := &r.Accesses[i]
		*to = confirm.Access{Thread: a.Thread, PC: a.PC, Ordinal: a.Ordinal, Address: a.Address, Size: a.Size, Call: !a.Op.Plain()}
		if to.Call {
			var err error
			if to.Ordinal, err = c.ordinal(a); err != nil {
				return nil, err
			}
		}
	}
	f, err := c.Pair(ctx, pair)
	if err != nil {
		return nil, err
	}
	v := &report.Verdict{Verdict: string(f.Verdict)}
	v.Evidence = report.Evidence{What: f.What, Tries: f.Tries, Variables: f.Variables, Place: placeName(c.img, f.Stands)}
	if f.As == nil {
		return v, nil
	}
	if v.Evidence.AsWas, err = c.keep(ctx, r.ID+"-as-was.txt", f.As); err != nil {
		return nil, err
	}
	v.Evidence.Swapped, err = c.keep(ctx, r.ID+"-swapped.txt", f.Swapped)
	return v, err
}

// ordinal is how often the thread had executed the instruction of an access that is
// an event.
func (c *confirmation) ordinal(a *report.Access) (uint64, error) {
	if c.calls == nil {
		c.calls = map[event.ThreadID][]uint64{}
		for e, err := range c.t.Events() {
			if err != nil {
				return 0, err
			}
			c.calls[e.Thread] = append(c.calls[e.Thread], e.PC)
		}
	}
	n, last := uint64(0), false
	for i, pc := range c.calls[a.Thread] {
		if uint64(i) >= a.Segment {
			break
		}
		// Events of one call are adjacent.
		if pc == a.PC && !last {
			n++
		}
		last = pc == a.PC
	}
	return n, nil
}

// keep writes the schedule of a run.
func (c *confirmation) keep(ctx context.Context, name string, o *confirm.Outcome) (*report.Rerun, error) {
	if err := os.MkdirAll(c.dir, 0o777); err != nil {
		return nil, err
	}
	path := filepath.Join(c.dir, name)
	err := outfile.Write(ctx, path, outfile.Options{}, func(w io.Writer) error { return writeSchedule(w, o.Schedule, c.img) })
	if err != nil {
		return nil, err
	}
	how := quoted(path)
	if o.Endless() {
		how += fmt.Sprintf(" --max-instructions %d", o.Schedule.Insts())
	}
	return &report.Rerun{Schedule: path, Command: strings.Replace(c.rerun, "%s", how, 1), Outcome: o.String()}, nil
}

// replayRun is the run of a trace, repeated.
type replayRun struct {
	Schedule *schedule.Schedule
	Insts    uint64
}

// replayOf repeats the run of a trace for its schedule, and reads its input.
func replayOf(ctx context.Context, t *cdr.Trace, again *againFlags) (*replayRun, *session.Run, []byte, error) {
	r, std, done, err := again.rerun().Run(ctx, t)
	if err != nil {
		return nil, nil, nil, err
	}
	defer done()
	input, err := io.ReadAll(std.In)
	if err != nil {
		return nil, nil, nil, err
	}
	std.In = bytes.NewReader(input)
	r.Trail = true
	res, err := r.Simulate(ctx, std, nil)
	if err == nil {
		err = session.SameEnd(t, res)
	}
	if err == nil && res.Interrupted {
		err = errors.Join(ctx.Err(), session.ErrOtherRun)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	r.Follow, r.Trail = nil, false
	return &replayRun{res.Schedule, res.Insts}, r, input, nil
}
