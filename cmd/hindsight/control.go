package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/cdr/format"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/app"
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
			return errors.New("--functions, --intraprocedural, --asymmetric and --checkpoint mean nothing without --control app")
		}
		return nil
	}
	if r.Mode == string(format.ModeDOR) {
		return errors.New("--control app: --record dor has no control flow")
	}
	if len(f.functions) > 0 && r.Mode != string(format.ModeCOR) {
		return errors.New("--functions: give --record cor, too: where control flow is left out, accesses have no place")
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
