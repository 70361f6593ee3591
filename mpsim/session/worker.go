package session

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"hindsight/mpsim"
	"hindsight/mpsim/coverage"
)

// worker makes runs of an exploration, one after another. It keeps what later runs can
// reuse.
//
// A run is held in memory (see held.go). It is written and analysed only if no run of its
// class has been seen: by happens-before, all runs of a class have the same races.
type worker struct {
	e    *Exploration
	held held
	warm mpsim.Warm
	run  *Run     // in progress
	out  *outputs // of the guest
	file *os.File // the trace; nil: nothing is written
}

// one runs a seed. Its trace is analysed unless its races are known.
func (w *worker) one(ctx context.Context, seed uint64) error {
	e := w.e
	r := e.o.Run
	r.Seed, r.Env = seed, e.env(seed)
	if r.Policy == mpsim.Coverage {
		r.Targets = e.targets(seed)
	}
	r.Out, r.Scratch = e.TracePath(seed)+".part", true
	if !e.o.WriteAll {
		r.warm = &w.warm
	}
	w.run, w.out, w.file = &r, newOutputs(e.o.Show != nil), nil
	defer os.Remove(r.Out)
	done, err := w.record(ctx, Streams{In: bytes.NewReader(e.o.Input), Out: &w.out.stdout, Err: &w.out.stderr})
	if w.file != nil {
		defer w.file.Close()
	}
	if err != nil {
		return &runError{seed, err}
	}
	if done.Interrupted {
		return nil // as if it had not started
	}
	sum := &ExploredRun{
		Seed: seed, Status: done.Status, Output: w.out.name(), Stdout: w.out.stdout.name(), Insts: done.Insts, Threads: done.Threads, Races: []string{},
	}
	sum.end(done)
	if w.holds() {
		sum.Class = fmt.Sprintf("%016x", uint64(w.held.classes.Class()))
		sum.Pairs = coverage.EncodePairs(w.held.classes.Pairs())
		if r.Policy == mpsim.Coverage {
			sum.Targets, sum.Arrivals = mpsim.TargetsText(r.Targets), coverage.ArrivalsText(w.held.classes.Arrivals())
		}
	}
	if known := e.sameClass(sum.Class); known != nil {
		sum.Races = append(sum.Races, known...)
		return e.finished(ctx, sum, w)
	}
	if err := w.trace(); err != nil {
		return &runError{seed, err}
	}
	races, err := e.o.Races(ctx, r.Out)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return &runError{seed, err}
	}
	sum.Races = append(sum.Races, races...)
	slices.Sort(sum.Races) // runs of one class may find them in a different order
	return e.finished(ctx, sum, w)
}

// holds reports whether runs are held rather than written at once.
func (w *worker) holds() bool { return !w.e.o.WriteAll && w.run.holdable() }

// record makes the run.
func (w *worker) record(ctx context.Context, std Streams) (*Summary, error) {
	if !w.holds() {
		return w.run.Record(ctx, std)
	}
	return w.run.recordHeld(ctx, std, &w.held, func() (_ io.Writer, err error) {
		w.file, err = os.Create(w.run.Out)
		return w.file, err
	})
}

// trace writes the trace of the run, if that has not been done.
func (w *worker) trace() error {
	if !w.holds() {
		return nil
	}
	return w.held.needed()
}

// sameClass returns the races of an earlier run of a class, or nil if there was none. With
// predictions it always returns nil, because these depend on values and so on the run.
func (e *Exploration) sameClass(class string) []string {
	if class == "" || e.o.Predict {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.classes[class]; r != nil {
		return append([]string{}, r.Races...)
	}
	return nil
}

// learn stores the class of a run whose races are known.
func (e *Exploration) learn(r *ExploredRun) {
	if r.Class != "" {
		e.classes[r.Class] = r
	}
}
