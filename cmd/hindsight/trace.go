package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hindsight/cdr"
	"hindsight/mpsim/session"
)

// bothHalves says what keeps races from being found in a trace that holds one
// half of a run only, and how to make the run again with both.
func bothHalves(t *cdr.Trace) error {
	if err := t.Info().CheckBothHalves(); err != nil {
		return fmt.Errorf("%w: %s", err, session.Command(t.Info()))
	}
	return nil
}

// allowIncomplete adds the flag --allow-incomplete.
func allowIncomplete(flags *pflag.FlagSet, allow *bool) {
	flags.BoolVar(allow, "allow-incomplete", false, "accept a trace that contains nothing of the run, as that of an empty run")
}

// completeTrace completes names of trace files.
func completeTrace(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"hst"}, cobra.ShellCompDirectiveFilterFileExt
}
