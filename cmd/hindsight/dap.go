package main

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/spf13/cobra"

	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/dap"
	"hindsight/mpsim/debug"
)

// dapFlags are the flags of `hindsight dap`.
type dapFlags struct {
	past   pastFlags
	listen string
}

func newDAP(std cli.Streams) *cobra.Command {
	var f dapFlags
	cmd := &cobra.Command{
		Use:   "dap [flags]",
		Short: "Debug the run in a trace from an editor, forward and back",
		Long: `dap speaks the Debug Adapter Protocol, which editors speak with debuggers, on
standard input and output, or with --listen for one editor at an address. The
editor's launch request names the trace:

  trace        the file
  race         the race to go to first, such as "R1"
  stopOnEntry  stop at the beginning of the run
  stdin, root  what the run had as standard input and saw as /, if needed

Breakpoints, data breakpoints and stepping work forward and back. Nothing can be
changed. The debug console also takes the commands when, goto, lastwrite and
race. docs/debugging.md has a launch.json.`,
		Example: `  hindsight dap
  hindsight dap --listen 127.0.0.1:4711`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), std) },
	}
	cmd.Flags().StringVar(&f.listen, "listen", "", "wait for one editor at `ADDRESS`, such as 127.0.0.1:4711")
	f.past.add(cmd)
	return cmd
}

// run serves one editor.
func (f *dapFlags) run(ctx context.Context, std cli.Streams) error {
	if f.listen == "" {
		return f.serve(ctx, cli.Streams{Err: std.Err}, struct {
			io.Reader
			io.Writer
		}{std.In, std.Out})
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "hindsight: waiting for an editor at %s\n", l.Addr())
	return accept(ctx, l, func(conn io.ReadWriter) error { return f.serve(ctx, std, conn) })
}

func (f *dapFlags) serve(ctx context.Context, std cli.Streams, conn io.ReadWriter) error {
	return dap.Serve(ctx, conn, dap.Options{Open: func(ctx context.Context, l dap.Launch) (*debug.Console, func(), error) {
		past := f.past
		if l.Stdin != "" {
			past.again.stdin = l.Stdin
		}
		if l.Root != "" {
			past.again.root = l.Root
		}
		p, err := past.open(ctx, std, l.Trace)
		if err != nil {
			return nil, nil, err
		}
		return &p.Console, func() { p.trace.Close() }, nil
	}})
}
