package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hindsight/cdr/format"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/arch"
	"hindsight/mpsim/image"
	"hindsight/mpsim/schedule"
	"hindsight/mpsim/session"
	"hindsight/mpsim/steer"
	"hindsight/tracefmt/app"
	"hindsight/tracefmt/outfile"
)

// controlFlags are the flags of `hindsight run` that say how control flow
// is stored in the trace.
type controlFlags struct {
	control         string
	intraprocedural bool
	asymmetric      bool
	checkpoint      uint64
	functions       []string
}

var controlModes = []string{string(format.ControlWPP), string(format.ControlAPP)}

func (f *controlFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.control, "control", "wpp", "form of the control flow: wpp (grammars of paths), or app (branch directions; grammars are built when the trace is read)")
	flags.BoolVar(&f.intraprocedural, "intraprocedural", false, "with --control app: predict branches only from branches of the same function")
	flags.BoolVar(&f.asymmetric, "asymmetric", false, "with --control app: encode indirect jumps as target numbers, not as comparisons")
	flags.Uint64Var(&f.checkpoint, "checkpoint", 0, "with --control app: write a checkpoint every `N` blocks, where reading can begin (0: only where epochs begin)")
	flags.StringSliceVar(&f.functions, "functions", nil, "with --control app --record cor: record the control flow of only the functions `NAME,…`; all events are recorded")
	cli.Complete(cmd, "control", controlModes...)
}

// apply checks the flags.
func (f *controlFlags) apply(r *session.Run) error {
	if !slices.Contains(controlModes, f.control) {
		return fmt.Errorf("--control %q: want one of %s", f.control, strings.Join(controlModes, ", "))
	}
	r.Control = format.Control(f.control)
	if r.Control == format.ControlWPP {
		r.Control = ""
		if f.intraprocedural || f.asymmetric || f.checkpoint != 0 || len(f.functions) > 0 {
			return errors.New("--functions, --intraprocedural, --asymmetric and --checkpoint need --control app")
		}
		return nil
	}
	if r.Mode == string(format.ModeDOR) {
		return errors.New("--control app: --record dor records no control flow")
	}
	if len(f.functions) > 0 && r.Mode != string(format.ModeCOR) {
		return errors.New("--functions needs --record cor: an access has no place where control flow is left out")
	}
	r.Choose = f.functions
	if f.checkpoint > 1<<40 {
		return fmt.Errorf("--checkpoint %d: too far apart", f.checkpoint)
	}
	r.APP = app.Improved()
	r.APP.Checkpoint = int(f.checkpoint)
	if f.intraprocedural {
		r.APP.Intraprocedural, r.APP.Repeats = true, false
	}
	if f.asymmetric {
		r.APP.Scheme = app.Asymmetric
	}
	return nil
}

// archFlags are the flags of `hindsight run` that describe the modelled machine.
type archFlags struct {
	on      bool
	size    int
	ways    int
	line    int
	table   int
	history int
}

func (f *archFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "arch", false, "model caches and branch predictors; see hindsight sharing")
	flags.IntVar(&f.size, "arch-cache", arch.DefaultSize, "with --arch: size of a hart's L1 data cache in `BYTES`")
	flags.IntVar(&f.ways, "arch-ways", arch.DefaultWays, "with --arch: ways of a cache set")
	flags.IntVar(&f.line, "arch-line", arch.DefaultLine, "with --arch: size of a cache line in `BYTES`")
	flags.IntVar(&f.table, "arch-predictor", arch.DefaultTable, "with --arch: number of `COUNTERS` in a hart's gshare predictor")
	flags.IntVar(&f.history, "arch-history", arch.DefaultHistoryBits, "with --arch: number of `BITS` of global branch history")
}

// apply adds the model to a recording, if it is wanted.
func (f *archFlags) apply(r *session.Run) error {
	if !f.on {
		return nil
	}
	if r.Mode == "none" {
		return errors.New("--arch writes its results into the trace, and --record none writes no trace")
	}
	c := arch.Config{Size: f.size, Ways: f.ways, Line: f.line, Table: f.table, HistoryBits: f.history}
	if c.HistoryBits == 0 {
		c.HistoryBits = -1
	}
	return r.Model(c)
}

// scheduleFlags are the flags of `hindsight run` about schedules in files.
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

// check returns the error that writing the schedule would cause, before the run.
func (f *scheduleFlags) check(std cli.Streams, r *session.Run) error {
	program := func() (*image.Space, error) { return r.Image, nil }
	return errors.Join(outfile.Check(f.save, std.Besides(r.Inputs...)), checkSources(program, nil, f.save))
}

// done writes the schedule of a run, and prints where the run could not follow another
// schedule.
func (f *scheduleFlags) done(ctx context.Context, std cli.Streams, out *session.Summary, inputs []string) error {
	if out.Diverged != nil {
		fmt.Fprintf(std.Err, "hindsight: %v; from there on, the run followed --sched\n", out.Diverged)
	}
	if f.save == "" {
		return nil
	}
	return std.WriteTo(ctx, f.save, func(w io.Writer) error { return steer.WriteSchedule(w, out.Schedule, out.Image) }, inputs...)
}
