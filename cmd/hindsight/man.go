package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"hindsight/cmd/internal/cli"
	"hindsight/tracefmt/buildinfo"
)

func newMan(cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `man writes a manual page for each command into a directory, which it makes if
there is none: hindsight.1, hindsight-run.1, …`,
		Example: `  hindsight man ~/.local/share/man/man1
  man hindsight-races`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // the pages follow from the program alone
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "hindsight " + buildinfo.Version(), Manual: "hindsight"}, args[0])
		},
	}
}
