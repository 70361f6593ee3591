package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/schedule"
	"hindsight/mpsim/session"
)

// scheduleFlags are the flags of `hindsight run` for schedules as files.
type scheduleFlags struct {
	follow, save string
}

func (f *scheduleFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.follow, "schedule", "", "follow the schedule in `FILE` (docs/replay.md); after its end, --sched applies")
	flags.StringVar(&f.save, "save-schedule", "", "write the schedule of the run to `FILE`")
}

func (f *scheduleFlags) apply(ctx context.Context, r *session.Run) (err error) {
	r.Trail = f.save != ""
	if f.follow != "" {
		r.Inputs = append(r.Inputs, f.follow)
		r.Follow, err = readSchedule(ctx, f.follow)
	}
	return err
}

func readSchedule(ctx context.Context, name string) (*schedule.Schedule, error) {
	f, err := cli.OpenFile(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return schedule.Parse(name, f)
}

// done writes the schedule of a run, and says where it could not follow another.
func (f *scheduleFlags) done(ctx context.Context, std cli.Streams, out *session.Summary, inputs []string) error {
	if out.Diverged != nil {
		fmt.Fprintf(std.Err, "hindsight: %v; the run went on by policy from there\n", out.Diverged)
	}
	if f.save == "" {
		return nil
	}
	return std.WriteTo(ctx, f.save, func(w io.Writer) error { return writeSchedule(w, out.Schedule, out.Image) }, inputs...)
}

// writeSchedule writes a schedule with the places where threads stop.
func writeSchedule(w io.Writer, s *schedule.Schedule, img *image.Space) error {
	return s.Write(w, func(step *schedule.Step) string { return placeName(img, step.At) })
}

// placeName names a place in code: transfer bank.c:42; "" if nothing is known of it.
func placeName(img *image.Space, pc uint64) string {
	if pc == 0 {
		return ""
	}
	for _, f := range img.Frames(pc) {
		switch {
		case f.File != "":
			return fmt.Sprintf("%s %s:%d", f.Function, filepath.Base(f.File), f.Line)
		case f.Function != "":
			return f.Function
		}
	}
	return ""
}

// exportSchedule runs a trace's program a second time for its schedule.
func exportSchedule(ctx context.Context, std cli.Streams, file, out string, again *againFlags) error {
	t, err := cdr.OpenFile(file)
	if err != nil {
		return err
	}
	defer t.Close()
	r, streams, done, err := again.rerun().Run(ctx, t)
	if err != nil {
		return err
	}
	defer done()
	r.Trail = true
	res, err := r.Simulate(ctx, streams, nil)
	if err != nil {
		return err
	}
	if err := sameEnd(t, res); err != nil {
		return err
	}
	return std.WriteTo(ctx, out, func(w io.Writer) error { return writeSchedule(w, res.Schedule, r.Image) }, file)
}

// sameEnd compares the end of a second run with the trace's.
func sameEnd(t *cdr.Trace, res *mpsim.Result) error {
	want := t.Info().Outcome
	switch {
	case want == nil:
		return errors.New("the trace is incomplete: a second run cannot be compared with it")
	case want.Insts != res.Insts || want.Threads != res.Threads:
		return fmt.Errorf("%w: it ended after %d instructions, the trace's run after %d", session.ErrOtherRun, res.Insts, want.Insts)
	}
	return nil
}
