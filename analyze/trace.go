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

// Trace is the open trace of a run. Several goroutines may call its methods at
// once, except Close.
type Trace struct {
	file    string // as reports name it
	path    string // where it is
	scratch bool   // nobody needs the file after Close
	cdr     *cdr.Trace
	left    atomic.Bool // an analysis that did not listen still reads it

	graphs sync.Once // of what follows
	graph  *wet.Graph
	noneOf error

	once   sync.Once // of what follows
	values *values
	err    error
}

// Open opens a trace, a file that hindsight run or mpsim/session.Record wrote. The
// caller closes it. A trace whose recording was cut off can be opened too.
func Open(path string) (*Trace, error) {
	t, err := cdr.OpenFile(path)
	if err != nil {
		return nil, err
	}
	return &Trace{file: path, path: path, cdr: t}, nil
}

// OpenScratch is like [Open], for a temporary file, which Close removes. Reports call
// the trace name.
func OpenScratch(path, name string) (*Trace, error) {
	t, err := Open(path)
	if err == nil {
		t.file, t.scratch = name, true
	}
	return t, err
}

// Close closes the file. Nothing may be asked of the trace after that.
func (t *Trace) Close() error {
	var gone error
	if t.scratch {
		gone = os.Remove(t.path)
	}
	if t.left.Load() {
		return gone // it ends with the process
	}
	t.graphs.Do(func() { t.noneOf = errors.New("the trace is closed") })
	if t.graph != nil {
		return errors.Join(t.graph.Close(), t.cdr.Close(), gone)
	}
	return errors.Join(t.cdr.Close(), gone)
}

// Name returns what reports call the trace: the name of the file that was opened.
func (t *Trace) Name() string { return t.file }

// Recorded returns the recording below the trace: its threads, events, accesses and
// control flow, one at a time. It is for exports, reruns and questions that have no method
// here. The recording is closed with the trace.
func (t *Trace) Recorded() *cdr.Trace { return t.cdr }

// Program returns the program as it was in memory at the end of the run, with its
// symbols and lines.
func (t *Trace) Program() (*image.Space, error) {
	img, err := t.cdr.Space()
	if err != nil {
		return nil, fmt.Errorf("the program in the trace: %w", err)
	}
	return img, nil
}

// UseProgram tells the trace that program holds the executable of the run, so that
// the trace need not decode it: many traces of one program can share it. It must be
// called before other methods.
func (t *Trace) UseProgram(program *image.Space) { t.cdr.UseProgram(program) }

// HasRun reports whether the trace holds anything of its run: nil if it does,
// [ErrNothingRecorded] if the recording was cut off before the first access was
// written, and a [*format.HalfError] if the trace holds only the schedule.
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

// ErrNothingRecorded says that a recording was cut off so early that its trace holds
// nothing of the run.
var ErrNothingRecorded = errors.New("the recording was cut off before its first epoch was written, so nothing is known of the run")

// NoValuesError says that a trace was recorded without values and dependences, which
// the method needs.
type NoValuesError struct{ File string }

func (e *NoValuesError) Error() string {
	return fmt.Sprintf("it was recorded without values and dependences; add them with: hindsight wet %s", e.File)
}

// HasValues returns the number of executed statements whose values and dependences
// the trace holds. If it holds none, the error is a [*NoValuesError].
func (t *Trace) HasValues() (statements uint64, err error) {
	v, err := t.withValues()
	if err != nil {
		return 0, err
	}
	return v.graph.Counts().Stmts, nil
}

// values is what a trace has of values and dependences.
type values struct {
	trace *cdr.Trace
	file  string
	graph *wet.Graph
	img   *image.Space
	flow  *cfg.Program
}

// openGraph opens the whole execution trace in the file. The error is a
// [*NoValuesError] when it has none.
func (t *Trace) openGraph() (*wet.Graph, error) {
	t.graphs.Do(func() {
		t.graph, t.noneOf = wet.Open(t.path, wet.OpenOptions{Evaluate: eval.Inst})
		if errors.Is(t.noneOf, wet.ErrNoGraph) {
			t.noneOf = &NoValuesError{t.file}
		}
	})
	return t.graph, t.noneOf
}

// withValues opens the whole execution trace with the program.
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
