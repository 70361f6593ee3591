package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/analyze/sharing"
	"hindsight/cmd/internal/cli"
)

func newSharing(std cli.Streams) *cobra.Command {
	var format string
	var top int
	var threshold float64
	cmd := &cobra.Command{
		Use:   "sharing [flags] TRACE",
		Short: "Show which variables threads share, and what that costs",
		Long: `sharing shows, for a run recorded with --arch, which variables and cache lines
moved between the caches. It says which threads read and wrote which bytes,
whether they needed each other's data or only share a line (false sharing), and
which source lines caused it. It also says whether an invalidating or an
updating coherence protocol suits the variable, and what to change.

The amounts depend on the quantum and the seed of the run, so compare variables
with each other. For another line size, record again with run --arch
--arch-line.`,
		Example: `  hindsight run --arch ./bank
  hindsight sharing bank.hst
  hindsight sharing --format json --top 3 bank.hst`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format, "text", "json"); err != nil {
				return err
			}
			if top < 0 {
				return fmt.Errorf("--top %d: want a number of variables, or 0 for all", top)
			}
			t, err := openTrace(cmd.Context(), std, args[0], withAccesses, nil)
			if err != nil {
				return err
			}
			defer t.Close()
			if err := t.HasRun(); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if top == 0 {
				top = -1
			}
			if !(threshold >= 0 && threshold <= 100) {
				return fmt.Errorf("--threshold %g: want percent, from 0 to 100", threshold)
			}
			rep, err := t.Sharing(cmd.Context(), analyze.SharingOptions{Top: top, Threshold: threshold})
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if !rep.Info.Complete {
				fmt.Fprintf(std.Err, "hindsight: %s is incomplete: the report is of the run up to the last epoch written\n", args[0])
			}
			if format == "json" {
				return rep.WriteJSON(std.Out)
			}
			return rep.WriteText(std.Out)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	cmd.Flags().IntVar(&top, "top", sharing.DefaultTop, "variables to show, most expensive first (0: all)")
	cmd.Flags().Float64Var(&threshold, "threshold", sharing.DefaultThreshold, "leave out variables below this `PERCENT` of the total cost of sharing")
	cli.Complete(cmd, "format", "text", "json")
	return cmd
}
