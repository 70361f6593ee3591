package wet

import "hindsight/wet/stream"

// The control flow of a thread in an epoch is coded as one string, which can only be read
// forward. For a query that steps, it is decoded once, node by node, into a bidirectional
// stream, which a cursor walks in either direction. Nothing in memory is as long as the
// string. The times at which a node was executed, and the statements that had defined its
// live registers, are lists that are built from the stream when they are needed: as
// arithmetic runs if they are regular, and otherwise as streams.

const (
	// listRuns is the number of arithmetic runs in a list at which it becomes a stream.
	listRuns = 256
	// maxPasses is how often a query may have lists built from the control flow of an
	// epoch. A query that needs more goes everywhere, as a slice does, and the control
	// flow is then decoded whole.
	maxPasses = 24
	// savedEvery is the smallest number of executions between two places at which the
	// execution counts of all nodes are saved, both in total and for each node.
	savedEvery   = 1 << 16
	savedPerNode = 16
)

// flowSteps is the control flow of a thread in an epoch as a stream.
type flowSteps struct {
	te     *threadEpoch
	nodes  *stream.Stream // by execution: the node, as an index into te.spans
	cursor *stream.Cursor
	counts []uint32   // by node: executions before the cursor
	saved  [][]uint32 // the same at each multiple of every
	every  uint64
	pace
	passes int
	times  map[uint32]*numbers   // by node: when it was executed
	regs   map[uint32][]producer // by node: which statements defined its live registers
	bytes  uint64
	used   uint64
}

// producer says which statement defined a register before each execution of a node.
type producer struct{ src, k *numbers }

// steps returns the control flow of a thread in an epoch as a stream, or nil if it has to
// be decoded whole.
func (g *Graph) steps(te *threadEpoch) (*flowSteps, error) {
	if g.stepping == 0 || te.n < g.stepFrom || te.flow != nil || te.wanders {
		return nil, nil
	}
	g.cache.clock++
	w := te.steps
	if w == nil {
		var err error
		if w, err = g.openSteps(te); err != nil {
			return nil, err
		}
		te.steps = w
	}
	if w.wanders(te.n) || w.passes > maxPasses {
		te.steps, te.wanders = nil, true
		g.cache.used -= min(g.cache.used, w.bytes)
		return nil, nil
	}
	w.used = g.cache.clock
	return w, nil
}

func (g *Graph) openSteps(te *threadEpoch) (*flowSteps, error) {
	code, err := g.flowCode(te)
	if err != nil {
		return nil, err
	}
	w := &flowSteps{te: te, counts: make([]uint32, len(te.spans)), times: map[uint32]*numbers{}, regs: map[uint32][]producer{}}
	w.every = max(savedEvery, savedPerNode*uint64(len(te.spans)))
	var b stream.Builder
	x := uint64(0)
	err = decodeFlow(code, len(te.spans), te.n, func(i uint32) bool {
		if uint64(w.counts[i]) >= te.spans[i].n {
			return false
		}
		if x%w.every == 0 {
			w.saved = append(w.saved, append([]uint32(nil), w.counts...))
		}
		w.counts[i]++
		b.Append(uint64(i))
		x++
		return true
	})
	if err != nil {
		return nil, g.damagedThread(te, err)
	}
	w.nodes = b.Finish()
	w.cursor = w.nodes.Cursor()
	clear(w.counts)
	g.grow(w, w.nodes.Memory()+4*uint64(len(te.spans)*(len(w.saved)+1)))
	return w, nil
}

// grow adds to the memory of the control flow.
func (g *Graph) grow(w *flowSteps, bytes uint64) {
	w.bytes += bytes
	g.cache.used += bytes
}

// at returns the node of execution x, and how often the thread had executed it in the
// epoch before.
func (w *flowSteps) at(x uint64) (node, k uint32) {
	pos := w.cursor.Pos()
	w.moved(pos, x)
	near := min((x+w.every/2)/w.every, uint64(len(w.saved)-1))
	if max(x, pos)-min(x, pos) > w.every {
		pos = near * w.every
		_ = w.cursor.Seek(pos) // it is in the stream
		copy(w.counts, w.saved[near])
	}
	if pos > x {
		for ; pos > x; pos-- {
			v, _ := w.cursor.Prev()
			w.counts[v]--
			node, k = uint32(v), w.counts[v]
		}
		return node, k
	}
	for ; pos <= x; pos++ {
		v, _ := w.cursor.Next()
		node, k = uint32(v), w.counts[v]
		w.counts[v]++
	}
	return node, k
}

// list collects numbers in order.
type list struct {
	runs   seq
	stream *stream.Builder // used once there are many runs
}

func (l *list) add(v uint64) {
	if l.stream != nil {
		l.stream.Append(v)
		return
	}
	l.runs.add(v)
	if len(l.runs.runs) > listRuns {
		l.stream = &stream.Builder{}
		l.runs.each(l.stream.Append)
		l.runs = seq{}
	}
}

// numbers returns the list, to be read by position, and its memory.
func (l *list) numbers() (x *numbers, bytes uint64) {
	if l.stream != nil {
		s := l.stream.Finish()
		return &numbers{n: s.Len(), form: formStream, step: &stepper{c: s.Cursor(), s: s}}, s.Memory()
	}
	x = &numbers{n: l.runs.n, form: formColumns, runs: l.runs.runs, starts: make([]uint64, len(l.runs.runs))}
	for i, sum := 0, uint64(0); i < len(x.runs); i++ {
		x.starts[i] = sum
		sum += x.runs[i].n
	}
	return x, (runBytes + 8) * uint64(len(x.runs))
}

// get returns number i of a list.
func (g *Graph) get(w *flowSteps, x *numbers, i uint64) uint64 {
	if x.step != nil && x.step.wanders() {
		x.raw, x.step = x.step.whole(), nil
		g.grow(w, 8*x.n)
	}
	return x.get(i)
}

// stepTime returns the timestamp of an execution of a node in the epoch.
func (g *Graph) stepTime(w *flowSteps, s *span, k uint64) uint64 {
	times := w.times[s.index]
	if times == nil {
		w.passes++
		var l list
		x := uint64(0)
		for v := range w.nodes.All() {
			if uint32(v) == s.index {
				l.add(x)
			}
			x++
		}
		var bytes uint64
		times, bytes = l.numbers()
		w.times[s.index] = times
		g.grow(w, bytes)
	}
	return s.te.began + g.get(w, times, k-s.began)
}

// stepLabel returns label k of a slot for a live register.
func (g *Graph) stepLabel(w *flowSteps, s *span, slot int, k uint64) (ref, error) {
	by, ok := w.regs[s.index]
	if !ok {
		if err := g.followSteps(w, s); err != nil {
			return ref{}, err
		}
		by = w.regs[s.index]
	}
	p, i := &by[slot], k-s.began
	return ref{src(g.get(w, p.src, i)), g.get(w, p.k, i)}, nil
}

// followSteps builds the lists of producers for all nodes of a function, including those
// of s, because the values of a statement often depend on others in the same function.
func (g *Graph) followSteps(w *flowSteps, s *span) error {
	w.passes++
	te := w.te
	v, sets, _, err := g.readThread(te)
	if err != nil {
		return err
	}
	type lists struct{ src, k list }
	made := make([][]lists, len(te.spans))
	in, out := make([][]uint8, len(te.spans)), make([][]uint8, len(te.spans))
	from := g.leavers(te)
	own := g.template(s.node)
	for i, x := range te.spans {
		t := g.template(x.node)
		out[i] = t.outs()
		if x == s || own.Kind == NodePath && t.Kind == NodePath && t.Func == own.Func {
			in[i], made[i] = t.liveIn, make([]lists, len(t.liveIn))
		}
	}
	regs := newRegWalk(v, sets)
	setters := map[uint32]ref{} // by label: executions that set registers
	for _, x := range sets {
		setters[x.label] = ref{}
	}
	var left [64]ref // by register: the statement of a path that left it defined
	who := func(r uint8) ref {
		switch l := regs.last[r]; l &^ regPlace {
		case regNobody:
			return ref{}
		case regHeld:
			return v.held[l&regPlace]
		case regSetBy:
			return setters[l]
		default:
			return left[r]
		}
	}
	counts, x := make([]uint32, len(te.spans)), uint64(0)
	for node := range w.nodes.All() {
		regs.enter(x)
		for n, r := range in[node] {
			by := who(r & 63)
			made[node][n].src.add(uint64(by.src))
			made[node][n].k.add(by.k)
		}
		at := &from[node]
		k := at.began + uint64(counts[node])
		counts[node]++
		for _, r := range out[node] {
			regs.last[r&63] = regLeft | uint32(x)
			left[r&63] = ref{at.src + src(at.leaves[r&63]), k}
		}
		if _, sets := setters[regSetBy|uint32(x)]; sets {
			setters[regSetBy|uint32(x)] = ref{at.src + src(at.last), k}
		}
		x++
	}
	for i := range te.spans {
		if made[i] == nil {
			continue
		}
		list := make([]producer, len(made[i]))
		for n := range made[i] {
			var a, b uint64
			list[n].src, a = made[i][n].src.numbers()
			list[n].k, b = made[i][n].k.numbers()
			g.grow(w, a+b)
		}
		w.regs[uint32(i)] = list
	}
	return nil
}
