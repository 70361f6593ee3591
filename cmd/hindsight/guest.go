package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/cmd/internal/cli"
	"hindsight/mpsim"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/mem"
	"hindsight/mpsim/session"
	"hindsight/mpsim/steer"
	"hindsight/mpsim/suite"
	"hindsight/tracefmt/numtext"
)

// guestFlags are the flags of all commands that run a program: its environment, its
// schedule and its limits.
type guestFlags struct {
	sched   string
	quantum int
	depth   int
	env     []string
	root    string
	stdin   string
	cpus    int
	limits  limitFlags
}

func (f *guestFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.StringVar(&f.sched, "sched", "random", "scheduler: rr (fixed quanta in turn), random, pct (priorities), or coverage (random, with threads held up at chosen locks)")
	flags.IntVar(&f.quantum, "quantum", 0, "instructions that a thread runs before another may run (random: the average, by default between tens and tens of thousands; rr, pct: default 10000)")
	flags.IntVar(&f.depth, "depth", mpsim.DefaultDepth, "pct: ordering constraints to aim for, one more than the changes of priority")
	flags.StringArrayVar(&f.env, "env", nil, "environment variable `K=V` of the guest; may be repeated")
	flags.StringVar(&f.root, "root", "", "directory that the guest sees as /, read-only (default for a dynamically linked program: the directory of the cross compiler's libraries)")
	flags.IntVar(&f.cpus, "cpus", 0, "number of processors that the guest sees, at most 64 (default 8); threads are not bound to them")
	flags.StringVar(&f.stdin, "stdin", "", "`FILE` for the guest's standard input")
	cli.Complete(cmd, "sched", "rr", "random", "pct", "coverage")
	cli.CompleteDir(cmd, "root")
}

// check checks the flags and returns the scheduler.
func (f *guestFlags) check() (mpsim.Policy, error) {
	policy, ok := mpsim.ParsePolicy(f.sched)
	if !ok {
		return policy, fmt.Errorf("--sched %q: want rr, random, pct or coverage", f.sched)
	}
	if f.quantum < 0 {
		return policy, fmt.Errorf("--quantum %d: want a positive number of instructions", f.quantum)
	}
	if f.quantum > 0 && policy == mpsim.Coverage {
		return policy, errors.New("--quantum and --sched coverage: want one of them")
	}
	if f.depth < 1 {
		return policy, fmt.Errorf("--depth %d: want 1 or more", f.depth)
	}
	for _, e := range f.env {
		if i := strings.IndexByte(e, '='); i <= 0 {
			return policy, fmt.Errorf("--env %q: want NAME=VALUE", e)
		}
	}
	if f.cpus < 0 || f.cpus > linux.MaxCPUs {
		return policy, fmt.Errorf("--cpus %d: want 1 to %d", f.cpus, linux.MaxCPUs)
	}
	return policy, f.limits.check()
}

// recording checks the flags and loads the program, which is args[0].
func (f *guestFlags) recording(args []string) (*session.Run, error) {
	policy, err := f.check()
	if err != nil {
		return nil, err
	}
	r, err := session.Load(args[0], f.root)
	if err != nil {
		return nil, err
	}
	r.Args, r.Env, r.CPUs = args[1:], f.env, f.cpus
	r.Policy, r.Quantum, r.Depth = policy, f.quantum, f.depth
	r.HangInsts = f.limits.hang
	r.MaxInsts, r.MaxMemory, r.MaxThreads = f.limits.insts, uint64(f.limits.memory), f.limits.threads
	return r, nil
}

// limitFlags are the limits of a guest.
type limitFlags struct {
	insts   uint64 // 0 means no limit
	hang    uint64 // 0 means no limit
	memory  byteSize
	threads int
}

// hangLimit is the number of instructions after which a run counts as hanging.
const hangLimit = suite.DefaultHangInsts

func (f *limitFlags) add(cmd *cobra.Command, insts uint64, memory byteSize) {
	if memory == 0 {
		memory = mem.DefaultMaxBytes
	}
	f.memory = memory
	flags := cmd.Flags()
	flags.Uint64Var(&f.insts, "max-instructions", insts, "stop after this number of instructions (0: no limit)")
	flags.Uint64Var(&f.hang, "hang-limit", hangLimit, "stop when threads have only waited and polled for this number of instructions (0: never)")
	flags.Var(&f.memory, "max-memory", "memory of the guest: bytes, or with K, M or G")
	flags.IntVar(&f.threads, "max-threads", linux.DefaultMaxTasks, "stop when more threads than this live at the same time")
}

// check returns an error for a value that a limit cannot have.
func (f *limitFlags) check() error {
	if f.threads < 1 {
		return fmt.Errorf("--max-threads %d: want 1 or more", f.threads)
	}
	return nil
}

// byteSize is a flag: a number of bytes, with K, M, G for powers of 1024.
type byteSize uint64

func (b *byteSize) Type() string { return "SIZE" }

func (b *byteSize) String() string { return numtext.Size(uint64(*b)) }

func (b *byteSize) Set(s string) error {
	n, err := numtext.ParseSize(s)
	if err == nil {
		*b = byteSize(n)
	}
	return err
}

// openInput opens the file for the guest's standard input, if one is given.
func (f *guestFlags) openInput(ctx context.Context) (*os.File, error) {
	if f.stdin == "" {
		return nil, nil
	}
	return cli.OpenFile(ctx, f.stdin)
}

// writtenFlags say where to save the files that the guest writes.
type writtenFlags struct{ session.Written }

func (f *writtenFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Writable, "writable", "", "let the guest write everywhere: it sees the files of `DIR` over those of --root, and DIR receives what it wrote when it ends")
	flags.StringVar(&f.Save, "save", "", "copy all files that the guest wrote, also those in its /tmp, to `DIR`")
	cli.CompleteDir(cmd, "writable")
	cli.CompleteDir(cmd, "save")
}

// addAgain adds the flag for a rerun. A rerun does not save files.
func (f *writtenFlags) addAgain(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Writable, "writable", "", "for a rerun: `DIR` of --writable, as it was before the run; it is not changed")
	cli.CompleteDir(cmd, "writable")
}

// againFlags name what a rerun needs that is not in the trace, and the purpose of the
// rerun.
type againFlags struct {
	values bool // find out what racing writes wrote
	stdin  string
	root   string

	written writtenFlags
}

func (f *againFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.values, "values", false, "rerun the program: mark races between writes of the same value")
	f.addInput(cmd)
}

// addInput adds the flags for the inputs of the run other than its arguments.
func (f *againFlags) addInput(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.stdin, "stdin", "", "for a rerun: `FILE` that was the standard input")
	flags.StringVar(&f.root, "root", "", "for a rerun: directory that the program saw as /")
	cli.CompleteDir(cmd, "root")
	f.written.addAgain(cmd)
}

// rerun returns a rerun with the inputs that the flags name.
func (f *againFlags) rerun() *session.Rerun {
	r := &session.Rerun{Root: f.root, Written: f.written.Written}
	if f.stdin != "" {
		r.Input = func(ctx context.Context) (io.ReadCloser, error) { return cli.OpenFile(ctx, f.stdin) }
	}
	return r
}

// source returns the inputs of a run, for commands that repeat it.
func (f *againFlags) source(trace string) steer.Source {
	return steer.Source{File: trace, Stdin: f.stdin}
}
