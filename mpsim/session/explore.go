package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hindsight/cdr/recorder"
	"hindsight/mpsim"
	"hindsight/mpsim/linux"
	"hindsight/tracefmt"
	"hindsight/tracefmt/buildinfo"
	"hindsight/tracefmt/outfile"
	"hindsight/wpp/cfg"
)

// ExploreOptions say which runs an exploration makes, and what it does with each.
type ExploreOptions struct {
	Run   Run    // its seed is ignored
	Teams []int  // numbers of OpenMP threads, used by the seeds in turn; nil: the program's default
	Input []byte // standard input of each run
	Dir   string // for traces and the state
	First uint64 // seed
	Runs  int
	Jobs  int // maximum number of concurrent runs; 0: 1
	// Slots, if not nil, bounds the concurrent runs of all explorations that share it. Each
	// run holds one of its elements.
	Slots chan struct{}
	Until bool // stop at the first seed with a race
	// Shards, if not 0, is the number of parts that the runs are split into. This
	// exploration is number Shard, counted from 1, and takes every Shards-th seed. It
	// cannot be combined with Until.
	Shard, Shards int
	// Command repeats one of the runs. Reports of merged explorations show it.
	Command string
	// Resume continues the exploration in Dir.
	Resume bool

	// Races returns the fingerprints of the races in a trace, a file.
	Races func(ctx context.Context, trace string) ([]string, error)
	// Atomics and Suppressions identify what Races asks for. An exploration can be
	// continued only with the same values.
	Atomics, Suppressions string
	Predict               bool // Races also runs the schedules that are predicted from each run

	// RunTime, if not 0, is the maximum duration of a run and its analysis.
	RunTime time.Duration
	// Failed is called for a run that failed, could not be analysed, or took longer than
	// RunTime. It reports whether to continue. There are no concurrent calls from one
	// exploration. If Failed is nil, such a run ends the exploration with its error.
	Failed func(seed uint64, err error) bool

	// WriteAll writes and analyses every run, even if a run of its class is known.
	WriteAll bool

	Show     io.Writer             // receives the guests' output; nil: it is discarded
	Progress func(done, races int) // may be nil
}

// Planned returns the number of runs of this shard, or of all runs if there are no shards.
func (o *ExploreOptions) Planned() int {
	if o.Shards == 0 {
		return o.Runs
	}
	return (o.Runs - o.Shard + o.Shards) / o.Shards
}

// Exploration runs a program with many seeds, several at a time. It keeps the traces of
// runs that show something new.
type Exploration struct {
	o     ExploreOptions
	mu    sync.Mutex
	state *runState
	done  map[uint64]*ExploredRun
	kept  map[uint64]bool // seeds whose traces exist
	next  uint64          // offset from First of the next seed to run
	limit uint64          // no seed at or above this offset is run
	upTo  uint64          // no seed at or above this offset is run in this call

	classes map[string]*ExploredRun // for each class, a run whose races are known

	missing []missingOrder // of the present round, with the schedule coverage

	failure error
}

// OpenExploration starts an exploration in its directory, or continues the one that is
// there. No other exploration can use the directory until it is closed.
func OpenExploration(ctx context.Context, o ExploreOptions) (*Exploration, error) {
	r := &o.Run
	r.defaults()
	if r.Flow == nil {
		r.Flow = cfg.New(r.Image)
	}
	if r.Objects == nil {
		r.Objects = new(recorder.PackedObjects)
	}
	if r.Policy == mpsim.Coverage { // the state has the targets of each seed
		sched := "--sched " + r.Policy.String()
		o.Command = strings.Replace(o.Command, sched, sched+" --targets "+filepath.Join(o.Dir, StateName), 1)
	}
	packed, err := recorder.PackImage(r.Image.Main.Data)
	if err != nil {
		return nil, err
	}
	r.Packed = packed
	what := explored{
		Tool: buildinfo.Version(), Program: digest(r.Image.Main.Data), Args: append([]string{}, r.Args...), Env: append([]string{}, r.Env...), Root: r.Root, CPUs: r.CPUs,
		Input: digest(o.Input), Seed: o.First, Schedule: r.Policy.String(), Quantum: r.Quantum,
		Instructions: r.MaxInsts, Memory: r.MaxMemory, Threads: r.MaxThreads, Teams: o.Teams,
		Atomics: o.Atomics, Suppressions: o.Suppressions, Predict: o.Predict, Keep: r.Keep,
	}
	if r.Policy == mpsim.PCT {
		what.Depth = r.Depth
	}
	e := newExploration(o)
	var runs []ExploredRun
	head := stateHead{what, &plan{Runs: o.Runs, Program: filepath.Base(r.Program), Command: o.Command}}
	if e.state, runs, err = openState(ctx, o.Dir, head, o.Resume); err != nil {
		return nil, err
	}
	if err := e.restore(runs); err != nil {
		return nil, errors.Join(err, e.state.close())
	}
	return e, nil
}

// newExploration returns an exploration without runs.
func newExploration(o ExploreOptions) *Exploration {
	return &Exploration{
		o: o, done: map[uint64]*ExploredRun{}, kept: map[uint64]bool{}, classes: map[string]*ExploredRun{},
	}
}

// Close lets others use the directory.
func (e *Exploration) Close() error { return e.state.close() }

// Done returns the number of finished runs, including those of earlier sessions.
func (e *Exploration) Done() int { return len(e.done) }

// Options returns the options with which the exploration was opened. For a merged
// exploration, they are those of its parts.
func (e *Exploration) Options() *ExploreOptions { return &e.o }

// Missing returns the seeds of all shards whose runs have not been done, in order.
func (e *Exploration) Missing() []uint64 {
	var seeds []uint64
	for n := range e.limit {
		if e.done[e.o.First+n] == nil {
			seeds = append(seeds, e.o.First+n)
		}
	}
	return seeds
}

// Kept reports whether the trace of a seed was kept.
func (e *Exploration) Kept(seed uint64) bool { return e.kept[seed] }

// digest returns the SHA-256 of b as text.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Explore makes the remaining runs, several at a time, until all are done, ctx is cancelled
// or one of them fails.
func (e *Exploration) Explore(ctx context.Context) error { return e.ExploreFirst(ctx, e.o.Runs) }

// ExploreFirst is like [Exploration.Explore] for the first n seeds of all shards together.
// A later call continues.
func (e *Exploration) ExploreFirst(ctx context.Context, n int) error {
	if e.o.Run.Policy == mpsim.Coverage {
		return e.exploreRounds(ctx, uint64(min(n, e.o.Runs)))
	}
	return e.exploreUpTo(ctx, uint64(min(n, e.o.Runs)))
}

// exploreUpTo makes the remaining runs among the first n seeds.
func (e *Exploration) exploreUpTo(ctx context.Context, n uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.limit, e.upTo = uint64(e.o.Runs), n
	for _, r := range e.done {
		e.stopAt(r)
	}
	var all sync.WaitGroup
	for range max(e.o.Jobs, 1) {
		all.Go(func() {
			w := &worker{e: e}
			for {
				more, err := e.step(ctx, w)
				if err != nil {
					e.fail(err)
					cancel()
				}
				if err != nil || !more {
					return
				}
			}
		})
	}
	all.Wait()
	return e.failure
}

// step lets w make one of the remaining runs. It reports whether there may be more.
func (e *Exploration) step(ctx context.Context, w *worker) (more bool, err error) {
	if e.o.Slots != nil {
		select {
		case e.o.Slots <- struct{}{}:
			defer func() { <-e.o.Slots }()
		case <-ctx.Done():
			return false, nil
		}
	}
	seed, ok := e.take(ctx)
	if !ok {
		return false, nil
	}
	err = e.bounded(ctx, w, seed)
	if failure := (*runError)(nil); e.o.Failed != nil && errors.As(err, &failure) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if !e.o.Failed(seed, failure.err) {
			e.upTo = 0
		}
		return true, nil
	}
	return true, err
}

// runError is an error of a run, as opposed to one of the exploration's files.
type runError struct {
	seed uint64
	err  error
}

func (r *runError) Error() string { return fmt.Sprintf("seed %d: %v", r.seed, r.err) }

func (r *runError) Unwrap() error { return r.err }

// bounded calls [worker.one] with a limit of RunTime. If runs may fail, a panic of the
// simulator or of the analysis becomes an error of that run.
func (e *Exploration) bounded(ctx context.Context, w *worker, seed uint64) (err error) {
	if e.o.Failed != nil {
		defer func() {
			if p := recover(); p != nil {
				*w = worker{e: e}
				err = &runError{seed, fmt.Errorf("hindsight failed: %v", p)}
			}
		}()
	}
	if e.o.RunTime == 0 {
		return w.one(ctx, seed)
	}
	within, cancel := context.WithTimeout(ctx, e.o.RunTime)
	defer cancel()
	if err := w.one(within, seed); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done[seed] == nil && ctx.Err() == nil {
		return &runError{seed, fmt.Errorf("stopped after %v", e.o.RunTime)}
	}
	return nil
}

// take returns a seed whose run has not been done.
func (e *Exploration) take(ctx context.Context) (uint64, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.next < min(e.limit, e.upTo) && ctx.Err() == nil {
		seed := e.o.First + e.next
		ours := e.o.Shards == 0 || e.next%uint64(e.o.Shards) == uint64(e.o.Shard-1)
		e.next++
		if ours && e.done[seed] == nil {
			return seed, true
		}
	}
	return 0, false
}

func (e *Exploration) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failure == nil {
		e.failure = err
	}
}

// stopAt makes a run with a race the last one if Until is set. Lower seeds are still run,
// so that the result does not depend on timing.
func (e *Exploration) stopAt(r *ExploredRun) {
	if e.o.Until && len(r.Races) > 0 {
		e.limit = min(e.limit, r.Seed-e.o.First+1)
	}
}

// TracePath returns the name of the file with the trace of a seed, if it is kept.
func (e *Exploration) TracePath(seed uint64) string {
	return filepath.Join(e.o.Dir, TraceName(seed))
}

// TeamVariable is the environment variable with the number of threads of an OpenMP team.
const TeamVariable = "OMP_NUM_THREADS"

// env returns the environment of a seed's run.
func (e *Exploration) env(seed uint64) []string {
	if len(e.o.Teams) == 0 {
		return e.o.Run.Env
	}
	n := e.o.Teams[(seed-e.o.First)%uint64(len(e.o.Teams))]
	return append(slices.Clone(e.o.Run.Env), fmt.Sprintf("%s=%d", TeamVariable, n))
}

// RunOf returns the run of a seed, without recording.
func (e *Exploration) RunOf(seed uint64) *Run {
	r := e.o.Run
	r.Seed, r.Env, r.Mode = seed, e.env(seed), ModeNone
	if done := e.done[seed]; done != nil {
		r.Targets, _ = mpsim.ParseTargets(done.Targets)
	}
	return &r
}

// end stores how a run ended.
func (s *ExploredRun) end(done *Summary) {
	s.Message = done.Message
	switch {
	case len(done.Deadlock) > 0:
		s.Ending = "deadlock"
	case done.LimitReached || done.Limit != linux.NoLimit:
		s.Ending = "limit"
	case done.Fault != nil:
		s.Ending = "fault"
		s.At = "in unknown code"
		for i, pc := range done.Fault.Stack {
			if i > 0 {
				pc--
			}
			if frames := done.Image.Frames(pc); len(frames) > 0 && done.Image.User(pc) {
				s.At = frames[0].Short()
				break
			}
		}
	case done.Signal != 0:
		s.Ending = "signal"
	default:
		s.Ending = "exit"
	}
}

// finished records a run that has ended. Its trace is kept if it has the lowest seed, among
// the runs so far, of those that show some race or ending.
func (e *Exploration) finished(ctx context.Context, r *ExploredRun, w *worker) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.o.Show != nil {
		fmt.Fprintf(e.o.Show, "== seed %d\n%s%s", r.Seed, w.out.stdout.text.Bytes(), w.out.stderr.text.Bytes())
	}
	e.done[r.Seed] = r
	e.stopAt(r)
	keep := e.toKeep()
	if keep[r.Seed] {
		// The trace must exist before the state says so.
		if err := w.trace(); err != nil {
			return err
		}
		if err := compress(ctx, w.run.Out, e.TracePath(r.Seed)); err != nil {
			return err
		}
		e.kept[r.Seed] = true
	}
	e.learn(r)
	if err := e.state.add(r); err != nil {
		return err
	}
	if err := e.prune(keep); err != nil {
		return err
	}
	if e.o.Progress != nil {
		races := map[string]bool{}
		for _, d := range e.done {
			for _, f := range d.Races {
				races[f] = true
			}
		}
		e.o.Progress(len(e.done), len(races))
	}
	return nil
}

// compress writes the trace of a run, reading its temporary, uncompressed file.
func compress(ctx context.Context, from, to string) (err error) {
	in, r, err := openBlocks(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := outfile.Create(ctx, to, outfile.Options{})
	if err != nil {
		return err
	}
	if err := tracefmt.Compress(out, r); err != nil {
		return errors.Join(err, out.Discard())
	}
	return out.Close()
}

// prune removes traces that show nothing that no kept trace shows.
func (e *Exploration) prune(keep map[uint64]bool) error {
	for seed := range e.kept {
		if !keep[seed] {
			if err := os.Remove(e.TracePath(seed)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			delete(e.kept, seed)
		}
	}
	return nil
}

// InOrder returns the runs to be reported, in order of their seeds.
func (e *Exploration) InOrder() []*ExploredRun {
	var all []*ExploredRun
	for _, r := range e.done {
		if r.Seed-e.o.First < e.limit {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *ExploredRun) int {
		if a.Seed < b.Seed {
			return -1
		}
		return 1
	})
	return all
}

// toKeep returns the seeds whose traces are kept: the lowest seed for each race, and for
// each ending other than by exit.
func (e *Exploration) toKeep() map[uint64]bool {
	keep := map[uint64]bool{}
	seen := map[string]bool{}
	for _, r := range e.InOrder() {
		news := r.Races
		if r.Ending != "exit" {
			news = append(slices.Clone(news), r.Ended())
		}
		for _, name := range news {
			if !seen[name] {
				seen[name], keep[r.Seed] = true, true
			}
		}
	}
	return keep
}

// outputs receives what a guest writes. It keeps a digest and, if the output is to be
// shown, the beginning of it.
type outputs struct{ stdout, stderr output }

// shownOutput is the maximum number of bytes shown of each output stream of a run.
const shownOutput = 1 << 20

func newOutputs(show bool) *outputs {
	o := &outputs{}
	for _, s := range []*output{&o.stdout, &o.stderr} {
		s.digest = sha256.New()
		if show {
			s.room = shownOutput
		}
	}
	return o
}

type output struct {
	digest hash.Hash
	text   bytes.Buffer
	room   int
}

func (o *output) Write(b []byte) (int, error) {
	n := min(len(b), o.room)
	o.text.Write(b[:n])
	o.room -= n
	return o.digest.Write(b)
}

// Named returns a name for the content of an output stream, as in [ExploredRun.Stdout].
func Named(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

// name returns a name for what the stream has received.
func (o *output) name() string { return hex.EncodeToString(o.digest.Sum(nil)[:8]) }

// name returns a name for the content of both streams.
func (o *outputs) name() string {
	h := sha256.New()
	for _, s := range []*output{&o.stdout, &o.stderr} {
		h.Write(s.digest.Sum(nil))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
