package session

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Rerun reruns the run in a trace for an analysis. It implements the Runner of package
// analyze/rerun. Its fields are what the trace does not contain.
type Rerun struct {
	Root    string  // directory that the run saw as /
	Written Written // its scratch layer
	// Input opens the run's standard input; nil: as far as the trace contains it.
	Input func(context.Context) (io.ReadCloser, error)
}

// Run prepares the rerun of a trace, with its input. The caller must call done after the
// run.
func (a *Rerun) Run(ctx context.Context, t *cdr.Trace) (r *Run, std Streams, done func(), err error) {
	if r, err = Again(t); err != nil {
		return nil, std, nil, err
	}
	if a.Root != "" {
		r.Root = a.Root
	}
	if a.Written != (Written{}) {
		r.Written = a.Written
	}
	r.Mode, r.Arch = string(format.ModeCDR), nil
	if a.Input == nil {
		in, err := Input(t)
		return r, Streams{In: bytes.NewReader(in)}, func() {}, err
	}
	in, err := a.Input(ctx)
	if err != nil {
		return nil, std, nil, err
	}
	return r, Streams{In: in}, func() { in.Close() }, nil
}

// RecordAll records the run in t, which is the trace in file, with all accesses. It writes
// the new trace to the file into. The error is [ErrOtherRun] if the rerun differs.
func (a *Rerun) RecordAll(ctx context.Context, t *cdr.Trace, file, into string) error {
	if err := a.RecordAs(ctx, t, file, into, string(format.ModeCDR), nil); err != nil {
		return err
	}
	all, err := cdr.OpenFile(into)
	if err != nil {
		return err
	}
	defer all.Close()
	for id := range format.SiteID(t.NumSites()) {
		if int(id) >= all.NumSites() || t.Site(id) != all.Site(id) {
			return ErrOtherRun
		}
	}
	return nil
}

// RecordAs records the run in t, which is the trace in file, with all accesses and in the
// given mode. It writes the new trace to the file into. beside, if not nil, also observes
// the run. The error is [ErrOtherRun] if the rerun differs.
func (a *Rerun) RecordAs(ctx context.Context, t *cdr.Trace, file, into, mode string, beside event.Observer) error {
	r, std, done, err := a.Run(ctx, t)
	if err != nil {
		return err
	}
	defer done()
	r.Mode, r.Keep, r.Out, r.Scratch, r.Beside = mode, "all", into, true, beside
	if _, err := r.Record(ctx, std); err != nil {
		return err
	}
	return CheckSame(t, file, into, nil)
}

// Observe reruns the run in t, which must be complete, with an observer. The error is
// [ErrOtherRun] if the rerun differs.
func (a *Rerun) Observe(ctx context.Context, t *cdr.Trace, o event.Observer) error {
	r, std, done, err := a.Run(ctx, t)
	if err != nil {
		return err
	}
	defer done()
	count := new(counter)
	if _, err := r.Simulate(ctx, std, event.Tee(o, count)); err != nil {
		return err
	}
	want := t.Info().Outcome
	if want == nil {
		return errIncomplete
	}
	if err := sameOutcome(want, &count.outcome); err != nil {
		return err
	}
	if all := t.Info().ThreadInsts; len(all) > 0 && !slices.Equal(count.insts, all) {
		return fmt.Errorf("%w: its threads executed %v instructions, then %v", ErrOtherRun, all, count.insts)
	}
	return nil
}

// counter is an observer that counts the instructions of each thread.
type counter struct {
	insts   []uint64
	outcome event.Outcome
}

// Define implements [event.Observer].
func (c *counter) Define([]event.Block) error { return nil }

// Batch implements [event.Observer].
func (c *counter) Batch(b *event.Batch) error {
	for int(b.Thread) >= len(c.insts) {
		c.insts = append(c.insts, 0)
	}
	c.insts[b.Thread] += b.Insts
	return nil
}

// Finish implements [event.Observer].
func (c *counter) Finish(o event.Outcome) error {
	c.outcome = o
	return nil
}
