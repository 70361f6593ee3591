// Package cli is shared by the commands of this module: standard streams that
// report lost output, output files that are either complete or absent, signals,
// progress on a terminal, and completion of flags.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// Exit statuses of all commands.
const (
	ExitError       = 2   // the command could not do what was asked
	ExitInterrupted = 130 // as a shell shows a process that SIGINT ended
)

// fatalSignal is what a shell adds to the number of the signal that ended a process.
const fatalSignal = 128

// ExitStatus is an error that only has the exit status.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Program is a command line program.
type Program struct {
	Name string
	Root func(Streams) *cobra.Command
	// Failed returns the status after an error of a command. The command is nil if none
	// was found. A nil Failed means [ExitError].
	Failed func(*cobra.Command) int
	// Hint returns the text of an error, with what the user can do. A nil Hint means the
	// plain text.
	Hint func(error) string
	// Abandon reports whether a command writes nothing that must be closed properly, so
	// that it may be abandoned. A nil Abandon means that none may.
	Abandon func(*cobra.Command) bool
}

// Run runs the program with its arguments and returns the exit status.
func Run(args []string, std Streams, p Program) int {
	tellFileSize()
	// Writing to a closed pipe is an error and not a signal, so that a recording
	// continues to its end and a lost report is not a success.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := untilSignal(context.Background(), endSignals()...)
	var over atomic.Bool
	defer func() { over.Store(true); stop() }()
	said := std.Err
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the process at once
		if !over.Load() && IsTerminal(said) {
			fmt.Fprintf(said, "\r\x1b[K%s: stopping… (again: at once)\n", p.Name)
		}
	})
	out, stderr := &reliable{w: std.Out, name: "standard output"}, &reliable{w: std.Err, name: "standard error"}
	std.Out, std.Err = out, stderr
	root := p.Root(std)
	root.SetArgs(args)
	cmd, err := p.execute(ctx, root, args)
	failed := ExitError
	if p.Failed != nil {
		failed = p.Failed(cmd)
	}
	var status ExitStatus
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintf(std.Err, "%s: interrupted\n", p.Name)
		return int(Interrupted(ctx))
	}
	if err != nil && !errors.As(err, &status) {
		text := err.Error()
		if lost := out.failure(); lost != nil && strings.Contains(text, os.Stdout.Name()) {
			text = lost.Error()
		} else if p.Hint != nil {
			text = p.Hint(err)
		}
		fmt.Fprintf(std.Err, "%s: %s\n", p.Name, text)
		return failed
	}
	if lost := out.failure(); lost != nil {
		fmt.Fprintf(std.Err, "%s: %v\n", p.Name, lost)
		if failed == ExitError || status == 0 { // otherwise the guest got the signal too, and its status says so
			return failed
		}
	}
	return int(status)
}

// WrapHelp wraps the descriptions of flags in the help of a command and of its
// subcommands at 80 columns.
func WrapHelp(root *cobra.Command) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages ", "Flags.FlagUsagesWrapped 80 "))
}

// commandGrace is how long an interrupted command may continue, because decoding a block
// of a trace and merging a page of memory are not interrupted.
const commandGrace = 900 * time.Millisecond

// execute runs a command. If the command has nothing to close properly and is
// interrupted, execute does not wait for its end.
func (p *Program) execute(ctx context.Context, root *cobra.Command, args []string) (*cobra.Command, error) {
	cmd, _, err := root.Find(args)
	if err != nil || p.Abandon == nil || !p.Abandon(cmd) {
		return root.ExecuteContextC(ctx)
	}
	done := make(chan error, 1)
	go func() {
		_, err := root.ExecuteContextC(ctx)
		done <- err
	}()
	select {
	case err := <-done:
		return cmd, err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return cmd, err
	case <-time.After(commandGrace):
		return cmd, ctx.Err()
	}
}

// endSignals are the signals after which a command finishes early. If SIGHUP is ignored
// (nohup), it is not one of them.
func endSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// signalled is the cause of a context that a signal ended.
type signalled struct{ number syscall.Signal }

func (s signalled) Error() string { return s.number.String() }

// untilSignal returns a context that ends when one of the signals arrives. After stop,
// the signals have their default effect.
func untilSignal(parent context.Context, list ...os.Signal) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	came := make(chan os.Signal, 1)
	signal.Notify(came, list...)
	go func() {
		select {
		case sig := <-came:
			number, _ := sig.(syscall.Signal)
			cancel(signalled{number})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(came)
		cancel(context.Canceled)
	}
}

// Interrupted returns the status of a command whose context has ended: 128 plus the
// number of the signal, as in a shell.
func Interrupted(ctx context.Context) ExitStatus {
	if by, ok := errors.AsType[signalled](context.Cause(ctx)); ok && by.number != 0 {
		return ExitStatus(fatalSignal + int(by.number))
	}
	return ExitInterrupted
}
