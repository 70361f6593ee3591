package session

import (
	"context"
	"fmt"
	"io"
	"slices"

	"hindsight/cdr"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/numtext"
)

// Rerun makes the run in a trace a second time for an analysis: it is the
// analyze.Rerun of this package. What the trace does not keep has to be given
// again.
type Rerun struct {
	Root    string  // directory that the run saw as /
	Written Written // scratch layer that it had
	// Input opens what the run had as standard input; nil: nothing.
	Input func(context.Context) (io.ReadCloser, error)
}

// Run is the run of a trace, recorded nowhere as yet, with its input.
func (a *Rerun) Run(ctx context.Context, t *cdr.Trace) (r *Run, std Streams, done func(), err error) {
	if r, err = Again(t); err != nil {
		return nil, std, nil, err
	}
	r.Root, r.Written, r.Mode, r.Arch = a.Root, a.Written, string(cdr.ModeCDR), nil
	done = func() {}
	if a.Input != nil {
		in, err := a.Input(ctx)
		if err != nil {
			return nil, std, nil, err
		}
		std.In, done = in, func() { in.Close() }
	}
	return r, std, done, nil
}

// RecordAll records the run in t, the trace of file, with all accesses, into the
// file into. The error is [ErrOtherRun] when it is another run.
func (a *Rerun) RecordAll(ctx context.Context, t *cdr.Trace, file, into string) error {
	r, std, done, err := a.Run(ctx, t)
	if err != nil {
		return err
	}
	defer done()
	r.Keep, r.Out, r.Scratch = "all", into, true
	if _, err := r.Record(ctx, std); err != nil {
		return err
	}
	if err := CheckSame(t, file, into, nil); err != nil {
		return err
	}
	all, err := cdr.OpenFile(into)
	if err != nil {
		return err
	}
	defer all.Close()
	for id := range cdr.SiteID(t.NumSites()) {
		if int(id) >= all.NumSites() || t.Site(id) != all.Site(id) {
			return ErrOtherRun
		}
	}
	return nil
}

// Observe makes the run in t, which has to be complete, before an observer. The
// error is [ErrOtherRun] when it was another run.
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
	want, got := t.Info().Outcome, count.outcome
	if want == nil {
		return fmt.Errorf("the trace is incomplete: a second run cannot be compared with it")
	}
	if got.Insts != want.Insts || got.Threads != want.Threads || got.Status != want.Status && got.Message == want.Message ||
		!slices.Equal(count.insts, t.Info().ThreadInsts) {
		return fmt.Errorf("%w: it ended after %s instructions with status %d, then %s and %d",
			ErrOtherRun, numtext.Grouped(want.Insts), want.Status, numtext.Grouped(got.Insts), got.Status)
	}
	return nil
}

// counter is an observer that counts what each thread executes.
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
