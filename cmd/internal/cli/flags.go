package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// CheckFormat checks the value of --format.
func CheckFormat(format string, known ...string) error {
	if slices.Contains(known, format) {
		return nil
	}
	return fmt.Errorf("--format %q: want %s", format, strings.Join(known, " or "))
}

// CompleteDir completes the value of a flag by directories.
func CompleteDir(cmd *cobra.Command, flag string) {
	if err := cmd.MarkFlagDirname(flag); err != nil {
		panic(err) // no such flag, which is a mistake of the caller
	}
}

// Complete sets the values that the shell offers for a flag.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // no such flag, which is a mistake of the caller
	}
}
