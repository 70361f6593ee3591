package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/mpsim/image"
)

// grouped writes n with a comma between thousands.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// bytesText writes a size for people.
func bytesText(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 10_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

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

// plural writes a count with its noun.
func plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

func checkFormat(format string, known ...string) error {
	if slices.Contains(known, format) {
		return nil
	}
	return fmt.Errorf("--format %q: want %s", format, strings.Join(known, " or "))
}

// completeDir completes the value of a flag by folders.
func completeDir(cmd *cobra.Command, flag string) {
	if err := cmd.MarkFlagDirname(flag); err != nil {
		panic(err) // no such flag: a mistake in this package
	}
}

// completeTrace completes names of trace files.
func completeTrace(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"hst"}, cobra.ShellCompDirectiveFilterFileExt
}
