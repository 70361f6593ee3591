package export

import (
	"context"
	"fmt"

	"hindsight/analyze"
	"hindsight/analyze/export/profile"
	"hindsight/analyze/report"
	"hindsight/cdr"
)

// ProfileOptions say what [Profile] counts.
type ProfileOptions struct {
	// Races also counts the races of the run.
	Races bool
	// NoRaces is as in [TimelineOptions].
	NoRaces func(error)
}

// Profile returns the run as a profile by call stack: instructions, accesses, coherence
// misses (of a run with caches), lock waits and races. The profile has methods that write
// it for pprof or as folded stacks.
func Profile(ctx context.Context, t *analyze.Trace, o ProfileOptions) (*profile.Profile, error) {
	img, err := programOf(t)
	if err != nil {
		return nil, err
	}
	var rep *report.Report
	if o.Races {
		if rep, err = findRaces(ctx, t, o.NoRaces); err != nil {
			return nil, err
		}
	}
	run := t.Recorded()
	meta := run.Info()
	opts := profile.Options{Comment: fmt.Sprintf("hindsight: %s, seed %d; lock_wait is simulated time, which depends on the schedule", meta.Program, meta.Seed)}
	if opts.Arch, err = run.ArchSummary(); err != nil {
		return nil, err
	}
	if rep != nil {
		for i := range rep.Races {
			r := &rep.Races[i]
			pcs, err := stackOf(run, &r.Accesses[0])
			if err != nil {
				return nil, err
			}
			opts.Races = append(opts.Races, profile.Race{Thread: r.Accesses[0].Thread, Stack: pcs, Dynamic: r.Dynamic})
		}
	}
	return profile.Build(ctx, run, img, opts)
}

// stackOf returns the call stack of one side of a race, as addresses of code.
func stackOf(t *cdr.Trace, a *report.Access) ([]uint64, error) {
	if a.Op.Plain() {
		return t.AccessStack(a.Thread, a.Site, a.Ordinal)
	}
	return t.EventStack(a.Thread, a.Segment)
}
