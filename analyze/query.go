package analyze

import (
	"fmt"
	"iter"
	"path"
	"strconv"

	"hindsight/analyze/slice"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// Query says what [Trace.ControlFlow], [Trace.Values], [Trace.Addrs] and [Trace.Writes]
// look for. They need a trace with values. If it has none, the error is a
// [*NoValuesError].
type Query struct {
	// At is the place: for Values and Addrs a line or a function, for Writes a
	// variable or an address.
	At string
	// Thread is the thread whose executions count, as T2 or 2. "" means all threads.
	Thread string
	// From is the thread's time at which ControlFlow begins. nil means its first time, or
	// its last time if Backward is set.
	From *uint64
	// Backward makes ControlFlow go backward in time.
	Backward bool
	// Size is the number of bytes, from the address on, that Writes considers. 0 means
	// the size of the variable.
	Size uint64
}

// Moment says when and where in the program something happened. The time of a thread
// counts the acyclic paths that it executed, from 0.
type Moment struct {
	Thread event.ThreadID
	Time   uint64 // of the thread
	PC     uint64 // of the instruction, or of a path's first block
	Place  string // "transfer bank.c:40"
}

// PathStep is an execution of an acyclic path by a thread, or something that
// happened outside paths, such as a call of a hooked function.
type PathStep struct {
	Moment
	K      uint64   // earlier executions of the path by the thread
	Blocks []uint64 // addresses of the path's basic blocks; nil outside paths, where Place describes the event
}

// ValueStep is a value that an instruction wrote to a register.
type ValueStep struct {
	Moment
	Value uint64
}

// AccessStep is an access to memory.
type AccessStep struct {
	Moment
	Address uint64
	Size    uint8  // in bytes
	Object  string // from Addrs: what is at the address, or "" if that is unknown
	// Value, from Writes, is the written value. HasValue is false if it is not in the
	// trace.
	Value    uint64
	HasValue bool
}

// ControlFlow returns the paths that a thread executed, in the order of the run or
// backward. If q names no thread, it returns those of all threads, one thread after the
// other.
func (t *Trace) ControlFlow(q Query) iter.Seq2[PathStep, error] {
	return func(yield func(PathStep, error) bool) {
		a, err := t.ask(q)
		if err != nil {
			yield(PathStep{}, err)
			return
		}
		for _, th := range a.graph.Threads() {
			if a.thread != slice.AllThreads && th.ID != event.ThreadID(a.thread) || th.Times == 0 {
				continue
			}
			from := uint64(0)
			if q.From != nil {
				from = *q.From
			} else if q.Backward {
				from = th.Times - 1
			}
			if from >= th.Times {
				yield(PathStep{}, optionErrorf("from", strconv.FormatUint(from, 10), "T%d has times 0 to %d", th.ID, th.Times-1))
				return
			}
			for e, err := range slice.ControlFlow(a.graph, th.ID, from, q.Backward) {
				if !yield(a.path(a.graph, th.ID, e), err) || err != nil {
					return
				}
			}
		}
	}
}

// Values returns the values that a place wrote to registers, in the order of the run.
func (t *Trace) Values(q Query) iter.Seq2[ValueStep, error] {
	return answers(t.code, q, func(a *asked) iter.Seq2[slice.Produced, error] {
		return slice.ValuesAt(a.graph, a.target.PCs, a.thread)
	}, func(a *asked, p slice.Produced) ValueStep {
		return ValueStep{Moment{p.Thread, p.Time, p.PC, a.place(p.PC)}, p.Value}
	})
}

// Addrs returns the addresses that a place accessed, in the order of the run.
func (t *Trace) Addrs(q Query) iter.Seq2[AccessStep, error] {
	return answers(t.code, q, func(a *asked) iter.Seq2[slice.Touched, error] {
		return slice.AddrsAt(a.graph, a.target.PCs, a.thread)
	}, func(a *asked, p slice.Touched) AccessStep {
		return AccessStep{Moment: Moment{p.Thread, p.Time, p.PC, a.place(p.PC)}, Address: p.Addr, Size: p.Size,
			Object: a.values.img.ObjectPathSize(p.Addr, uint64(p.Size))}
	})
}

// Writes returns the writes to a variable or an address, in the order of the run.
func (t *Trace) Writes(q Query) iter.Seq2[AccessStep, error] {
	return answers(t.memory, q, func(a *asked) iter.Seq2[slice.Write, error] {
		return func(yield func(slice.Write, error) bool) {
			for w, err := range slice.WritesTo(a.graph, a.target.Addr, a.target.Size) {
				if err == nil && a.thread != slice.AllThreads && w.Thread != event.ThreadID(a.thread) {
					continue
				}
				if !yield(w, err) {
					return
				}
			}
		}
	}, func(a *asked, w slice.Write) AccessStep {
		return AccessStep{Moment: Moment{w.Thread, w.Time, w.PC, a.place(w.PC)}, Address: w.Addr, Size: w.Size, Value: w.Value, HasValue: w.HasValue}
	})
}

// asked is a parsed query.
type asked struct {
	*values
	placer
	thread int // a thread, or slice.AllThreads
	target *slice.Target
}

// answers evaluates a query. It parses the query, calls list, and converts each result.
// It ends after the first error.
func answers[T, S any](understand func(Query) (*asked, error), q Query, list func(*asked) iter.Seq2[T, error], words func(*asked, T) S) iter.Seq2[S, error] {
	return func(yield func(S, error) bool) {
		var none S
		a, err := understand(q)
		if err != nil {
			yield(none, err)
			return
		}
		for x, err := range list(a) {
			if err != nil {
				yield(none, err)
				return
			}
			if !yield(words(a, x), nil) {
				return
			}
		}
	}
}

// ask opens what a query needs, and parses its thread.
func (t *Trace) ask(q Query) (*asked, error) {
	v, err := t.withValues()
	if err != nil {
		return nil, err
	}
	a := &asked{values: v, placer: placer{v.img, map[uint64]string{}}}
	a.thread, err = v.thread(q.Thread)
	return a, err
}

// resolve is ask for a query about a place.
func (t *Trace) resolve(q Query) (*asked, error) {
	a, err := t.ask(q)
	if err != nil {
		return nil, err
	}
	if a.target, err = slice.NewResolver(a.values.img).Resolve(a.graph, q.At); err != nil {
		return nil, specError(err)
	}
	return a, nil
}

// code is resolve for a query about code.
func (t *Trace) code(q Query) (*asked, error) {
	a, err := t.resolve(q)
	if err == nil && len(a.target.PCs) == 0 {
		err = &KindError{At: q.At, Variable: true}
	}
	return a, err
}

// memory is resolve for a query about memory.
func (t *Trace) memory(q Query) (*asked, error) {
	a, err := t.resolve(q)
	if err != nil {
		return nil, err
	}
	if a.target.Size == 0 {
		return nil, &KindError{At: q.At}
	}
	if q.Size > 0 {
		a.target.Size = q.Size
	}
	return a, nil
}

// placer names instructions, and caches the names.
type placer struct {
	img   *image.Space
	names map[uint64]string
}

// place returns the line of an instruction, or its function.
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
