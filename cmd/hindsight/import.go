package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"hindsight/analyze/std"
	"hindsight/cmd/internal/cli"
	"hindsight/tracefmt/numtext"
)

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
				out = "stdin.hst"
				if args[0] != "-" {
					out = filepath.Base(args[0]) + ".hst"
				}
			}
			var size int64
			err = stdio.WriteTo(cmd.Context(), out, func(w io.Writer) (err error) {
				size, err = std.Record(cmd.Context(), w, in, filepath.Base(args[0]))
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
