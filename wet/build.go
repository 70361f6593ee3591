package wet

import (
	"cmp"
	"errors"
	"fmt"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// DefaultBudget is the memory of the labels of one epoch, in bytes.
const DefaultBudget = 48 << 20

const (
	minBudget = 16 << 10
	maxBudget = 1 << 30
)

// Evaluator computes the result of an instruction at pc from the values of its operands
// rs1, rs2 and rs3 (those that it has), with rounding to nearest as fcsr's mode. ok is
// false if the operands do not determine the result; whether they do must not depend on
// their values.
type Evaluator func(i rv.Inst, pc, rs1, rs2, rs3 uint64) (v uint64, ok bool)

// Sink receives the blocks of a graph. [*tracefmt.Writer] and [Queue] are sinks.
type Sink interface {
	Append(kind tracefmt.Kind, thread uint32, payload []byte) error
}

// Options of a [Builder].
type Options struct {
	// Program is the program's control flow. It is required.
	Program Program
	// Code reads n bytes of the program's code, or fewer if there are fewer. It is
	// required.
	Code func(pc uint64, n int) []byte
	// Evaluate computes results, which then need not be stored if their operands are
	// known. With nil, all results are stored, as in the paper.
	Evaluate Evaluator
	// CallArgs returns which arguments an environment call takes, bit n for register
	// a0+n, given its number and what these registers hold. With nil, it takes all.
	CallArgs func(nr uint64, args [6]uint64) uint8
	// Budget is the memory in bytes at which an epoch is closed. 0 means [DefaultBudget];
	// other values are clamped to the range of 16 KiB to 1 GiB. The nodes, and the record
	// of which statement wrote which memory, are not counted.
	Budget uint64
}

// Builder is the [event.ValueObserver] that records a whole execution trace.
type Builder struct {
	sink Sink
	opts Options
	flavour

	codeTable
	nodes   []*pathNode
	paths   cfg.Names[pathKey]
	outside map[outsideKey]NodeID
	shadow  *shadow

	threads []*thread
	running *thread   // whose path may be open
	order   []stretch // of this epoch: which thread executed how many nodes

	pathStmts, pathLimit int // statements of all nodes, and the number of them at which no paths are added

	depth []uint8 // scratch: of kept statements
	live  []uint8 // scratch: of live registers
	by    producers

	mem      uint64 // of the open epoch's labels
	executed uint64 // nodes in the open epoch
	written  tablesWritten
	epoch    uint64
	total    Counts
	err      error
	done     bool
}

// pathKey distinguishes paths with the same first piece.
type pathKey struct {
	number uint64
	mode   mode
}

type outsideKey struct {
	kind   NodeKind
	pc     uint64
	callee uint64
	args   uint8
}

// stretch is a number of consecutive node executions of one thread.
type stretch struct {
	thread uint32
	n      uint64
}

// reg says which statement last defined a register.
type reg struct {
	src   src
	k     uint64
	out   *outReg // of an outside statement: where the value is stored once it is used
	col   *column // of an anchor whose value is not stored so far: where it is stored once it is used
	value uint64
	depth uint8
}

// thread is the recording of one thread.
type thread struct {
	id    event.ThreadID
	nodes []*threadNode // by node; nil: not executed yet
	used  []*threadNode // in this epoch
	times uint64
	stmts uint64
	began uint64 // timestamps at the beginning of the epoch

	// The open path.
	follow cfg.Follower
	path   []uint32 // its pieces
	stmtsN int
	values []uint64 // of the path, from earlier batches
	addrs  []uint64

	regs [64]reg
	flow []NodeID // of the epoch
	held [64]ref  // the statements that had defined the registers when it began
	sets []regSet // of the epoch

	usual       []int32   // what happened to frames after the last execution, if that was usual
	unusual     []unusual // of the epoch
	entered     []int32   // what happened to frames before its first execution
	oldSerial   uint64    // of the frames that were created before it
	oldControl  refSeq    // earlier decisions and calls
	heldControl ref       // control when it began

	fresh    uint64 // registers that were defined in it, as bits
	asked    uint64 // registers from before it that were used in it, as bits
	frames   frames
	returned bool   // the last step was a return; the next block says where to
	control  ref    // of the last statement
	ecall    ref    // last environment call
	ecallRan uint64 // its timestamp
	slots    *slots // what it copies; nil: nothing so far
	group    ref    // statement that effects belong to
	groupRan uint64
	rounding uint8
	place    place // where the epoch is in the file
	ended    bool  // the thread has ended
	released bool  // and its memory was released
}

// NewBuilder returns a Builder that writes its blocks to sink.
func NewBuilder(sink Sink, opts Options) (*Builder, error) {
	if opts.Program == nil || opts.Code == nil {
		return nil, errors.New("wet: no program")
	}
	if opts.Budget == 0 {
		opts.Budget = DefaultBudget
	}
	opts.Budget = min(max(opts.Budget, minBudget), maxBudget)
	b := &Builder{
		sink: sink, opts: opts, outside: map[outsideKey]NodeID{}, shadow: newShadow(), pathLimit: maxPathsStmts,
		codeTable: codeTable{program: opts.Program, read: opts.Code, ids: map[pieceKey]uint32{}, deciders: map[cfg.Ref]uint32{}},
	}
	if opts.Evaluate != nil {
		for op := rv.OpInvalid + 1; op < rv.NumOps; op++ {
			i := rv.Inst{Op: op, Rd: 1, Rs1: 1, Rs2: 1, Rs3: 1, Len: 4}
			if _, _, mem := i.Mem(); mem || i.Atomic() {
				continue
			}
			if _, ok := opts.Evaluate(i, 0, 0, 0, 0); ok {
				b.ops[op/64] |= 1 << (op % 64)
			}
		}
	}
	return b, nil
}

// WantsValues implements [event.ValueObserver].
func (b *Builder) WantsValues() bool { return true }

// Define implements [event.Observer].
func (b *Builder) Define(blocks []event.Block) error {
	for i := range blocks {
		if err := b.define(&blocks[i]); err != nil {
			return b.fail(err)
		}
	}
	return b.err
}

func (b *Builder) fail(err error) error {
	if b.err == nil {
		b.err = err
	}
	return b.err
}

// Batch implements [event.Observer].
func (b *Builder) Batch(batch *event.Batch) error {
	if b.err != nil {
		return b.err
	}
	t, err := b.thread(batch.Thread)
	if err != nil {
		return b.fail(err)
	}
	if b.running != t {
		// A path ends when another thread runs, so that its memory accesses are adjacent
		// in the order of the run.
		if b.running != nil {
			b.endPath(b.running, nil)
		}
		b.running = t
	}
	for i := range batch.Events {
		if e := &batch.Events[i]; e.Kind == event.ThreadStart && e.Obj < uint64(len(b.threads)) && b.threads[e.Obj] != nil {
			t.rounding = b.threads[e.Obj].rounding
		}
	}
	err = b.batch(t, batch)
	if err == nil && t.released && t.times > t.began {
		err = errEnded
	}
	if err != nil {
		return b.fail(fmt.Errorf("wet: a batch of thread %d: %w", batch.Thread, err))
	}
	for i := range batch.Events {
		t.ended = t.ended || batch.Events[i].Kind == event.ThreadEnd
	}
	return b.err
}

func (b *Builder) thread(id event.ThreadID) (*thread, error) {
	if id >= event.MaxThreads {
		return nil, fmt.Errorf("wet: %w", event.ErrThreads)
	}
	for int(id) >= len(b.threads) {
		b.threads = append(b.threads, nil)
	}
	if b.threads[id] == nil {
		b.threads[id] = &thread{id: id}
	}
	return b.threads[id], nil
}

var (
	errValues = errors.New("it has too few values")
	errAddrs  = errors.New("it has too few addresses")
	errRest   = errors.New("it has values or addresses that belong to no block")
	errBlock  = errors.New("it has a block that is not defined")
	errEnded  = errors.New("the thread has ended")
	errEffect = errors.New("an effect is after its last block")
)

// window is the part of a batch's columns after the last completed path.
type window struct {
	values, addrs []uint64
	v, a          int // how far the open path has come
}

func (b *Builder) batch(t *thread, batch *event.Batch) error {
	w := window{values: batch.Values, addrs: batch.Addrs}
	effects, events := batch.Effects, batch.Events
	for i, id := range batch.Blocks {
		for len(effects) > 0 && int(effects[0].At) <= i {
			b.effect(t, &effects[0], &w)
			effects = effects[1:]
		}
		for len(events) > 0 && int(events[0].At) <= i {
			b.event(t, &events[0], &w)
			events = events[1:]
		}
		if int(id) >= len(b.sims) {
			return errBlock
		}
		if err := b.step(t, &b.sims[id], &w); err != nil {
			return err
		}
	}
	for i := range effects {
		if int(effects[i].At) > len(batch.Blocks) {
			return errEffect
		}
		b.effect(t, &effects[i], &w)
	}
	for i := range events {
		b.event(t, &events[i], &w)
	}
	if w.v != len(w.values) || w.a != len(w.addrs) {
		return errRest
	}
	if len(t.path) > 0 {
		t.values = append(t.values, w.values...)
		t.addrs = append(t.addrs, w.addrs...)
	}
	return b.err
}

// event follows changes of the call stack that blocks do not show. A frame that returns
// on another stack has no call that created it.
func (b *Builder) event(t *thread, e *event.Event, w *window) {
	if e.Mode&event.Returns != 0 {
		t.returned = true
	}
	switch e.Kind {
	case event.Unwound:
		b.endPath(t, w)
		t.returned = false
		t.frames.unwound(e.Arg)
	case event.Rewound:
		t.frames.call(e.Obj, ref{})
		t.control = ref{}
	}
}

// step follows one block of the simulator.
func (b *Builder) step(t *thread, s *simulated, w *window) error {
	if t.returned {
		t.returned = false
		t.frames.leave(s.pc)
	}
	for _, id := range s.pieces {
		p := &b.pieces[id]
		if t.stmtsN+len(p.insts) > maxPathStmts {
			b.endPath(t, w)
		}
		if ended, cut := t.follow.Enter(p.step); cut {
			b.runPath(t, w, ended.Number)
		}
		if len(w.values)-w.v < p.values {
			return errValues
		}
		if len(w.addrs)-w.a < p.plain {
			return errAddrs
		}
		w.v += p.values
		w.a += p.plain
		t.path = append(t.path, id)
		t.stmtsN += len(p.insts)
	}
	switch s.end {
	case event.EndCall, event.EndCallInd:
		by := b.endPath(t, w)
		t.frames.call(s.next, by)
	case event.EndReturn:
		b.endPath(t, w)
		t.returned = true
	case event.EndSyscall:
		t.ecall = b.endPath(t, w)
		t.ecallRan = t.times - 1
	}
	return b.err
}

// endPath executes the open path, if there is one, and returns the instance of
// its last statement.
func (b *Builder) endPath(t *thread, w *window) ref {
	ended, ok := t.follow.End()
	if !ok {
		return ref{}
	}
	return b.runPath(t, w, ended.Number)
}

// runPath executes a completed path, whose number is given, and returns the instance of
// its last statement.
func (b *Builder) runPath(t *thread, w *window, number uint64) ref {
	values, addrs := t.values, t.addrs
	if w != nil {
		if len(values)+len(addrs) == 0 {
			values, addrs = w.values[:w.v], w.addrs[:w.a]
		} else {
			values = append(values, w.values[:w.v]...)
			addrs = append(addrs, w.addrs[:w.a]...)
			t.values, t.addrs = values, addrs
		}
		w.values, w.addrs = w.values[w.v:], w.addrs[w.a:]
		w.v, w.a = 0, 0
	}
	var by ref
	m := mode{strict: t.rounding != 0}
	if b.pieces[t.path[len(t.path)-1]].end == event.EndSyscall {
		m.args = b.callArgs(t, values)
	}
	if node, ok := b.pathNode(t.path, number, m); ok {
		by = b.run(t, node, values, addrs)
	} else {
		for i, id := range t.path {
			one := m
			one.strict = t.rounding != 0
			if i < len(t.path)-1 {
				one.args = 0
			}
			node, _ := b.pathNode(t.path[i:i+1], 0, one)
			p := &b.pieces[id]
			by = b.run(t, node, values[:p.values], addrs[:p.plain])
			values, addrs = values[p.values:], addrs[p.plain:]
		}
	}
	t.path, t.values, t.addrs = t.path[:0], t.values[:0], t.addrs[:0]
	t.stmtsN = 0
	if b.full() {
		b.closeEpoch()
	}
	return by
}

// callArgs returns the arguments that the environment call at the end of the open path
// takes.
func (b *Builder) callArgs(t *thread, values []uint64) uint8 {
	if b.opts.CallArgs == nil {
		return 1<<maxArgs - 1
	}
	var held [callNumber + 1]uint64
	for r := callArgs; r <= callNumber; r++ {
		held[r] = t.regs[r].value
	}
	for _, id := range t.path {
		p := &b.pieces[id]
		pc := p.pc
		for k, in := range p.insts {
			addr, told := in.Told(p.end == event.EndAtomic && k == len(p.insts)-1)
			if addr {
				values = values[1:]
			}
			v, static := in.Static(pc)
			if told {
				v, values = values[0], values[1:]
				static = true
			}
			if r, ok := in.Dest(); ok && static && int(r) < len(held) {
				held[r] = v
			}
			pc += uint64(in.Len)
		}
	}
	return b.opts.CallArgs(held[callNumber], [6]uint64(held[callArgs:callArgs+maxArgs])) & (1<<maxArgs - 1)
}

// run executes a node and returns the instance of its last statement.
func (b *Builder) run(t *thread, node NodeID, values, addrs []uint64) ref {
	n := b.threadNode(t, node)
	by := ref{srcOf(uint32(t.id), node, uint32(len(n.tmpl.Stmts)-1)), n.k}
	b.execute(t, n, values, addrs)
	return by
}

// pathNode returns the node of a path. ok is false if there is no room for a new one; the
// path's blocks are then separate nodes.
func (b *Builder) pathNode(path []uint32, number uint64, m mode) (id NodeID, ok bool) {
	key := pathKey{number, m}
	if x, known := b.paths.Find(path[0], key); known {
		return NodeID(x), true
	}
	if len(path) > 1 && b.pathStmts >= b.pathLimit {
		return 0, false
	}
	id = b.addNode(b.newPathNode(path, m, &b.flavour))
	b.paths.Set(path[0], key, uint32(id))
	return id, true
}

// Limits on the statements of all nodes, which take some 200 bytes of memory each. Above
// the first limit, new paths are divided into blocks. Only endless new code reaches the
// second one.
const (
	maxPathsStmts = 1 << 21
	maxNodesStmts = 1 << 22
)

func (b *Builder) addNode(n *pathNode) NodeID {
	b.pathStmts += len(n.Stmts)
	if len(b.nodes) >= maxNodes || b.pathStmts > maxNodesStmts {
		b.err = cmp.Or(b.err, fmt.Errorf("wet: more than %d statements in nodes", maxNodesStmts))
	}
	if n.rounding && !n.strict { // what follows the change inside the path cannot be computed
		n = b.newPathNode(n.pieces, mode{true, n.args}, &b.flavour)
	}
	id := NodeID(len(b.nodes))
	b.nodes = append(b.nodes, n)
	return id
}

// Finish implements [event.Observer]: it closes the last epoch.
func (b *Builder) Finish(event.Outcome) error {
	if b.err != nil {
		return b.err
	}
	if b.done {
		return errors.New("wet: finished twice")
	}
	b.done = true
	if b.running != nil {
		b.endPath(b.running, nil)
	}
	b.closeEpoch()
	return b.err
}
