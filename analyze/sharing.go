package analyze

import (
	"context"

	"hindsight/analyze/sharing"
)

// SharingOptions say how much [Trace.Sharing] reports.
type SharingOptions struct {
	// Top is the largest number of variables to report, the most expensive first. 0 means
	// [sharing.DefaultTop], and a negative number means all.
	Top int
	// Threshold omits variables whose cost is less than this percentage of the cost of
	// all sharing. 0 omits none.
	Threshold float64
}

// Sharing reports which variables and cache lines moved between the caches, what that
// cost, and what to do about it. If the run was recorded without a model of caches, the
// error is [ErrNoCaches].
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
