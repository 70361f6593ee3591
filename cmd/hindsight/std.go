package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"hindsight/analyze/export/perfetto"
	"hindsight/analyze/std"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/image"
	"hindsight/tracefmt"
	"hindsight/tracefmt/buildinfo"
	"hindsight/tracefmt/numtext"
)

func newExport(stdio cli.Streams) *cobra.Command {
	var format, out string
	var all bool
	var more exportFlags
	var again againFlags
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
			if err := cli.CheckFormat(format, append([]string{"std", "schedule"}, exportFormats...)...); err != nil {
				return err
			}
			if err := more.check(format, all); err != nil {
				return err
			}
			if format == "schedule" {
				return exportSchedule(cmd.Context(), stdio, args[0], out, &again)
			}
			if format != "std" {
				err := stdio.WriteTo(cmd.Context(), out, func(w io.Writer) error {
					return exportAs(cmd.Context(), w, stdio, format, args[0], &more, &again)
				}, args[0])
				if err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
				return nil
			}
			var stats std.Stats
			err := stdio.WriteTo(cmd.Context(), out, func(w io.Writer) (err error) {
				stats, err = exportStd(cmd.Context(), w, stdio, args[0], all, &again)
				return err
			}, args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			fmt.Fprintf(stdio.Err, "hindsight: %s lines, %s of %s accesses\n", numtext.Grouped(stats.Lines), numtext.Grouped(stats.Accesses), numtext.Grouped(stats.Accesses+stats.Left))
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&format, "format", "std", "perfetto, pprof, folded, csv, json, schedule or std")
	flags.StringVarP(&out, "output", "o", "", "write to `FILE`")
	flags.BoolVar(&all, "all", false, "std: include accesses of libraries to their own data")
	flags.IntVar(&more.depth, "depth", perfetto.DefaultDepth, "perfetto: depth of calls to show (0: no calls)")
	flags.BoolVar(&more.races, "races", true, "perfetto, pprof: find races")
	again.addInput(cmd)
	cli.Complete(cmd, "format", append([]string{"std", "schedule"}, exportFormats...)...)
	return cmd
}

func exportStd(ctx context.Context, w io.Writer, stdio cli.Streams, file string, all bool, again *againFlags) (std.Stats, error) {
	trace, err := openTrace(ctx, stdio, file, withAccesses, again)
	if err != nil {
		return std.Stats{}, err
	}
	defer trace.Close()
	t := trace.Recorded()
	if err := errors.Join(bothHalves(t), trace.HasRun()); err != nil {
		return std.Stats{}, err
	}
	var opts std.Options
	data, err := t.Image()
	if err == nil && len(data) > 0 && !all {
		var img *image.Space
		if img, err = t.Space(); err == nil {
			opts.Program, opts.TLSSize = img, img.TLSSize()
		}
	}
	if err != nil {
		return std.Stats{}, err
	}
	return std.Export(ctx, w, t, opts)
}

func newImport(stdio cli.Streams) *cobra.Command {
	var format, out string
	cmd := &cobra.Command{
		Use:   "import [flags] FILE",
		Short: "Convert another tool's log into a trace",
		Long: `import converts RAPID's STD text (- for standard input) into a trace. The trace
contains no program: reports name places by their locations in the text (loc
42), and variables and locks by their names. Threads are numbered in the order
in which the text first names them.`,
		Example: `  hindsight import --format std -o log.hst log.std
  hindsight races log.hst`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := cli.CheckFormat(format, "std"); err != nil {
				return err
			}
			var in io.Reader
			if args[0] == "-" {
				in = cli.UntilDone(cmd.Context(), stdio.In)
			} else {
				f, err := cli.OpenFile(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			if out == "" {
				if out = "stdin.hst"; args[0] != "-" {
					out = filepath.Base(args[0]) + ".hst"
				}
			}
			var size int64
			err = stdio.WriteTo(cmd.Context(), out, func(w io.Writer) (err error) {
				size, err = importStd(cmd.Context(), w, in, filepath.Base(args[0]))
				return err
			}, args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			fmt.Fprintf(stdio.Err, "hindsight: %s in %s\n", numtext.Bytes(size), out)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&format, "format", "std", "std")
	flags.StringVarP(&out, "output", "o", "", "trace `FILE` to write (default FILE.hst)")
	cli.Complete(cmd, "format", "std")
	return cmd
}

func importStd(ctx context.Context, w io.Writer, in io.Reader, name string) (int64, error) {
	names := &std.Names{}
	rec, err := recorder.New(w, recorder.Options{
		Meta: format.Meta{Tool: "hindsight " + buildinfo.Version(), Program: name, Alphabet: format.AlphabetBlock, Keep: "all", Policy: "import"},
		Extra: func(end bool) (out []format.Extra) {
			if !end {
				return nil
			}
			for i, part := range names.Encode() {
				out = append(out, format.Extra{Kind: tracefmt.KindNames, Thread: uint32(i), Payload: part})
			}
			return out
		},
	})
	if err != nil {
		return 0, err
	}
	err = std.Import(ctx, in, rec, names)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // and not what became of the read
	}
	return rec.Size(), err
}
