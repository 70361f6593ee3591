package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"hindsight/analyze/view"
	"hindsight/cmd/internal/cli"
	"hindsight/tracefmt/outfile"
)

// viewFlags are the flags of `hindsight view`.
type viewFlags struct {
	out     string
	sources []string
	memory  byteSize
}

func newView(std cli.Streams) *cobra.Command {
	f := viewFlags{memory: defaultAnalysisMemory}
	cmd := &cobra.Command{
		Use:   "view [flags] TRACE",
		Short: "Show a trace in the browser",
		Long: `view serves a page about a trace on this machine, at an address that it prints,
until it is interrupted. The page shows the races, ranked, with both call stacks
and both places in the source; a timeline of threads and strands; the source
with execution counts; and what threads waited for. If the trace has values (run
--record wet, hindsight wet), it also shows who wrote a value and where the
value went.

-o FILE.html writes the page as a single file that loads nothing from elsewhere,
to send or to keep with a build. For a long run this file has less detail: a
coarser timeline, and slices only around the first races.

A link that ends in #R3 opens race R3. The ? on the page lists the keys.`,
		Example: `  hindsight view bank.hst
  hindsight view --source-dir src bank.hst
  hindsight view -o bank.html bank.hst`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := f.memory.within(cmd.Context())
			defer stop()
			if err := f.run(ctx, std, args[0]); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "output", "o", "", "write the page to `FILE` instead of serving it")
	flags.StringArrayVar(&f.sources, "source-dir", nil, "`DIR` to look for source files in; may be repeated")
	flags.Var(&f.memory, "max-memory", "memory for the analysis: bytes, or with K, M or G")
	cli.CompleteDir(cmd, "source-dir")
	return cmd
}

func (f *viewFlags) run(ctx context.Context, std cli.Streams, file string) error {
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
	page, err := view.Of(t, view.Options{SourceDirs: f.sources, Waiting: func(what string) func() { return cli.Waiting(std.Err, what) }})
	if err != nil {
		return err
	}
	if f.out != "" {
		return std.WriteTo(ctx, f.out, func(w io.Writer) error { return page.WriteFile(ctx, w) }, file)
	}
	return page.Serve(ctx, func(address string) {
		fmt.Fprintln(std.Out, address)
		fmt.Fprintln(std.Err, "hindsight: the page is at the address above, for this machine only; interrupt (Ctrl-C) to stop")
	})
}
