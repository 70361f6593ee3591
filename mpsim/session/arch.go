package session

import (
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/mpsim/arch"
	"hindsight/tracefmt"
	"hindsight/tracefmt/archinfo"
	"hindsight/tracefmt/event"
)

// ModelQuantum is the quantum, in instructions, that [Run.Model] chooses. Harts that take
// turns every few dozen instructions share cache lines nearly as they would if they ran at
// the same time (docs/architecture-model.md compares other quanta).
const ModelQuantum = 50

// Model adds a model of caches and branch predictors to r. If r has no quantum, it gets
// [ModelQuantum]. The error says what is wrong with c.
func (r *Run) Model(c arch.Config) error {
	if _, err := arch.New(c); err != nil {
		return err
	}
	if r.Quantum == 0 {
		r.Quantum = ModelQuantum
	}
	r.Arch = &c
	return nil
}

// archRecorder writes the results of a model into the trace: the history bits of each epoch
// and the counts so far. Only the last summary has all lines.
type archRecorder struct {
	model   *arch.Model
	history []*archinfo.HistoryEncoder // by thread
}

// epochLines is the number of lines in the summary of an epoch.
const epochLines = 64

// newArchRecorder returns a model that writes into the trace of opts, or nil if cfg is nil.
func newArchRecorder(cfg *arch.Config, opts *recorder.Options) (*archRecorder, error) {
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

// beside returns an observer that calls the model, if there is one, and then rec. In this
// order, the blocks of an epoch contain all that the model has for the epoch.
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

// extra is used as recorder.Options.Extra of a recording.
func (r *archRecorder) extra(end bool) []format.Extra {
	lines := archinfo.MaxLines
	var out []format.Extra
	if !end {
		lines = epochLines
		r.model.Flush()
		for t, h := range r.history {
			if !h.Empty() {
				out = append(out, format.Extra{Kind: tracefmt.KindArch, Thread: uint32(t), Payload: h.Payload()})
			}
		}
	}
	return append(out, format.Extra{Kind: tracefmt.KindArchSummary, Payload: r.model.Result(lines).Encode()})
}

// archConfig returns the configuration of the model that wrote a summary.
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
