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
	call   ref    // the call instruction; none for the thread's first frame
	undo   int    // entries in the log when the frame began
}

// decision is the last execution of a block that others depend on.
type decision struct {
	serial uint64 // of the frame
	order  uint64 // grows with execution
	by     ref    // the block's last instruction
}

// frames follows the calls of a thread and the decisions in each frame, which determine
// the dynamic control dependence of a block. The decisions of a function's blocks are in
// one table for all frames. A decision that a recursive call overwrites is restored when
// the call ends.
type frames struct {
	stack     event.CallStack
	list      []frame // one more than stack has: the first element belongs to no call
	serial    uint64
	decisions []decision // by decider
	log       []undone
	ops       []int32 // since the thread's last execution: see frameOps
}

// What happens to frames between two executions of a thread follows from the first one,
// except for the effects of signals and long jumps; see nodeRow.frameOps. A positive
// number is the number of frames that are left, 0 is a call, and pushNobody is a frame
// without a call.
const (
	pushCall   = 0
	pushNobody = -1
)

type undone struct {
	decider uint32
	old     decision
}

// maxFrames limits the frames of a thread that calls and never returns. At the limit all
// are dropped.
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
		f.ops = append(f.ops, int32(len(f.list))) // including the outermost frame
		f.stack.Frames, f.list, f.log = f.stack.Frames[:0], f.list[:0], f.log[:0]
		f.top()
	}
	f.stack.Call(ret)
	f.push(by)
	if by.src != 0 {
		f.ops = append(f.ops, pushCall)
	} else {
		f.ops = append(f.ops, pushNobody)
	}
}

func (f *frames) push(by ref) {
	f.serial++
	f.list = append(f.list, frame{serial: f.serial, call: by, undo: len(f.log)})
}

func (f *frames) leave(target uint64) {
	f.top()
	if n := f.stack.Return(target); n > 0 {
		f.leaveSome(n)
	}
}

func (f *frames) leaveSome(n int) {
	f.ops = append(f.ops, int32(n))
	for range n {
		f.pop()
	}
}

// unwound keeps only the keep outermost frames, as event.Unwound says.
func (f *frames) unwound(keep uint64) {
	f.top()
	if n := len(f.stack.Frames); uint64(n) > keep {
		f.stack.Frames = f.stack.Frames[:keep]
		f.leaveSome(n - int(keep))
	}
}

// pop restores the decisions that the innermost frame overwrote.
func (f *frames) pop() {
	from := f.list[len(f.list)-1].undo
	for i := len(f.log) - 1; i >= from; i-- {
		f.decisions[f.log[i].decider] = f.log[i].old
	}
	f.log = f.log[:from]
	f.list = f.list[:len(f.list)-1]
}

// find returns the latest decision of the current frame among deciders, or the call that
// created the frame. old says that neither was made after the given order and serial.
func (f *frames) find(deciders []uint32, order, serial uint64) (by ref, old bool) {
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
		return best.by, best.order < order
	}
	return top.call, top.serial <= serial || len(f.list) == 1
}

// decide records that a decider was executed.
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

// live reports whether a frame is on the stack.
func (f *frames) live(serial uint64) bool {
	i := sort.Search(len(f.list), func(i int) bool { return f.list[i].serial >= serial })
	return i < len(f.list) && f.list[i].serial == serial
}
