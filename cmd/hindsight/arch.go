package main

import (
	"errors"

	"github.com/spf13/pflag"

	"hindsight/mpsim/arch"
	"hindsight/mpsim/session"
)

// archQuantum is the quantum of a run with --arch that names none: harts that
// take turns every few dozen instructions meet on lines nearly as they would if
// they ran at once (docs/architecture-model.md has what other quanta give).
const archQuantum = 50

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

// apply makes a recording one with a model, if that is wanted.
func (f *archFlags) apply(r *session.Run) error {
	if !f.on {
		return nil
	}
	if r.Mode == "none" {
		return errors.New("--arch: what the model finds goes into the trace, which --record none does without")
	}
	c := arch.Config{Size: f.size, Ways: f.ways, Line: f.line, Table: f.table, HistoryBits: f.history}
	if c.HistoryBits == 0 {
		c.HistoryBits = -1
	}
	if _, err := arch.New(c); err != nil {
		return err
	}
	if r.Quantum == 0 {
		r.Quantum = archQuantum
	}
	r.Arch = &c
	return nil
}
