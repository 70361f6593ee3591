package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/analyze/export"
	"hindsight/analyze/export/perfetto"
	"hindsight/analyze/report"
	"hindsight/analyze/std"
	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/steer"
	"hindsight/tracefmt/numtext"
	"hindsight/tracefmt/outfile"
)

// The formats of export.
const (
	formatStd      = "std"
	formatSchedule = "schedule"
	formatPerfetto = "perfetto"
	formatPprof    = "pprof"
	formatFolded   = "folded"
	formatCSV      = "csv"
	formatJSON     = "json"
)

var exportFormats = []string{formatStd, formatSchedule, formatPerfetto, formatPprof, formatFolded, formatCSV, formatJSON}

// exportFlags are the flags of `hindsight export`.
type exportFlags struct {
	format, out string
	all         bool
	depth       int
	races       bool
	again       againFlags
}

func newExport(stdio cli.Streams) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export [flags] TRACE",
		Short: "Write a trace in another tool's format",
		Long: `export writes a trace in the format of another program. --format is one of

  perfetto  timeline for ui.perfetto.dev: turns, waits, calls, races
  pprof     profile for go tool pprof: instructions, accesses, coherence
            misses (of a run with --arch), lock waits, races
  folded    folded stacks of instructions, for flame graphs
  csv, json the table of races
  schedule  who ran for how long, for run --schedule; export reruns the program
  std       RAPID's STD text, the default: one line for each event

  thread|op(operand)|location     op: r w acq rel fork join

In std, locations are the addresses of instructions. Everything that orders
threads is written as locks, fork and join, so that happens-before is the same.
Accesses that hindsight races would not count (a library's own data, atomic
variables) are left out. See docs/exchange.md for std and docs/exports.md for
the other formats.`,
		Example: `  hindsight export --format perfetto -o bank.perfetto bank.hst
  hindsight export --format pprof -o bank.pb.gz bank.hst
  go tool pprof -top -sample_index=lock_wait bank.pb.gz
  hindsight export --format csv bank.hst
  hindsight export --format std -o bank.std bank.hst
  hindsight export --format std bank.hst | rapid-tool
  hindsight export --format schedule -o bank.txt bank.hst`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if f.format == formatSchedule {
				return f.schedule(cmd.Context(), stdio, args[0])
			}
			if err := f.write(cmd.Context(), stdio, args[0]); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "std", "perfetto, pprof, folded, csv, json, schedule or std")
	flags.StringVarP(&f.out, "output", "o", "", "write to `FILE`")
	flags.BoolVar(&f.all, "all", false, "std: include accesses of libraries to their own data")
	flags.IntVar(&f.depth, "depth", perfetto.DefaultDepth, "perfetto: depth of calls to show (0: no calls)")
	flags.BoolVar(&f.races, "races", true, "perfetto, pprof: find races")
	f.again.addInput(cmd)
	cli.Complete(cmd, "format", exportFormats...)
	return cmd
}

// check returns an error for values that no flag may have.
func (f *exportFlags) check() error {
	if err := cli.CheckFormat(f.format, exportFormats...); err != nil {
		return err
	}
	switch {
	case f.depth < 0:
		return errors.New("--depth: want a number of frames, or 0 for no calls")
	case f.all && f.format != formatStd:
		return errors.New("--all is for --format std")
	}
	return nil
}

// write writes the run in any format but that of schedules. It prints notes on an output
// file when the file is complete.
func (f *exportFlags) write(ctx context.Context, stdio cli.Streams, file string) error {
	var lines std.Stats
	err := stdio.WriteTo(ctx, f.out, func(w io.Writer) error {
		t, err := openTrace(ctx, stdio, file, withAccesses, &f.again)
		if err != nil {
			return err
		}
		defer t.Close()
		if err := checkSources(t.Program, nil, f.out); err != nil {
			return err
		}
		if f.format == formatStd {
			lines, err = export.STD(ctx, w, t, f.all)
		} else {
			err = f.convert(ctx, w, stdio.Err, t)
		}
		return withCommand(t, err)
	}, file)
	if err == nil && f.format == formatStd {
		fmt.Fprintf(stdio.Err, "hindsight: %s lines, %s of %s accesses\n", numtext.Grouped(lines.Lines), numtext.Grouped(lines.Accesses), numtext.Grouped(lines.Accesses+lines.Left))
	}
	return err
}

// convert writes the run to w, and notes on it to say.
func (f *exportFlags) convert(ctx context.Context, w, say io.Writer, t *analyze.Trace) error {
	noRaces := func(err error) { fmt.Fprintf(say, "hindsight: without races: %v\n", withCommand(t, err)) }
	switch f.format {
	case formatPerfetto:
		return f.timeline(ctx, w, say, t, noRaces)
	case formatCSV, formatJSON:
		if err := t.HasRun(); err != nil {
			return err
		}
		rep, err := t.Races(ctx, analyze.RaceOptions{})
		if err != nil {
			return err
		}
		write := (*report.Report).WriteTable
		if f.format == formatCSV {
			write = (*report.Report).WriteCSV
		}
		return write(rep, w)
	}
	p, err := export.Profile(ctx, t, export.ProfileOptions{Races: f.races && f.format == formatPprof, NoRaces: noRaces})
	if err != nil {
		return err
	}
	if f.format == formatFolded {
		return p.WriteFolded(w)
	}
	return p.WritePprof(w)
}

func (f *exportFlags) timeline(ctx context.Context, w, say io.Writer, t *analyze.Trace, noRaces func(error)) error {
	o := export.TimelineOptions{Depth: f.depth, Races: f.races, NoRaces: noRaces}
	if f.depth == 0 {
		o.Depth = -1
	}
	stats, err := export.Timeline(ctx, w, t, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(say, "hindsight: %s, %s, %s to depth %d; open it at https://ui.perfetto.dev\n", numtext.Plural(uint64(stats.Tracks), "track"),
		numtext.Plural(uint64(stats.Slices), "slice"), numtext.Plural(uint64(stats.Calls), "call"), stats.Depth)
	if stats.Coarse {
		fmt.Fprintln(say, "hindsight: the run has too many turns to show: each slice is what a thread did most of the time")
	}
	return nil
}

// schedule reruns the program and writes its schedule.
func (f *exportFlags) schedule(ctx context.Context, stdio cli.Streams, file string) error {
	t, err := cdr.OpenFile(file)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := errors.Join(outfile.Check(f.out, stdio.Besides(file)), checkSources(t.Space, nil, f.out)); err != nil {
		return err
	}
	s, img, err := f.again.rerun().Schedule(ctx, t)
	if err != nil {
		return err
	}
	return stdio.WriteTo(ctx, f.out, func(w io.Writer) error { return steer.WriteSchedule(w, s, img) }, file)
}
