package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/analyze/annotate"
	"hindsight/analyze/slice"
	"hindsight/analyze/view"
	"hindsight/cmd/internal/cli"
	"hindsight/tracefmt/outfile"
)

// sliceFlags are the flags of `hindsight slice`.
type sliceFlags struct {
	at             string
	race           string
	instance       string
	thread         string
	direction      string
	deps           string
	throughThreads bool
	depth          int
	format         string
	out            string
	summary        bool
	instructions   bool
	color          string
	sources        []string
	order          string
	all            bool
	lines          int
	sort           string
	why            string
	relevant       bool
}

func newSlice(std cli.Streams) *cobra.Command {
	var f sliceFlags
	cmd := &cobra.Command{
		Use:   "slice [flags] TRACE",
		Short: "Show what led to a value or what followed from it",
		Long: `slice needs a run that was recorded with values (run --record wet, or hindsight
wet). It starts at one execution of a place in the program and follows the
dependences backward, to everything that led to it, or forward, to everything
that it led to. It follows them through registers, memory and control flow, and
from thread to thread.

` + specHelp + `

--instance K selects the Kth execution, counted from 0; "last" selects the last
one and "all" selects all of them. A variable stands for the writes to it.

The format text shows the source lines in the slice: how often each took part,
the values that it produced (first, last, smallest … largest), and the most
important dependences, those between threads first. > marks where the slice
begins. json lists every statement instance, or with --summary the statements
with counts (docs/slice.schema.json). dot is for graphs small enough to draw.
html is a single file with the source, in which dependences are links.

--race R1 takes a race that hindsight races reports. It shows what led to each
of the two accesses, what led to both, and what the racy value reached.`,
		Example: `  hindsight slice bank.wet.hst --at bank.c:47
  hindsight slice bank.wet.hst --at total --direction forward --deps data
  hindsight slice bank.wet.hst --at bank.c:31:balance --instance 12 \
      --format html -o why.html
  hindsight slice bank.wet.hst --race R1`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.run(cmd.Context(), std, args[0]); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.at, "at", "", "begin at the place `SPEC`")
	flags.StringVar(&f.race, "race", "", "slice around this race, an `ID` of hindsight races (R1)")
	flags.StringVar(&f.instance, "instance", "last", "which execution: a number counted from 0, last, or all")
	flags.StringVar(&f.thread, "thread", "", "only executions by thread `T`, as 2 or T2")
	flags.StringVar(&f.direction, "direction", "backward", "backward (what led to it) or forward (what followed)")
	flags.StringVar(&f.deps, "deps", "both", "dependences to follow: data, control, both, or sync (both, and synchronisation)")
	flags.BoolVar(&f.throughThreads, "through-threads", true, "follow values that another thread wrote")
	flags.IntVar(&f.depth, "depth", 0, "follow at most this number of dependences in a row (0: all)")
	flags.StringVar(&f.format, "format", "text", "text, json, dot or html")
	flags.StringVarP(&f.out, "output", "o", "", "write to `FILE`")
	flags.BoolVar(&f.summary, "summary", false, "json: statements with counts, not every instance")
	flags.BoolVar(&f.instructions, "instructions", false, "text: list each instruction of code without line numbers")
	flags.StringVar(&f.color, "color", "auto", "emphasis: auto (on a terminal), always or never")
	flags.StringArrayVar(&f.sources, "source-dir", nil, "`DIR` to look for source files in; may be repeated")
	flags.BoolVar(&f.relevant, "relevant", false, "include decisions that could have led to another write of the value read")
	flags.BoolVar(&f.all, "all", false, "include stack pointers, saves and restores of registers, and library code")
	flags.IntVar(&f.lines, "lines", 40, "text: at most this number of program lines (0: all)")
	flags.StringVar(&f.sort, "sort", "distance", "text: order of lines, distance (nearest first) or source")
	flags.StringVar(&f.why, "why", "", "show the path from where the slice begins to this `LINE` (42 or file.c:42)")
	flags.StringVar(&f.order, "order", "hb", "with --race: what orders accesses, as for hindsight races")
	cli.Complete(cmd, "instance", "last", "all")
	cli.Complete(cmd, "direction", "backward", "forward")
	cli.Complete(cmd, "deps", "data", "control", "both", "sync")
	cli.Complete(cmd, "sort", "distance", "source")
	cli.Complete(cmd, "format", "text", "json", "dot", "html")
	cli.Complete(cmd, "color", "auto", "always", "never")
	cli.Complete(cmd, "order", analyze.Orders()...)
	cli.CompleteDir(cmd, "source-dir")
	limitMemory(cmd)
	return cmd
}

func (f *sliceFlags) run(ctx context.Context, std cli.Streams, file string) error {
	if err := cli.CheckFormat(f.format, "text", "json", "dot", "html"); err != nil {
		return err
	}
	if (f.at == "") == (f.race == "") {
		return errors.New("give either --at SPEC (a place to begin at) or --race ID (a race)")
	}
	if f.why != "" && (f.format != "text" || f.race != "") {
		return errors.New("--why needs --at and --format text")
	}
	if f.relevant && (f.race != "" || f.direction != "backward" || f.deps == "data" || f.depth != 0) {
		return errors.New("--relevant needs a backward slice with control dependences, without --depth and --race")
	}
	opts, err := f.options()
	if err != nil {
		return err
	}
	if err := outfile.Check(f.out, std.Besides(file)); err != nil {
		return err
	}
	t, err := openTrace(ctx, std, file, withValues, nil)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := checkSources(t.Program, f.sources, f.out); err != nil {
		return err
	}
	done := cli.Waiting(std.Err, "following dependences")
	rep, err := t.Slice(ctx, opts)
	done()
	if err != nil {
		return withCommand(t, err)
	}
	return std.WriteTo(ctx, f.out, func(w io.Writer) error {
		if f.format == "html" {
			page, err := view.OfSlice(t, rep)
			if err != nil {
				return err
			}
			return page.WriteFile(ctx, w)
		}
		return f.write(std, w, rep)
	}, file)
}

func (f *sliceFlags) write(std cli.Streams, w io.Writer, rep *annotate.Report) error {
	switch f.format {
	case "json":
		return rep.WriteJSON(w, annotate.JSONOptions{Summary: f.summary})
	case "dot":
		return rep.WriteDOT(w)
	}
	color := f.color == "always" || f.color == "auto" && f.out == "" && cli.IsTerminal(std.Out)
	lines := f.lines
	if f.all {
		lines = 0
	}
	return rep.WriteText(w, annotate.TextOptions{Color: color, Instructions: f.instructions, BySource: f.sort == "source", Lines: lines, All: f.all, Why: f.why})
}

// options returns the options of the slice.
func (f *sliceFlags) options() (o analyze.SliceOptions, err error) {
	o = analyze.SliceOptions{
		At: f.at, Instance: f.instance, Thread: f.thread, Race: f.race, Order: f.order, Common: f.format == "json",
		OneThread: !f.throughThreads, Depth: f.depth, All: f.all, Relevant: f.relevant, SourceDirs: f.sources,
	}
	switch f.direction {
	case "backward":
	case "forward":
		o.Direction = slice.Forward
	default:
		return o, fmt.Errorf("--direction %q: want backward or forward", f.direction)
	}
	switch f.deps {
	case "both":
	case "data":
		o.Kinds = slice.Data
	case "control":
		o.Kinds = slice.Control
	case "sync":
		o.Kinds = slice.Both | slice.Sync
	default:
		return o, fmt.Errorf("--deps %q: want data, control, both or sync", f.deps)
	}
	if f.depth < 0 {
		return o, fmt.Errorf("--depth %d: want a number of dependences", f.depth)
	}
	if f.sort != "distance" && f.sort != "source" {
		return o, fmt.Errorf("--sort %q: want distance or source", f.sort)
	}
	return o, nil
}

// specHelp explains SPEC in the help of commands.
const specHelp = `SPEC is file.c:42 (a line), file.c:42:name (what the line does to a variable), a
function, a variable, symbol+8, or an address such as 0x11a40. If SPEC matches
nothing or more than one place, the error lists the possible places.`
