package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim"
	"hindsight/mpsim/arch"
	"hindsight/mpsim/gorun"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/tracefmt/app"
	"hindsight/tracefmt/buildinfo"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/numtext"
	"hindsight/tracefmt/outfile"
	"hindsight/wpp/cfg"
)

// recording is a run to be made and what to keep of it.
type recording struct {
	Image   *image.Space // each run has a space of its own, with the same executable
	Program string       // as it was named
	Args    []string
	Env     []string
	Root    string
	Written writtenFlags
	CPUs    int        // 0: as many as mpsim.Config says
	Images  string     // directory for the executable and shared objects; "": the trace has them
	Files   guestFiles // what a dynamically linked program needs besides
	Stdin   io.Reader

	Policy  mpsim.Policy
	Seed    uint64
	Quantum int
	Depth   int    // of pct
	Steps   uint64 // of pct: of the run at depth 1; 0 means that a run of its own counts them

	MaxInsts   uint64 // 0: no limit
	MaxMemory  uint64 // bytes; 0: mem.DefaultMaxBytes
	MaxThreads int    // 0: linux.DefaultMaxTasks

	Arch *arch.Config // caches and predictors to be modelled; nil: none

	Mode     string                  // none, cor, dor, cdr, wet
	Keep     string                  // shared, all
	Alphabet string                  // path, block
	Out      string                  // file of the trace
	Inputs   []string                // files that are read otherwise, none of which the trace may replace
	Scratch  bool                    // Out is a temporary file of this command
	Accept   func(file string) error // looks at the whole trace before it is called Out; nil: it is called so from its first epoch on
	Control  cdr.Control             // empty: as grammars
	Choose   []string                // functions whose control flow alone is recorded; nil: all
	APP      app.Options             // of control flow as arithmetic program paths
	Packed   cdr.PackedImage         // of Image, if it is at hand
	Objects  *cdr.PackedObjects      // kept from run to run; nil: nothing is
	Flow     *cfg.Program            // of Image, kept from run to run; nil: analysed anew
	Budget   uint64                  // memory of an epoch in bytes; 0: cdr.DefaultBudget
	Beside   *cli.Progress           // nil: nobody is told how far the run is
	Window   *timeWindow             // of wet: the part of the run to keep values of; nil: all

	committed func() error // is told of each epoch of the trace that is closed
}

// recorded is what came of a recording.
type recorded struct {
	*mpsim.Result
	Image   *image.Space  // the program as it stood in memory at the end
	Size    int64         // bytes of the trace
	Elapsed time.Duration // of the simulation that was recorded
}

// record makes the run and writes the trace into the file Out, if there is to
// be one. The guest's standard output and error go to std.
func (r *recording) record(ctx context.Context, std cli.Streams) (out *recorded, err error) {
	if r.Mode == "none" {
		if std, err = r.countSteps(ctx, std); err != nil {
			return nil, err
		}
		start := time.Now()
		space := r.Image.Anew()
		res, err := r.simulateIn(ctx, space, std, nil)
		return &recorded{Result: res, Image: space, Elapsed: time.Since(start)}, err
	}
	if r.Flow == nil {
		r.Flow = cfg.New(r.Image)
	}
	if _, err := chosenFunctions(r.Flow, r.Choose); err != nil {
		return nil, err // before a trace is overwritten
	}
	if r.Scratch {
		return r.recordScratch(ctx, std)
	}
	f, err := outfile.Create(ctx, r.Out, std.Besides(r.Inputs...))
	if err != nil {
		return nil, err
	}
	if r.Accept == nil {
		r.committed = f.Publish
	}
	if r.Accept == nil {
		out, err = r.recordTo(ctx, std, f)
	} else if out, err = r.recordWhole(ctx, std, f); err == nil {
		err = r.Accept(f.Path())
	}
	if err == nil {
		err = f.Close()
	} else {
		err = errors.Join(err, f.Discard())
	}
	switch {
	case err == nil:
		return out, nil
	case f.Published():
		return nil, fmt.Errorf("recording %s: %w; what was written up to the last epoch can be read", r.Out, err)
	}
	return nil, fmt.Errorf("recording %s: %w", r.Out, err)
}

// recordWhole is recordTo of a run of which only the whole is of use: when it is
// interrupted, what there is of it need not be finished. It is left to write into
// a file that is closed.
func (r *recording) recordWhole(ctx context.Context, std cli.Streams, w io.Writer) (*recorded, error) {
	type answer struct {
		out *recorded
		err error
	}
	done := make(chan answer, 1)
	go func() {
		out, err := r.recordTo(ctx, std, w)
		done <- answer{out, err}
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		select {
		case a = <-done:
		case <-time.After(draftGrace):
		}
	}
	if a.err == nil {
		a.err = ctx.Err()
	}
	return a.out, a.err
}

// recordScratch is record into a file that is there for this command alone.
func (r *recording) recordScratch(ctx context.Context, std cli.Streams) (*recorded, error) {
	f, err := os.Create(r.Out)
	if err != nil {
		return nil, err
	}
	out, err := r.recordTo(ctx, std, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return out, nil
}

// recordTo runs the program and writes the trace to w.
//
// With Keep "shared" the program runs twice: the first run finds the granules that
// more than one thread touches, the second is recorded. The guest's input is kept
// for the second run, and its output is written once.
func (r *recording) recordTo(ctx context.Context, std cli.Streams, w io.Writer) (*recorded, error) {
	std, err := r.countSteps(ctx, std)
	if err != nil {
		return nil, err
	}
	space := r.Image.Anew()
	flow := r.Flow
	if flow == nil || space.Main.Interp != "" {
		flow = cfg.New(space) // with the shared objects of this run
	}
	opts := cdr.Options{Meta: r.meta(), Image: space.Main.Data, Packed: r.Packed, Objects: r.Objects, Program: flow, Budget: r.Budget, Flow: r.APP, Committed: r.committed}
	if r.Images != "" {
		opts.Store = &cdr.ImageStore{Dir: r.Images}
	}
	if len(r.Choose) > 0 {
		if opts.Chosen, err = chosenFunctions(flow, r.Choose); err != nil {
			return nil, err
		}
	}
	if r.Keep == "shared" && r.Mode != string(cdr.ModeCOR) {
		scout := new(cdr.Scout)
		input := keepInput(&std)
		res, err := r.simulate(ctx, std, scout)
		if err != nil {
			return nil, err
		}
		opts.Keep = scout.Keep
		if res.Interrupted {
			// What ran up to here is worth keeping: the second run stops there.
			ctx = context.WithoutCancel(ctx)
			r.MaxInsts = max(res.Insts, 1)
		}
		std = cli.Streams{In: input}
	}
	model, err := newArchRecorder(r.Arch, &opts)
	if err != nil {
		return nil, err
	}
	var graph *wetRecorder
	if r.Mode == modeWET {
		defer collectSooner()()
		if graph, err = newWetRecorder(space, flow, r.Budget, r.Window, &opts); err != nil {
			return nil, err
		}
	}
	rec, err := cdr.NewRecorder(w, opts)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	res, err := r.simulateIn(ctx, space, std, model.beside(graph.beside(rec)))
	if err != nil {
		return nil, err
	}
	return &recorded{Result: res, Image: space, Size: rec.Size(), Elapsed: time.Since(start)}, nil
}

// countSteps makes the run of pct at depth 1, unseen and not recorded, for the
// number of steps that the changes of priority are spread over. It gives the
// streams for the run proper. A run that was interrupted tells little; the run
// proper will be interrupted at once as well.
func (r *recording) countSteps(ctx context.Context, std cli.Streams) (cli.Streams, error) {
	if r.Policy != mpsim.PCT || r.Depth == 1 || r.Steps != 0 {
		return std, nil
	}
	first := *r
	first.Depth = 1
	in := cli.Streams{In: std.In}
	input := keepInput(&in)
	res, err := first.simulate(ctx, in, nil)
	if err != nil {
		return std, err
	}
	// What the first run did not read, a run that goes another way may.
	if std.In != nil {
		std.In = io.MultiReader(input, std.In)
	}
	r.Steps = max(res.Steps, 1)
	return std, nil
}

// keepInput makes what is read from std.In appear in the reader it gives.
func keepInput(std *cli.Streams) io.Reader {
	var input bytes.Buffer
	if std.In != nil {
		std.In = io.TeeReader(std.In, &input)
	}
	return &input
}

// simulate makes the run in a space of its own.
func (r *recording) simulate(ctx context.Context, std cli.Streams, observer event.Observer) (*mpsim.Result, error) {
	return r.simulateIn(ctx, r.Image.Anew(), std, observer)
}

func (r *recording) simulateIn(ctx context.Context, space *image.Space, std cli.Streams, observer event.Observer) (*mpsim.Result, error) {
	if r.Beside != nil && observer != nil {
		observer = event.Tee(observer, r.Beside)
	}
	cfg := mpsim.Config{
		Image: space, Args: append([]string{r.Program}, r.Args...), Env: r.Env, Root: r.Root, CPUs: r.CPUs, Under: r.Files.Under, Objects: r.Files.Objects,
		Stdin: std.In, Stdout: std.Out, Stderr: std.Err,
		Policy: r.Policy, Seed: r.Seed, Quantum: r.Quantum, Depth: r.Depth, Steps: r.Steps,
		MaxInsts: r.MaxInsts, MaxMemory: r.MaxMemory, MaxThreads: r.MaxThreads,
		Writable: r.Written.writable != "", Over: r.Written.over(),
		Observer: observer,
	}
	if r.Image.Main.Go() != "" {
		if err := gorun.Check(r.Image.Main); err != nil && observer != nil {
			return nil, fmt.Errorf("%s: %w", r.Program, err)
		}
		cfg.Hooks, cfg.HookAt = gorun.New(r.Image.Main)
	} else {
		cfg.Hooks, cfg.HookAt = hook.New(space)
	}
	m, err := mpsim.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Program, err)
	}
	return m.Run(ctx)
}

func (r *recording) meta() cdr.Meta {
	depth := 0
	if r.Policy == mpsim.PCT {
		if depth = r.Depth; depth == 0 {
			depth = mpsim.DefaultDepth
		}
	}
	mode, argv0 := r.Mode, ""
	if mode == modeWET {
		mode = string(cdr.ModeCDR)
	}
	if r.Program != filepath.Base(r.Program) {
		argv0 = r.Program
	}
	images := ""
	if r.Images != "" {
		images = relative(filepath.Dir(r.Out), r.Images)
	}
	return cdr.Meta{
		Images: images,
		Argv0:  argv0,
		Tool:   "hindsight " + buildinfo.Version(), Program: filepath.Base(r.Program), Args: r.Args, Env: r.Env,
		Seed: r.Seed, CPUs: r.CPUs, Policy: r.Policy.String(), Quantum: uint64(mpsim.QuantumOf(r.Policy, r.Quantum)), Depth: depth, Steps: r.Steps,
		Mode: cdr.Mode(mode), Alphabet: cdr.Alphabet(r.Alphabet), Control: r.Control, Functions: r.Choose, Keep: r.Keep,
	}
}

// summary is the line that a run ends with.
func (r *recorded) summary(file string) string {
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

// maxThreads is how many threads of a run that was ended are told of.
const maxThreads = 16

// trouble tells, a line each, what went wrong with the guest, with places.
func (r *recorded) trouble(w io.Writer) {
	stack := func(pcs []uint64) {
		for i, pc := range pcs {
			if i > 0 {
				pc-- // a return address: the call stands before it
			}
			for _, f := range r.Image.Frames(pc) {
				fmt.Fprintf(w, "    #%d %s\n", i, placeText(f))
			}
			if i == maxFrames {
				fmt.Fprintf(w, "    … %d more\n", len(pcs)-i-1)
				return
			}
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
		fmt.Fprintf(w, "hindsight: system call %s is not supported (%d calls got ENOSYS)\n", u.Name, u.Count)
	}
}

// maxFrames bounds a printed call stack.
const maxFrames = 24

// relative is a path as seen from a directory, or the path itself where that cannot
// be told.
func relative(dir, path string) string {
	from, err := filepath.Abs(dir)
	if err != nil {
		return path
	}
	to, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(from, to); err == nil {
		return rel
	}
	return to
}
