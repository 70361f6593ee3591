package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/cmd/internal/cli"
)

// ranked is a report that lists the most expensive items first.
type ranked interface {
	WriteText(io.Writer) error
	WriteJSON(io.Writer) error
}

// ranking is common to the commands contention and sharing: one TRACE, --format and
// --top.
type ranking struct {
	cmd   *cobra.Command
	of    string // what is listed, in the plural
	most  int    // default of --top
	about string // help of --top
}

// run calls find for the report that the command prints. find also returns whether the
// trace is complete. A negative top means all.
func (r *ranking) run(std cli.Streams, find func(ctx context.Context, t *analyze.Trace, top int) (rep ranked, complete bool, err error)) {
	var format string
	var top int
	r.cmd.Args, r.cmd.ValidArgsFunction = cobra.ExactArgs(1), completeTrace
	r.cmd.Flags().StringVar(&format, "format", "text", "text or json")
	r.cmd.Flags().IntVar(&top, "top", r.most, r.about)
	cli.Complete(r.cmd, "format", "text", "json")
	r.cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cli.CheckFormat(format, "text", "json"); err != nil {
			return err
		}
		if top < 0 {
			return fmt.Errorf("--top %d: want a number of %s, or 0 for all", top, r.of)
		}
		if top == 0 {
			top = -1
		}
		t, err := openTrace(cmd.Context(), std, args[0], withAccesses, nil)
		if err != nil {
			return err
		}
		defer t.Close()
		rep, complete, err := find(cmd.Context(), t, top)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		if !complete {
			fmt.Fprintf(std.Err, "hindsight: %s is incomplete: the report covers the run up to the last epoch written\n", args[0])
		}
		if format == "json" {
			return rep.WriteJSON(std.Out)
		}
		return rep.WriteText(std.Out)
	}
}
