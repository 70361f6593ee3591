// Command hindsight runs parallel programs on a simulated RISC-V
// multiprocessor, records them in a compressed trace and answers questions
// about the trace. Each subcommand has its own file.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"hindsight/cmd/internal/cli"
	"hindsight/tracefmt/buildinfo"
)

// Exit statuses. The status of a run is the guest's own.
const (
	exitError    = cli.ExitError
	exitRaces    = 66  // races were reported; the default of ThreadSanitizer
	exitRunError = 125 // `run` itself failed, as with env(1) and timeout(1)
)

func main() {
	keepClosed()
	os.Exit(run(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// run returns the whole program: it returns the exit status.
func run(args []string, std cli.Streams) int {
	return cli.Run(args, std, cli.Program{Name: "hindsight", Root: newRoot, Failed: func(cmd *cobra.Command) int {
		if cmd != nil && cmd.Name() == "run" {
			return exitRunError
		}
		return exitError
	}, Hint: hint, Abandon: func(cmd *cobra.Command) bool { return unfinished[cmd.Name()] }})
}

func newRoot(std cli.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "hindsight",
		Short: "Record a parallel program and find its races",
		Long: `hindsight runs a parallel RISC-V program on a simulated multiprocessor, records
what every thread did in a compressed trace, and finds the data races in it.`,
		Example: `  hindsight cc -O1 -o bank bank.c    # compile for the simulated machine
  hindsight run ./bank               # run it, record bank.hst
  hindsight races bank.hst           # the races of that run
  hindsight demo                     # all of this on an embedded example`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       buildinfo.Version(),
	}
	root.SetVersionTemplate("hindsight {{.Version}}\n")
	cli.WrapHelp(root)
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	for _, add := range []func(cli.Streams) *cobra.Command{
		newRun, newExplore, newMerge, newRaces, newDiff, newExport, newImport, newInfo, newDemo, newGo, newSharing, newContention,
		newWet, newSlice, newQuery, newConfirm, newMinimize, newGDB, newDAP,
		newPack, newUnpack, newTraces,
		newCC, newCXX, newFortran, newDoctor,
		newView,
		newVersion, newMan,
	} {
		root.AddCommand(add(std))
	}
	return root
}
