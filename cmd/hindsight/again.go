package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/analyze/artifact"
	"hindsight/analyze/place"
	"hindsight/analyze/race"
	"hindsight/analyze/written"
	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/numtext"
)

// againFlags is what a rerun needs that the trace does not keep, and what the
// rerun is for.
type againFlags struct {
	values bool // look at what racing writes write
	stdin  string
	root   string

	written writtenFlags
}

func (f *againFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.values, "values", false, "make the run again: mark races of writes of the same value, name local variables")
	flags.StringVar(&f.stdin, "stdin", "", "`FILE` that the run had as standard input, for a second run")
	flags.StringVar(&f.root, "root", "", "directory that the run saw as /, for a second run")
	cli.CompleteDir(cmd, "root")
	f.written.addAgain(cmd)
}

// recording is the run of a trace, recorded nowhere as yet, with its input.
func (f *againFlags) recording(ctx context.Context, t *cdr.Trace) (r *session.Run, std session.Streams, done func(), err error) {
	if r, err = session.Again(t); err != nil {
		return nil, std, nil, err
	}
	r.Written = f.written.Written
	r.Root, r.Mode, r.Arch = f.root, string(cdr.ModeCDR), nil
	std, done = session.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, func() {}
	if f.stdin != "" {
		file, err := cli.OpenFile(ctx, f.stdin)
		if err != nil {
			return nil, std, nil, err
		}
		std.In, done = file, func() { file.Close() }
	}
	return r, std, done, nil
}

// withAll makes the run of trace t, which kept only shared memory, again, and
// hands a trace with all accesses to use. Sites have the same numbers in both,
// and their executions as well.
func (f *againFlags) withAll(ctx context.Context, t *cdr.Trace, file string, use func(*cdr.Trace) error) error {
	dir, err := os.MkdirTemp("", "hindsight")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, std, done, err := f.recording(ctx, t)
	if err != nil {
		return err
	}
	defer done()
	r.Keep, r.Out, r.Scratch = "all", filepath.Join(dir, "all.hst"), true
	if _, err := r.Record(ctx, session.Streams(std)); err != nil {
		return err
	}
	if err := session.CheckSame(t, file, r.Out, nil); err != nil {
		return err
	}
	all, err := cdr.OpenFile(r.Out)
	if err != nil {
		return err
	}
	defer all.Close()
	for id := range cdr.SiteID(t.NumSites()) {
		if int(id) >= all.NumSites() || t.Site(id) != all.Site(id) {
			return session.ErrOtherRun
		}
	}
	return use(all)
}

// artifactsOf finds the artifacts among the races of a trace. Where it was
// recorded with --keep shared and some address on the way of a value is not in
// it, the program runs a second time; say is told when that cannot be done.
func (f *againFlags) artifactsOf(ctx context.Context, t *cdr.Trace, file string, img *image.Space, res *race.Result, opts artifact.Options, say io.Writer) (*artifact.Result, error) {
	found, err := artifact.Analyze(ctx, t, img, res, opts)
	if err != nil || f == nil || t.Info().Keep != "shared" || !found.Unrecorded() {
		return found, err
	}
	err = f.withAll(ctx, t, file, func(all *cdr.Trace) (err error) {
		found, err = artifact.Analyze(ctx, all, img, res, opts)
		return err
	})
	if ctx.Err() != nil {
		return found, ctx.Err()
	}
	if err != nil {
		fmt.Fprintf(say, "hindsight: whether some races are artifacts stays unknown: it needs more than --keep shared keeps: %v\n", err)
	}
	return found, nil
}

// racingWrites bounds the racing writes that are told apart.
const racingWrites = 1 << 20

// valuesOf makes the run of a trace again and looks at what the writes of its
// races write, and which variables those on stacks are about.
func (f *againFlags) valuesOf(ctx context.Context, t *cdr.Trace, img *image.Space, res *race.Result) (*written.Observer, error) {
	want := t.Info().Outcome
	if want == nil {
		return nil, errors.New("the trace is incomplete: a second run could not be compared with it")
	}
	writes, pages, ok, err := artifact.RacingWrites(ctx, t, img, res, racingWrites)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errors.New("the racing instructions write too much memory")
	}
	r, std, done, err := f.recording(ctx, t)
	if err != nil {
		return nil, err
	}
	defer done()
	obs := written.New(img, t.Site, writes, pages, stackPlaces(res))
	if _, err := r.Simulate(ctx, std, obs); err != nil {
		return nil, err
	}
	got := obs.Outcome
	if got.Insts != want.Insts || got.Threads != want.Threads || got.Status != want.Status && got.Message == want.Message ||
		!slices.Equal(obs.Insts, t.Info().ThreadInsts) {
		return nil, fmt.Errorf("%w: it ended after %s instructions with status %d, then %s and %d",
			session.ErrOtherRun, numtext.Grouped(want.Insts), want.Status, numtext.Grouped(got.Insts), got.Status)
	}
	return obs, nil
}

// stackPlaces are the locations of races that are on a stack, at the time of a
// plain side of the first instance; for other races, nothing is asked.
func stackPlaces(res *race.Result) []written.Place {
	out := make([]written.Place, len(res.Races))
	for i := range res.Races {
		r := &res.Races[i]
		s := &r.First.Earlier
		if !s.Op.Plain() {
			s = &r.First.Later
		}
		if r.Location.Kind == place.Stack && s.Op.Plain() {
			out[i] = written.Place{Access: artifact.Execution{Thread: s.Thread, Site: s.Site, Ordinal: s.Ordinal}, Owner: r.Location.Thread, Address: r.First.Address}
		}
	}
	return out
}
