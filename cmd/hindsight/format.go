package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"hindsight/mpsim/image"
)

// placeText is a frame as reports have it: function file:line.
func placeText(f image.Frame) string {
	name := f.Function
	if name == "" {
		name = "??"
	}
	if f.File == "" {
		return name
	}
	return fmt.Sprintf("%s %s:%d", name, f.Base(), f.Line)
}

// completeTrace completes names of trace files.
func completeTrace(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"hst"}, cobra.ShellCompDirectiveFilterFileExt
}
