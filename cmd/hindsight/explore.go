package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"hindsight/analyze/report"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
	"hindsight/mpsim/suite"
	"hindsight/mpsim/survey"
	"hindsight/tracefmt/numtext"
)

// Default limits of the runs of an exploration. Many runs execute at once, and one that
// never ends must not delay the others.
const (
	exploreInsts  = 1_000_000_000
	exploreMemory = 1 << 30
)

// exploreFlags are the flags of `hindsight explore`.
type exploreFlags struct {
	guestFlags
	races  racesFlags
	runs   int
	jobs   int
	seed   uint64
	until  bool
	shard  shardFlag
	dir    string
	resume bool
	show   bool
	teams  []int
	short  shortFlags

	suite   string
	runTime time.Duration
}

// shortFlags select the shortest schedules of failures.
type shortFlags struct {
	on   bool
	runs int
}

// exploreFormats are the forms of its report.
var exploreFormats = []string{"text", "json", "markdown", "junit"}

// maxTeam limits the values of --threads.
const maxTeam = 4096

func newExplore(std cli.Streams) *cobra.Command {
	var f exploreFlags
	cmd := &cobra.Command{
		Use:   "explore [flags] PROGRAM [ARGS…] | --suite FILE",
		Short: "Run a program under many schedules and report all races",
		Long: `explore runs PROGRAM under many seeds, several at a time. It reports each race
once, with the seeds that show it. It also reports how the runs ended: exit
status, deadlock, fault, different output. It keeps the traces of the first seed
for each race, deadlock and fault in the directory of -o. To rerun any other
seed, use ` + "`hindsight run`" + ` with the same --sched and --depth.

The report is the same for any number of jobs. --resume continues an exploration
that was interrupted, or adds runs to it. With --shard 2/5, explore does the
second fifth of the runs, and other machines do the others; ` + "`hindsight merge`" + `
joins them.

An OpenMP loop with a static schedule hides conflicts inside one thread's share.
With --threads 2,4,16,64 the seeds take these numbers of threads in turn
(OMP_NUM_THREADS). The report says which numbers showed a race.

With --predict, each run also predicts the races of similar schedules, as
` + "`hindsight races --predict`" + ` does, so that fewer runs are needed.

With --minimize, explore ends with the shortest schedule for each way in which
runs failed (exit status, crash, deadlock, hang), for each output other than the
most frequent one, and for each race, as ` + "`hindsight minimize`" + ` finds it.

` + suiteHelp + `

With --sched coverage, later runs try the orders of locks that earlier ones did
not show.

The guest's standard input is empty unless --stdin is given. Each run is limited
to 10^9 instructions and 1 GiB unless the flags say otherwise. The exit status
is 66 when a race was seen. When the exploration was interrupted before it saw
one, it is 130 (SIGINT), 143 (SIGTERM) or 129 (SIGHUP).`,
		Example: `  hindsight explore ./bank
  hindsight explore --runs 1000 --sched pct --depth 2 ./bank 4 1000
  hindsight explore --threads 2,4,16,64 ./solver
  hindsight explore --until-race --format json ./bank
  hindsight explore --predict --runs 5 ./bank
  hindsight explore --minimize ./bank
  hindsight explore --runs 2000 --resume ./bank       # 1000 more
  hindsight explore --runs 1000 --shard 2/5 ./bank    # 200 of 1000
  hindsight explore --suite nightly.txt --runs 50 --format junit`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.suite != "" {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.suite != "" {
				return f.exploreSuite(cmd.Context(), std)
			}
			if cmd.Flags().Changed("run-time") {
				return errors.New("--run-time: only with --suite")
			}
			return f.explore(cmd.Context(), std, args)
		},
	}
	f.add(cmd)
	f.limits.add(cmd, exploreInsts, exploreMemory)
	flags := cmd.Flags()
	flags.IntVar(&f.runs, "runs", 100, "number of runs")
	flags.Uint64Var(&f.seed, "seed", 1, "`FIRST` seed; each further run takes the next one")
	flags.IntVarP(&f.jobs, "jobs", "j", runtime.NumCPU(), "number of runs at a time")
	flags.IntSliceVar(&f.teams, "threads", nil, "numbers of OpenMP threads, used by the runs in turn (default: the program decides)")
	flags.BoolVar(&f.races.predict.on, "predict", false, "after each run, also run what it predicts: races that another schedule of its events shows")
	flags.BoolVar(&f.until, "until-race", false, "stop at the first seed that shows a race")
	flags.BoolVar(&f.short.on, "minimize", false, "find the shortest schedule for each way to fail, each different output and each race")
	flags.IntVar(&f.short.runs, "minimize-runs", 100, "with --minimize: stop each search after this number of runs")
	flags.Var(&f.shard, "shard", "do part `I/N` of the runs: every Nth seed, from the Ith on")
	flags.StringVar(&f.suite, "suite", "", "explore the programs of the list `FILE`")
	flags.DurationVar(&f.runTime, "run-time", suite.DefaultRunTime, "with --suite: stop a run that takes longer, with its analysis (0: no limit)")
	flags.StringVarP(&f.dir, "output", "o", "", "`DIR` for traces and progress (default PROGRAM.explore in this directory; for a shard, PROGRAM.I-of-N.explore)")
	flags.BoolVar(&f.resume, "resume", false, "continue the exploration in the directory")
	flags.BoolVar(&f.show, "show-output", false, "copy the output of the runs to standard error")
	flags.StringVar(&f.races.format, "format", "text", "text, json, markdown or junit; with --suite also sarif")
	flags.StringArrayVar(&f.races.suppressions, "suppressions", nil, "`FILE` of races not to report; may be repeated")
	flags.StringVar(&f.races.atomics, "atomics", "relaxed", "plain accesses to atomic variables: relaxed (no race) or strict")
	flags.StringVar(&f.races.color, "color", "auto", "emphasis: auto (on a terminal), always or never")
	cli.CompleteDir(cmd, "output")
	cli.Complete(cmd, "format", suite.Formats...)
	cli.Complete(cmd, "atomics", "relaxed", "strict")
	cli.Complete(cmd, "color", "auto", "always", "never")
	return cmd
}

// explore executes the command.
func (f *exploreFlags) explore(ctx context.Context, std cli.Streams, args []string) error {
	var fresh *freshRaces
	if cli.IsTerminal(std.Err) {
		fresh = &freshRaces{w: std.Err, seen: map[string]bool{}}
	}
	o, analysis, err := f.options(ctx, args, fresh)
	if err != nil {
		return err
	}
	if f.show {
		o.Show = std.Err
	}
	clear := func() {}
	if fresh != nil {
		o.Progress, clear = progressLine(std.Err, o.Planned())
	}
	all, err := session.OpenExploration(ctx, *o)
	if err != nil {
		return err
	}
	defer all.Close()
	err = all.Explore(ctx)
	clear()
	if err != nil {
		return fmt.Errorf("%w; --resume goes on after the %s that were made", err, numtext.Plural(uint64(all.Done()), "run"))
	}
	e := &exploration{
		Survey: &survey.Survey{Exploration: all, Races: analysis.Report, Planned: o.Planned()},
		flags:  &f.races, ended: cli.Interrupted(ctx), short: f.short, stdin: f.stdin,
	}
	if ctx.Err() != nil {
		e.Unfinished = fmt.Sprintf("interrupted after %d of %s; --resume makes the others", len(e.InOrder()), numtext.Plural(uint64(e.Planned), "run"))
	}
	// What was found is worth reporting, interrupted or not.
	return e.write(ctx, std)
}

// exploration is a finished exploration, and how to write its report.
type exploration struct {
	*survey.Survey
	flags *racesFlags
	ended cli.ExitStatus // if runs are missing and no race was seen
	short shortFlags
	stdin string
}

// analysis returns the analysis of the traces of an exploration. A rerun reads stdin and
// uses root.
func (f *racesFlags) analysis(rules []survey.Rules, program *image.Space, stdin, root string) *survey.Analysis {
	again := againFlags{stdin: stdin, root: root}
	return &survey.Analysis{
		Program: program, StrictAtomics: f.atomics == "strict", Suppressions: rules, Predict: f.predict.on,
		Rerun: again.rerun(), Source: again.source,
	}
}

// options checks the flags. fresh, if not nil, is called with races. find analyses the
// traces.
func (f *exploreFlags) options(ctx context.Context, args []string, fresh *freshRaces) (*session.ExploreOptions, *survey.Analysis, error) {
	if err := f.checkFlags(exploreFormats); err != nil {
		return nil, nil, err
	}
	r, err := f.recording(args)
	if err != nil {
		return nil, nil, err
	}
	var input []byte
	if f.stdin != "" {
		if input, err = cli.ReadFile(ctx, f.stdin); err != nil {
			return nil, nil, err
		}
	}
	rules, err := f.races.rules(ctx)
	if err != nil {
		return nil, nil, err
	}
	if f.dir == "" {
		f.dir = filepath.Base(args[0]) + f.shard.suffix() + ".explore"
	}
	analysis := f.races.analysis(rules, r.Image, f.stdin, f.root)
	// The analysis without artifacts shows which races there are. A trace that shows
	// something new is explained once, for the report.
	brief := analysis.Brief
	if fresh != nil {
		brief = fresh.tell(brief)
	}
	return &session.ExploreOptions{
		Run: *r, Teams: f.teams, Input: input, Dir: f.dir, First: f.seed, Runs: f.runs, Jobs: f.jobs, Until: f.until, Resume: f.resume,
		Shard: f.shard.part, Shards: f.shard.of, Command: survey.Command(r, f.teams, f.stdin),
		Atomics: f.races.atomics, Suppressions: survey.Digest(rules), Predict: f.races.predict.on,
		Races: func(ctx context.Context, trace string) ([]string, error) {
			rep, err := brief(ctx, trace)
			if err != nil {
				return nil, err
			}
			return survey.Fingerprints(rep), nil
		},
	}, analysis, nil
}

// rules reads the suppressions.
func (f *racesFlags) rules(ctx context.Context) ([]survey.Rules, error) {
	var all []survey.Rules
	for _, name := range f.suppressions {
		text, err := cli.ReadFile(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, survey.Rules{Name: name, Text: text})
	}
	return all, nil
}

// checkFlags checks what can be checked without a program.
func (f *exploreFlags) checkFlags(formats []string) error {
	if err := cli.CheckFormat(f.races.format, formats...); err != nil {
		return err
	}
	if f.runs < 1 {
		return fmt.Errorf("--runs %d: want 1 or more", f.runs)
	}
	if f.short.runs < 1 {
		return fmt.Errorf("--minimize-runs %d: want 1 or more", f.short.runs)
	}
	if f.jobs < 1 {
		return fmt.Errorf("--jobs %d: want 1 or more", f.jobs)
	}
	if f.seed+uint64(f.runs) < f.seed {
		return fmt.Errorf("--seed %d: there are no %d seeds from there on", f.seed, f.runs)
	}
	if f.until && f.shard.of > 0 {
		return errors.New("--until-race and --shard: want one of them")
	}
	if f.sched == mpsim.Coverage.String() && f.shard.of > 0 {
		return errors.New("--sched coverage and --shard: want one of them, since later runs depend on earlier ones")
	}
	if err := f.checkTeams(); err != nil {
		return err
	}
	_, err := f.races.options()
	return err
}

// checkTeams checks --threads.
func (f *exploreFlags) checkTeams() error {
	for i, n := range f.teams {
		if n < 1 || n > maxTeam || slices.Contains(f.teams[:i], n) {
			return fmt.Errorf("--threads %s: want different numbers from 1 to %d", report.CountsText(f.teams), maxTeam)
		}
	}
	for _, kv := range f.env {
		if len(f.teams) > 0 && strings.HasPrefix(kv, session.TeamVariable+"=") {
			return fmt.Errorf("--threads and --env %s: want one of them", kv)
		}
	}
	return nil
}

// write merges the races of the kept traces and writes the report.
func (e *exploration) write(ctx context.Context, std cli.Streams) error {
	rep, err := e.Report(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	runs := e.Describe()
	if e.short.on && e.Unfinished == "" {
		bar := cli.Waiting(std.Err, "looking for the shortest schedules")
		runs.Minimal, err = e.Minimize(ctx, rep, runs, survey.MinimizeOptions{Runs: e.short.runs, Stdin: e.stdin, Step: func() {}})
		bar()
		if err != nil {
			return err
		}
	}
	if err := e.writeAs(std, rep, runs); err != nil {
		return err
	}
	if e.Unfinished != "" {
		fmt.Fprintf(std.Err, "hindsight: %s\n", e.Unfinished)
	}
	switch {
	case len(rep.Races)+len(rep.Deadlocks) > 0:
		return cli.ExitStatus(exitRaces)
	case e.Unfinished != "":
		return e.ended
	}
	return nil
}

// writeAs writes the report and the outcomes of the runs.
func (e *exploration) writeAs(std cli.Streams, rep *report.Report, x *survey.Runs) error {
	f, command := e.flags, e.Options().Command
	opts := report.TextOptions{Color: f.color == "always" || f.color == "auto" && cli.IsTerminal(std.Out)}
	switch f.format {
	case "json":
		return rep.WriteJSONWith(std.Out, x)
	case "junit":
		return rep.WriteJUnit(std.Out, opts)
	case "markdown":
		if err := rep.WriteMarkdown(std.Out, opts); err != nil {
			return err
		}
		var text strings.Builder
		if err := x.WriteText(&text, command); err != nil {
			return err
		}
		_, err := fmt.Fprintf(std.Out, "\n%s", report.Fenced(text.String()))
		return err
	}
	if err := rep.WriteText(std.Out, opts); err != nil {
		return err
	}
	return x.WriteText(std.Out, command)
}

// progressLine shows the progress of an exploration on a terminal. The second function
// removes the line.
func progressLine(w io.Writer, runs int) (func(done, races int), func()) {
	start := time.Now()
	begun := -1
	show := func(done, races int) {
		if begun < 0 {
			begun = done - 1
		}
		rate := float64(done-begun) / max(time.Since(start).Seconds(), 1e-3)
		left := time.Duration(float64(runs-done) / rate * float64(time.Second))
		fmt.Fprintf(w, "\r\x1b[K%d of %d runs, %s, %.1f runs/s, %v left", done, runs, numtext.Plural(uint64(races), "race"), rate, left.Round(time.Second))
	}
	return show, func() { fmt.Fprint(w, "\r\x1b[K") }
}

// freshRaces prints races on a terminal when a run first shows them.
type freshRaces struct {
	w    io.Writer
	mu   sync.Mutex
	seen map[string]bool // by fingerprint
}

// tell returns find with a call for each race that it finds.
func (f *freshRaces) tell(analyze func(context.Context, string) (*report.Report, error)) func(context.Context, string) (*report.Report, error) {
	return func(ctx context.Context, trace string) (*report.Report, error) {
		rep, err := analyze(ctx, trace)
		if rep == nil {
			return rep, err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		for i := range rep.Races {
			if r := &rep.Races[i]; !f.seen[r.Fingerprint] {
				f.seen[r.Fingerprint] = true
				fmt.Fprintf(f.w, "\r\x1b[K%s: %s, %s\n", r.Location.Words(), r.Accesses[1].Words(), r.Accesses[0].Words())
			}
		}
		return rep, err
	}
}
