package view

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"hindsight/analyze"
	"hindsight/analyze/annotate"
	"hindsight/analyze/contention"
	"hindsight/analyze/report"
	"hindsight/analyze/sharing"
	"hindsight/analyze/slice"
	"hindsight/analyze/std"
	"hindsight/tracefmt/buildinfo"
)

// tableRows limits the variables and locks in the tables of a page.
const tableRows = 100

// Options say how [Of] shows a trace.
type Options struct {
	// SourceDirs are searched for source files, in addition to the places in the debug
	// information.
	SourceDirs []string
	// Waiting, if not nil, is called with the purpose of a long computation. It returns a
	// function that is called at the end of that computation.
	Waiting func(what string) (done func())
}

// Of returns the page about a trace, which must stay open until the page is closed.
func Of(t *analyze.Trace, o Options) (*Page, error) {
	if err := t.HasRun(); err != nil {
		return nil, err
	}
	if o.Waiting == nil {
		o.Waiting = func(string) func() { return func() {} }
	}
	data := Data{
		Title: filepath.Base(t.Name()), Facts: Facts(t.Recorded(), buildinfo.Version()), Sources: &annotate.Sources{Dirs: o.SourceDirs},
		Races: func(ctx context.Context) (*report.Report, error) {
			defer o.Waiting("finding races")()
			return t.Races(ctx, analyze.RaceOptions{})
		},
	}
	names, err := std.ImportedNames(t.Recorded())
	if err != nil {
		return nil, err
	}
	if names == nil { // an imported run has no program
		if err := data.addProgram(t, o); err != nil {
			return nil, err
		}
	}
	return New(data), nil
}

// addProgram adds what a page shows of a run whose program is known.
func (d *Data) addProgram(t *analyze.Trace, o Options) (err error) {
	d.Trace = t.Recorded()
	if d.Image, err = t.Program(); err != nil {
		return err
	}
	d.Contention = func(ctx context.Context) (*contention.Report, error) {
		return t.Contention(ctx, analyze.ContentionOptions{Top: tableRows})
	}
	if summary, err := t.Recorded().ArchSummary(); err == nil && summary != nil {
		d.Sharing = func(ctx context.Context) (*sharing.Report, error) {
			return t.Sharing(ctx, analyze.SharingOptions{Top: tableRows})
		}
	}
	var none *analyze.NoValuesError
	if _, err := t.HasValues(); errors.As(err, &none) {
		return nil
	} else if err != nil {
		return err
	}
	d.Slice = func(ctx context.Context, q Question) (*annotate.Report, error) {
		defer o.Waiting("following dependences")()
		so := analyze.SliceOptions{Instance: q.Instance, Around: q.Race, SourceDirs: o.SourceDirs}
		if q.Race == nil {
			so.At = fmt.Sprintf("%s:%d", q.File, q.Line)
		}
		if q.Forward {
			so.Direction = slice.Forward
		}
		return t.Slice(ctx, so)
	}
	return nil
}

// OfSlice returns the page about one slice of a trace.
func OfSlice(t *analyze.Trace, rep *annotate.Report) (*Page, error) {
	img, err := t.Program()
	if err != nil {
		return nil, err
	}
	return New(Data{
		Title: rep.At + " in " + filepath.Base(rep.Info.File), Facts: Facts(t.Recorded(), rep.Info.Version), Trace: t.Recorded(), Image: img,
		Sources: rep.Sources, Asked: rep,
	}), nil
}
