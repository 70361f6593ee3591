package session

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"hindsight/cdr"
	"hindsight/tracefmt/event"
)

// ValuesOptions say how [AddValues] reruns a program and what it writes.
type ValuesOptions struct {
	Out    string // file of the new trace
	Window Window // the part of the run to keep; zero: all of it
	Root   string // directory that the run saw as /; "": that in the trace
	// Input is the run's standard input; nil: as far as the trace contains it.
	Input io.Reader
	// Inputs are other files that are read. Out must not be one of them.
	Inputs []string

	MaxInsts   uint64 // 0: as many as the run
	MaxMemory  uint64 // of the guest, in bytes; 0: mem.DefaultMaxBytes
	MaxThreads int    // 0: linux.DefaultMaxTasks
	Budget     uint64 // memory of an epoch in bytes; 0: recorder.DefaultBudget

	Beside event.Observer // observes the rerun; may be nil
}

// AddValues reruns the run in t, which is the trace in file, and writes a trace that also
// has values and dependences: the one that recording with [ModeWET] would have written. If
// the rerun differs from the run, the error is [ErrOtherRun] and no file is written.
func AddValues(ctx context.Context, t *cdr.Trace, file string, o ValuesOptions) (*Summary, error) {
	if o.Window.To != 0 && o.Window.To <= o.Window.From {
		return nil, fmt.Errorf("instructions %d to %d: want a first below the last", o.Window.From, o.Window.To)
	}
	r, err := Again(t)
	if err != nil {
		return nil, err
	}
	if o.Root != "" {
		r.Root = o.Root
	}
	r.Out, r.Budget, r.Beside = o.Out, o.Budget, o.Beside
	r.Inputs = append([]string{file}, o.Inputs...)
	if dir := t.ImagesFrom(file); dir != "" {
		r.Images = dir
	}
	r.MaxMemory, r.MaxThreads = o.MaxMemory, o.MaxThreads
	if o.MaxInsts != 0 {
		r.MaxInsts = o.MaxInsts
	}
	if o.Window != (Window{}) {
		r.Window = &o.Window
	}
	r.Accept = func(written string) error { return CheckSame(t, file, written, r.Window) }
	if o.Input == nil {
		in, err := Input(t)
		if err != nil {
			return nil, err
		}
		o.Input = bytes.NewReader(in)
	}
	return r.Record(ctx, Streams{In: o.Input, Out: io.Discard, Err: io.Discard})
}
