package analyze

import (
	"context"

	"hindsight/analyze/sharing"
)

// SharingOptions say how much [Trace.Sharing] reports.
type SharingOptions struct {
	// Top is how many variables, those that cost most first; 0:
	// [sharing.DefaultTop], negative: all.
	Top int
	// Threshold is that of [sharing.Options].
	Threshold float64
}

// Sharing returns which variables and cache lines went to and fro between the
// caches, and what that cost. It needs a trace of run --arch.
func (t *Trace) Sharing(ctx context.Context, o SharingOptions) (*sharing.Report, error) {
	if err := t.HasRun(); err != nil {
		return nil, err
	}
	summary, err := t.cdr.ArchSummary()
	if err != nil {
		return nil, err
	}
	if summary == nil {
		return nil, ErrNoCaches
	}
	img, err := t.Program()
	if err != nil {
		return nil, err
	}
	info := t.reportInfo()
	return sharing.Build(ctx, summary, t.cdr, img, sharing.Info{
		Version: info.Version, File: info.File, Program: info.Program, Args: info.Args, Threads: info.Threads, Seed: info.Seed,
		Quantum: t.cdr.Info().Quantum, Complete: info.Complete, Instructions: info.Instructions,
	}, sharing.Options{Top: o.Top, TLSSize: img.TLSSize(), Threshold: o.Threshold})
}
