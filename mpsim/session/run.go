// Package session runs programs on the simulated multiprocessor and records them: one run
// ([Record], [Run]), the rerun of a trace ([Again]), or the runs of many seeds
// ([Exploration]). Only this package knows both the simulator and the recorders. Analyses
// read the traces that it writes.
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

// Run describes a run and what to keep of it. Image and Program are required. The zero
// value of the rest is a run without arguments, with seed 0 and round-robin scheduling,
// recorded as a CDR trace with all accesses.
type Run struct {
	Image   *image.Space // each run gets its own space with the same executable
	Program string       // as the user named it
	Args    []string
	Env     []string // NAME=VALUE
	Root    string   // directory that the guest sees as /, read-only; "": none
	Written Written  // where the files go that the guest writes
	CPUs    int      // 0: the default of mpsim.Config
	Images  string   // directory for the executable and shared objects; "": they are in the trace
	Files   Files    // additional files for a dynamically linked program
	Version string   // of hindsight, for the trace; "": that of this build

	Policy  mpsim.Policy
	Seed    uint64
	Quantum int            // instructions; 0: see mpsim.QuantumOf
	Depth   int            // of pct
	Targets []mpsim.Target // of coverage
	Steps   uint64         // of pct: steps of the run at depth 1; 0: an additional run counts them

	Follow *schedule.Schedule // to be followed; nil: none
	Only   bool               // the run ends with the schedule that it follows
	Trail  bool               // mpsim.Result is to contain the run's own schedule
	Sliced func(*mpsim.Hart)  // called after each slice with the hart that ran; may be nil

	MaxInsts   uint64 // 0: no limit
	HangInsts  uint64 // instructions after which a hanging run is stopped; 0: never
	MaxMemory  uint64 // bytes; 0: mem.DefaultMaxBytes
	MaxThreads int    // 0: linux.DefaultMaxTasks

	Arch *arch.Config // model of caches and predictors; nil: none

	World    bool                    // the trace says what a rerun needs, as a trace of only the schedule does
	Mode     string                  // none, schedule, cor, dor, cdr, wet; "": cdr
	Keep     string                  // accesses: shared, all; "": all
	Alphabet string                  // of control flow: path, block; "": path
	Out      string                  // file of the trace
	Inputs   []string                // other files that are read, which the trace must not overwrite
	Scratch  bool                    // Out is a temporary file of the caller and is not compressed
	Accept   func(file string) error // checks the complete trace before it is renamed to Out; nil: it has that name from its first epoch on
	Control  format.Control          // representation of control flow; empty: grammars
	Choose   []string                // functions whose control flow is recorded; nil: all
	APP      app.Options             // for control flow as arithmetic program paths
	Packed   recorder.PackedImage    // of Image, if available
	Objects  *recorder.PackedObjects // reused from run to run; nil: not reused
	Flow     *cfg.Program            // of Image, reused from run to run; nil: it is analysed for each run
	Budget   uint64                  // memory of an epoch in bytes; 0: recorder.DefaultBudget
	Beside   event.Observer          // an additional observer of a recorded run; may be nil
	Window   *Window                 // of wet: the part of the run whose values are kept; nil: all

	warm      *mpsim.Warm  // what earlier runs found out; nil: nothing
	committed func() error // called for each epoch that is closed
}

// Streams are the guest's standard streams. A nil In is empty; output to a nil Out or Err
// is discarded.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// besides returns what the trace must not overwrite.
func (s Streams) besides(inputs ...string) outfile.Options {
	return outfile.Options{Inputs: inputs, Streams: []any{s.In, s.Out, s.Err}}
}

// defaults fills in defaults for empty fields.
func (r *Run) defaults() {
	r.Mode = cmp.Or(r.Mode, string(format.ModeCDR))
	r.Keep = cmp.Or(r.Keep, "all")
	r.Alphabet = cmp.Or(r.Alphabet, string(format.AlphabetPath))
}

// Summary is the outcome of a run.
type Summary struct {
	*mpsim.Result
	Image   *image.Space  // the program as it was in memory at the end
	Size    int64         // bytes of the trace
	Elapsed time.Duration // duration of the recorded simulation
}

// Record runs the program and writes the trace to the file Out, unless Mode is none. std
// receives the guest's standard output and error.
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
		return nil, err // before an older trace is overwritten
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

// recordWhole is like RecordTo for a run that is useful only if it is complete. An
// interrupted run is abandoned: what it still writes goes to a closed file.
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

// recordScratch is like Record, but writes to a temporary file.
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
// With Keep "shared", the program runs twice. The first run finds the granules that more
// than one thread touches; the second is recorded. The guest's input is kept for the second
// run, and its output is written only once.
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
	res, err := r.SimulateIn(p.context(ctx), space, p.std, observer)
	if err == nil && runOnly {
		err = finishUnseen(rec, space, res)
	}
	if err != nil {
		return nil, err
	}
	return &Summary{Result: res, Image: space, Size: rec.Size(), Elapsed: time.Since(start)}, nil
}

// prepared is what a run that will be recorded needs.
type prepared struct {
	std   Streams
	opts  recorder.Options
	model *archRecorder // nil: no model
	graph *wetRecorder  // nil: no graph
	ended bool          // an interruption ended the first run
}

// context returns the context of the recorded run. If an interruption ended the first run,
// the recorded run goes as far as that one and is not interrupted again.
func (p *prepared) context(ctx context.Context) context.Context {
	if p.ended {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// prepare does what precedes the recording of the run in a space. With Keep "shared", that
// includes a first run.
func (r *Run) prepare(ctx context.Context, std Streams, space *image.Space) (*prepared, error) {
	flow, runOnly := r.Flow, r.Mode == string(format.ModeSchedule)
	switch {
	case runOnly:
	case flow == nil:
		flow = cfg.New(space)
	case space.Main.Interp != "":
		flow = flow.In(space) // including the shared objects of this run
	}
	opts := recorder.Options{Meta: r.Meta(), Image: space.Main.Data, Packed: r.Packed, Objects: r.Objects, Program: flow, Budget: r.Budget, Plain: r.Scratch, Flow: r.APP, Committed: r.committed}
	if r.Images != "" {
		opts.Store = &format.ImageStore{Dir: r.Images}
	}
	var err error
	ended := false
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
			// What ran up to here is worth keeping: the second run stops here.
			ended = true
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
	return &prepared{std, opts, model, graph, ended}, nil
}

// finishUnseen completes the trace of a run that was not recorded. It adds the shared
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

// countSteps runs the program under pct at depth 1, without output and recording. It counts
// the steps among which the changes of priority are distributed, and returns the streams
// for the real run. The count of an interrupted run is inaccurate, but then the real run is
// interrupted at once, too.
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
	// The real run may read input that the first run did not read.
	if std.In != nil {
		std.In = io.MultiReader(input, std.In)
	}
	r.Steps = max(res.Steps, 1)
	return std, nil
}

// keepInput returns a reader that will return what is read from std.In.
func keepInput(std *Streams) io.Reader {
	var input bytes.Buffer
	if std.In != nil {
		std.In = io.TeeReader(std.In, &input)
	}
	return &input
}

// Simulate runs the program with an observer, without recording.
func (r *Run) Simulate(ctx context.Context, std Streams, observer event.Observer) (*mpsim.Result, error) {
	return r.SimulateIn(ctx, r.Image.Anew(), std, observer)
}

// SimulateIn is like [Run.Simulate], but runs in a given space, which must be one of
// r.Image.
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
			// What the hooks know about goroutines, and therefore where threads switch,
			// depends on whether there is an observer.
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

// Config returns the configuration of the machine for a space, without hooks and observer.
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

// Hooks returns the hooks of a run in that space, and the function numbers by address.
func (r *Run) Hooks(space *image.Space) (mpsim.Hooks, map[uint64]int) {
	if space.Main.Go() != "" {
		return gorun.New(space.Main)
	}
	return hook.New(space)
}

// Meta returns the description of the run for its trace.
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

// relative returns a path relative to a directory. If that is impossible, it returns the
// path itself.
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

// chosenFunctions returns a function that reports whether a block belongs to one of the
// named functions. For C++ functions, names may omit the parameters.
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
