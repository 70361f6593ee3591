package analyze

import (
	"context"

	"hindsight/analyze/contention"
)

// ContentionOptions say how much [Trace.Contention] reports.
type ContentionOptions struct {
	// Top is the largest number of objects to report, those with the longest waits first.
	// 0 means [contention.DefaultTop], and a negative number means all.
	Top int
}

// Contention reports the locks and other objects that threads waited for, how long they
// waited, and for which threads.
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
