package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hindsight/analyze"
	"hindsight/analyze/annotate"
	"hindsight/cdr/format"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/outfile"
)

// What an analysis needs of a run.
const (
	withAccesses = string(format.ModeCDR)
	withValues   = session.ModeWET
)

// openTrace opens a trace for an analysis. If the trace only has the schedule, the
// program is rerun with the inputs that again names, and what is needed is recorded.
func openTrace(ctx context.Context, std cli.Streams, file, needs string, again *againFlags) (*analyze.Trace, error) {
	if again == nil {
		again = new(againFlags)
	}
	return analyze.OpenRerun(ctx, file, needs, again.rerun(), func(insts uint64) event.Observer {
		if bar := cli.NewProgress(std.Err, "rerunning the program", insts); bar != nil {
			return bar
		}
		return nil
	})
}

// allowIncomplete adds the flag --allow-incomplete.
func allowIncomplete(flags *pflag.FlagSet, allow *bool) {
	flags.BoolVar(allow, "allow-incomplete", false, "accept a trace that contains nothing of the run, as that of an empty run")
}

// orAllowed adds a note to an error that --allow-incomplete avoids.
func orAllowed(err error) error {
	if errors.Is(err, analyze.ErrNothingRecorded) {
		return fmt.Errorf("%w (--allow-incomplete accepts it as it is)", err)
	}
	return err
}

// completeTrace completes names of trace files.
func completeTrace(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"hst"}, cobra.ShellCompDirectiveFilterFileExt
}

// withCommand adds to the error of a trace with half of a run the command that records
// both halves.
func withCommand(t *analyze.Trace, err error) error {
	var half *format.HalfError
	if errors.As(err, &half) {
		return fmt.Errorf("%w: %s", err, session.Command(t.Recorded().Info()))
	}
	return err
}

// hint returns the text of an error for a user of the command: options of the library
// become flags, and the text names the next command.
func hint(err error) string {
	text := err.Error()
	var option *analyze.OptionError
	if errors.As(err, &option) {
		text = strings.Replace(text, option.Error(), "--"+option.Error(), 1)
	}
	var mend *session.OptionError
	if errors.As(err, &mend) {
		text = strings.Replace(text, mend.Error(), mend.Error()+" ("+strings.Join(flagsOf(mend.Options), ", ")+")", 1)
	}
	var kind *analyze.KindError
	switch {
	case !errors.As(err, &kind):
	case kind.Variable:
		text = strings.Replace(text, "ask who wrote it", "ask who wrote it (query writes --to "+kind.At+")", 1)
	default:
		text = strings.Replace(text, "ask what it produced", "ask what it produced (query values --at "+kind.At+")", 1)
	}
	if errors.Is(err, event.ErrThreads) {
		text = strings.Replace(text, "stop the run before that", "stop the run before that (--max-insts N)", 1)
	}
	if errors.Is(err, analyze.ErrNoCaches) {
		text += "; record it again with hindsight run --arch"
	}
	return text
}

// flagsOf names the flags for options of package session.
func flagsOf(options []string) (flags []string) {
	for _, o := range options {
		switch o {
		case "dir":
			flags = append(flags, "-o DIR")
		case "limits":
			flags = append(flags, "…") // several flags
		default:
			flags = append(flags, "--"+o)
		}
	}
	return flags
}

// checkSources refuses outputs that are source files of the program, by the debug
// information or in dirs. "" is not an output.
func checkSources(program func() (*image.Space, error), dirs []string, outs ...string) error {
	at := annotate.Sources{Dirs: dirs}
	keep := outfile.Options{Refuse: func(old fs.FileInfo) error {
		if space, err := program(); err != nil || !space.IsSource(old, at.Places) {
			return err
		}
		return outfile.ErrSource
	}}
	for _, out := range outs {
		if err := outfile.Check(out, keep); err != nil {
			return err
		}
	}
	return nil
}
