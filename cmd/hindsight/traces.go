package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/image"
	"hindsight/mpsim/raw"
	"hindsight/mpsim/session"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/numtext"
	"hindsight/tracefmt/rawtrace"
)

// tracesFlags are the flags of `hindsight traces`.
type tracesFlags struct {
	guestFlags
	seed   uint64
	kind   string
	thread int
	from   uint64
	count  uint64
	out    string
}

func newTraces(std cli.Streams) *cobra.Command {
	var f tracesFlags
	cmd := &cobra.Command{
		Use:   "traces [flags] PROGRAM [ARGS…] | TRACE",
		Short: "Simulate a program and write a raw trace of it",
		Long: `traces runs PROGRAM as run does, and writes a raw, uncompressed trace of one of
the kinds that the trace-compression papers studied (docs/raw-formats.md):

  store-addr   PC and address of each store and atomic update
  cache-miss   PC and address of each access that misses in the thread's data
               cache: 16 kB, direct-mapped, 64-byte lines, write-allocate
  load-value   PC and value of each load
  leaders      address of each basic block, and the data addresses in it
  control      address of each basic block
  branch-bits  one bit for each conditional branch: taken or not
  blocks       number of each basic block

With several threads, the entries are in the order in which they ran; --thread
selects those of one thread. No trace contains functions that run knows by name
(such as pthread_mutex_lock).

With a TRACE instead of PROGRAM, --kind control writes exactly the basic blocks
of a thread; --from and --count select a part. A trace of run --control app is
read from the last checkpoint before that part.`,
		Example: `  hindsight traces --kind store-addr -o fft.st ./fft
  hindsight traces --kind leaders -o - ./fft |
      hindsight pack --codec ldr -o fft.hpk
  hindsight traces --kind control --thread 0 -o - ./fft |
      hindsight pack --codec app --program ./fft -o fft.hpk`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, std, args) },
	}
	f.add(cmd)
	f.limits.add(cmd, 0, 0)
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "store-addr", "what to trace: "+strings.Join(raw.Kinds(), ", "))
	flags.IntVar(&f.thread, "thread", -1, "only thread `N`, counted from 0 (-1: all)")
	flags.Uint64Var(&f.from, "from", 0, "with a TRACE: number of blocks of the thread to skip")
	flags.Uint64Var(&f.count, "count", 0, "with a TRACE: number of blocks to write (0: all)")
	flags.StringVarP(&f.out, "output", "o", "", "raw `FILE` to write, - for standard output (default PROGRAM.KIND)")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the schedule and of the guest's randomness")
	cli.Complete(cmd, "kind", raw.Kinds()...)
	return cmd
}

func (f *tracesFlags) run(cmd *cobra.Command, std cli.Streams, args []string) error {
	if !slices.Contains(raw.Kinds(), f.kind) {
		return fmt.Errorf("--kind %q: want one of %s", f.kind, strings.Join(raw.Kinds(), ", "))
	}
	if isTrace(args[0]) {
		if len(args) > 1 {
			return errors.New("a trace takes no arguments")
		}
		return f.play(cmd, std, args[0])
	}
	if f.from != 0 || f.count != 0 {
		return errors.New("--from and --count need a TRACE, not a program")
	}
	r, err := f.recording(args)
	if err != nil {
		return err
	}
	r.Seed = f.seed
	in, err := f.openInput(cmd.Context())
	if err != nil {
		return err
	}
	if in != nil {
		defer in.Close()
		std.In = in
	}
	job := &packJob{std: std, in: "-", out: f.out}
	if f.out == "" {
		job.out = filepath.Base(args[0]) + "." + f.kind
	}
	job.reads = []string{args[0], f.stdin}
	if err := checkSources(func() (*image.Space, error) { return r.Image, nil }, nil, job.out); err != nil {
		return err
	}
	if job.out == "-" {
		std.Out = std.Err // output of the guest
	}
	var ended error
	err = job.run(cmd.Context(), func(_ io.Reader, out io.Writer) error {
		space := r.Image.Anew()
		rec := raw.NewRecorder(out, f.kind, f.thread, space.Code)
		res, err := r.SimulateIn(cmd.Context(), space, session.Streams(std), rec)
		if err != nil {
			return err
		}
		done := &session.Summary{Result: res, Image: space}
		trouble(std.Err, done)
		ended = endedWith(cmd.Context(), res)
		fmt.Fprintf(std.Err, "hindsight: %s instructions, %s entries, %s of %s\n",
			numtext.Grouped(res.Insts), numtext.Grouped(rec.Entries), numtext.Bytes(rec.Written), f.kind)
		return nil
	})
	if err == nil {
		return ended
	}
	return err
}

// isTrace reports whether a file is a trace of `hindsight run`.
func isTrace(file string) bool {
	st, err := os.Stat(file)
	return err == nil && st.Mode().IsRegular() && tracefmt.IsTrace(file)
}

// play writes the control flow of a thread of a trace.
func (f *tracesFlags) play(cmd *cobra.Command, std cli.Streams, file string) error {
	if f.kind != "control" {
		return fmt.Errorf("--kind %s: from a TRACE, only the kind control can be written", f.kind)
	}
	t, err := cdr.OpenFile(file)
	if err != nil {
		return err
	}
	defer t.Close()
	th := event.ThreadID(max(f.thread, 0))
	job := &packJob{std: std, in: "-", out: f.out}
	if f.out == "" {
		return errors.New("give -o FILE, or -o - for standard output")
	}
	job.reads = []string{file}
	count := f.count
	if count == 0 {
		count = math.MaxUint64
	}
	return job.run(cmd.Context(), func(_ io.Reader, out io.Writer) error {
		w := bufio.NewWriterSize(out, 1<<16)
		var word []byte
		n := uint64(0)
		for pc, err := range t.BlocksFrom(th, f.from) {
			if err != nil {
				return err
			}
			if n == count {
				break
			}
			if n++; n%(1<<16) == 0 && cmd.Context().Err() != nil {
				return cmd.Context().Err()
			}
			word = rawtrace.AppendLeader(word[:0], pc)
			if _, err := w.Write(word); err != nil {
				return err
			}
		}
		return w.Flush()
	})
}
