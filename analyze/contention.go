package analyze

import (
	"context"

	"hindsight/analyze/contention"
)

// ContentionOptions say how much [Trace.Contention] reports.
type ContentionOptions struct {
	// Top is the number of objects, those that were waited for longest first. 0 means
	// [contention.DefaultTop], a negative number all.
	Top int
}

// Contention reports which locks and other objects threads waited for, how long, and
// for which threads.
func (t *Trace) Contention(ctx context.Context, o ContentionOptions) (*contention.Report, error) {
	if err := t.HasRun(); err != nil {
		return nil, err
	}
	img, err := t.Program()
	if err != nil {
		return nil, err
	}
	info, meta := t.reportInfo(), t.cdr.Info()
	return contention.Build(ctx, t.cdr, img, contention.Info{
		Version: info.Version, File: info.File, Program: info.Program, Args: info.Args, Threads: info.Threads, Seed: info.Seed,
		Policy: meta.Policy, Quantum: meta.Quantum, Complete: info.Complete,
	}, contention.Options{Top: o.Top, TLSSize: img.TLSSize()})
}
