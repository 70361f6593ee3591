package session

import (
	"os"
	"runtime/debug"

	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/mpsim/eval"
	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/tracefmt/event"
	"hindsight/wet"
	"hindsight/wpp/cfg"
)

// ModeNone means that a program runs without being recorded.
const ModeNone = "none"

// ModeWET means a CDR trace that contains a whole execution trace.
const ModeWET = "wet"

// wetShare is the number of quarters of an epoch's memory that are for the graph, which
// holds values and dependences. The rest is for the trace around it.
const wetShare = 3

// wetGarbage is the percentage of garbage to live memory at which the collector runs while
// a graph is recorded. Nearly all live memory is the open epoch, and twice that would be
// more than was requested.
const wetGarbage = 40

// CollectSooner limits garbage until the returned function is called.
func CollectSooner() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	old := debug.SetGCPercent(wetGarbage)
	return func() { debug.SetGCPercent(old) }
}

// wetRecorder builds a whole execution trace whose blocks go into the epochs of a CDR
// trace.
type wetRecorder struct {
	builder *wet.Builder
	queue   wet.Queue
	window  *windowed // nil: the whole run
}

// newWetRecorder returns a recorder that writes into the trace of opts. budget is the
// memory of an epoch in bytes; 0 means the default.
func newWetRecorder(img *image.Space, flow *cfg.Program, budget uint64, part *Window, opts *recorder.Options) (*wetRecorder, error) {
	r := &wetRecorder{}
	var err error
	r.builder, err = wet.NewBuilder(&r.queue, wet.Options{
		Program: flow, Code: img.Code, Evaluate: eval.Inst, CallArgs: linux.CallArgs, Budget: budget / 4 * wetShare,
	})
	if err != nil {
		return nil, err
	}
	if opts.Budget == 0 {
		opts.Budget = recorder.DefaultBudget
	}
	opts.Budget = opts.Budget / 4 * (4 - wetShare)
	if part != nil {
		r.window = newWindow(*part, img, r.builder)
	}
	others := opts.Extra
	opts.Extra = func(end bool) (out []format.Extra) {
		if others != nil {
			out = others(end)
		}
		for _, b := range r.queue.Take() {
			out = append(out, format.Extra{Kind: b.Kind, Thread: b.Thread, Payload: b.Payload})
		}
		return out
	}
	return r, nil
}

// beside returns an observer that calls the graph and then rec. When rec closes an epoch,
// it takes what the graph has.
func (r *wetRecorder) beside(rec event.Observer) event.Observer {
	if r == nil {
		return rec
	}
	if r.window != nil {
		return event.Tee(r.window, rec)
	}
	return event.Tee(r.builder, rec)
}
