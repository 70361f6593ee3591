package wet

import (
	"sort"

	"hindsight/tracefmt/event"
)

// ref is an instance of a statement of a thread.
type ref struct {
	src src
	k   uint64
}

// frame is a call in progress.
type frame struct {
	serial uint64 // grows with every call of the thread
	call   ref    // the call instruction; nobody in the thread's first frame
	undo   int    // entries of the log when the frame began
}

// decision is the last execution of a block that decides about others.
type decision struct {
	serial uint64 // of the frame
	order  uint64 // grows with execution
	by     ref    // the block's last instruction
}

// frames follows the calls of a thread and what was decided in each: what the
// dynamic control dependence of a block asks for. Decisions of a function's
// blocks stand in one table for all frames; one that a recursive call writes
// over is put back when the call ends.
type frames struct {
	stack     event.CallStack
	list      []frame // one more than stack has: the first belongs to no call
	serial    uint64
	decisions []decision // by decider
	log       []undone
}

type undone struct {
	decider uint32
	old     decision
}

// maxFrames bounds the frames of a thread that calls and never returns. At the
// bound all are dropped.
const maxFrames = 1 << 22

func (f *frames) top() *frame {
	if len(f.list) == 0 {
		f.serial++
		f.list = append(f.list, frame{serial: f.serial})
	}
	return &f.list[len(f.list)-1]
}

func (f *frames) call(ret uint64, by ref) {
	f.top()
	if len(f.list) >= maxFrames {
		f.stack.Frames, f.list, f.log = f.stack.Frames[:0], f.list[:0], f.log[:0]
		f.top()
	}
	f.stack.Call(ret)
	f.serial++
	f.list = append(f.list, frame{serial: f.serial, call: by, undo: len(f.log)})
}

func (f *frames) leave(target uint64) {
	f.top()
	for range f.stack.Return(target) {
		f.pop()
	}
}

// unwound leaves the outermost frames, keep of them, as event.Unwound says.
func (f *frames) unwound(keep uint64) {
	f.top()
	for uint64(len(f.stack.Frames)) > keep {
		f.stack.Frames = f.stack.Frames[:len(f.stack.Frames)-1]
		f.pop()
	}
}

// pop puts the decisions back that the innermost frame wrote over.
func (f *frames) pop() {
	from := f.list[len(f.list)-1].undo
	for i := len(f.log) - 1; i >= from; i-- {
		f.decisions[f.log[i].decider] = f.log[i].old
	}
	f.log = f.log[:from]
	f.list = f.list[:len(f.list)-1]
}

// find gives the latest decision of the present frame among deciders, or the
// call that made the frame.
func (f *frames) find(deciders []uint32) ref {
	top := f.top()
	best := decision{}
	for _, d := range deciders {
		if int(d) < len(f.decisions) {
			if x := &f.decisions[d]; x.serial == top.serial && x.order >= best.order {
				best = *x
			}
		}
	}
	if best.serial != 0 {
		return best.by
	}
	return top.call
}

// decide notes that a decider was executed.
func (f *frames) decide(decider uint32, order uint64, by ref) {
	top := f.top()
	for int(decider) >= len(f.decisions) {
		f.decisions = append(f.decisions, make([]decision, max(64, int(decider)+1-len(f.decisions)))...)
	}
	d := &f.decisions[decider]
	if d.serial != top.serial && d.serial != 0 && f.live(d.serial) {
		f.log = append(f.log, undone{decider, *d})
	}
	*d = decision{top.serial, order, by}
}

// live tells whether a frame is on the stack.
func (f *frames) live(serial uint64) bool {
	i := sort.Search(len(f.list), func(i int) bool { return f.list[i].serial >= serial })
	return i < len(f.list) && f.list[i].serial == serial
}
