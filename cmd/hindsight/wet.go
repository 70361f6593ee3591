package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim"
	"hindsight/tracefmt"
	"hindsight/tracefmt/app"
	"hindsight/tracefmt/numtext"
	"hindsight/wpp/cfg"
)

// wetFlags are the flags of `hindsight wet`.
type wetFlags struct {
	out    string
	window timeWindow
	stdin  string
	root   string
	limits limitFlags
	epoch  byteSize
}

func newWet(std cli.Streams) *cobra.Command {
	var f wetFlags
	cmd := &cobra.Command{
		Use:   "wet [flags] TRACE",
		Short: "Add values and dependences to a trace, by making the run again",
		Long: `wet makes the run in TRACE again, which gives the same run, and writes a trace
that also has the whole execution: the value of every instruction and what each
depended on, for hindsight slice and hindsight query. It is the file that
run --record wet would have written. The trace carries the program; what the run
read from files or standard input has to be given again.

With --from and --to only a part of the run is kept, in instructions that all
threads together had executed; it begins and ends where a thread's turn does.
What threads held in registers then counts as given to them.

The run is checked to be the same as the one in TRACE; if it is not, wet says
where they part and writes nothing.`,
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
	flags.StringVarP(&f.out, "output", "o", "", "trace `FILE` to write (default TRACE with .wet.hst)")
	flags.Uint64Var(&f.window.From, "from", 0, "keep the run from this instruction on")
	flags.Uint64Var(&f.window.To, "to", 0, "keep the run up to this instruction (0: to its end)")
	flags.StringVar(&f.stdin, "stdin", "", "`FILE` that the run had as standard input")
	flags.StringVar(&f.root, "root", "", "directory that the run saw as /")
	cli.CompleteDir(cmd, "root")
	f.limits.add(cmd, 0, 0)
	f.epoch = cdr.DefaultBudget
	flags.Var(&f.epoch, "epoch-memory", "close an epoch of the trace when it takes so much memory, 64M at most")
	return cmd
}

// build makes the run of a trace again and writes the new trace. It gives a
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
	t, err := openTrace(file)
	if err != nil {
		return "", err
	}
	defer t.Close()
	r, err := runAgain(t)
	if err != nil {
		return "", err
	}
	r.Root, r.Out, r.Budget = f.root, f.out, uint64(f.epoch)
	r.Inputs = []string{file, f.stdin}
	if dir := imagesOf(t, file); dir != "" {
		r.Images = dir
	}
	r.Accept = func(written string) error { return checkSameRun(t, file, written, r.Window) }
	r.MaxMemory, r.MaxThreads = uint64(f.limits.memory), f.limits.threads
	if f.limits.insts != 0 {
		r.MaxInsts = f.limits.insts
	}
	if f.window != (timeWindow{}) {
		r.Window = &f.window
	}
	in := io.Reader(strings.NewReader(""))
	if f.stdin != "" {
		file, err := cli.OpenFile(ctx, f.stdin)
		if err != nil {
			return "", err
		}
		defer file.Close()
		in = file
	}
	total := uint64(0)
	for _, th := range t.Threads() {
		total += th.Insts
	}
	r.Beside = cli.NewProgress(std.Err, "making the run again", total)
	done, err := r.record(ctx, cli.Streams{In: in, Out: io.Discard, Err: io.Discard})
	if err != nil {
		return "", err
	}
	return done.summary(f.out), nil
}

// runAgain is the recording, with values, of the run in a trace.
func runAgain(t *cdr.Trace) (*recording, error) {
	meta := t.Info()
	policy, ok := mpsim.ParsePolicy(meta.Policy)
	if !ok {
		return nil, fmt.Errorf("it was made by %q and not by hindsight run; there is no program to run again", meta.Policy)
	}
	if meta.Mode != cdr.ModeCDR {
		return nil, hasAccesses(meta)
	}
	img, err := t.Space()
	if err != nil {
		return nil, fmt.Errorf("the program in the trace: %w", err)
	}
	files, err := filesAgain(t, img)
	if err != nil {
		return nil, err
	}
	r := &recording{
		Image: img, Files: files, CPUs: meta.CPUs, Program: meta.Program, Args: meta.Args, Env: meta.Env,
		Policy: policy, Seed: meta.Seed, Quantum: int(meta.Quantum), Depth: meta.Depth, Steps: meta.Steps,
		Mode: modeWET, Keep: meta.Keep, Alphabet: string(meta.Alphabet), Flow: cfg.New(img),
	}
	r.Control = meta.Control
	if r.Control == cdr.ControlAPP {
		r.APP = app.Improved()
	}
	if meta.Argv0 != "" {
		r.Program = meta.Argv0
	}
	if o := meta.Outcome; o != nil && o.Message != "" && o.Signal == 0 {
		r.MaxInsts = o.Insts // it was stopped there
	}
	s, err := readArchSummary(t)
	if err != nil {
		return nil, err
	}
	if s != nil {
		r.Arch = archConfig(s)
	}
	return r, nil
}

// errOtherRun says that the second run differs from the first.
var errOtherRun = errors.New("the second run is not the run in the trace; give it the same standard input, files and limits (--stdin, --root, …)")

// checkSameRun holds a trace against the one that was made of the run again.
func checkSameRun(t *cdr.Trace, oldFile, newFile string, part *timeWindow) error {
	n, err := openTrace(newFile)
	if err != nil {
		return err
	}
	defer n.Close()
	meta, again := t.Info(), n.Info()
	if meta.Complete && again.Complete && meta.Outcome != nil && again.Outcome != nil {
		a, b := *meta.Outcome, *again.Outcome
		if a.Insts != b.Insts || a.Threads != b.Threads || a.Status != b.Status && a.Message == b.Message {
			return fmt.Errorf("%w: it ended after %s instructions with status %d, then %s and %d",
				errOtherRun, numtext.Grouped(a.Insts), a.Status, numtext.Grouped(b.Insts), b.Status)
		}
	}
	if part != nil && part.From >= again.Outcome.Insts {
		return fmt.Errorf("--from %d: the run has %s instructions", part.From, numtext.Grouped(again.Outcome.Insts))
	}
	if same, err := sameBlocks(oldFile, newFile); err != nil || same {
		return err
	}
	return sameSteps(t, n)
}

// sameBlocks tells whether two files hold the same control flow, addresses and
// events, as they do when they were recorded alike.
func sameBlocks(a, b string) (bool, error) {
	fa, ra, err := openBlocks(a)
	if err != nil {
		return false, err
	}
	defer fa.Close()
	fb, rb, err := openBlocks(b)
	if err != nil {
		return false, err
	}
	defer fb.Close()
	ha, hb := runBlocks(ra), runBlocks(rb)
	if len(ha) != len(hb) {
		return false, nil
	}
	for i := range ha {
		if ha[i].Kind != hb[i].Kind || ha[i].Thread != hb[i].Thread || ha[i].Raw != hb[i].Raw {
			return false, nil
		}
		pa, err := ra.Read(ha[i])
		if err != nil {
			return false, err
		}
		pb, err := rb.Read(hb[i])
		if err != nil || string(pa) != string(pb) {
			return false, err
		}
	}
	return true, nil
}

func openBlocks(file string) (*os.File, *tracefmt.Reader, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err == nil {
		var r *tracefmt.Reader
		if r, err = tracefmt.NewReader(f, st.Size(), tracefmt.ReaderOptions{}); err == nil {
			return f, r, nil
		}
	}
	f.Close()
	return nil, nil, err
}

func runBlocks(r *tracefmt.Reader) (list []tracefmt.Handle) {
	for _, h := range r.Blocks() {
		switch h.Kind {
		case tracefmt.KindTables, tracefmt.KindControl, tracefmt.KindData, tracefmt.KindSync:
			list = append(list, h)
		}
	}
	return list
}

// sameSteps compares two traces access by access and event by event; that a
// trace was cut off by an end that was not well is no difference.
func sameSteps(t, again *cdr.Trace) error {
	cut := !t.Info().Complete
	if len(again.Threads()) < len(t.Threads()) {
		return fmt.Errorf("%w: it has %d threads, then %d", errOtherRun, len(t.Threads()), len(again.Threads()))
	}
	err := lockstep(t.Events(), again.Events(), cut, func(a, b cdr.Event, n uint64) error {
		if a.Event != b.Event || a.Thread != b.Thread || a.Index != b.Index {
			return fmt.Errorf("%w: ordered event %d is %v of T%d, then %v of T%d", errOtherRun, n, a.Kind, a.Thread, b.Kind, b.Thread)
		}
		return nil
	})
	for i, th := range t.Threads() {
		if err != nil {
			return err
		}
		if o := again.Threads()[i]; !cut && (o.Insts != th.Insts || o.Blocks != th.Blocks) {
			return fmt.Errorf("%w: T%d executed %s instructions, then %s", errOtherRun, th.ID, numtext.Grouped(th.Insts), numtext.Grouped(o.Insts))
		}
		if t.Info().Keep != again.Info().Keep {
			continue
		}
		err = lockstep(t.Steps(th.ID), again.Steps(th.ID), cut, func(a, b cdr.Step, n uint64) error {
			if a.IsEvent == b.IsEvent && (a.IsEvent || a.Address == b.Address && t.Site(a.Site) == again.Site(b.Site)) {
				return nil
			}
			return fmt.Errorf("%w: step %s of T%d is another", errOtherRun, numtext.Grouped(n), th.ID)
		})
	}
	return err
}

// errLength says that the second run has more or less of something.
var errLength = fmt.Errorf("%w: one of them goes on", errOtherRun)

// lockstep compares two sequences. With cut the first may end earlier.
func lockstep[T any](a, b iter.Seq2[T, error], cut bool, compare func(x, y T, n uint64) error) error {
	next, stop := iter.Pull2(b)
	defer stop()
	n := uint64(0)
	for x, err := range a {
		if err != nil {
			return err
		}
		y, err, ok := next()
		if err != nil {
			return err
		}
		if !ok {
			return errLength
		}
		if err := compare(x, y, n); err != nil {
			return err
		}
		n++
	}
	if _, err, ok := next(); !cut && (ok || err != nil) {
		return errors.Join(errLength, err)
	}
	return nil
}
