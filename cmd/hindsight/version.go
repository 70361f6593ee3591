package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"hindsight/cmd/internal/cli"
	"hindsight/tracefmt/buildinfo"
)

func newVersion(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and what it was built from",
		Long: `version prints the version, the commit if the build knows it, the Go release and
the platform: what a report about a fault should have.`,
		Example: "  hindsight version    # hindsight 0.1.0, commit 1f2e3d4c5b6a, go1.26.1, linux/amd64",
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
