package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/analyze/sharing"
	"hindsight/cmd/internal/cli"
)

func newSharing(std cli.Streams) *cobra.Command {
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
	}
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !(threshold >= 0 && threshold <= 100) {
			return fmt.Errorf("--threshold %g: want a percentage from 0 to 100", threshold)
		}
		return nil
	}
	r := ranking{cmd: cmd, of: "variables", most: sharing.DefaultTop, about: "variables to show, most expensive first (0: all)"}
	r.run(std, func(ctx context.Context, t *analyze.Trace, top int) (ranked, bool, error) {
		rep, err := t.Sharing(ctx, analyze.SharingOptions{Top: top, Threshold: threshold})
		return rep, err != nil || rep.Info.Complete, err
	})
	cmd.Flags().Float64Var(&threshold, "threshold", sharing.DefaultThreshold, "leave out variables below this `PERCENT` of the total cost of sharing")
	return cmd
}
