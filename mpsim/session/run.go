// Package session runs programs on the simulated multiprocessor and records them: one
// run ([Record], [Run]), the rerun of a trace ([Again]), or the runs of many seeds
// ([Exploration]). Only this package knows both the simulator and the recorders.
// Analyses read the traces that it writes.
package session

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/mpsim"
	"hindsight/mpsim/arch"
	"hindsight/mpsim/gorun"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/mpsim/schedule"
	"hindsight/tracefmt/app"
	"hindsight/tracefmt/buildinfo"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/outfile"
	"hindsight/wpp/cfg"
)

// Run is a run to be made, and what to keep of it. Image and Program are required. The
// zero value of the rest is a run without arguments, with seed 0 and round-robin turns,
// recorded as a CDR trace with all accesses.
type Run struct {
	Image   *image.Space // each run has a space of its own, with the same executable
	Program string       // as it was named
	Args    []string
	Env     []string // NAME=VALUE
	Root    string   // directory that the guest sees as /, to read only; "": none
	Written Written  // what becomes of the files that the guest writes
	CPUs    int      // 0: as many as mpsim.Config says
	Images  string   // directory for the executable and shared objects; "": the trace has them
	Files   Files    // what a dynamically linked program needs besides
	Version string   // of hindsight, for the trace; "": that of the build

	Policy  mpsim.Policy
	Seed    uint64
	Quantum int            // instructions; 0: see mpsim.QuantumOf
	Depth   int            // of pct
	Targets []mpsim.Target // of coverage
	Steps   uint64         // of pct: steps of the run at depth 1; 0: an extra run counts them

	Follow *schedule.Schedule // that the run follows; nil: none
	Only   bool               // the run ends with the schedule that it follows
	Trail  bool               // the run's own schedule is wanted, in mpsim.Result
	Sliced func(*mpsim.Hart)  // is called after each slice with the hart that ran; may be nil

	MaxInsts   uint64 // 0: no limit
	HangInsts  uint64 // instructions after which a hanging run is stopped; 0: never
	MaxMemory  uint64 // bytes; 0: mem.DefaultMaxBytes
	MaxThreads int    // 0: linux.DefaultMaxTasks

	Arch *arch.Config // caches and predictors to be modelled; nil: none

	World    bool                    // the trace says what a rerun needs, as a trace of the schedule alone does
	Mode     string                  // none, schedule, cor, dor, cdr, wet; "": cdr
	Keep     string                  // accesses: shared, all; "": all
	Alphabet string                  // of control flow: path, block; "": path
	Out      string                  // file of the trace
	Inputs   []string                // files that are read, which the trace must not replace
	Scratch  bool                    // Out is a temporary file of the caller, which is not compressed
	Accept   func(file string) error // checks the complete trace before it gets the name Out; nil: it has that name from its first epoch on
	Control  format.Control          // empty: as grammars
	Choose   []string                // functions whose control flow alone is recorded; nil: all
	APP      app.Options             // of control flow as arithmetic program paths
	Packed   recorder.PackedImage    // of Image, if it is at hand
	Objects  *recorder.PackedObjects // kept from run to run; nil: nothing is
	Flow     *cfg.Program            // of Image, kept from run to run; nil: it is analysed for each run
	Budget   uint64                  // memory of an epoch in bytes; 0: recorder.DefaultBudget
	Beside   event.Observer          // also observes a run that is recorded; may be nil
	Window   *Window                 // of wet: the part of the run to keep values of; nil: all

	warm      *mpsim.Warm  // what earlier runs know; nil: nothing
	committed func() error // is called for each epoch that is closed
}

// Streams are the guest's standard streams. A nil In is empty; what is written to
// a nil Out or Err is lost.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// besides returns what the trace must not replace.
func (s Streams) besides(inputs ...string) outfile.Options {
	return outfile.Options{Inputs: inputs, Streams: []any{s.In, s.Out, s.Err}}
}

// defaults fills in what was left empty.
func (r *Run) defaults() {
	r.Mode = cmp.Or(r.Mode, string(format.ModeCDR))
	r.Keep = cmp.Or(r.Keep, "all")
	r.Alphabet = cmp.Or(r.Alphabet, string(format.AlphabetPath))
}

// Summary is the outcome of a run.
type Summary struct {
	*mpsim.Result
	Image   *image.Space  // the program as it stood in memory at the end
	Size    int64         // bytes of the trace
	Elapsed time.Duration // of the simulation that was recorded
}

// Record runs the program and writes the trace into the file Out, unless Mode is none.
// The guest's standard output and error go to std.
func (r *Run) Record(ctx context.Context, std Streams) (out *Summary, err error) {
	r.defaults()
	if r.Mode == ModeNone {
		if std, err = r.countSteps(ctx, std); err != nil {
			return nil, err
		}
		start := time.Now()
		space := r.Image.Anew()
		res, err := r.SimulateIn(ctx, space, std, nil)
		return &Summary{Result: res, Image: space, Elapsed: time.Since(start)}, err
	}
	if r.Flow == nil && r.Mode != string(format.ModeSchedule) {
		r.Flow = cfg.New(r.Image)
	}
	if _, err := chosenFunctions(r.Flow, r.Choose); err != nil {
		return nil, err // before a trace is overwritten
	}
	if r.Scratch {
		return r.recordScratch(ctx, std)
	}
	opts := std.besides(r.Inputs...)
	opts.Refuse = r.refuse
	f, err := outfile.Create(ctx, r.Out, opts)
	if err != nil {
		return nil, err
	}
	if r.Accept == nil {
		r.committed = f.Publish
	}
	if r.Accept == nil {
		out, err = r.RecordTo(ctx, std, f)
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

// grace is how long an interrupted run may continue before it is abandoned.
const grace = 600 * time.Millisecond

// recordWhole is RecordTo of a run that is useful only when it is complete. When it is
// interrupted, it is abandoned: what it still writes goes to a closed file.
func (r *Run) recordWhole(ctx context.Context, std Streams, w io.Writer) (*Summary, error) {
	type answer struct {
		out *Summary
		err error
	}
	done := make(chan answer, 1)
	go func() {
		out, err := r.RecordTo(ctx, std, w)
		done <- answer{out, err}
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		select {
		case a = <-done:
		case <-time.After(grace):
		}
	}
	if a.err == nil {
		a.err = ctx.Err()
	}
	return a.out, a.err
}

// recordScratch is Record into a temporary file.
func (r *Run) recordScratch(ctx context.Context, std Streams) (*Summary, error) {
	f, err := os.Create(r.Out)
	if err != nil {
		return nil, err
	}
	out, err := r.RecordTo(ctx, std, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return out, nil
}

// RecordTo runs the program and writes the trace to w.
//
// With Keep "shared" the program runs twice: the first run finds the granules that more
// than one thread touches, the second is recorded. The guest's input is kept for the
// second run, and its output is written only once.
func (r *Run) RecordTo(ctx context.Context, std Streams, w io.Writer) (*Summary, error) {
	r.defaults()
	std, err := r.countSteps(ctx, std)
	if err != nil {
		return nil, err
	}
	space := r.Image.Anew()
	p, err := r.prepare(ctx, std, space)
	if err != nil {
		return nil, err
	}
	rec, err := recorder.New(w, p.opts)
	if err != nil {
		return nil, err
	}
	runOnly := r.Mode == string(format.ModeSchedule)
	var observer event.Observer
	if !runOnly {
		observer = p.model.beside(p.graph.beside(rec))
	}
	if p.graph != nil {
		defer CollectSooner()()
	}
	start := time.Now()
	res, err := r.SimulateIn(p.ctx, space, p.std, observer)
	if err == nil && runOnly {
		err = finishUnseen(rec, space, res)
	}
	if err != nil {
		return nil, err
	}
	return &Summary{Result: res, Image: space, Size: rec.Size(), Elapsed: time.Since(start)}, nil
}

// prepared is what a run that is to be recorded needs.
type prepared struct {
	ctx   context.Context
	std   Streams
	opts  recorder.Options
	model *archRecorder // nil: there is none
	graph *wetRecorder  // nil: there is none
}

// prepare does what comes before the recording of the run in a space: with Keep
// "shared" that is a first run.
func (r *Run) prepare(ctx context.Context, std Streams, space *image.Space) (*prepared, error) {
	flow, runOnly := r.Flow, r.Mode == string(format.ModeSchedule)
	switch {
	case runOnly:
	case flow == nil:
		flow = cfg.New(space)
	case space.Main.Interp != "":
		flow = flow.In(space) // with the shared objects of this run
	}
	opts := recorder.Options{Meta: r.Meta(), Image: space.Main.Data, Packed: r.Packed, Objects: r.Objects, Program: flow, Budget: r.Budget, Plain: r.Scratch, Flow: r.APP, Committed: r.committed}
	if r.Images != "" {
		opts.Store = &format.ImageStore{Dir: r.Images}
	}
	var err error
	if len(r.Choose) > 0 {
		if opts.Chosen, err = chosenFunctions(flow, r.Choose); err != nil {
			return nil, err
		}
	}
	if r.Keep == "shared" && r.Mode != string(format.ModeCOR) && !runOnly {
		scout := new(recorder.Scout)
		input := keepInput(&std)
		res, err := r.Simulate(ctx, std, scout)
		if err != nil {
			return nil, err
		}
		opts.Keep = scout.Keep
		if res.Interrupted {
			// What ran up to here is worth keeping: the second run stops there.
			ctx = context.WithoutCancel(ctx)
			r.MaxInsts = max(res.Insts, 1)
		}
		std = Streams{In: input}
	}
	model, err := newArchRecorder(r.Arch, &opts)
	if err != nil {
		return nil, err
	}
	if err := r.keepNotes(space, &opts); err != nil {
		return nil, err
	}
	var graph *wetRecorder
	if r.Mode == ModeWET {
		if graph, err = newWetRecorder(space, flow, r.Budget, r.Window, &opts); err != nil {
			return nil, err
		}
	}
	r.followed(&opts)
	keepInputIn(&opts, &std)
	return &prepared{ctx, std, opts, model, graph}, nil
}

// finishUnseen completes the trace of a run that was not recorded: it adds the shared
// objects that the program loaded, and how the run ended.
func finishUnseen(rec *recorder.Recorder, space *image.Space, res *mpsim.Result) error {
	var loaded []event.Image
	for _, m := range space.Images() {
		if m != space.Main {
			loaded = append(loaded, event.Image{Path: m.Path, Base: m.Base, Data: m.Data, Digest: m.Digest})
		}
	}
	if err := rec.Load(loaded); err != nil {
		return err
	}
	return rec.Finish(res.Outcome)
}

// countSteps runs the program under pct at depth 1, with no output and no recording. It
// counts the steps over which the changes of priority are spread, and returns the
// streams for the real run. The count of an interrupted run is of little use, but then
// the real run is interrupted at once, too.
func (r *Run) countSteps(ctx context.Context, std Streams) (Streams, error) {
	if r.Policy != mpsim.PCT || r.Depth == 1 || r.Steps != 0 {
		return std, nil
	}
	first := *r
	first.Depth = 1
	in := Streams{In: std.In}
	input := keepInput(&in)
	res, err := first.Simulate(ctx, in, nil)
	if err != nil {
		return std, err
	}
	// The real run may read input that the first one did not.
	if std.In != nil {
		std.In = io.MultiReader(input, std.In)
	}
	r.Steps = max(res.Steps, 1)
	return std, nil
}

// keepInput makes what is read from std.In appear in the reader it returns.
func keepInput(std *Streams) io.Reader {
	var input bytes.Buffer
	if std.In != nil {
		std.In = io.TeeReader(std.In, &input)
	}
	return &input
}

// Simulate runs the program with an observer, and records nothing.
func (r *Run) Simulate(ctx context.Context, std Streams, observer event.Observer) (*mpsim.Result, error) {
	return r.SimulateIn(ctx, r.Image.Anew(), std, observer)
}

// SimulateIn is [Run.Simulate] in a space, one of r.Image.
func (r *Run) SimulateIn(ctx context.Context, space *image.Space, std Streams, observer event.Observer) (*mpsim.Result, error) {
	if r.Beside != nil && observer != nil {
		observer = event.Tee(observer, r.Beside)
	}
	cfg := r.Config(space, std)
	cfg.Observer = observer
	if r.Image.Main.Go() != "" {
		err := gorun.Check(r.Image.Main)
		if err != nil && observer != nil {
			return nil, fmt.Errorf("%s: %w", r.Program, err)
		}
		if err == nil && observer == nil && r.Follow == nil {
			// What is known of goroutines, and with it where threads switch, depends
			// on what is observed.
			cfg.Observer = event.Tee()
		}
	}
	cfg.Hooks, cfg.HookAt = r.Hooks(space)
	m, err := mpsim.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Program, err)
	}
	return m.Run(ctx)
}

// Config is that of the machine in a space, without hooks and observer.
func (r *Run) Config(space *image.Space, std Streams) mpsim.Config {
	return mpsim.Config{
		Image: space, Args: append([]string{r.Program}, r.Args...), Env: r.Env, Root: r.Root, CPUs: r.CPUs, Under: r.Files.Under, Objects: r.Files.Objects,
		Stdin: std.In, Stdout: std.Out, Stderr: std.Err,
		Policy: r.Policy, Seed: r.Seed, Quantum: r.Quantum, Depth: r.Depth, Targets: r.Targets, Steps: r.Steps, Schedule: r.Follow, OnlySchedule: r.Only, Trail: r.Trail, Sliced: r.Sliced,
		Warm:     r.warm,
		MaxInsts: r.MaxInsts, HangInsts: r.HangInsts, MaxMemory: r.MaxMemory, MaxThreads: r.MaxThreads,
		Writable: r.Written.Writable != "", Over: r.Written.over(),
	}
}

// Hooks are those of a run in that space.
func (r *Run) Hooks(space *image.Space) (mpsim.Hooks, map[uint64]int) {
	if space.Main.Go() != "" {
		return gorun.New(space.Main)
	}
	return hook.New(space)
}

// Meta is what a trace of the run says of it.
func (r *Run) Meta() format.Meta {
	depth := 0
	if r.Policy == mpsim.PCT {
		if depth = r.Depth; depth == 0 {
			depth = mpsim.DefaultDepth
		}
	}
	mode, argv0 := r.Mode, ""
	if mode == ModeWET {
		mode = string(format.ModeCDR)
	}
	if r.Program != filepath.Base(r.Program) {
		argv0 = r.Program
	}
	images := ""
	if r.Images != "" {
		images = relative(filepath.Dir(r.Out), r.Images)
	}
	var world *format.World
	if r.World || mode == string(format.ModeSchedule) {
		world = r.world()
	}
	return format.Meta{
		World:  world,
		Images: images,
		Argv0:  argv0,
		Tool:   "hindsight " + cmp.Or(r.Version, buildinfo.Version()), Program: filepath.Base(r.Program), Args: r.Args, Env: r.Env,
		Seed: r.Seed, CPUs: r.CPUs, Policy: r.Policy.String(), Quantum: uint64(mpsim.QuantumOf(r.Policy, r.Quantum)), Depth: depth, Targets: mpsim.TargetsText(r.Targets), Steps: r.Steps,
		Mode: format.Mode(mode), Alphabet: format.Alphabet(r.Alphabet), Control: r.Control, Functions: r.Choose, Keep: r.Keep,
	}
}

// relative returns a path as seen from a directory, or the path itself if that is not
// known.
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

// chosenFunctions returns which blocks belong to the named functions. The names of C++
// functions may leave out the parameters.
func chosenFunctions(p *cfg.Program, names []string) (func(pc uint64) bool, error) {
	chosen := map[*cfg.Function]bool{}
	for _, name := range names {
		found := false
		for i := range p.NumFuncs() {
			f := p.Func(uint32(i))
			short, _, _ := strings.Cut(f.Name(), "(")
			if f.Name() == name || short == name {
				chosen[f], found = true, true
			}
		}
		if !found {
			return nil, optionErrorf("functions", "the program has no function %q", name)
		}
	}
	return func(pc uint64) bool { return chosen[p.FuncAt(pc)] }, nil
}
