package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"hindsight/cmd/internal/cli"
	"hindsight/tracefmt/buildinfo"
)

func newVersion(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and build information",
		Long: `version prints the version, the commit if the build knows it, the Go release and
the platform. Include this in bug reports.`,
		Example: "  hindsight version  # hindsight 0.1.0, commit 1f2e3d4c5b6a, go1.26.1, …",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text := "hindsight " + buildinfo.Version()
			if c := buildinfo.Commit(); c != "" {
				text += ", commit " + c
			}
			_, err := fmt.Fprintf(std.Out, "%s, %s, %s/%s\n", text, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

func newMan(cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "man [flags] DIR",
		Short: "Write the manual pages",
		Long: `man writes a manual page for each command into a directory: hindsight.1,
hindsight-run.1, …. It creates the directory if necessary.`,
		Example: `  hindsight man ~/.local/share/man/man1
  man hindsight-races`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // the pages depend only on the program
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "hindsight " + buildinfo.Version(), Manual: "hindsight"}, args[0])
		},
	}
}
