package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/session"
)

// againFlags is what a rerun needs that the trace does not keep, and what the
// rerun is for.
type againFlags struct {
	values bool // look at what racing writes write
	stdin  string
	root   string

	written writtenFlags
}

func (f *againFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.values, "values", false, "rerun the program: mark races between writes of the same value")
	f.addInput(cmd)
}

// addInput adds the flags for the inputs of the run besides its arguments.
func (f *againFlags) addInput(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.stdin, "stdin", "", "for a rerun: `FILE` that was the standard input")
	flags.StringVar(&f.root, "root", "", "for a rerun: directory that the program saw as /")
	cli.CompleteDir(cmd, "root")
	f.written.addAgain(cmd)
}

// rerun makes the run of a trace again, with what the flags name.
func (f *againFlags) rerun() *session.Rerun {
	r := &session.Rerun{Root: f.root, Written: f.written.Written}
	if f.stdin != "" {
		r.Input = func(ctx context.Context) (io.ReadCloser, error) { return cli.OpenFile(ctx, f.stdin) }
	}
	return r
}
