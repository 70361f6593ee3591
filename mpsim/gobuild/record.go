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

// Recording says under which seeds a program or a test runs, where its traces are written,
// and what examines them.
type Recording struct {
	Seed  uint64 // of the first run; each further run has the next seed
	Seeds int    // number of runs
	Dir   string // for the traces
	Keep  bool   // traces are kept; otherwise each is removed after it has been examined
	// Examine finds the races of a run that was recorded into the file r.Out. It writes for
	// the user to log: how the run ended, and its races. The report is nil if there is
	// none.
	Examine func(ctx context.Context, r *session.Run, done *session.Summary, log io.Writer) (*report.Report, error)
}

// Result is the outcome of one run.
type Result struct {
	Name    string // of the test; "" for the run of a program or of all tests
	Seed    uint64
	Summary *session.Summary
	Report  *report.Report // nil if Examine returned none
	Elapsed time.Duration  // real time
	Output  []byte         // of a test, unless [Tests.Output] received it
	Log     []byte         // of Examine, in a run of tests
	// TimedOut says that the run was stopped because it took longer than [Tests.Timeout] in
	// real time.
	TimedOut bool
}

// Races returns the number of races and deadlocks in the report.
func (r *Result) Races() int { return r.Report.Count() }

// Passed reports whether a run ended by itself, with status 0 and without races.
func (r *Result) Passed() bool {
	return r.Races() == 0 && r.Summary.Status == 0 && !r.Summary.Interrupted
}

// Program runs a program with args, under one seed after another. std contains the guest's
// streams; what Examine logs is written to std.Err. The sequence ends after the first
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

// run returns run number n of a program.
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

// examine calls Examine for a run.
func (o *Recording) examine(ctx context.Context, r *session.Run, res *Result, log io.Writer) (err error) {
	res.Report, err = o.Examine(ctx, r, res.Summary, log)
	if !o.Keep {
		err = errors.Join(err, os.Remove(r.Out))
	}
	return err
}
