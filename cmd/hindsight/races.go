package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/analyze/report"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/outfile"
)

// reportFormats are the forms of a report of races.
var reportFormats = []string{"text", "json", "sarif", "markdown", "junit"}

// racesFlags are the flags of `hindsight races`.
type racesFlags struct {
	order        string
	format       string
	out          string
	suppressions []string
	printUsed    bool
	atomics      string
	color        string
	baseline     string
	artifacts    string
	impact       bool
	limit        time.Duration
	memory       byteSize
	incomplete   bool
	brief        bool
	frames       string
	sourceDir    string
	newRules     string
	again        againFlags
	predict      predictFlags
	program      *image.Space // of the run, if it is already loaded; nil: read it from the trace
}

// defaultRaces returns the flags at their defaults, for commands that report races
// without having these flags.
func defaultRaces() racesFlags {
	return racesFlags{memory: defaultAnalysisMemory, format: "text", atomics: "relaxed", color: "auto", order: "hb", artifacts: artifactsFold}
}

func newRaces(std cli.Streams) *cobra.Command {
	f := racesFlags{memory: defaultAnalysisMemory}
	cmd := &cobra.Command{
		Use:   "races [flags] TRACE",
		Short: "Report the data races of a recorded run",
		Long: `races reports every pair of instructions that raced in the run. Two accesses
race when different threads make them, they share a byte, at least one is a
write, at least one is not atomic, and no synchronisation of the run orders
them. Each pair has its exact number of dynamic pairs, both call stacks, the
locks held and the variable.

Artifacts are races that are only consequences of another race: a value obtained
by a racy read decided which address was accessed, or which branch led to the
access. races names them under their causes (--artifacts fold), reports them
like other races with the path that the value took (list), or leaves them out
(hide). If the trace was recorded with --keep shared and that path leads through
memory that the trace does not have, races reruns the program.

--impact needs a trace with values (run --record wet, hindsight wet). It says
whether each racy value reaches output, reaches control flow, or dies unused,
with counts. hindsight slice --race shows the path.

If there are several groups of races, the report begins with a table of them.
They are ranked: first the program's own code, then libraries; causes before
their consequences; values that reach far before values that die; two writes
before a write and a read; then by how often they happened. --brief prints only
the table.

The exit status is 66 when a race is reported, 0 when none is, and 2 on errors.
Suppressions have ThreadSanitizer's syntax (race:, race_top:, thread:, mutex:,
called_from_lib:).

--values reruns the program and marks races whose writes make no difference:
each stored the value that was already there, or all stored the same value.

--predict also looks for races and deadlocks that another schedule of the same
events shows. The program is run under each such schedule, and what that run
shows is reported. The schedules are written into --schedules DIR.

--baseline FILE reads an earlier report (--format json). Only races that it does
not contain are reported and count for the exit status. SARIF contains all
races, marked as suppressed, unchanged or new.

For CI, --format markdown writes a job summary, and --format junit writes a
result for test runners, in which each group of races is a failed test.`,
		Example: `  hindsight races bank.hst
  hindsight races --brief bank.hst
  hindsight races --impact bank.wet.hst
  hindsight races --predict bank.hst
  hindsight races --format json -o bank.json bank.hst
  hindsight races --suppressions known.supp bank.hst
  hindsight races --baseline bank.json new.hst
  hindsight races --format sarif -o bank.sarif bank.hst
  hindsight races --format markdown bank.hst >> "$GITHUB_STEP_SUMMARY"`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := f.memory.within(cmd.Context())
			defer stop()
			found, err := f.report(ctx, std, args[0])
			if err == nil && found > 0 {
				err = cli.ExitStatus(exitRaces)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "text", "text, json, sarif, markdown or junit")
	flags.BoolVar(&f.brief, "brief", false, "print one line for each group of races: id, variable, the two source lines, how often")
	flags.StringVar(&f.frames, "frames", framesShort, "call stacks: short (several library frames as one) or all; not for JSON")
	cli.Complete(cmd, "frames", framesShort, framesAll)
	flags.StringVar(&f.sourceDir, "source-dir", "", "SARIF: `DIR` that file names are relative to (default: the directory of all the program's own files)")
	flags.StringVarP(&f.out, "output", "o", "", "write the report to `FILE`")
	flags.StringArrayVar(&f.suppressions, "suppressions", nil, "`FILE` of races not to report; may be repeated")
	flags.StringVar(&f.newRules, "generate-suppressions", "", "write suppressions for the reported races to `FILE`")
	flags.BoolVar(&f.printUsed, "print-suppressions", false, "print on standard error how often each suppression matched")
	flags.StringVar(&f.atomics, "atomics", "relaxed", "plain accesses to atomic variables: relaxed (no race) or strict")
	flags.StringVar(&f.color, "color", "auto", "emphasis: auto (on a terminal), always or never")
	flags.StringVar(&f.baseline, "baseline", "", "report only races that the JSON report `FILE` does not contain")
	flags.StringVar(&f.order, "order", "hb", "what orders accesses: hb (happens-before), shb (only schedulable races), wcp (lock order counts only where it must), lockset, all, or osr (races that another schedule of the same events shows)")
	cli.Complete(cmd, "order", analyze.Orders()...)
	flags.StringVar(&f.artifacts, "artifacts", "fold", "races that are consequences of others: fold, list, hide; event-control (fold by the paper's own relation); off")
	cli.Complete(cmd, "artifacts", artifactModes...)
	flags.BoolVar(&f.impact, "impact", false, "say for each race what its value reached: output, control flow or nothing (needs run --record wet)")
	flags.DurationVar(&f.limit, "time-limit", 0, "after this time, stop looking for artifacts and report the races as they are (0: no limit)")
	flags.Var(&f.memory, "max-memory", "memory for the analysis: bytes, or with K, M or G; when this is not enough, races reports what it has found and exits with status 2")
	allowIncomplete(flags, &f.incomplete)
	f.again.add(cmd)
	f.predict.add(cmd)
	cli.Complete(cmd, "format", reportFormats...)
	cli.Complete(cmd, "atomics", "relaxed", "strict")
	cli.Complete(cmd, "color", "auto", "always", "never")
	return cmd
}

// report analyses a trace, writes the report and returns the number of races in it.
func (f *racesFlags) report(ctx context.Context, std cli.Streams, file string) (int, error) {
	rep, err := f.analyse(ctx, std, file)
	return rep.Count(), err
}

// analyse analyses a trace and writes the report. If the analysis was interrupted and
// there is a report, it returns both the report and the exit status.
func (f *racesFlags) analyse(ctx context.Context, std cli.Streams, file string) (*report.Report, error) {
	opts, base, err := f.prepare(ctx, std, file)
	if err != nil {
		return nil, err
	}
	t, err := openTrace(ctx, std, file, withAccesses, &f.again)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if f.program != nil {
		t.UseProgram(f.program)
	}
	if err := checkSources(t.Program, nil, f.out, f.newRules); err != nil {
		return nil, err
	}
	endRuns, err := f.predict.apply(std, &opts, &f.again)
	if err != nil {
		return nil, err
	}
	rep, err := findRaces(ctx, std, t, file, opts)
	endRuns()
	if rep == nil && ctx.Err() != nil {
		why, status := whyEnded(ctx)
		tellPartial(std.Err, why, err)
		return nil, status
	}
	if rep == nil || err != nil && ctx.Err() == nil {
		return nil, err
	}
	interrupted := err != nil
	if interrupted {
		why, _ := whyEnded(ctx)
		fmt.Fprintf(std.Err, "hindsight: %s; the races are those of the whole run; what is said about them is incomplete\n", why)
	}
	if base != nil {
		base.Apply(rep)
	}
	if f.impact && !interrupted {
		err := addImpact(ctx, std, t, file, rep)
		if interrupted = err != nil && ctx.Err() != nil; interrupted {
			why, _ := whyEnded(ctx)
			fmt.Fprintf(std.Err, "hindsight: %s; what some values reached is not known\n", why)
		} else if err != nil {
			return nil, err
		}
	}
	if err := f.deliver(ctx, std, t, file, rep, opts.Suppressions); err != nil {
		return nil, err
	}
	if interrupted {
		_, status := whyEnded(ctx)
		return rep, status
	}
	return rep, nil
}

// prepare checks the flags and reads the files that they name. It returns the options of
// the analysis, and the baseline or nil.
func (f *racesFlags) prepare(ctx context.Context, std cli.Streams, file string) (o analyze.RaceOptions, base *report.Baseline, err error) {
	if err := cli.CheckFormat(f.format, reportFormats...); err != nil {
		return o, nil, err
	}
	if err := checkArtifacts(f.artifacts); err != nil {
		return o, nil, err
	}
	if f.frames != "" && f.frames != framesShort && f.frames != framesAll {
		return o, nil, fmt.Errorf("--frames %q: want short or all", f.frames)
	}
	if o, err = f.options(); err != nil {
		return o, nil, err
	}
	if err := f.checkOutputs(std, file); err != nil {
		return o, nil, err
	}
	if o.Suppressions, err = readSuppressions(ctx, f.suppressions); err != nil {
		return o, nil, err
	}
	if base, err = readBaseline(ctx, f.baseline); err != nil {
		return o, nil, err
	}
	if f.order != "" && !slices.Contains(analyze.Orders(), f.order) {
		return o, nil, fmt.Errorf("--order %q: want hb, shb, wcp, lockset, all or osr", f.order)
	}
	o.Order, o.AllowIncomplete, o.TimeLimit, o.Grace = f.order, f.incomplete, f.limit, draftGrace
	o.WithEventControl = f.format == "json" || f.format == "sarif"
	o.Rerun, o.Values = f.again.rerun(), f.again.values
	return o, base, nil
}

// deliver writes the report and what else the flags ask for: schedules of predictions,
// new suppressions, and how often each suppression matched.
func (f *racesFlags) deliver(ctx context.Context, std cli.Streams, t *analyze.Trace, file string, rep *report.Report, used *report.Suppressions) error {
	if f.artifacts == artifactsHide {
		rep.HideArtifacts()
	}
	if err := f.predict.keep(ctx, t.Recorded(), file, rep, &f.again); err != nil {
		return err
	}
	if err := f.write(ctx, std, rep, file); err != nil {
		return err
	}
	if f.newRules != "" {
		if err := std.WriteTo(ctx, f.newRules, rep.WriteSuppressions, f.inputs(file)...); err != nil {
			return err
		}
	}
	if f.printUsed && used != nil {
		for _, r := range used.Rules {
			fmt.Fprintf(std.Err, "hindsight: suppression %s:%s matched %d\n", r.Type, r.Pattern, r.Matched)
		}
	}
	return nil
}

// The values of --frames.
const (
	framesShort = "short"
	framesAll   = "all"
)

// The values of --artifacts.
const (
	artifactsFold    = "fold"
	artifactsList    = "list"
	artifactsHide    = "hide"
	artifactsOff     = "off"
	artifactsControl = "event-control"
)

var artifactModes = []string{artifactsFold, artifactsList, artifactsHide, artifactsControl, artifactsOff}

func checkArtifacts(mode string) error {
	if mode != "" && !slices.Contains(artifactModes, mode) {
		return fmt.Errorf("--artifacts %q: want fold, list, hide, event-control or off", mode)
	}
	return nil
}

// options returns the options of the analysis.
func (f *racesFlags) options() (analyze.RaceOptions, error) {
	var o analyze.RaceOptions
	switch f.artifacts {
	case artifactsHide:
		o.Artifacts = analyze.ArtifactsBrief
	case artifactsControl:
		o.Artifacts = analyze.ArtifactsEventControl
	case artifactsOff:
		o.Artifacts = analyze.ArtifactsOff
	}
	switch f.atomics {
	case "relaxed":
	case "strict":
		o.StrictAtomics = true
	default:
		return o, fmt.Errorf("--atomics %q: want relaxed or strict", f.atomics)
	}
	return o, nil
}

// inputs returns the files that the command reads.
func (f *racesFlags) inputs(trace string) []string {
	return append([]string{trace, f.baseline, f.again.stdin}, f.suppressions...)
}

// checkOutputs returns the error that writing would cause, before the work is done.
func (f *racesFlags) checkOutputs(std cli.Streams, trace string) error {
	for _, out := range []string{f.out, f.newRules} {
		if err := outfile.Check(out, std.Besides(f.inputs(trace)...)); err != nil {
			return err
		}
	}
	return outfile.Distinct(f.out, f.newRules)
}

// write puts the report on standard output or into the file of -o.
func (f *racesFlags) write(ctx context.Context, std cli.Streams, rep *report.Report, trace string) error {
	return std.WriteTo(ctx, f.out, func(w io.Writer) error {
		switch f.format {
		case "json":
			return rep.WriteJSON(w)
		case "sarif":
			opts := report.SARIFOptions{Arguments: os.Args[1:], Frames: f.frames == framesAll}
			if f.sourceDir != "" {
				dir, err := filepath.Abs(f.sourceDir)
				if err != nil {
					return err
				}
				opts.SourceDir = filepath.ToSlash(dir)
			}
			if len(rep.Races) > 0 {
				opts.ExitCode = exitRaces
			}
			return rep.WriteSARIF(w, opts)
		}
		color := f.color == "always" || f.color == "auto" && f.out == "" && cli.IsTerminal(std.Out)
		opts := report.TextOptions{Color: color, List: f.artifacts == artifactsList, Frames: f.frames == framesAll}
		switch {
		case f.format == "markdown":
			return rep.WriteMarkdown(w, opts)
		case f.format == "junit":
			return rep.WriteJUnit(w, opts)
		case f.brief:
			return rep.WriteBrief(w, opts)
		}
		return rep.WriteText(w, opts)
	}, f.inputs(trace)...)
}

func readSuppressions(ctx context.Context, files []string) (*report.Suppressions, error) {
	if len(files) == 0 {
		return nil, nil
	}
	all := &report.Suppressions{}
	for _, name := range files {
		f, err := cli.OpenFile(ctx, name)
		if err != nil {
			return nil, err
		}
		s, err := report.ParseSuppressions(name, f)
		f.Close()
		if err != nil {
			return nil, err
		}
		all.Rules = append(all.Rules, s.Rules...)
	}
	return all, nil
}

// readBaseline reads the file of --baseline. It returns nil if there is none.
func readBaseline(ctx context.Context, file string) (*report.Baseline, error) {
	if file == "" {
		return nil, nil
	}
	f, err := cli.OpenFile(ctx, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return report.ReadBaseline(file, f)
}

// findRaces finds the races of a trace, and prints on standard error what could not be
// found out.
func findRaces(ctx context.Context, std cli.Streams, t *analyze.Trace, file string, o analyze.RaceOptions) (*report.Report, error) {
	var mu sync.Mutex // an abandoned analysis may still call
	var bar *cli.Progress
	end := func() {
		mu.Lock()
		defer mu.Unlock()
		bar.End()
	}
	o.Log = func(text string) {
		end()
		fmt.Fprintf(std.Err, "hindsight: %s\n", text)
	}
	o.Progress = func(_, total int) {
		mu.Lock()
		defer mu.Unlock()
		if bar == nil {
			bar = cli.NewProgress(std.Err, "which races are artifacts", uint64(total))
		}
		bar.Step(1)
	}
	rep, err := t.Races(ctx, o)
	end()
	if err != nil && (rep == nil || ctx.Err() == nil) {
		return nil, fmt.Errorf("%s: %w", file, orAllowed(withCommand(t, err)))
	}
	for _, note := range rep.Notes() {
		if ctx.Err() == nil {
			fmt.Fprintf(std.Err, "hindsight: note: %s: %s\n", file, note)
		}
	}
	return rep, err
}

// addImpact adds to each race in a report what its value reached. The trace must have
// been recorded with values.
func addImpact(ctx context.Context, std cli.Streams, t *analyze.Trace, file string, rep *report.Report) error {
	p := cli.NewProgress(std.Err, "following racy values", uint64(len(rep.Races)))
	defer p.End()
	err := t.Impact(ctx, rep, func(_, _ int) { p.Step(1) }, func(text string) { fmt.Fprintf(std.Err, "hindsight: %s\n", text) })
	if err != nil {
		return fmt.Errorf("%s: --impact: %w", file, err)
	}
	return nil
}
