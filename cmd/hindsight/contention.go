package main

import (
	"context"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/analyze/contention"
	"hindsight/cmd/internal/cli"
)

func newContention(std cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "contention [flags] TRACE",
		Short: "Show which locks threads waited for, how long, and for whom",
		Long: `contention shows which locks, barriers, condition variables and semaphores the
threads of a run waited for: how often, how long, which thread waited for which,
and at which lines. Times are simulated: they count the instructions that the
run executed in the meantime. They depend on the schedule (--seed and --quantum
of run), so compare them with each other, and look at several seeds.

For contention on cache lines, see hindsight sharing.`,
		Example: `  hindsight contention bank.hst
  hindsight contention --top 0 --format json bank.hst`,
	}
	r := ranking{cmd: cmd, of: "objects", most: contention.DefaultTop, about: "objects to show, longest waits first (0: all)"}
	r.run(std, func(ctx context.Context, t *analyze.Trace, top int) (ranked, bool, error) {
		rep, err := t.Contention(ctx, analyze.ContentionOptions{Top: top})
		return rep, err != nil || rep.Info.Complete, err
	})
	return cmd
}
