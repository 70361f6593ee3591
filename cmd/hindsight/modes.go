package main

import (
	"errors"
	"fmt"

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

// errNothingRecorded says that nothing can be said of a run.
var errNothingRecorded = errors.New("the recording was cut off before its first epoch was written: nothing is known of the run (--allow-incomplete takes it as it is)")

// hasRun says whether there is something of the run in a trace. One that is
// incomplete and has no access shows no race because it shows nothing.
func hasRun(t *cdr.Trace) error {
	if t.Info().Complete {
		return nil
	}
	for _, th := range t.Threads() {
		if th.Accesses > 0 {
			return nil
		}
	}
	return errNothingRecorded
}

// allowIncomplete adds the flag --allow-incomplete.
func allowIncomplete(flags *pflag.FlagSet, allow *bool) {
	flags.BoolVar(allow, "allow-incomplete", false, "take a trace in which nothing of the run was written as one of an empty run")
}
