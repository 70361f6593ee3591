package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"hindsight/analyze/race"
	"hindsight/analyze/report"
	"hindsight/cdr"
	"hindsight/mpsim/image"
)

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
	again        againFlags
}

// analysisMemory is where the garbage collector begins to work harder, so that
// what the analysis holds and what it has let go stay below a GiB together.
const analysisMemory = 800 << 20

// boundMemory keeps garbage from doubling what an analysis takes, unless
// GOMEMLIMIT says how much there may be.
func boundMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(analysisMemory)
	}
}

func newRaces(std streams) *cobra.Command {
	var f racesFlags
	cmd := &cobra.Command{
		Use:   "races [flags] TRACE",
		Short: "Report the data races of a recorded run",
		Long: `races reports every pair of instructions that raced in the run: accesses of
different threads to a common byte, one at least a write, one at least not
atomic, that no synchronisation of the run orders. Each pair has its exact
number of dynamic pairs, both call stacks, the locks held and the variable.

Artifacts are races that are only consequences of another one: a value that a
racy read got decided which address was accessed, or the branch that led to the
access. They are named under their causes (--artifacts fold), reported like
other races with the way that the value went (list), or left out (hide). When
the trace was recorded with --keep shared and the way leads through memory that
it does not have, the run is made again.

With --impact, of a trace with values (run --record wet, hindsight wet), it says of
each race what the racy value reached: reaches output, reaches control flow, or dies
unused, with counts; hindsight slice --race shows the way.

It ends with status 66 when a race is reported, 0 when none is, 2 on errors.
Suppressions have ThreadSanitizer's syntax (race:, race_top:, thread:, mutex:,
called_from_lib:).

With --values the run is made again, and races are marked whose writes make no
difference: each stored what was there already, or all of them the same. Races on
a stack then name the local variable.

With --baseline FILE, a report that was written before with --format json, only
races that it does not have are reported and count for the status. SARIF has
them all: suppressed, unchanged and new ones, marked as such.`,
		Example: `  hindsight races bank.hst
  hindsight races --impact bank.wet.hst
  hindsight races --format json -o bank.json bank.hst
  hindsight races --suppressions known.supp bank.hst
  hindsight races --baseline bank.json new.hst
  hindsight races --format sarif -o bank.sarif bank.hst`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			boundMemory()
			found, err := f.report(cmd.Context(), std, args[0])
			if err == nil && found > 0 {
				err = exitStatus(exitRaces)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "text", "text, json or sarif")
	flags.StringVarP(&f.out, "output", "o", "", "write the report to `FILE`")
	flags.StringArrayVar(&f.suppressions, "suppressions", nil, "`FILE` of races not to report; may be repeated")
	flags.BoolVar(&f.printUsed, "print-suppressions", false, "say on standard error how often each suppression matched")
	flags.StringVar(&f.atomics, "atomics", "relaxed", "plain accesses to atomic variables: relaxed (no race) or strict")
	flags.StringVar(&f.color, "color", "auto", "emphasis: auto (on a terminal), always or never")
	flags.StringVar(&f.baseline, "baseline", "", "JSON report `FILE`: report only races that it does not have")
	flags.StringVar(&f.order, "order", "hb", "what orders accesses: hb (happens-before), shb (schedulable races only), wcp (lock orders count where they must), lockset, or all")
	complete(cmd, "order", orderNames()...)
	flags.StringVar(&f.artifacts, "artifacts", "fold", "races that are consequences of others: fold, list or hide")
	complete(cmd, "artifacts", artifactModes...)
	flags.BoolVar(&f.impact, "impact", false, "say of each race what its value reached: the output, control flow, nothing (needs run --record wet)")
	f.again.add(cmd)
	complete(cmd, "format", "text", "json", "sarif")
	complete(cmd, "atomics", "relaxed", "strict")
	complete(cmd, "color", "auto", "always", "never")
	return cmd
}

// report analyses a trace, writes the report and gives the number of races in it.
func (f *racesFlags) report(ctx context.Context, std streams, file string) (int, error) {
	if err := checkFormat(f.format, "text", "json", "sarif"); err != nil {
		return 0, err
	}
	if err := checkArtifacts(f.artifacts); err != nil {
		return 0, err
	}
	opts, err := f.options()
	if err != nil {
		return 0, err
	}
	suppressions, err := readSuppressions(ctx, f.suppressions)
	if err != nil {
		return 0, err
	}
	base, err := readBaseline(ctx, f.baseline)
	if err != nil {
		return 0, err
	}
	analyze, err := analysisBy(f.order)
	if err != nil {
		return 0, err
	}
	rep, err := reportBy(ctx, std, file, opts, suppressions, analyze, &f.again)
	if err != nil {
		return 0, err
	}
	if base != nil {
		base.Apply(rep)
	}
	found := len(rep.Races)
	if f.impact {
		if err := addImpact(ctx, std, file, rep); err != nil {
			return 0, err
		}
	}
	if f.artifacts == "hide" {
		rep.HideArtifacts()
	}
	if err := f.write(std, rep); err != nil {
		return 0, err
	}
	if f.printUsed && suppressions != nil {
		for _, r := range suppressions.Rules {
			fmt.Fprintf(std.err, "hindsight: suppression %s:%s matched %d\n", r.Type, r.Pattern, r.Matched)
		}
	}
	return found, nil
}

// artifactModes are the values of --artifacts.
var artifactModes = []string{"fold", "list", "hide"}

func checkArtifacts(mode string) error {
	if mode != "" && !slices.Contains(artifactModes, mode) {
		return fmt.Errorf("--artifacts %q: want fold, list or hide", mode)
	}
	return nil
}

// options are those of the analysis.
func (f *racesFlags) options() (race.Options, error) {
	var opts race.Options
	switch f.atomics {
	case "relaxed":
	case "strict":
		opts.Atomics = race.Strict
	default:
		return opts, fmt.Errorf("--atomics %q: want relaxed or strict", f.atomics)
	}
	return opts, nil
}

// write puts the report on standard output or into the file of -o.
func (f *racesFlags) write(std streams, rep *report.Report) error {
	return writeTo(f.out, std.out, func(w io.Writer) error {
		switch f.format {
		case "json":
			return rep.WriteJSON(w)
		case "sarif":
			opts := report.SARIFOptions{Arguments: os.Args[1:]}
			if len(rep.Races) > 0 {
				opts.ExitCode = exitRaces
			}
			return rep.WriteSARIF(w, opts)
		}
		color := f.color == "always" || f.color == "auto" && f.out == "" && isTerminal(std.out)
		return rep.WriteText(w, report.TextOptions{Color: color, List: f.artifacts == "list"})
	})
}

func openTrace(file string) (*cdr.Trace, error) { return cdr.Open(file) }

// findRaces analyses an open trace and names what it finds by the program that
// the trace carries.
func findRaces(ctx context.Context, t *cdr.Trace, file string, opts race.Options, sup *report.Suppressions) (*report.Report, error) {
	return findRacesBy(ctx, t, file, opts, sup, byHappensBefore, nil, io.Discard)
}

// findRacesBy is findRaces with another analysis; with again it may make the run
// again for what the trace does not keep, and tells say what it could not do.
func findRacesBy(ctx context.Context, t *cdr.Trace, file string, opts race.Options, sup *report.Suppressions, analyze analysis, again *againFlags, say io.Writer) (*report.Report, error) {
	if err := hasAccesses(t.Info()); err != nil {
		return nil, err
	}
	names, err := importedNames(t)
	if err != nil {
		return nil, err
	}
	var img *image.Image
	if names == nil {
		data, err := t.Image()
		if err != nil {
			return nil, err
		}
		if img, err = image.Parse(data); err != nil {
			return nil, fmt.Errorf("the program in the trace: %w", err)
		}
		opts.Program, opts.TLSSize = img, img.TLS.MemSize
	}
	res, err := analyze(ctx, t, opts)
	if err != nil {
		return nil, err
	}
	meta := t.Info()
	info := report.Info{
		Version: version(), File: file, Program: meta.Program, Args: meta.Args,
		Threads: len(t.Threads()), Seed: meta.Seed, Complete: meta.Complete,
	}
	for _, th := range t.Threads() {
		info.Instructions += th.Insts
	}
	if names != nil {
		if again != nil && again.values {
			return nil, errors.New("--values: the trace was imported; there is no program to run again")
		}
		return report.Build(res, names, t, info, sup) // of an imported run there is no code to look into
	}
	rep, err := report.Build(res, img, t, info, sup)
	if err != nil {
		return nil, err
	}
	if _, tasks := img.Lookup("GOMP_task"); tasks {
		if err := rep.Tasks(res, t.Events(), img, t); err != nil {
			return nil, err
		}
	}
	found, err := again.artifactsOf(ctx, t, file, img, res, say)
	if err != nil {
		return nil, err
	}
	rep.Explain(found, img)
	if again != nil && again.values && len(res.Races) > 0 {
		seen, err := again.valuesOf(ctx, t, img, res)
		if err != nil {
			return nil, fmt.Errorf("--values: %w", err)
		}
		rep.SameValues(seen.Seen())
		rep.Locals(seen.Locals(), img)
	}
	return rep, nil
}

func readSuppressions(ctx context.Context, files []string) (*report.Suppressions, error) {
	if len(files) == 0 {
		return nil, nil
	}
	all := &report.Suppressions{}
	for _, name := range files {
		f, err := openFile(ctx, name)
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

// readBaseline reads the file of --baseline; nil without one.
func readBaseline(ctx context.Context, file string) (*report.Baseline, error) {
	if file == "" {
		return nil, nil
	}
	f, err := openFile(ctx, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return report.ReadBaseline(file, f)
}

// isTerminal says whether w is a terminal that may show colour.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	return term.IsTerminal(int(f.Fd()))
}
