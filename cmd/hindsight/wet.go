package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/cdr"
	"hindsight/cdr/recorder"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/session"
)

// wetFlags are the flags of `hindsight wet`.
type wetFlags struct {
	out    string
	window session.Window
	stdin  string
	root   string
	limits limitFlags
	epoch  byteSize
}

func newWet(std cli.Streams) *cobra.Command {
	var f wetFlags
	cmd := &cobra.Command{
		Use:   "wet [flags] TRACE",
		Short: "Rerun a program to add values and dependences to its trace",
		Long: `wet reruns the program of TRACE, which produces the same run, and writes a trace
that also has the whole execution: the value of every instruction and what each
instruction depended on, for hindsight slice and hindsight query. The file is
the one that run --record wet would have written. The trace contains the
program. Files and standard input that the run read must be given again.

--from and --to keep only a part of the run. They count the instructions that
all threads together had executed. The part begins and ends where a thread's
turn does. Values that are in registers at its beginning have no origin.

wet checks that the run is the same as the one in TRACE. If it is not, wet says
where they differ and writes nothing.`,
		Example: `  hindsight wet bank.hst                       # writes bank.wet.hst
  hindsight wet --from 5000000 --to 9000000 -o part.hst long.hst
  hindsight wet --stdin words.txt sorted.hst`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			line, err := f.build(cmd.Context(), std, args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			fmt.Fprintf(std.Err, "hindsight: %s\n", line)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "output", "o", "", "trace `FILE` to write (default: TRACE with the ending .wet.hst)")
	flags.Uint64Var(&f.window.From, "from", 0, "keep the run only from this instruction on")
	flags.Uint64Var(&f.window.To, "to", 0, "keep the run only up to this instruction (0: to its end)")
	flags.StringVar(&f.stdin, "stdin", "", "`FILE` that was the standard input")
	flags.StringVar(&f.root, "root", "", "directory that the program saw as /")
	cli.CompleteDir(cmd, "root")
	f.limits.add(cmd, 0, 0)
	f.epoch = recorder.DefaultBudget
	flags.Var(&f.epoch, "epoch-memory", "close an epoch of the trace when it uses this much memory, at most 64M")
	return cmd
}

// build reruns the program and writes the new trace. It returns a line about what was
// written.
func (f *wetFlags) build(ctx context.Context, std cli.Streams, file string) (string, error) {
	if f.window.To != 0 && f.window.To <= f.window.From {
		return "", fmt.Errorf("--from %d --to %d: want --from below --to", f.window.From, f.window.To)
	}
	if err := f.limits.check(); err != nil {
		return "", err
	}
	if f.out == "" {
		f.out = strings.TrimSuffix(file, ".hst") + ".wet.hst"
	}
	t, err := cdr.OpenFile(file)
	if err != nil {
		return "", err
	}
	defer t.Close()
	o := session.ValuesOptions{
		Out: f.out, Window: f.window, Root: f.root, Inputs: []string{f.stdin}, Budget: uint64(f.epoch),
		MaxInsts: f.limits.insts, MaxMemory: uint64(f.limits.memory), MaxThreads: f.limits.threads,
	}
	if f.stdin != "" {
		in, err := cli.OpenFile(ctx, f.stdin)
		if err != nil {
			return "", err
		}
		defer in.Close()
		o.Input = in
	}
	total := uint64(0)
	for _, th := range t.Threads() {
		total += th.Insts
	}
	if bar := cli.NewProgress(std.Err, "rerunning the program", total); bar != nil {
		o.Beside = bar
	}
	done, err := session.AddValues(ctx, t, file, o)
	if err != nil {
		return "", err
	}
	return summary(done, f.out), nil
}
