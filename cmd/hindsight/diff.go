package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/analyze/report"
	"hindsight/cmd/internal/cli"
	"hindsight/tracefmt/outfile"
)

// exitDiffer is the status of `diff` if the runs differ, as with diff(1).
const exitDiffer = 1

func newDiff(std cli.Streams) *cobra.Command {
	var format, out string
	var f racesFlags
	cmd := &cobra.Command{
		Use:   "diff [flags] A B",
		Short: "Show which races differ between two runs",
		Long: `diff finds the races of two traces. It shows the races that only one of them
has, then the races of both and how often each happened. Races are matched by
their fingerprints, so the traces may come from two builds of a program.

The exit status is 0 when both traces have the same races, 1 when they do not,
and 2 on errors.`,
		Example: `  hindsight diff before.hst after.hst
  hindsight diff --format json seed1.hst seed2.hst`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completeTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format, "text", "json"); err != nil {
				return err
			}
			opts, err := f.options()
			if err != nil {
				return err
			}
			inputs := slices.Concat(args, f.suppressions)
			if err := outfile.Check(out, std.Besides(inputs...)); err != nil {
				return err
			}
			var reps [2]*report.Report
			for i, file := range args {
				// A new set each time, because it counts what it matched.
				sup, err := readSuppressions(cmd.Context(), f.suppressions)
				if err != nil {
					return err
				}
				opts.Suppressions, opts.AllowIncomplete = sup, f.incomplete
				if reps[i], err = reportOf(cmd.Context(), std, file, out, opts); err != nil {
					return err
				}
			}
			d := analyze.Diff(reps[0], reps[1])
			write := d.WriteText
			if format == "json" {
				write = d.WriteJSON
			}
			if err := std.WriteTo(cmd.Context(), out, write, inputs...); err != nil {
				return err
			}
			if d.Differ() {
				return cli.ExitStatus(exitDiffer)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&format, "format", "text", "text or json")
	flags.StringVarP(&out, "output", "o", "", "write to `FILE`")
	flags.StringVar(&f.atomics, "atomics", "relaxed", "plain accesses to atomic variables: relaxed (no race) or strict")
	flags.StringArrayVar(&f.suppressions, "suppressions", nil, "`FILE` of races to leave out; may be repeated")
	allowIncomplete(flags, &f.incomplete)
	cli.Complete(cmd, "format", "text", "json")
	cli.Complete(cmd, "atomics", "relaxed", "strict")
	limitMemory(cmd)
	return cmd
}

// reportOf opens a trace and finds its races. out is the file to which they will be
// written.
func reportOf(ctx context.Context, std cli.Streams, file, out string, o analyze.RaceOptions) (*report.Report, error) {
	t, err := openTrace(ctx, std, file, withAccesses, nil)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if err := checkSources(t.Program, nil, out); err != nil {
		return nil, err
	}
	return findRaces(ctx, std, t, file, o)
}
