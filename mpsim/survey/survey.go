// Package survey reports what an exploration found: the races of all runs, and how the runs
// ended. Package session makes the runs.
package survey

import (
	"context"
	"fmt"
	"path/filepath"

	"hindsight/analyze/report"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/buildinfo"
)

// Survey is a finished exploration.
type Survey struct {
	*session.Exploration
	// Races finds the races of a kept trace, given its file.
	Races      func(ctx context.Context, trace string) (*report.Report, error)
	Planned    int      // number of runs
	Unfinished string   // why not all runs were made; "": they were
	Missing    []uint64 // of a merged exploration: the seeds without a run
}

// Report returns the report of all runs, from the kept traces.
func (e *Survey) Report(ctx context.Context) (*report.Report, error) {
	o := e.Options()
	info := report.Info{
		Version: buildinfo.Version(), File: o.Dir, Program: filepath.Base(o.Run.Program), Args: o.Run.Args, Seed: o.First,
		Complete: e.Unfinished == "", ThreadCounts: o.Teams,
	}
	seeds := map[string][]uint64{}
	var parts []report.Part
	for _, r := range e.InOrder() {
		info.Runs++
		info.Instructions += r.Insts
		info.Threads = max(info.Threads, r.Threads)
		first := map[string]bool{}
		for _, print := range r.Races {
			if seeds[print] == nil {
				first[print] = true
			}
			seeds[print] = append(seeds[print], r.Seed)
		}
		if len(first) == 0 {
			continue
		}
		trace := e.TracePath(r.Seed)
		part, err := e.Races(ctx, trace)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", trace, err)
		}
		parts = append(parts, report.Part{Report: part, Races: first})
	}
	return report.Merge(info, parts, seeds), nil
}
