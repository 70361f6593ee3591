package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is the version of the next release; a build from a tagged module
// says its tag instead, and make release sets it.
var release = "0.1.0-dev"

// version is what reports and traces say; they do not differ by the commit.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return release
}

// commit is what the build was made from; "" if it is not known.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " with changes"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + changed
}

func newVersion(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and what it was built from",
		Long: `version prints the version, the commit if the build knows it, the Go release and
the platform: what a report about a fault should have.`,
		Example: "  hindsight version    # hindsight 0.1.0, commit 1f2e3d4c5b6a, go1.26.1, linux/amd64",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text := "hindsight " + version()
			if c := commit(); c != "" {
				text += ", commit " + c
			}
			_, err := fmt.Fprintf(std.out, "%s, %s, %s/%s\n", text, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
