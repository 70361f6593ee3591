package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hindsight/analyze"
	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/event"
)

// bothHalves says what keeps races from being found in a trace that holds one
// half of a run only, and how to make the run again with both.
func bothHalves(t *cdr.Trace) error {
	if err := t.Info().CheckBothHalves(); err != nil {
		return fmt.Errorf("%w: %s", err, session.Command(t.Info()))
	}
	return nil
}

// What an analysis needs of a run.
const (
	withAccesses = string(format.ModeCDR)
	withValues   = session.ModeWET
)

// openTrace opens a trace for an analysis. If it keeps the schedule alone, the run is
// made a second time, with what again names, and recorded with what is needed into a
// temporary file.
func openTrace(ctx context.Context, std cli.Streams, file, needs string, again *againFlags) (*analyze.Trace, error) {
	t, err := analyze.Open(file)
	if err != nil || t.Recorded().Info().Mode != format.ModeSchedule {
		return t, err
	}
	defer t.Close()
	if again == nil {
		again = new(againFlags)
	}
	tmp, err := os.CreateTemp("", "hindsight-*.hst")
	if err == nil {
		err = tmp.Close()
	}
	if err != nil {
		return nil, err
	}
	var beside event.Observer
	if bar := cli.NewProgress(std.Err, "running the program a second time", insts(t)); bar != nil {
		beside = bar
	}
	if err := again.rerun().RecordAs(ctx, t.Recorded(), file, tmp.Name(), needs, beside); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", file, err), os.Remove(tmp.Name()))
	}
	return analyze.OpenScratch(tmp.Name(), file)
}

// insts is the number of instructions in the run of a trace; 0 if unknown.
func insts(t *analyze.Trace) uint64 {
	if o := t.Recorded().Info().Outcome; o != nil {
		return o.Insts
	}
	return 0
}

// allowIncomplete adds the flag --allow-incomplete.
func allowIncomplete(flags *pflag.FlagSet, allow *bool) {
	flags.BoolVar(allow, "allow-incomplete", false, "accept a trace that contains nothing of the run, as that of an empty run")
}

// orAllowed adds to an error that --allow-incomplete avoids that it does.
func orAllowed(err error) error {
	if errors.Is(err, analyze.ErrNothingRecorded) {
		return fmt.Errorf("%w (--allow-incomplete takes it as it is)", err)
	}
	return err
}

// completeTrace completes names of trace files.
func completeTrace(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"hst"}, cobra.ShellCompDirectiveFilterFileExt
}
