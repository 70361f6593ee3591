package analyze

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/mpsim/eval"
	"hindsight/mpsim/image"
	"hindsight/wet"
	"hindsight/wpp/cfg"
)

// Trace is the open trace of a run. Its methods are safe for concurrent use, except
// Close.
type Trace struct {
	file    string // the name in reports
	path    string // the path of the file
	scratch bool   // Close removes the file
	cdr     *cdr.Trace
	left    atomic.Bool // an abandoned analysis still reads the trace

	graphs sync.Once // guards graph and its error
	graph  *wet.Graph
	noneOf error

	once   sync.Once // guards the fields below
	values *values
	err    error
}

// Open opens a trace, which is a file that hindsight run or mpsim/session.Record wrote.
// The caller closes it. Open also accepts a trace whose recording was cut off.
func Open(path string) (*Trace, error) {
	t, err := cdr.OpenFile(path)
	if err != nil {
		return nil, err
	}
	return &Trace{file: path, path: path, cdr: t}, nil
}

// OpenScratch is like [Open], but for a temporary file, which Close removes. name is the
// name of the trace in reports.
func OpenScratch(path, name string) (*Trace, error) {
	t, err := Open(path)
	if err == nil {
		t.file, t.scratch = name, true
	}
	return t, err
}

// Close closes the file. The trace must not be used afterwards.
func (t *Trace) Close() error {
	var gone error
	if t.scratch {
		gone = os.Remove(t.path)
	}
	if t.left.Load() {
		return gone // it is closed when the process ends
	}
	t.graphs.Do(func() { t.noneOf = errors.New("the trace is closed") })
	if t.graph != nil {
		return errors.Join(t.graph.Close(), t.cdr.Close(), gone)
	}
	return errors.Join(t.cdr.Close(), gone)
}

// Name returns the name of the trace in reports, which is the name of the opened file.
func (t *Trace) Name() string { return t.file }

// Recorded returns the recording underlying the trace: its threads, events, accesses and
// control flow. It is for exports, reruns and everything else without a method here. Only
// one goroutine at a time may use it. Closing the trace closes it.
func (t *Trace) Recorded() *cdr.Trace { return t.cdr }

// Program returns the program as it was in memory at the end of the run, with its symbols
// and lines.
func (t *Trace) Program() (*image.Space, error) {
	img, err := t.cdr.Space()
	if err != nil {
		return nil, fmt.Errorf("the program in the trace: %w", err)
	}
	return img, nil
}

// UseProgram sets the executable of the run, so that the trace need not decode it. Many
// traces of one program can share it. UseProgram must be called before other methods.
func (t *Trace) UseProgram(program *image.Space) { t.cdr.UseProgram(program) }

// HasRun returns nil if the trace contains any of its run. Otherwise it returns
// [ErrNothingRecorded] if the recording was cut off before the first access was written,
// or a [*format.HalfError] if the trace has only the schedule.
func (t *Trace) HasRun() error {
	if meta := t.cdr.Info(); meta.Mode == format.ModeSchedule {
		return meta.CheckBothHalves()
	}
	if t.cdr.Info().Complete {
		return nil
	}
	for _, th := range t.cdr.Threads() {
		if th.Accesses > 0 {
			return nil
		}
	}
	return ErrNothingRecorded
}

// ErrNothingRecorded says that a recording was cut off so early that its trace has
// nothing of the run.
var ErrNothingRecorded = errors.New("the recording was cut off before its first epoch was written, so nothing is known of the run")

// NoValuesError says that a trace was recorded without the values and dependences that
// the method needs.
type NoValuesError struct{ File string }

func (e *NoValuesError) Error() string {
	return fmt.Sprintf("it was recorded without values and dependences; add them with: hindsight wet %s", e.File)
}

// HasValues returns the number of executed statements whose values and dependences are in
// the trace. If there are none, the error is a [*NoValuesError].
func (t *Trace) HasValues() (statements uint64, err error) {
	v, err := t.withValues()
	if err != nil {
		return 0, err
	}
	return v.graph.Counts().Stmts, nil
}

// values has the values and dependences of a trace.
type values struct {
	trace *cdr.Trace
	file  string
	graph *wet.Graph
	img   *image.Space
	flow  *cfg.Program
}

// openGraph opens the whole execution trace in the file. If there is none, the error is a
// [*NoValuesError].
func (t *Trace) openGraph() (*wet.Graph, error) {
	t.graphs.Do(func() {
		t.graph, t.noneOf = wet.Open(t.path, wet.OpenOptions{Evaluate: eval.Inst})
		if errors.Is(t.noneOf, wet.ErrNoGraph) {
			t.noneOf = &NoValuesError{t.file}
		}
	})
	return t.graph, t.noneOf
}

// withValues opens the whole execution trace together with the program.
func (t *Trace) withValues() (*values, error) {
	t.once.Do(func() {
		v := &values{trace: t.cdr, file: t.file}
		if v.graph, t.err = t.openGraph(); t.err != nil {
			return
		}
		if v.img, t.err = t.Program(); t.err == nil {
			v.flow = cfg.New(v.img)
			t.values = v
		}
	})
	return t.values, t.err
}
