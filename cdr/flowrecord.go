package cdr

import (
	"bytes"
	"fmt"

	"hindsight/tracefmt"
	"hindsight/tracefmt/app"
	"hindsight/tracefmt/event"
)

const (
	// flowFactor is what a byte of a flow stream counts for the budget: about
	// the memory of the grammar that it will be played back into.
	flowFactor = 64
	// maxFlowBlocks bounds the block executions of a thread in an epoch, and so
	// how long playing one back takes.
	maxFlowBlocks = 1 << 26
)

// flowRec records the control flow of one thread in the open epoch as
// arithmetic program paths.
type flowRec struct {
	flow
	enc   *app.Encoder
	out   bytes.Buffer
	shell flowShell
	ids   map[mark]int
	size  int64  // of the stream, as counted for the budget
	count uint64 // blocks
}

// point notes where a checkpoint is that the last name may have begun with.
func (f *flowRec) point() {
	if f.enc.Checkpoints() > len(f.points) {
		f.points = append(f.points, f.count)
	}
}

// flowing returns the thread's flow in this epoch. It must be asked for before
// the call stack changes.
func (t *threadRec) flowing() (*flowRec, error) {
	if t.flow != nil {
		return t.flow, nil
	}
	p := t.rec.paths
	f := &flowRec{flow: flow{stack: append([]uint64(nil), t.stack.Frames...), pending: t.pending}, ids: map[mark]int{}}
	f.shell = flowShell{Shell: Shell{p.program}, codes: p.codeEnd}
	var err error
	if f.enc, err = app.NewEncoder(&f.out, &f.shell, t.rec.opts.Flow); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	t.flow = f
	return f, nil
}

// codeEnd says how a block of the tables is left.
func (p *paths) codeEnd(id uint64) (codeEnd, bool) {
	if id >= uint64(len(p.codes)) {
		return codeEnd{}, false
	}
	return codeEnd{p.codes[id].next, p.codes[id].end}, true
}

// name is what a flow calls a code block.
func (p *paths) name(id uint32) uint64 {
	if c := &p.codes[id]; c.static != nil {
		return c.pc
	}
	return nameOfCode(id)
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
	if f.count >= maxFlowBlocks {
		t.rec.due = true
	}
	t.leave(b)
	return nil
}

// leave follows calls and returns.
func (t *threadRec) leave(b *simBlock) {
	switch b.end {
	case event.EndCall, event.EndCallInd:
		t.call(b.next)
	case event.EndReturn:
		t.pending = true
	}
}

// flowSkip follows a block that is not recorded.
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

// flowAlign tells the reader what became of the call stack in code that is not
// recorded.
func (t *threadRec) flowAlign() error {
	now, same := t.frames(), 0
	for same < len(now) && same < len(t.seen) && now[same] == t.seen[same] {
		same++
	}
	if n := len(t.seen) - same; n > 0 || t.settle && same == len(now) {
		if err := t.mark(mark{kind: markPop, a: uint64(n)}); err != nil {
			return err
		}
	}
	for _, frame := range now[same:] {
		if err := t.mark(mark{kind: markPush, a: frame}); err != nil {
			return err
		}
	}
	t.away, t.settle = false, false
	return nil
}

// flowKept follows an event in code that is not recorded: where a return is
// pending, the reader takes it for done.
func (t *threadRec) flowKept() {
	if t.rec.paths.chosen != nil && t.pending {
		t.away, t.kept, t.settle = true, true, false
		t.seen = append(t.seen[:0], t.frames()...)
	}
}

// flowMark records an event. The call stack has not taken it up yet.
func (t *threadRec) flowMark(e *event.Event) error {
	if _, err := t.flowing(); err != nil {
		return err
	}
	switch e.Kind {
	case event.Unwound:
		if t.away {
			return nil // the stack as it is then is told later
		}
		return t.mark(mark{kind: markUnwound, a: e.Arg})
	case event.Rewound:
		if t.away {
			return nil
		}
		return t.mark(mark{kind: markRewound, a: e.Obj})
	}
	if t.away {
		if err := t.flowAlign(); err != nil {
			return err
		}
	}
	x := syncTerm(e.PC, e.Kind, e.Mode&event.Returns != 0)
	return t.mark(mark{markEvent, x.a, x.b})
}

// mark puts a mark into the stream.
func (t *threadRec) mark(m mark) error {
	f := t.flow
	i, ok := f.ids[m]
	if !ok {
		i = len(f.marks)
		f.ids[m] = i
		f.marks = append(f.marks, m)
		f.shell.marks = f.marks
		t.rec.grow(termBytes)
	}
	if err := f.enc.Block(nameOfMark(i)); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	f.point()
	return nil
}

// flowGrow counts what the stream took since it was asked last.
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
	f.stream = f.out.Bytes()
	return t.rec.w.Append(tracefmt.KindFlow, uint32(t.id), f.encode())
}
