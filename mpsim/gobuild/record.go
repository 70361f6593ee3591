package gobuild

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"hindsight/analyze/report"
	"hindsight/mpsim"
	"hindsight/mpsim/session"
)

// Recording says under which seeds a program or a test runs, where its traces go, and
// what examines them.
type Recording struct {
	Seed  uint64 // of the first run; each further one has the next seed
	Seeds int    // number of runs
	Dir   string // for the traces
	Keep  bool   // traces stay; otherwise each is removed when it has been examined
	// Examine finds the races of a run that was recorded into the file r.Out, and
	// writes what a person should know to log: how the run ended, and its races. The
	// report is nil if there is none.
	Examine func(ctx context.Context, r *session.Run, done *session.Summary, log io.Writer) (*report.Report, error)
}

// Result is what one run showed.
type Result struct {
	Name    string // of the test; "" if the run is that of a program or of all tests
	Seed    uint64
	Summary *session.Summary
	Report  *report.Report // nil if Examine returned none
	Elapsed time.Duration  // real time
	Output  []byte         // of a test, unless [Tests.Output] received it
	Log     []byte         // of Examine, in a run of tests
	// TimedOut says that the run was stopped because it took longer than
	// [Tests.Timeout] in real time.
	TimedOut bool
}

// Races returns the number of races and deadlocks in the report.
func (r *Result) Races() int { return r.Report.Count() }

// Passed reports whether a run ended by itself, with status 0 and without races.
func (r *Result) Passed() bool {
	return r.Races() == 0 && r.Summary.Status == 0 && !r.Summary.Interrupted
}

// Program runs a program with args, under one seed after the other. The guest's streams
// are std, and what Examine logs goes to std.Err. The sequence ends after the first
// error.
func (o *Recording) Program(ctx context.Context, p *Program, args []string, std session.Streams) iter.Seq2[*Result, error] {
	return func(yield func(*Result, error) bool) {
		for n := range o.Seeds {
			start := time.Now()
			r := o.run(p, "program", uint64(n))
			r.Args = args
			res := &Result{Seed: r.Seed}
			var err error
			if res.Summary, err = r.Record(ctx, std); err == nil {
				err = o.examine(ctx, r, res, std.Err)
			}
			res.Elapsed = time.Since(start)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(res, nil) {
				return
			}
		}
	}
}

// run is run number n of a program.
func (o *Recording) run(p *Program, name string, n uint64) *session.Run {
	if o.Seeds > 1 {
		name += fmt.Sprintf(".%d", o.Seed+n)
	}
	return &session.Run{
		Image: p.Image, Program: p.File, Policy: mpsim.Random, Seed: o.Seed + n,
		Mode: "cdr", Keep: "all", Alphabet: "path", Out: filepath.Join(o.Dir, name+".hst"),
		Flow: p.flow, Packed: p.packed, Scratch: !o.Keep,
	}
}

// examine has a run examined.
func (o *Recording) examine(ctx context.Context, r *session.Run, res *Result, log io.Writer) (err error) {
	res.Report, err = o.Examine(ctx, r, res.Summary, log)
	if !o.Keep {
		err = errors.Join(err, os.Remove(r.Out))
	}
	return err
}
