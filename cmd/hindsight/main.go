// Command hindsight runs parallel programs on a simulated RISC-V
// multiprocessor, records them in a compressed trace and answers questions
// about the trace. Each subcommand has a file of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// Exit statuses. A run ends with the guest's own.
const (
	exitOK          = 0
	exitError       = 2   // hindsight could not do what was asked
	exitRaces       = 66  // races were reported, as ThreadSanitizer's default
	exitRunError    = 125 // `run` itself failed, as env(1) and timeout(1) have it
	exitInterrupted = 130 // as a shell shows a process that SIGINT ended
)

// streams are the standard streams of the process; tests put their own.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// exitStatus is an error that only carries the status to end with.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func main() {
	tellFileSize()
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// run is the whole program: it gives the exit status.
func run(args []string, std streams) int {
	// A pipe that nobody reads any more is an error of the write, so that a
	// recording goes on to its end and a lost report is no success.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	out, stderr := &reliable{w: std.out, name: "standard output"}, &reliable{w: std.err, name: "standard error"}
	std.out, std.err = out, stderr
	root := newRoot(std)
	root.SetArgs(args)
	cmd, err := execute(ctx, root, args)
	failed := exitError
	if cmd != nil && cmd.Name() == "run" {
		failed = exitRunError
	}
	var status exitStatus
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(std.err, "hindsight: interrupted")
		return exitInterrupted
	}
	if err != nil && !errors.As(err, &status) {
		fmt.Fprintf(std.err, "hindsight: %v\n", err)
		return failed
	}
	if lost := out.failure(); lost != nil {
		fmt.Fprintf(std.err, "hindsight: %v\n", lost)
		if failed != exitRunError || status == 0 { // the guest saw it and said so
			return failed
		}
	}
	return int(status)
}

// execute runs a command. One that has nothing to close well is not waited for
// when it is interrupted and does not end.
func execute(ctx context.Context, root *cobra.Command, args []string) (*cobra.Command, error) {
	cmd, _, err := root.Find(args)
	if err != nil || !unfinished[cmd.Name()] {
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

// endSignals are the signals after which a command finishes early. Who ignores
// SIGHUP for its children (nohup) means that they go on.
func endSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

func newRoot(std streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "hindsight",
		Short: "Record a parallel program, find its races",
		Long: `hindsight runs a parallel RISC-V program on a simulated multiprocessor, records
what every thread did in a compressed trace, and finds the data races in it.`,
		Example: `  hindsight cc -O1 -o bank bank.c    # compile for the simulated machine
  hindsight run ./bank               # run it, record bank.hst
  hindsight races bank.hst           # the races of that run
  hindsight demo                     # all of this on an embedded example`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
	}
	root.SetVersionTemplate("hindsight {{.Version}}\n")
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.AddCommand(newRun(std), newExplore(std), newRaces(std), newDiff(std), newExport(std), newImport(std), newInfo(std), newDemo(std), newCC(std), newGo(std), newSharing(std))
	root.AddCommand(newWet(std), newSlice(std), newQuery(std))
	root.AddCommand(newPack(std), newUnpack(std), newTraces(std), newCompare(std), newMan(), newVersion(std), newCXX(std), newFortran(std), newDoctor(std))
	return root
}
