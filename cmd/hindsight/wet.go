package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
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

// build makes the run of a trace again and writes the new trace. It returns a
// line that says what was written.
func (f *wetFlags) build(ctx context.Context, std cli.Streams, file string) (string, error) {
	if f.window.To != 0 && f.window.To <= f.window.From {
		return "", fmt.Errorf("--from %d --to %d is no part of a run", f.window.From, f.window.To)
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
	r, err := session.Again(t)
	if err != nil {
		return "", err
	}
	if f.root != "" {
		r.Root = f.root
	}
	r.Out, r.Budget = f.out, uint64(f.epoch)
	r.Inputs = []string{file, f.stdin}
	if dir := t.ImagesFrom(file); dir != "" {
		r.Images = dir
	}
	r.Accept = func(written string) error { return session.CheckSame(t, file, written, r.Window) }
	r.MaxMemory, r.MaxThreads = uint64(f.limits.memory), f.limits.threads
	if f.limits.insts != 0 {
		r.MaxInsts = f.limits.insts
	}
	if f.window != (session.Window{}) {
		r.Window = &f.window
	}
	in, err := f.input(ctx, t)
	if err != nil {
		return "", err
	}
	defer in.Close()
	total := uint64(0)
	for _, th := range t.Threads() {
		total += th.Insts
	}
	if bar := cli.NewProgress(std.Err, "making the run again", total); bar != nil {
		r.Beside = bar
	}
	done, err := r.Record(ctx, session.Streams{In: in, Out: io.Discard, Err: io.Discard})
	if err != nil {
		return "", err
	}
	return summary(done, f.out), nil
}

// input is the standard input of the second run: the file that was named, or what
// the trace has kept.
func (f *wetFlags) input(ctx context.Context, t *cdr.Trace) (io.ReadCloser, error) {
	if f.stdin != "" {
		return cli.OpenFile(ctx, f.stdin)
	}
	in, err := session.Input(t)
	return io.NopCloser(bytes.NewReader(in)), err
}
