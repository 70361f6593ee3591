package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/mpsim"
	"hindsight/mpsim/image"
)

// runFlags are the flags of `hindsight run`.
type runFlags struct {
	out      string
	seed     uint64
	sched    string
	quantum  int
	record   string
	keep     string
	alphabet string
	env      []string
	root     string
	stdin    string
	maxInsts uint64
}

func newRun(std streams) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] PROGRAM [ARGS…]",
		Short: "Simulate a program and record it",
		Long: `run simulates PROGRAM, a statically linked RV64GC Linux executable, on a
multiprocessor with a hart for every thread, and records what each did in
PROGRAM.hst. The same program, arguments, input, seed and scheduler give the
same run and the same file, byte for byte.

The guest has the standard streams; of the host's files it sees those under
--root only, and can write none. run ends with the guest's exit status, or with
125 when hindsight itself failed; the trace is kept in either case.`,
		Example: `  hindsight run ./bank
  hindsight run --seed 7 --sched random -o bank7.hst ./bank 4 1000
  hindsight run --record none ./bank        # only simulate`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, closeInput, err := f.recording(args)
			if err != nil {
				return err
			}
			defer closeInput()
			if r.Stdin != nil {
				std.in = r.Stdin
			}
			done, err := r.record(cmd.Context(), std)
			if err != nil {
				return err
			}
			file := ""
			if r.Mode != "none" {
				file = r.Out
			}
			done.trouble(r.Image, std.err)
			fmt.Fprintf(std.err, "hindsight: %s\n", done.summary(file))
			if done.Status != 0 {
				return exitStatus(done.Status)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.StringVarP(&f.out, "output", "o", "", "trace `FILE` (default PROGRAM.hst in this directory)")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the schedule and of the guest's randomness")
	flags.StringVar(&f.sched, "sched", "random", "scheduler: rr (fixed quanta in turn) or random")
	flags.IntVar(&f.quantum, "quantum", 0, "instructions a thread runs before another may (random: on average)")
	flags.StringVar(&f.record, "record", "cdr", "what to record: none, cor (control), dor (data), cdr (both)")
	flags.StringVar(&f.keep, "keep", "all", "accesses to keep: all, or those to memory that several threads share")
	flags.StringVar(&f.alphabet, "alphabet", "path", "terminals of the control-flow grammar: path or block")
	flags.StringArrayVar(&f.env, "env", nil, "environment variable `K=V` of the guest; may be repeated")
	flags.StringVar(&f.root, "root", "", "directory that the guest sees as /, to read only")
	flags.StringVar(&f.stdin, "stdin", "", "`FILE` for the guest's standard input")
	flags.Uint64Var(&f.maxInsts, "max-instructions", 0, "stop after so many instructions (0: no limit)")
	complete(cmd, "sched", "rr", "random")
	complete(cmd, "record", recordModes...)
	complete(cmd, "keep", keepModes...)
	complete(cmd, "alphabet", alphabets...)
	return cmd
}

var (
	recordModes = []string{"none", "cor", "dor", "cdr"}
	keepModes   = []string{"shared", "all"}
	alphabets   = []string{"path", "block"}
)

// recording checks the flags. The caller calls the function that it gives.
func (f *runFlags) recording(args []string) (*recording, func(), error) {
	policy, ok := mpsim.ParsePolicy(f.sched)
	if !ok {
		return nil, nil, fmt.Errorf("--sched %q: want rr or random", f.sched)
	}
	for _, choice := range []struct {
		flag, value string
		of          []string
	}{{"record", f.record, recordModes}, {"keep", f.keep, keepModes}, {"alphabet", f.alphabet, alphabets}} {
		if !slices.Contains(choice.of, choice.value) {
			return nil, nil, fmt.Errorf("--%s %q: want one of %s", choice.flag, choice.value, strings.Join(choice.of, ", "))
		}
	}
	if f.quantum < 0 {
		return nil, nil, fmt.Errorf("--quantum %d: want a positive number of instructions", f.quantum)
	}
	for _, e := range f.env {
		if i := strings.IndexByte(e, '='); i <= 0 {
			return nil, nil, fmt.Errorf("--env %q: want NAME=VALUE", e)
		}
	}
	img, err := image.Load(args[0])
	if err != nil {
		return nil, nil, err
	}
	r := &recording{
		Image: img, Program: args[0], Args: args[1:], Env: f.env, Root: f.root,
		Policy: policy, Seed: f.seed, Quantum: f.quantum, MaxInsts: f.maxInsts,
		Mode: f.record, Keep: f.keep, Alphabet: f.alphabet, Out: f.out,
	}
	if r.Out == "" {
		r.Out = filepath.Base(args[0]) + ".hst"
	}
	if r.Mode != "none" && sameFile(r.Out, args[0]) {
		return nil, nil, fmt.Errorf("the trace would overwrite the program %s; give another name with -o", args[0])
	}
	closeInput := func() {}
	if f.stdin != "" {
		in, err := os.Open(f.stdin)
		if err != nil {
			return nil, nil, err
		}
		r.Stdin, closeInput = in, func() { in.Close() }
	}
	return r, closeInput, nil
}

func sameFile(a, b string) bool {
	sa, errA := os.Stat(a)
	sb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(sa, sb)
}

// complete offers the values of a flag to the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // no such flag: a mistake in this package
	}
}
