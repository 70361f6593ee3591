package analyze

import (
	"fmt"
	"iter"
	"path"

	"hindsight/analyze/slice"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// Query says what a query is about. All queries need a trace with values, else
// the error is a [*NoValuesError]; what they return is in the order of the run,
// thread by thread.
type Query struct {
	// At is the place that is asked about, for [Trace.Values] and [Trace.Addrs] a
	// line or a function, for [Trace.Writes] a variable or an address.
	At string
	// Thread is whose executions: T2 or 2; "": of all threads.
	Thread string
	// From is the time of the thread to begin at, for [Trace.ControlFlow]; nil: its
	// first, or going back its last.
	From *uint64
	// Backward goes back in time, for [Trace.ControlFlow].
	Backward bool
	// Size is how many bytes from the address on, for [Trace.Writes]; 0: those of
	// the variable.
	Size uint64
}

// Moment is what all answers have: when, and where in the program.
type Moment struct {
	Thread event.ThreadID
	Time   uint64 // of the thread: the number of the path execution
	PC     uint64 // of the instruction; of a path, of its first block
	Place  string // function file:line
}

// PathStep is a path that a thread executed, or what happened outside of paths.
type PathStep struct {
	Moment
	K      uint64   // how often the thread had executed it before
	Blocks []uint64 // addresses of the path's basic blocks; nil: Place says what it was
}

// ValueStep is a value that an instruction left in a register.
type ValueStep struct {
	Moment
	Value uint64
}

// AccessStep is an access to memory.
type AccessStep struct {
	Moment
	Address uint64
	Size    uint8  // bytes
	Object  string // what is there, "" if unknown; of [Trace.Addrs]
	// Value is what was written, of [Trace.Writes], where the trace has it.
	Value    uint64
	HasValue bool
}

// ControlFlow returns the paths that a thread executed, or all threads, one after
// the other.
func (t *Trace) ControlFlow(q Query) iter.Seq2[PathStep, error] {
	return func(yield func(PathStep, error) bool) {
		v, one, err := t.ask(q)
		if err != nil {
			yield(PathStep{}, err)
			return
		}
		at := placer{v.img, map[uint64]string{}}
		for _, th := range v.graph.Threads() {
			if one != slice.AllThreads && th.ID != event.ThreadID(one) || th.Times == 0 {
				continue
			}
			from := uint64(0)
			if q.From != nil {
				from = *q.From
			} else if q.Backward {
				from = th.Times - 1
			}
			if from >= th.Times {
				yield(PathStep{}, fmt.Errorf("--from %d: T%d has times 0 to %d", from, th.ID, th.Times-1))
				return
			}
			for e, err := range slice.ControlFlow(v.graph, th.ID, from, q.Backward) {
				if !yield(at.path(v.graph, th.ID, e), err) || err != nil {
					return
				}
			}
		}
	}
}

// Values returns what a place left in registers.
func (t *Trace) Values(q Query) iter.Seq2[ValueStep, error] {
	return func(yield func(ValueStep, error) bool) {
		v, thread, target, err := t.code(q)
		if err != nil {
			yield(ValueStep{}, err)
			return
		}
		at := placer{v.img, map[uint64]string{}}
		for p, err := range slice.ValuesAt(v.graph, target.PCs, thread) {
			if !yield(ValueStep{Moment{p.Thread, p.Time, p.PC, at.place(p.PC)}, p.Value}, err) || err != nil {
				return
			}
		}
	}
}

// Addrs returns what a place accessed.
func (t *Trace) Addrs(q Query) iter.Seq2[AccessStep, error] {
	return func(yield func(AccessStep, error) bool) {
		v, thread, target, err := t.code(q)
		if err != nil {
			yield(AccessStep{}, err)
			return
		}
		at := placer{v.img, map[uint64]string{}}
		for p, err := range slice.AddrsAt(v.graph, target.PCs, thread) {
			step := AccessStep{Moment: Moment{p.Thread, p.Time, p.PC, at.place(p.PC)}, Address: p.Addr, Size: p.Size}
			if err == nil {
				step.Object = v.img.ObjectPathSize(p.Addr, uint64(p.Size))
			}
			if !yield(step, err) || err != nil {
				return
			}
		}
	}
}

// Writes returns who wrote a variable or an address.
func (t *Trace) Writes(q Query) iter.Seq2[AccessStep, error] {
	return func(yield func(AccessStep, error) bool) {
		v, thread, target, err := t.memory(q)
		if err != nil {
			yield(AccessStep{}, err)
			return
		}
		at := placer{v.img, map[uint64]string{}}
		for w, err := range slice.WritesTo(v.graph, target.Addr, target.Size) {
			if err == nil && thread != slice.AllThreads && w.Thread != event.ThreadID(thread) {
				continue
			}
			step := AccessStep{Moment: Moment{w.Thread, w.Time, w.PC, at.place(w.PC)}, Address: w.Addr, Size: w.Size, Value: w.Value, HasValue: w.HasValue}
			if !yield(step, err) || err != nil {
				return
			}
		}
	}
}

// ask opens what a query needs, and reads its thread.
func (t *Trace) ask(q Query) (*values, int, error) {
	v, err := t.withValues()
	if err != nil {
		return nil, 0, err
	}
	thread, err := v.thread(q.Thread)
	return v, thread, err
}

// code is ask of a query about code.
func (t *Trace) code(q Query) (*values, int, *slice.Target, error) {
	v, thread, err := t.ask(q)
	if err != nil {
		return nil, 0, nil, err
	}
	target, err := slice.NewResolver(v.img).Resolve(v.graph, q.At)
	if err != nil {
		return nil, 0, nil, specError(err)
	}
	if len(target.PCs) == 0 {
		return nil, 0, nil, fmt.Errorf("%s is a variable; ask who wrote it (query writes --to %s), or give a line or a function", q.At, q.At)
	}
	return v, thread, target, nil
}

// memory is ask of a query about memory.
func (t *Trace) memory(q Query) (*values, int, *slice.Target, error) {
	v, thread, err := t.ask(q)
	if err != nil {
		return nil, 0, nil, err
	}
	target, err := slice.NewResolver(v.img).Resolve(v.graph, q.At)
	if err != nil {
		return nil, 0, nil, specError(err)
	}
	if target.Size == 0 {
		return nil, 0, nil, fmt.Errorf("%s is code; ask what it produced (query values --at %s), or give a variable or an address", q.At, q.At)
	}
	if q.Size > 0 {
		target.Size = q.Size
	}
	return v, thread, target, nil
}

// placer names instructions, each once.
type placer struct {
	img   *image.Space
	names map[uint64]string
}

// place names an instruction by its line, or its function.
func (p *placer) place(pc uint64) string {
	if s, ok := p.names[pc]; ok {
		return s
	}
	s := fmt.Sprintf("%#x", pc)
	if frames := p.img.Frames(pc); len(frames) > 0 {
		s = frames[0].Function
		if frames[0].Line > 0 {
			s += fmt.Sprintf(" %s:%d", path.Base(frames[0].File), frames[0].Line)
		}
	}
	p.names[pc] = s
	return s
}

func (p *placer) path(g *wet.Graph, th event.ThreadID, e wet.Execution) PathStep {
	n := g.Node(e.Node)
	step := PathStep{Moment: Moment{Thread: th, Time: e.Time}, K: e.K}
	if n.Kind != wet.NodePath {
		step.Place = n.Kind.String()
		if s, ok := p.img.Func(n.Callee); ok && n.Kind == wet.NodeCall {
			step.Place += " of " + s.Demangled()
		}
		return step
	}
	for _, b := range n.Blocks {
		step.Blocks = append(step.Blocks, b.PC)
	}
	step.PC = n.Blocks[0].PC
	step.Place = p.place(step.PC)
	return step
}
