package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"hindsight/analyze"
	"hindsight/analyze/export/perfetto"
	"hindsight/analyze/export/profile"
	"hindsight/analyze/race"
	"hindsight/analyze/report"
	"hindsight/analyze/timeline"
	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/numtext"
)

// exportFormats are what export writes beside std.
var exportFormats = []string{"perfetto", "pprof", "folded", "csv", "json"}

// exportFlags are those of the formats beside std.
type exportFlags struct {
	depth int
	races bool
}

// exporting is a run that is exported.
type exporting struct {
	*exportFlags
	t    *cdr.Trace
	file string
	img  *image.Space
	rep  *report.Report // nil: races were not asked for, or cannot be found
	res  *race.Result
	say  io.Writer
}

// exportAs writes a trace in one of exportFormats.
func exportAs(ctx context.Context, w io.Writer, stdio cli.Streams, format, file string, flags *exportFlags, again *againFlags) error {
	trace, err := openTrace(ctx, stdio, file, withAccesses, again)
	if err != nil {
		return err
	}
	defer trace.Close()
	if err := trace.HasRun(); err != nil {
		return err
	}
	t := trace.Recorded()
	img, err := t.Space()
	if err != nil {
		return fmt.Errorf("the program in the trace: %w", err)
	}
	x := &exporting{exportFlags: flags, t: t, file: file, img: img, say: stdio.Err}
	table := format == "csv" || format == "json"
	if table || flags.races && format != "folded" {
		if err := x.findRaces(ctx, table); err != nil {
			return err
		}
	}
	switch format {
	case "perfetto":
		return x.perfetto(ctx, w)
	case "csv":
		return x.rep.WriteCSV(w)
	case "json":
		return x.rep.WriteTable(w)
	}
	p, err := x.profile(ctx)
	if err != nil {
		return err
	}
	if format == "folded" {
		return p.WriteFolded(w)
	}
	return p.WritePprof(w)
}

// findRaces finds the races of the run; their artifacts too, for the table.
func (x *exporting) findRaces(ctx context.Context, artifacts bool) error {
	o := analyze.RaceOptions{Analysis: func(ctx context.Context, t *cdr.Trace, opts race.Options) (*race.Result, error) {
		res, err := analyze.ByHappensBefore(ctx, t, opts)
		x.res = res
		return res, err
	}}
	if !artifacts {
		o.Artifacts = analyze.ArtifactsOff
	}
	t := analyze.New(x.t, x.file)
	rep, err := t.Races(ctx, o)
	if err != nil {
		err = withCommand(t, err)
	}
	if err != nil && !artifacts && bothHalves(x.t) != nil {
		fmt.Fprintf(x.say, "hindsight: without races: %v\n", err)
		return nil
	}
	x.rep = rep
	return err
}

func (x *exporting) perfetto(ctx context.Context, w io.Writer) error {
	tl, err := timeline.Build(ctx, x.t, timeline.Options{})
	if err != nil {
		return err
	}
	opts := perfetto.Options{Program: x.t.Info().Program, Depth: x.depth, Function: x.function, Object: x.object}
	if x.depth == 0 {
		opts.Depth = -1
	}
	if x.rep != nil {
		marks, err := tl.Marks(ctx, x.t, x.res.Races)
		if err != nil {
			return err
		}
		by := map[int]*report.Race{}
		for i := range x.rep.Races {
			by[x.rep.Races[i].Index()] = &x.rep.Races[i]
		}
		for _, m := range marks {
			if r := by[m.Race]; r != nil {
				opts.Races = append(opts.Races, perfetto.Race{Mark: m, ID: r.ID, What: r.Location.Words(),
					Earlier: sideText(&r.Accesses[1]), Later: sideText(&r.Accesses[0]), Dynamic: r.Dynamic})
			}
		}
	}
	stats, err := perfetto.Export(ctx, w, x.t, tl, opts)
	if err != nil {
		return err
	}
	fmt.Fprintf(x.say, "hindsight: %s, %s, %s to depth %d; open it at https://ui.perfetto.dev\n", numtext.Plural(uint64(stats.Tracks), "track"),
		numtext.Plural(uint64(stats.Slices), "slice"), numtext.Plural(uint64(stats.Calls), "call"), stats.Depth)
	if stats.Coarse {
		fmt.Fprintln(x.say, "hindsight: the run has more turns than fit: slices are what a thread did most of the time")
	}
	return nil
}

func sideText(a *report.Access) string {
	s := a.Op.String()
	if a.Top.Function != "" {
		s += " in " + a.Top.Function
	}
	if a.Top.Line > 0 {
		s += fmt.Sprintf(" %s:%d", a.Top.File, a.Top.Line)
	}
	return s
}

func (x *exporting) function(pc uint64) string {
	if frames := x.img.Frames(pc); len(frames) > 0 && frames[len(frames)-1].Function != "" {
		return frames[len(frames)-1].Function
	}
	if s, ok := x.img.Func(pc); ok {
		return s.Demangled()
	}
	return ""
}

func (x *exporting) object(addr uint64) string { return x.img.ObjectPathSize(addr, 0) }

func (x *exporting) profile(ctx context.Context) (*profile.Profile, error) {
	meta := x.t.Info()
	opts := profile.Options{Comment: fmt.Sprintf("hindsight: %s, seed %d; lock_wait is simulated time, which depends on the schedule", meta.Program, meta.Seed)}
	summary, err := x.t.ArchSummary()
	if err != nil {
		return nil, err
	}
	opts.Arch = summary
	if x.rep != nil {
		for i := range x.rep.Races {
			r := &x.rep.Races[i]
			pcs, err := x.stack(&x.res.Races[r.Index()].First.Later)
			if err != nil {
				return nil, err
			}
			opts.Races = append(opts.Races, profile.Race{Thread: r.Accesses[0].Thread, Stack: pcs, Dynamic: r.Dynamic})
		}
	}
	return profile.Build(ctx, x.t, x.img, opts)
}

func (x *exporting) stack(s *race.Side) ([]uint64, error) {
	if s.Op.Plain() {
		return x.t.AccessStack(s.Thread, s.Site, s.Ordinal)
	}
	return x.t.EventStack(s.Thread, s.Segment)
}

// check says what is wrong with the flags of export.
func (f *exportFlags) check(format string, all bool) error {
	switch {
	case f.depth < 0:
		return errors.New("--depth: want a number of frames, or 0 for no calls")
	case all && format != "std":
		return errors.New("--all is for --format std")
	}
	return nil
}
