package main

import (
	"github.com/spf13/cobra"
)

// completeTrace completes names of trace files.
func completeTrace(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"hst"}, cobra.ShellCompDirectiveFilterFileExt
}
