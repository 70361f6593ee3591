package analyze

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hindsight/analyze/artifact"
	"hindsight/analyze/local"
	"hindsight/analyze/race"
	"hindsight/analyze/report"
	"hindsight/analyze/rerun"
	"hindsight/analyze/std"
	"hindsight/analyze/vtable"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/buildinfo"
)

// RaceOptions say which races [Trace.Races] reports, and how much it finds out about
// them. With the zero value, it reports the races by happens-before, and which of them
// are consequences of others, as far as the trace shows that.
type RaceOptions struct {
	// Order is the order of accesses by which to find races: hb (happens-before), or
	// another one of [Orders]. "" means hb.
	Order string
	// StrictAtomics also reports plain accesses to atomic variables.
	StrictAtomics bool
	// Suppressions are races not to report. They count what they match. nil suppresses
	// nothing.
	Suppressions *report.Suppressions
	// AllowIncomplete treats a trace without any of its run as that of an empty run.
	// Otherwise the error is [ErrNothingRecorded].
	AllowIncomplete bool

	// Artifacts says how much to find out about races that are only consequences of
	// others.
	Artifacts Artifacts
	// WithEventControl also reports which races event control explains, which is the
	// paper's own relation.
	WithEventControl bool
	// TimeLimit limits the time of the analysis. After that time, it still finds the
	// races, but nothing more about them. 0 means no limit.
	TimeLimit time.Duration

	// Rerun reruns the program if the trace lacks something that Artifacts or Values
	// need. If it is nil, that information is missing from the report.
	Rerun rerun.Runner
	// Values marks races whose writes wrote the same value, and names local variables. It
	// needs Rerun.
	Values bool

	// Log, if not nil, is called with a sentence about each thing that could not be found
	// out.
	Log func(text string)
	// Progress, if not nil, is called with the number of races examined so far.
	Progress func(done, total int)
	// Grace is how long the analysis may take to stop after the context is done. After
	// that, Races returns what was found, and the analysis continues until the process
	// ends. 0 means no limit.
	Grace time.Duration
	// Witnesses, if not nil, also finds races and deadlocks that another schedule would
	// show, and runs such schedules.
	Witnesses rerun.Witnesses
	// Running, if not nil, is called with the number of schedules that were run for
	// Witnesses.
	Running func(done, total int)
}

// Artifacts says how much to find out about artifacts: races that are consequences of
// other races.
type Artifacts uint8

// The levels of [Artifacts].
const (
	ArtifactsExplained    Artifacts = iota // which race caused each, and the path that the value took
	ArtifactsBrief                         // only which races are artifacts
	ArtifactsEventControl                  // by the paper's relation, which includes program order
	ArtifactsOff                           // nothing
)

// Races finds the data races of the run. If ctx is done early, Races returns its error
// and the report so far, or a [*Partial] if there is no report yet. If the trace contains
// only control flow or only accesses, the error is a *format.HalfError of package
// cdr/format.
func (t *Trace) Races(ctx context.Context, o RaceOptions) (*report.Report, error) {
	how, err := analysisBy(o.Order)
	if err != nil {
		return nil, err
	}
	return (&inquiry{RaceOptions: o, trace: t, analysis: how}).answer(ctx)
}

// inquiry is a call of [Trace.Races].
type inquiry struct {
	RaceOptions
	trace    *Trace
	analysis analysis
	draft    *draft // receives the report as it develops; may be nil
}

// answer finds the races, within the limit of Grace.
func (q *inquiry) answer(ctx context.Context) (*report.Report, error) {
	if q.Grace == 0 {
		return q.find(ctx)
	}
	return q.within(ctx)
}

func (q *inquiry) log(format string, args ...any) {
	if q.Log != nil {
		q.Log(fmt.Sprintf(format, args...))
	}
}

// find finds the races. If ctx ends after they are known, find returns both a report and
// an error.
func (q *inquiry) find(ctx context.Context) (*report.Report, error) {
	begun := time.Now()
	t := q.trace.cdr
	if err := t.Info().CheckBothHalves(); err != nil {
		return nil, err
	}
	if !q.AllowIncomplete {
		if err := q.trace.HasRun(); err != nil {
			return nil, err
		}
	}
	names, err := std.ImportedNames(t)
	if err != nil {
		return nil, err
	}
	var opts race.Options
	if q.StrictAtomics {
		opts.Atomics = race.Strict
	}
	var img *image.Space
	frames := names.Frames
	if names == nil {
		if img, err = q.trace.Program(); err != nil {
			return nil, err
		}
		opts.Program, opts.TLSSize, frames = img, img.TLSSize(), img.Frames
	}
	opts.Found = func(p *race.Partial) {
		q.draft.change(func() {
			if q.draft != nil {
				q.draft.found, q.draft.frames = p, frames
			}
		})
	}
	res, err := q.analysis(ctx, t, opts)
	if err != nil {
		return nil, named(err, frames)
	}
	if img != nil {
		if res.Races, err = vtable.Unchanged(t, img, res.Races); err != nil {
			return nil, err
		}
	}
	info := q.trace.reportInfo()
	predicted := &foretold{}
	if q.Witnesses != nil {
		if names != nil {
			return nil, optionErrorf("predict", "", "the trace was imported; there is no program to run again")
		}
		if res, predicted, err = q.predict(ctx, t, opts, res); err != nil {
			return nil, err
		}
	}
	if names != nil {
		if q.Values {
			return nil, optionErrorf("values", "", "the trace was imported; there is no program to run again")
		}
		return report.Build(res, names, t, info, q.Suppressions) // an imported run has no code to examine
	}
	rep, err := report.Build(res, img, t, info, q.Suppressions)
	if err != nil {
		return nil, err
	}
	rep.Predict(predicted.races)
	if err := rep.AddDeadlocks(predicted.found, predicted.deadlocks, img, t, q.Suppressions); err != nil {
		return nil, err
	}
	if _, tasks := img.Lookup("GOMP_task"); tasks || img.Go() != "" {
		if err := rep.Tasks(res, t.Events(), img, t); err != nil {
			return nil, err
		}
	}
	if err := q.locals(ctx, img, res, rep); err != nil {
		return rep, err
	}
	q.draft.show(rep)
	if err := q.explain(ctx, img, res, rep, begun); err != nil {
		return rep, err
	}
	if q.Values && len(res.Races) > 0 {
		if q.Rerun == nil {
			return rep, errors.New("the values of racing writes need a rerun")
		}
		seen, err := valuesOf(ctx, q.Rerun, t, img, res)
		if err != nil {
			return rep, optionErrorf("values", "", "%w", err)
		}
		q.draft.change(func() {
			rep.SameValues(seen.Seen())
			rep.Locals(seen.Locals(), img)
		})
	}
	return rep, nil
}

// locals names the variables of races on stacks, as far as the trace shows them.
func (q *inquiry) locals(ctx context.Context, img *image.Space, res *race.Result, rep *report.Report) error {
	if img.Go() != "" {
		return nil
	}
	found, err := local.NewFinder(q.trace.cdr, img).Find(ctx, stackPlaces(res))
	rep.Locals(found, img)
	if err != nil && ctx.Err() == nil {
		q.log("not all variables on stacks are named: %v", err)
		return nil
	}
	return err
}

// explain finds the artifacts among the races of a report. If ctx ends early, it returns
// the error of ctx, and the report has what was found so far.
func (q *inquiry) explain(ctx context.Context, img *image.Space, res *race.Result, rep *report.Report, begun time.Time) error {
	if q.Artifacts == ArtifactsOff || len(res.Races) == 0 {
		return ctx.Err()
	}
	limited := ctx
	if q.TimeLimit > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, begun.Add(q.TimeLimit))
		defer cancel()
	}
	control := q.Artifacts == ArtifactsEventControl
	opts := artifact.Options{Brief: q.Artifacts == ArtifactsBrief, EventControl: control || q.WithEventControl}
	done := 0
	if q.Progress != nil {
		opts.Progress = func() { done++; q.Progress(done, len(res.Races)) }
	}
	found, err := q.artifactsOf(limited, q.trace.cdr, q.trace.file, img, res, opts)
	if found != nil {
		if control {
			found = found.EventControlled()
		}
		q.draft.change(func() { rep.Explain(found, img) })
	}
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		q.log("--time-limit %v is over", q.TimeLimit)
		return nil
	}
	return err
}

// reportInfo returns the head of a report of races.
func (t *Trace) reportInfo() report.Info {
	meta := t.cdr.Info()
	return report.Info{
		Version: buildinfo.Version(), File: t.file, Program: meta.Program, Args: meta.Args,
		Threads: len(t.cdr.Threads()), Seed: meta.Seed, Complete: meta.Complete, Instructions: t.instructions(),
	}
}

// instructions returns the number of instructions that all threads executed.
func (t *Trace) instructions() (n uint64) {
	for _, th := range t.cdr.Threads() {
		n += th.Insts
	}
	return n
}

// Diff compares the races of two runs by their fingerprints. The traces may be of two
// builds of a program.
func Diff(a, b *report.Report) *report.Diff { return report.Compare(a, b) }
