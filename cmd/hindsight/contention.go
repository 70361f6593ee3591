package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/analyze/contention"
	"hindsight/cmd/internal/cli"
)

func newContention(std cli.Streams) *cobra.Command {
	var format string
	var top int
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
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format, "text", "json"); err != nil {
				return err
			}
			if top < 0 {
				return fmt.Errorf("--top %d: want a number of objects, or 0 for all", top)
			}
			t, err := openTrace(cmd.Context(), std, args[0], withAccesses, nil)
			if err != nil {
				return err
			}
			defer t.Close()
			if top == 0 {
				top = -1
			}
			rep, err := t.Contention(cmd.Context(), analyze.ContentionOptions{Top: top})
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
	cmd.Flags().IntVar(&top, "top", contention.DefaultTop, "objects to show, longest waits first (0: all)")
	cli.Complete(cmd, "format", "text", "json")
	return cmd
}
