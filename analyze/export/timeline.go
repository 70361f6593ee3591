package export

import (
	"context"
	"io"

	"hindsight/analyze"
	"hindsight/analyze/export/perfetto"
	"hindsight/analyze/report"
	"hindsight/analyze/timeline"
	"hindsight/mpsim/image"
)

// TimelineOptions say what [Timeline] writes.
type TimelineOptions struct {
	// Depth is the depth of calls to show, in frames. 0 means [perfetto.DefaultDepth]. A
	// negative number shows no calls.
	Depth int
	// Races marks the races of the run.
	Races bool
	// NoRaces, if not nil, is called if races are omitted although Races is set, because
	// the trace has only half of the run. Its argument says why.
	NoRaces func(error)
}

// Timeline writes the run for ui.perfetto.dev: turns, waits, calls and races.
func Timeline(ctx context.Context, w io.Writer, t *analyze.Trace, o TimelineOptions) (perfetto.Stats, error) {
	img, err := programOf(t)
	if err != nil {
		return perfetto.Stats{}, err
	}
	var rep *report.Report
	if o.Races {
		if rep, err = findRaces(ctx, t, o.NoRaces); err != nil {
			return perfetto.Stats{}, err
		}
	}
	run := t.Recorded()
	tl, err := timeline.Build(ctx, run, timeline.Options{})
	if err != nil {
		return perfetto.Stats{}, err
	}
	opts := perfetto.Options{
		Program: run.Info().Program, Depth: o.Depth,
		Function: func(pc uint64) string { return functionAt(img, pc) },
		Object:   func(addr uint64) string { return img.ObjectPathSize(addr, 0) },
	}
	if rep != nil {
		marks, err := tl.Marks(ctx, run, rep.Found().Races)
		if err != nil {
			return perfetto.Stats{}, err
		}
		opts.Races = marked(rep, marks)
	}
	return perfetto.Export(ctx, w, run, tl, opts)
}

// marked returns the marks of the races in a report.
func marked(rep *report.Report, marks []timeline.Mark) (list []perfetto.Race) {
	by := map[int]*report.Race{}
	for i := range rep.Races {
		by[rep.Races[i].Index()] = &rep.Races[i]
	}
	for _, m := range marks {
		if r := by[m.Race]; r != nil {
			list = append(list, perfetto.Race{
				Mark: m, ID: r.ID, What: r.Location.Words(),
				Earlier: r.Accesses[1].Words(), Later: r.Accesses[0].Words(), Dynamic: r.Dynamic,
			})
		}
	}
	return list
}

// functionAt returns the function at an address, or "" if it is not known.
func functionAt(img *image.Space, pc uint64) string {
	if frames := img.Frames(pc); len(frames) > 0 && frames[len(frames)-1].Function != "" {
		return frames[len(frames)-1].Function
	}
	if s, ok := img.Func(pc); ok {
		return s.Demangled()
	}
	return ""
}

// programOf returns the program of a trace that has any of its run.
func programOf(t *analyze.Trace) (*image.Space, error) {
	if err := t.HasRun(); err != nil {
		return nil, err
	}
	return t.Program()
}
