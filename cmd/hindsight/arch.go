package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"hindsight/cdr"
	"hindsight/mpsim/arch"
	"hindsight/tracefmt"
	"hindsight/tracefmt/archinfo"
	"hindsight/tracefmt/event"
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
	flags.IntVar(&f.size, "arch-cache", arch.DefaultSize, "with --arch: `BYTES` of a hart's L1 data cache")
	flags.IntVar(&f.ways, "arch-ways", arch.DefaultWays, "with --arch: ways of a cache set")
	flags.IntVar(&f.line, "arch-line", arch.DefaultLine, "with --arch: `BYTES` of a cache line")
	flags.IntVar(&f.table, "arch-predictor", arch.DefaultTable, "with --arch: `COUNTERS` of a hart's gshare predictor")
	flags.IntVar(&f.history, "arch-history", arch.DefaultHistoryBits, "with --arch: `BITS` of global branch history")
}

// apply makes a recording one with a model, if that is wanted.
func (f *archFlags) apply(r *recording) error {
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

// archRecorder puts what a model finds into the trace: the history bits of each
// epoch, and what it found so far, in short until the run ends.
type archRecorder struct {
	model   *arch.Model
	history []*archinfo.HistoryEncoder // by thread
}

// epochLines is how many lines the summary of an epoch has.
const epochLines = 64

// newArchRecorder makes a model that writes into the trace of opts; nil when
// there is to be none.
func newArchRecorder(cfg *arch.Config, opts *cdr.Options) (*archRecorder, error) {
	if cfg == nil {
		return nil, nil
	}
	r, c := &archRecorder{}, *cfg
	c.History = r
	opts.Extra = r.extra
	var err error
	r.model, err = arch.New(c)
	return r, err
}

// beside is what observes a run for the model, if there is one, and for rec,
// which hears everything after it: an epoch's blocks then hold all that the
// model knows of the epoch.
func (r *archRecorder) beside(rec event.Observer) event.Observer {
	if r == nil {
		return rec
	}
	return event.Tee(r.model, rec)
}

// Append implements [arch.History].
func (r *archRecorder) Append(t event.ThreadID, s arch.Stream, bits []uint64, n int) {
	for int(t) >= len(r.history) {
		r.history = append(r.history, new(archinfo.HistoryEncoder))
	}
	r.history[t].Append(archinfo.Stream(s), bits, n)
}

// extra is the cdr.Options.Extra of a recording.
func (r *archRecorder) extra(end bool) []cdr.Extra {
	lines := archinfo.MaxLines
	var out []cdr.Extra
	if !end {
		lines = epochLines
		r.model.Flush()
		for t, h := range r.history {
			if !h.Empty() {
				out = append(out, cdr.Extra{Kind: tracefmt.KindArch, Thread: uint32(t), Payload: h.Payload()})
			}
		}
	}
	return append(out, cdr.Extra{Kind: tracefmt.KindArchSummary, Payload: archSummary(r.model.Result(lines)).Encode()})
}

// archSummary is a result in the terms of the trace.
func archSummary(r *arch.Result) *archinfo.Summary {
	s := &archinfo.Summary{
		Config: archinfo.Config{
			Size: uint64(r.Config.Size), Ways: uint64(r.Config.Ways), Line: uint64(r.Config.Line),
			Table: uint64(r.Config.Table), HistoryBits: uint64(r.Config.HistoryBits), Granule: uint64(r.Granule),
		},
		Touched: r.Touched, SharedLines: r.SharedLines, Dropped: r.Dropped,
	}
	for _, h := range r.Harts {
		s.Harts = append(s.Harts, archinfo.HartCounts(h))
	}
	for i := range r.Lines {
		l := &r.Lines[i]
		out := archinfo.Line{Address: l.Address, LineCounts: archinfo.LineCounts(l.LineCounts), First: l.First, Last: l.Last}
		for _, t := range l.Threads {
			out.Threads = append(out.Threads, archinfo.Touch{
				Thread: t.Thread, Read: t.Read, Written: t.Written, TouchCounts: archinfo.TouchCounts(t.TouchCounts),
			})
		}
		for _, w := range l.Words {
			out.Words = append(out.Words, archinfo.Word{Index: w.Index, WordCounts: archinfo.WordCounts(w.WordCounts)})
		}
		for _, at := range l.Sites {
			out.Sites = append(out.Sites, archinfo.Site(at))
		}
		s.Lines = append(s.Lines, out)
	}
	return s
}

// archConfig is the model that a summary is of.
func archConfig(s *archinfo.Summary) *arch.Config {
	c := &arch.Config{
		Size: int(s.Config.Size), Ways: int(s.Config.Ways), Line: int(s.Config.Line),
		Table: int(s.Config.Table), HistoryBits: int(s.Config.HistoryBits),
	}
	if c.HistoryBits == 0 {
		c.HistoryBits = -1
	}
	return c
}

// readArchSummary gives the last summary in a trace; nil when it has none.
func readArchSummary(t *cdr.Trace) (*archinfo.Summary, error) {
	var last []byte
	for x, err := range t.Extras(tracefmt.KindArchSummary) {
		if err != nil {
			return nil, err
		}
		last = x.Payload
	}
	if last == nil {
		return nil, nil
	}
	return archinfo.DecodeSummary(last)
}

// verifyArch reads everything that a model left in a trace, and holds the
// history bits of a complete one against its counts: a bit for every load,
// store and conditional branch, and as many ones as were missed. A trace
// without a model is sound.
func verifyArch(t *cdr.Trace) error {
	s, err := readArchSummary(t)
	if err != nil || s == nil {
		return err
	}
	history := make([][archinfo.NumStreams]historySum, len(s.Harts))
	for x, err := range t.Extras(tracefmt.KindArch) {
		if err != nil {
			return err
		}
		if int(x.Thread) >= len(history) {
			return fmt.Errorf("history of thread %d of %d: %w", x.Thread, len(history), archinfo.ErrMalformed)
		}
		h, err := archinfo.DecodeHistory(x.Payload)
		if err != nil {
			return err
		}
		for st := range archinfo.Stream(archinfo.NumStreams) {
			for bit, err := range h.Bits(st) {
				if err != nil {
					return err
				}
				history[x.Thread][st].add(bit)
			}
		}
	}
	if !t.Info().Complete {
		return nil // history may run ahead of what was committed
	}
	atomics := make([]uint64, len(s.Harts))
	for e, err := range t.Events() {
		if err != nil {
			return err
		}
		if e.Kind.Info().Class == event.ClassAtomic && e.Kind != event.Fence && int(e.Thread) < len(atomics) {
			atomics[e.Thread]++
		}
	}
	for _, th := range t.Threads() {
		if int(th.ID) >= len(s.Harts) {
			return fmt.Errorf("no counts of thread %d: %w", th.ID, archinfo.ErrMalformed)
		}
		if !agrees(&s.Harts[th.ID], &history[th.ID], th.Accesses+atomics[th.ID]) {
			return fmt.Errorf("history bits of thread %d differ from its counts: %w", th.ID, archinfo.ErrMalformed)
		}
	}
	return nil
}

// historySum counts the bits of a stream and the ones among them.
type historySum struct{ bits, ones uint64 }

func (h *historySum) add(bit bool) {
	h.bits++
	if bit {
		h.ones++
	}
}

// agrees says whether the history of a thread can belong to its counts. Counts
// are of lines, so that an access that crosses two counts twice.
func agrees(k *archinfo.HartCounts, h *[archinfo.NumStreams]historySum, accesses uint64) bool {
	loads, stores, branches := h[archinfo.Loads], h[archinfo.Stores], h[archinfo.Branches]
	return branches == historySum{k.Branches, k.Mispredicted} && loads.bits+stores.bits == accesses &&
		loads.bits <= k.Loads && stores.bits <= k.Stores && loads.ones <= k.LoadMisses && stores.ones <= k.StoreMisses
}
