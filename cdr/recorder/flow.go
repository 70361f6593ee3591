package recorder

import (
	"bytes"
	"fmt"

	"hindsight/cdr/format"
	"hindsight/tracefmt"
	"hindsight/tracefmt/app"
	"hindsight/tracefmt/event"
)

// flowFactor weighs a byte of a flow stream against the budget. It is about the memory of
// the grammar that is built from that byte.
const flowFactor = 64

// flowRec records the control flow of one thread in the open epoch as
// arithmetic program paths.
type flowRec struct {
	format.Flow
	enc   *app.Encoder
	out   bytes.Buffer
	shell format.FlowShell
	ids   map[format.Mark]int
	size  int64  // of the stream, as counted for the budget
	count uint64 // block executions
}

// point notes a checkpoint, if the last name began with one.
func (f *flowRec) point() {
	if f.enc.Checkpoints() > len(f.Points) {
		f.Points = append(f.Points, f.count)
	}
}

// flowing returns the thread's flow in this epoch. It must be called before the
// call stack changes.
func (t *threadRec) flowing() (*flowRec, error) {
	if t.flow != nil {
		return t.flow, nil
	}
	p := t.rec.paths
	f := &flowRec{Flow: format.Flow{Stack: append([]uint64(nil), t.stack.Frames...), Pending: t.pending}, ids: map[format.Mark]int{}}
	f.shell = format.FlowShell{Shell: format.Shell{Program: p.program}, Codes: p.codeEnd}
	var err error
	if f.enc, err = app.NewEncoder(&f.out, &f.shell, t.rec.opts.Flow); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	t.flow = f
	return f, nil
}

// codeEnd returns how a block of the tables ends.
func (p *paths) codeEnd(id uint64) (format.CodeEnd, bool) {
	if id >= uint64(len(p.codes)) {
		return format.CodeEnd{}, false
	}
	return format.CodeEnd{Next: p.codes[id].Next, End: p.codes[id].End}, true
}

// name returns the name of a code block in flows.
func (p *paths) name(id uint32) uint64 {
	if c := &p.codes[id]; c.static != nil {
		return c.PC
	}
	return format.NameOfCode(id)
}

// flowStep records one block of the simulator; see step.
func (t *threadRec) flowStep(id uint32) error {
	f, err := t.flowing()
	if err != nil {
		return err
	}
	b := &t.rec.paths.sims[id]
	if t.pending {
		t.resolve(b.pc)
	}
	if t.away {
		if err := t.flowAlign(); err != nil {
			return err
		}
	}
	for _, name := range b.names {
		if err := f.enc.Block(name); err != nil {
			return fmt.Errorf("record: %w", err)
		}
		f.point()
		f.count++
	}
	if f.count >= format.MaxFlowBlocks {
		t.rec.due = true
	}
	t.leave(b)
	return nil
}

// leave follows the call or return at the end of a block.
func (t *threadRec) leave(b *simBlock) {
	switch b.end {
	case event.EndCall, event.EndCallInd:
		t.call(b.next)
	case event.EndReturn:
		t.pending = true
	}
}

// flowSkip follows the calls and returns of a block that is not recorded.
func (t *threadRec) flowSkip(b *simBlock) {
	if t.flow != nil && (!t.away || t.kept) {
		t.away, t.kept, t.settle = true, false, t.pending
		t.seen = append(t.seen[:0], t.frames()...)
	}
	if t.pending {
		t.resolve(b.pc)
	}
	t.leave(b)
}

// flowAlign writes the marks for what code that is not recorded did to the call stack.
func (t *threadRec) flowAlign() error {
	now, same := t.frames(), 0
	for same < len(now) && same < len(t.seen) && now[same] == t.seen[same] {
		same++
	}
	if n := len(t.seen) - same; n > 0 || t.settle && same == len(now) {
		if err := t.mark(format.Mark{Kind: format.MarkPop, A: uint64(n)}); err != nil {
			return err
		}
	}
	for _, frame := range now[same:] {
		if err := t.mark(format.Mark{Kind: format.MarkPush, A: frame}); err != nil {
			return err
		}
	}
	t.away, t.settle = false, false
	return nil
}

// flowKept follows an event in code that is not recorded: the reader completes a pending
// return there.
func (t *threadRec) flowKept() {
	if t.rec.paths.chosen != nil && t.pending {
		t.away, t.kept, t.settle = true, true, false
		t.seen = append(t.seen[:0], t.frames()...)
	}
}

// flowMark records an event, before the call stack follows it.
func (t *threadRec) flowMark(e *event.Event) error {
	if _, err := t.flowing(); err != nil {
		return err
	}
	switch e.Kind {
	case event.Unwound:
		if t.away {
			return nil // a later mark describes the stack as it is then
		}
		return t.mark(format.Mark{Kind: format.MarkUnwound, A: e.Arg})
	case event.Rewound:
		if t.away {
			return nil
		}
		return t.mark(format.Mark{Kind: format.MarkRewound, A: e.Obj})
	}
	if t.away {
		if err := t.flowAlign(); err != nil {
			return err
		}
	}
	x := format.SyncTerm(e.PC, e.Kind, e.Mode&event.Returns != 0)
	return t.mark(format.Mark{Kind: format.MarkEvent, A: x.A, B: x.B})
}

// mark adds a mark to the stream.
func (t *threadRec) mark(m format.Mark) error {
	f := t.flow
	i, ok := f.ids[m]
	if !ok {
		i = len(f.Marks)
		f.ids[m] = i
		f.Marks = append(f.Marks, m)
		f.shell.Marks = f.Marks
		t.rec.grow(format.TermBytes)
	}
	if err := f.enc.Block(format.NameOfMark(i)); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	f.point()
	return nil
}

// flowGrow adds the growth of the stream since the last call to the memory of the epoch.
func (t *threadRec) flowGrow() {
	if f := t.flow; f != nil {
		size := f.enc.Size()
		t.rec.grow(uint64(size-f.size) * flowFactor)
		f.size = size
	}
}

// writeFlow writes the flow block of the open epoch.
func (t *threadRec) writeFlow() error {
	f, err := t.flowing()
	if err != nil {
		return err
	}
	if err := f.enc.Close(); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	f.Stream = f.out.Bytes()
	return t.rec.w.Append(tracefmt.KindFlow, uint32(t.id), f.Encode())
}
