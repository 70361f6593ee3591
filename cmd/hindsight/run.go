package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/analyze/report"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim"
	"hindsight/mpsim/gorun"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/numtext"
	"hindsight/tracefmt/outfile"
)

// runFlags are the flags of `hindsight run`.
type runFlags struct {
	guestFlags
	written  writtenFlags
	out      string
	seed     uint64
	targets  string
	record   string
	keep     string
	images   string
	alphabet string
	epoch    byteSize
	control  controlFlags
	schedule scheduleFlags
	arch     archFlags
}

func newRun(std cli.Streams) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] PROGRAM [ARGS…]",
		Short: "Simulate a program and record it",
		Long: `run simulates PROGRAM, a Linux executable for RISC-V (RV64GC and the extensions
of RVA23 except V), on a multiprocessor with one hart per thread. It records
what each thread did in PROGRAM.hst. The same program, arguments, input, seed
and scheduler produce the same run and the same file, byte for byte.

A dynamically linked program gets its libraries from the cross compiler, or from
--root.

With --sched pct (probabilistic concurrency testing), threads have random
priorities and the thread with the highest priority runs. At --depth minus 1
random instructions, a priority is lowered. pct needs the length of the run, so
the program runs twice; the output of the first run is discarded.

With --arch, the run also simulates caches and branch predictors, for hindsight
sharing. Threads then take turns every 50 instructions on average unless
--quantum is given, so that they meet on cache lines as on real hardware.

The guest has the standard streams. Of the host's files it sees only those under
--root. It writes only to its own /tmp unless --writable is given. The host's
files never change. run exits with the guest's status, with 125 when hindsight
itself failed, or, interrupted, with 130 (SIGINT), 143 (SIGTERM) or 129
(SIGHUP). In all cases the trace is kept.`,
		Example: `  hindsight run ./bank
  hindsight run --seed 7 --sched pct --depth 2 -o bank7.hst ./bank 4 1000
  hindsight run --record wet ./bank         # with values, for slice and query
  hindsight run --record none ./bank        # only simulate
  hindsight run --record schedule ./bank    # as fast; races runs it again
  hindsight run --schedule swapped.txt ./bank   # threads take turns as it says`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, in, err := f.recording(cmd.Context(), args)
			if err != nil {
				return err
			}
			if in != nil {
				defer in.Close()
				std.In = in
			}
			if err := f.schedule.check(std, r); err != nil {
				return err
			}
			if note := gorun.Unchecked(r.Image.Main); note != "" {
				fmt.Fprintf(std.Err, "hindsight: %s\n", note)
			}
			done, err := r.Record(cmd.Context(), session.Streams(std))
			if err != nil {
				return err
			}
			file := ""
			if r.Mode != "none" {
				file = r.Out
			}
			if err := r.Written.Keep(done.Result); err != nil {
				return err
			}
			trouble(std.Err, done)
			if err := f.schedule.done(cmd.Context(), std, done, r.Inputs); err != nil {
				return err
			}
			fmt.Fprintf(std.Err, "hindsight: %s\n", summary(done, file))
			return endedWith(cmd.Context(), done.Result)
		},
	}
	f.add(cmd)
	f.written.add(cmd)
	f.limits.add(cmd, 0, 0)
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "output", "o", "", "trace `FILE` (default PROGRAM.hst in this directory)")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the schedule and of the guest's randomness")
	flags.StringVar(&f.targets, "targets", "", "with --sched coverage: where threads are held up, as `T1@0x1234` (first request of a lock), comma-separated, or the explore.jsonl of an exploration")
	flags.StringVar(&f.record, "record", "cdr", "what to record: none, schedule (only what a rerun needs), cor (control flow), dor (data accesses), cdr (both), wet (also values and dependences)")
	flags.StringVar(&f.keep, "keep", "all", "accesses to keep: all, or shared (only to memory that several threads use)")
	flags.StringVar(&f.alphabet, "alphabet", "path", "terminals of the control-flow grammar: path or block")
	flags.StringVar(&f.images, "images", "", "store the program and its shared objects in `DIR`, once for all traces, instead of in the trace; if the directory moves, HINDSIGHT_IMAGES names it")
	cli.CompleteDir(cmd, "images")
	f.control.add(cmd)
	f.schedule.add(cmd)
	f.arch.add(flags)
	f.epoch = recorder.DefaultBudget
	flags.Var(&f.epoch, "epoch-memory", "close an epoch of the trace when it uses this much memory, at most 64M; closed epochs survive a crash")
	cli.Complete(cmd, "record", recordModes...)
	cli.Complete(cmd, "keep", keepModes...)
	cli.Complete(cmd, "alphabet", alphabets...)
	return cmd
}

var (
	recordModes = []string{"none", string(format.ModeSchedule), "cor", "dor", "cdr", session.ModeWET}
	keepModes   = []string{"shared", "all"}
	alphabets   = []string{"path", "block"}
)

// parseTargets parses the values of --targets.
func (f *runFlags) parseTargets(ctx context.Context, policy mpsim.Policy) ([]mpsim.Target, error) {
	if f.targets == "" {
		return nil, nil
	}
	if policy != mpsim.Coverage {
		return nil, fmt.Errorf("--targets is for --sched coverage, not %s", policy)
	}
	if strings.Contains(f.targets, "@") {
		return mpsim.ParseTargets(f.targets)
	}
	state, err := cli.ReadFile(ctx, f.targets)
	if err != nil {
		return nil, err
	}
	targets, err := session.TargetsOf(state, f.seed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.targets, err)
	}
	return targets, nil
}

// recording checks the flags, and opens the file for standard input, if one is given. The
// caller closes it.
func (f *runFlags) recording(ctx context.Context, args []string) (*session.Run, *os.File, error) {
	for _, choice := range []struct {
		flag, value string
		of          []string
	}{{"record", f.record, recordModes}, {"keep", f.keep, keepModes}, {"alphabet", f.alphabet, alphabets}} {
		if !slices.Contains(choice.of, choice.value) {
			return nil, nil, fmt.Errorf("--%s %q: want one of %s", choice.flag, choice.value, strings.Join(choice.of, ", "))
		}
	}
	r, err := f.guestFlags.recording(args)
	if err != nil {
		return nil, nil, err
	}
	r.Seed, r.Mode, r.Keep, r.Alphabet, r.Out, r.Images = f.seed, f.record, f.keep, f.alphabet, f.out, f.images
	r.Budget = uint64(f.epoch)
	if r.Targets, err = f.parseTargets(ctx, r.Policy); err != nil {
		return nil, nil, err
	}
	if err := f.written.Check(); err != nil {
		return nil, nil, err
	}
	r.Written = f.written.Written
	if r.Out == "" {
		r.Out = filepath.Base(args[0]) + ".hst"
	}
	if err := f.control.apply(r); err != nil {
		return nil, nil, err
	}
	if r.Mode == string(format.ModeSchedule) && (r.Written.Writable != "" || f.arch.on) {
		return nil, nil, errors.New("--record schedule records neither caches (--arch) nor written files (--writable): leave these flags out, or choose another --record")
	}
	if err := f.arch.apply(r); err != nil {
		return nil, nil, err
	}
	r.Inputs = []string{args[0], f.stdin}
	if err := f.schedule.apply(ctx, r); err != nil {
		return nil, nil, err
	}
	if r.Mode != session.ModeNone {
		if err := outfile.Distinct(r.Out, f.schedule.save); err != nil {
			return nil, nil, err
		}
	}
	in, err := f.openInput(ctx)
	return r, in, err
}

// summary returns the last line that run prints.
func summary(r *session.Summary, file string) string {
	mips := float64(r.Insts) / 1e6 / max(r.Elapsed.Seconds(), 1e-9)
	threads := "threads"
	if r.Threads == 1 {
		threads = "thread"
	}
	line := fmt.Sprintf("%s instructions, %d %s", numtext.Grouped(r.Insts), r.Threads, threads)
	if file != "" {
		line += fmt.Sprintf(", %s in %s", numtext.Bytes(r.Size), file)
	}
	return line + fmt.Sprintf(", %.1f MIPS", mips)
}

// maxThreads is the number of threads of an interrupted run that are listed.
const maxThreads = 16

// trouble prints the problem of the guest, and where it is.
func trouble(w io.Writer, r *session.Summary) {
	stack := func(pcs []uint64) {
		shown := min(len(pcs), maxFrames)
		fmt.Fprint(w, report.StackText(r.Image, pcs[:shown]))
		if shown < len(pcs) {
			fmt.Fprintf(w, "    … %d more\n", len(pcs)-shown)
		}
	}
	switch {
	case len(r.Deadlock) > 0:
		fmt.Fprintln(w, "hindsight: deadlock: every thread waits")
		for _, d := range r.Deadlock {
			fmt.Fprintf(w, "  thread T%d waits for %s\n", d.Thread, d.For)
			stack(d.Stack)
		}
	case r.Limit != linux.NoLimit:
		flag := "--max-memory"
		if r.Limit == linux.ThreadLimit {
			flag = "--max-threads"
		}
		fmt.Fprintf(w, "hindsight: %s (%s)\n", r.Message, flag)
		if r.Fault != nil {
			stack(r.Fault.Stack)
		}
	case r.Hung:
		fmt.Fprintf(w, "hindsight: %s (--hang-limit)\n", r.Message)
	case r.LimitReached:
		fmt.Fprintf(w, "hindsight: %s (--max-instructions)\n", r.Message)
	case r.Fault != nil:
		fmt.Fprintf(w, "hindsight: %v\n", r.Fault)
		stack(r.Fault.Stack)
	case r.Message != "":
		fmt.Fprintf(w, "hindsight: %s\n", r.Message)
	}
	if len(r.Stood) > 0 {
		fmt.Fprintln(w, "hindsight: where the threads stood:")
	}
	for i, at := range r.Stood {
		if i == maxThreads {
			fmt.Fprintf(w, "  … %d more\n", len(r.Stood)-i)
			break
		}
		if at.For == "" {
			fmt.Fprintf(w, "  thread T%d runs\n", at.Thread)
		} else {
			fmt.Fprintf(w, "  thread T%d waits for %s\n", at.Thread, at.For)
		}
		stack(at.Stack)
	}
	if r.Refused > 0 {
		fmt.Fprintf(w, "hindsight: the guest was refused memory %s (--max-memory)\n", numtext.Plural(r.Refused, "time"))
	}
	for _, u := range r.Unsupported {
		advice := u.Advice()
		if advice != "" {
			advice = ": " + advice
		}
		fmt.Fprintf(w, "hindsight: system call %s is not supported (%s got ENOSYS)%s\n", u.Name, numtext.Plural(u.Count, "call"), advice)
	}
}

// maxFrames limits a printed call stack.
const maxFrames = 24
