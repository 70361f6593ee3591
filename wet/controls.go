package wet

import (
	"fmt"
	"slices"
	"sort"

	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// The decision that a block depends on follows from the control flow too. It is the last
// execution, in the same frame, of the blocks that decide about it, and calls and returns
// determine the frame. The file has only what does not follow: how signals and long jumps
// left frames, and the decisions and calls of earlier epochs.

// frameOps returns what usually happens to frames after an execution of the node.
func (t *template) frameOps() []int32 {
	switch {
	case t.Kind == NodeCall:
		return leaveOne
	case t.Kind != NodePath:
		return nil
	case t.end == event.EndCall || t.end == event.EndCallInd:
		return enterOne
	case t.end == event.EndReturn:
		return leaveOne
	}
	return nil
}

var leaveOne, enterOne = []int32{1}, []int32{pushCall}

// unusual is what happened to frames before an execution, if that does not follow from
// the previous execution.
type unusual struct {
	at  uint64 // timestamp
	ops []int32
}

const unusualBytes = 48

// moved records what has happened to frames since the last execution.
func (b *Builder) moved(t *thread) {
	f := &t.frames
	if t.times == t.began {
		f.top()
		t.oldSerial = f.serial
		t.entered = append(t.entered[:0], f.ops...)
	} else if !slices.Equal(f.ops, t.usual) {
		t.unusual = append(t.unusual, unusual{t.times, slices.Clone(f.ops)})
		b.mem += unusualBytes
	}
	f.ops = f.ops[:0]
}

// decider returns what decided about blocks that run now.
func (b *Builder) decider(t *thread, deciders []uint32) ref {
	by, old := t.frames.find(deciders, (t.began+1)<<orderBits, t.oldSerial)
	if old {
		b.mem += t.oldControl.src.add(uint64(by.src)) + t.oldControl.k.add(by.k)
	}
	return by
}

// orderBits is the width of a block's index in the order of a decision.
const orderBits = 12

// refSeq is a sequence of instances.
type refSeq struct{ src, k seq }

// controls writes what does not follow from the control flow about decisions and frames.
//
//	controls = from, uvarint producer, of the last statement of earlier epochs
//	           uvarint n, from*n, then of all old ones an index and the producer
//	           uvarint n, varint*n: what happened to frames before the epoch's first execution
//	           and of what was unusual Δ timestamps, numbers of steps, and all steps
func (p *part) controls(t *thread) {
	p.from(uint32(t.id), 0, t.heldControl.src)
	p.uvarint(t.heldControl.k)
	index := map[uint64]uint64{}
	var named []src
	var which seq
	t.oldControl.src.each(func(s uint64) {
		i, ok := index[s]
		if !ok {
			i = uint64(len(named))
			index[s] = i
			named = append(named, src(s))
		}
		which.add(i)
	})
	p.uvarint(uint64(len(named)))
	for _, s := range named {
		p.from(uint32(t.id), 0, s)
	}
	var none Size
	p.seq(&which, 8, &none)
	p.seq(&t.oldControl.k, 8, &none)
	p.uvarint(uint64(len(t.entered)))
	for _, o := range t.entered {
		p.varint(int64(o))
	}
	var times, counts, steps seq
	at := t.began
	for _, u := range t.unusual {
		times.add(u.at - at)
		at = u.at
		counts.add(uint64(len(u.ops)))
		for _, o := range u.ops {
			steps.add(uint64(int64(o)))
		}
	}
	for _, x := range []*seq{&times, &counts, &steps} {
		p.seq(x, 8, &none)
	}
}

// controlView is what a file has about a thread's frames and decisions.
type controlView struct {
	last    ref   // which instance decided about the last statement of earlier epochs
	old     []ref // decisions and calls of earlier epochs, in the order of their use
	entered []int32
	unusual []unusual
}

// controls reads them, after the registers that were set.
func (d *decoder) controls(p *loaded, te *threadEpoch, own *span) (v controlView, err error) {
	v.last = ref{d.from(own), d.Uvarint()}
	named := make([]src, d.Count(1, "number of decisions"))
	for i := range named {
		named[i] = d.from(own)
	}
	var cols [5]*numbers
	limits := [5]uint64{regPlace, regPlace, te.n + 1, te.n + 1, regPlace}
	for i := range cols {
		cols[i] = d.numbers(p, limits[i])
		if d.Err != nil {
			return v, d.Err
		}
		if i == 1 {
			for range d.Count(1, "number of frames") {
				v.entered = append(v.entered, int32(d.Varint()))
			}
		}
		if cols[i].n > maxNumbers {
			d.Fail("number of decisions")
			return v, d.Err
		}
		if _, err := cols[i].open(); err != nil {
			return v, err
		}
	}
	bad := func(what string) error { return fmt.Errorf("%s: %w", what, tracefmt.ErrMalformed) }
	if cols[0].n != cols[1].n || cols[2].n != cols[3].n {
		return v, bad("number of decisions")
	}
	v.old = make([]ref, cols[0].n)
	for i := range v.old {
		x := cols[0].get(uint64(i))
		if x >= uint64(len(named)) {
			return v, bad("decision")
		}
		v.old[i] = ref{named[x], cols[1].get(uint64(i))}
	}
	at, next := uint64(0), uint64(0)
	for i := range cols[2].n {
		at += cols[2].get(i)
		u := unusual{at: at}
		n := cols[3].get(i)
		if at >= te.n || at == 0 || cols[2].get(i) > te.n || n > cols[4].n-next {
			return v, bad("frames")
		}
		for range n {
			u.ops = append(u.ops, int32(cols[4].get(next)))
			next++
		}
		v.unusual = append(v.unusual, u)
	}
	return v, nil
}

// controlPlan is what control dependences need to know about a node.
type controlPlan struct {
	at, n    uint32
	path     bool
	slots    int
	deciders [][]uint32
	decides  []decides
	ops      []int32
}

// controlWalk walks over an epoch in a thread's order.
type controlWalk struct {
	frames  frames
	labels  []uint32
	plans   []controlPlan
	unusual []unusual
	usual   []int32
	last    uint32 // label of outside statements
	old     uint32 // the next label for an instance of an earlier epoch
	oldEnd  uint32
	bad     bool

	back  []uint32 // by execution: see derived
	outer []uint32
	left  []uint32 // scratch: calls whose frames were left, inner ones first
}

// step labels execution x, the kth of plan i in the epoch.
func (w *controlWalk) step(x, i, k uint32) {
	if len(w.unusual) > 0 && w.unusual[0].at == uint64(x) {
		w.move(w.unusual[0].ops, x)
		w.unusual = w.unusual[1:]
	} else {
		w.move(w.usual, x)
	}
	p := &w.plans[i]
	w.usual = p.ops
	if !p.path {
		if p.slots > 0 {
			w.labels[p.at+k] = w.last
		}
		return
	}
	to := p.at + k
	for _, d := range p.deciders {
		by, old := w.frames.find(d, 0, 0)
		label := uint32(by.src)
		if old {
			label = w.old
			w.old++
			if w.old > w.oldEnd {
				w.bad = true
				w.old--
			}
		}
		w.labels[to] = label
		to += p.n
	}
	for _, d := range p.decides {
		w.frames.decide(d.decider, uint64(x+1)<<orderBits|uint64(d.block), ref{src: src(regLeft | x)})
	}
	w.last = regLeft | x
}

// move follows frames between executions x-1 and x.
func (w *controlWalk) move(ops []int32, x uint32) {
	f := &w.frames
	f.top()
	w.left = w.left[:0]
	for _, o := range ops {
		switch o {
		case pushCall:
			f.push(ref{src: src(regSetBy | (x - 1))})
		case pushNobody:
			f.push(ref{src: regNobody})
		default:
			for n := o; n > 0; n-- {
				if len(f.list) == 1 { // a frame of an earlier epoch is left for another
					f.serial++
					f.list[0].serial, f.log = f.serial, f.log[:0]
					w.outer = append(w.outer, x)
					if len(w.outer) > 2*maxFrames {
						w.bad = true
						return
					}
					continue
				}
				if c := uint32(f.list[len(f.list)-1].call.src); c&^regPlace == regSetBy {
					w.left = append(w.left, c&regPlace)
					w.back[c&regPlace] = backGone
				}
				f.pop()
			}
		}
	}
	// If several frames are left at once, the caller of the outermost one continues.
	deep := len(w.outer) == 0 || w.outer[len(w.outer)-1] != x
	if n := len(w.left); n > 0 && len(ops) == 1 && deep {
		w.back[w.left[n-1]] = x
	}
}

// backGone says that the caller of a call never continued. backOpen says that it had not
// when the epoch ended, with the position of its frame.
const (
	backGone = 1<<31 - 1
	backOpen = 1 << 31
)

// finish records which calls are open.
func (w *controlWalk) finish() {
	for i, f := range w.frames.list {
		if c := uint32(f.call.src); i > 0 && c&^regPlace == regSetBy {
			w.back[c&regPlace] = backOpen | uint32(i)
		}
	}
}

// Executed returns a thread's execution at a timestamp.
func (g *Graph) Executed(th event.ThreadID, t uint64) (Execution, error) {
	te, err := g.threadEpoch(th, t)
	if err != nil {
		return Execution{}, err
	}
	f, err := g.flow(te)
	if err != nil {
		return Execution{}, err
	}
	x := t - te.began
	s := te.spans[f.steps[x].span]
	return Execution{Node: s.node, K: s.began + uint64(f.steps[x].k), Time: t}, nil
}

// threadEpoch returns the epoch of a timestamp.
func (g *Graph) threadEpoch(th event.ThreadID, t uint64) (*threadEpoch, error) {
	if uint64(th) >= uint64(len(g.threads)) || t >= g.threads[th].Times {
		return nil, fmt.Errorf("%w: time %d of thread %d", ErrNoSuch, t, th)
	}
	list := g.threads[th].epochs
	return list[sort.Search(len(list), func(i int) bool { return list[i].began+list[i].n > t })], nil
}

// Returned returns the timestamp at which a thread continued in the frame from which it
// made a call at timestamp t. ok is false if the thread never did, or made no call at t.
func (g *Graph) Returned(th event.ThreadID, t uint64) (at uint64, ok bool, err error) {
	te, err := g.threadEpoch(th, t)
	if err != nil {
		return 0, false, err
	}
	f, err := g.infer(te)
	if err != nil {
		return 0, false, err
	}
	x := f.derived.back[t-te.began]
	levels := -1 // frames to leave before the call's own
	switch {
	case x == backGone, x == 0 && t != te.began+te.n-1:
		return 0, false, nil
	case x >= backOpen:
		levels = f.derived.open - int(x&^backOpen)
	case x > 0:
		return te.began + uint64(x), true, nil
	}
	list := g.threads[th].epochs
	next := sort.Search(len(list), func(i int) bool { return list[i].epoch > te.epoch })
	for ; next < len(list); next++ {
		if f, err = g.infer(list[next]); err != nil {
			return 0, false, err
		}
		x, over, ok := f.derived.returned(levels)
		if over {
			return list[next].began + uint64(x), ok, nil
		}
		levels = x
	}
	return 0, false, nil
}

// returned looks for the return to a frame of an earlier epoch that has above frames
// above it (a negative number means that the frame is about to be created). The search is
// over when the frame is left: ok, at time x of the epoch, unless its caller's frame was
// left as well. Otherwise x frames are above it at the end.
func (v *derived) returned(levels int) (x int, over, ok bool) {
	for _, o := range v.entered {
		if o <= 0 {
			levels++
			continue
		}
		levels -= int(o)
		if levels < 0 {
			return 0, true, levels == -1
		}
	}
	switch n := len(v.outer); {
	case levels < 0:
		return 0, true, false // no call was made
	case levels < n:
		return int(v.outer[levels]), true, levels+1 == n || v.outer[levels+1] != v.outer[levels]
	default:
		return levels + v.open - n, false, false
	}
}

// controlBy returns the instance that a label of a control slot stands for.
func (g *Graph) controlBy(f *flow, s *span, t *template, slot int, x uint32) ref {
	step := f.steps[x&regPlace]
	by := s.te.spans[step.span]
	from := g.template(by.node)
	at := ref{srcOf(s.thread, by.node, 0), by.began + uint64(step.k)}
	if x&^regPlace == regSetBy { // a call
		at.src += src(len(from.Stmts) - 1)
		return at
	}
	if t.Kind != NodePath { // what decided about the path's last block
		c := from.ctl[len(from.ctl)-1]
		if slot, before := c.slot(); before {
			return g.derivedBy(f, by, from, from.ctlSlot(slot), at.k)
		}
		at.src += src(from.lastStmt(int(c)))
		return at
	}
	// The last of the deciding blocks.
	deciders := g.rows[s.node].deciders[slot-t.ctlSlot(0)]
	list := g.rows[by.node].decides
	for i := len(list) - 1; i >= 0; i-- {
		if slices.Contains(deciders, list[i].decider) {
			at.src += src(list[i].stmt)
			break
		}
	}
	return at
}
