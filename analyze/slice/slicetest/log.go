package slicetest

import (
	"fmt"

	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
	"hindsight/wpp/cfg"
)

// Log is a complete run. It is an event.ValueObserver. Once the run is over, it
// implements slice.Graph.
type Log struct {
	prog    *cfg.Program
	img     *image.Space
	takes   func(nr uint64, args [6]uint64) uint8
	blocks  []block
	nodes   []wet.Node
	outside map[outside]wet.NodeID
	threads []*thread
	stmts   []Statement // of all threads, in the order of the run
	memory  writers
	frames  int     // made
	users   [][]int // made when they are first asked for
	// Outcome is how the run ended.
	Outcome event.Outcome
}

// Statement is one executed statement.
type Statement struct {
	Thread  event.ThreadID
	Ordinal uint64 // statements of the thread before it
	exec    int    // index into thread.execs
	stmt    uint32

	Frame    int     // the function's activation, numbered in the run
	Block    cfg.Ref // static, of an instruction
	Known    bool    // there is such a block
	PC       uint64
	Kind     wet.NodeKind
	Inst     rv.Inst
	Value    uint64
	HasValue bool
	Addr     uint64 // of an access
	Size     uint8  // 0: no access
	Stores   bool   // it wrote its bytes
	Deps     []Dep
	Regs     []Reg   // told by the groups of an outside statement or an environment call
	Reads    []Range // bytes that its groups read
	Wrote    []Range // and wrote
}

// Reg is a register that received a value.
type Reg struct {
	Reg   uint8
	Value uint64
}

// Range is a stretch of memory.
type Range struct{ Addr, Bytes uint64 }

// Dep is a dependence on the statement with index From in the log.
type Dep struct {
	Kind wet.DepKind
	Reg  uint8
	From int
}

type outside struct {
	kind       wet.NodeKind
	pc, callee uint64
	args       uint8
}

// block is a block of the simulator, with the static blocks that it covers.
type block struct {
	event.Block
	insts []rv.Inst
	node  wet.NodeID
	parts []part
}

// part is the part of a block in one static block.
type part struct {
	first    int // instruction
	static   cfg.Ref
	known    bool
	final    int // the instruction that is the static block's last one; -1: it is not reached
	deciders []cfg.Ref
}

type thread struct {
	id       event.ThreadID
	execs    []exec
	byNode   map[wet.NodeID][]int // executions, as indexes into execs
	count    uint64               // statements
	writers  [64]int              // of each register, index into stmts + 1; 0: none
	stack    event.CallStack
	frames   []frame             // the first one, then one for each of stack.Frames
	returns  bool                // the beginning of the next block shows which frames were left
	control  int                 // statement that the last one is control dependent on, + 1
	slots    [event.Slots][8]int // what it copies: who wrote each byte, + 1
	last     int                 // the open group's statement + 1; 0: none
	lastCall int                 // last environment call + 1
}

type exec struct {
	node  wet.NodeID
	k     uint64
	first int // index into stmts
}

// frame is a function's activation.
type frame struct {
	number int
	maker  int             // the call's statement + 1; 0: none
	finals map[cfg.Ref]int // last execution of each static block's last instruction, + 1
}

// New prepares to log a run of a program. takes says which arguments an
// environment call takes, as wet.Options.CallArgs.
func New(img *image.Space, takes func(nr uint64, args [6]uint64) uint8) *Log {
	return &Log{prog: cfg.New(img), img: img, takes: takes, outside: map[outside]wet.NodeID{}, memory: writers{}}
}

// WantsValues implements event.ValueObserver.
func (l *Log) WantsValues() bool { return true }

// Finish implements event.Observer.
func (l *Log) Finish(o event.Outcome) error {
	l.Outcome = o
	return nil
}

// Define implements event.Observer.
func (l *Log) Define(blocks []event.Block) error {
	for _, b := range blocks {
		code := rv.Scan(b.PC, func(addr uint64) (uint16, bool) {
			c := l.img.Code(addr, 2)
			if len(c) < 2 {
				return 0, false
			}
			return uint16(c[0]) | uint16(c[1])<<8, true
		}, int(b.Insts))
		if len(code.Insts) != int(b.Insts) {
			return fmt.Errorf("slicetest: %d of %d instructions at %#x", len(code.Insts), b.Insts, b.PC)
		}
		n := wet.Node{Kind: wet.NodePath}
		own := block{Block: b, insts: code.Insts, node: wet.NodeID(len(l.nodes))}
		l.divide(&own, &n)
		l.blocks = append(l.blocks, own)
		l.nodes = append(l.nodes, n)
	}
	return nil
}

// divide finds the static blocks that b covers, and the statements of its node.
func (l *Log) divide(b *block, n *wet.Node) {
	pc := b.PC
	for k, i := range b.insts {
		ref, begins := l.prog.At(pc)
		if k == 0 && !begins {
			ref, begins = l.prog.Find(pc)
			b.parts = append(b.parts, l.part(k, ref, begins))
			n.Blocks = append(n.Blocks, wet.NodeBlock{PC: pc, First: k})
		} else if begins {
			b.parts = append(b.parts, l.part(k, ref, true))
			n.Blocks = append(n.Blocks, wet.NodeBlock{PC: pc, First: k})
		}
		p := &b.parts[len(b.parts)-1]
		if p.known && pc+uint64(i.Len) == l.prog.Block(p.static).Next() {
			p.final = k
		}
		n.Stmts = append(n.Stmts, wet.Stmt{PC: pc, Inst: i, Block: len(n.Blocks) - 1, Valued: i.Valued()})
		pc += uint64(i.Len)
	}
}

func (l *Log) part(first int, ref cfg.Ref, known bool) part {
	p := part{first: first, static: ref, known: known, final: -1}
	if known {
		for _, d := range l.prog.Func(ref.Func).ControlDependence(ref.Block) {
			p.deciders = append(p.deciders, cfg.Ref{Func: ref.Func, Block: uint32(d.Node)})
		}
	}
	return p
}

// frame creates a function's activation.
func (l *Log) frame(maker int) frame {
	l.frames++
	return frame{number: l.frames, maker: maker, finals: map[cfg.Ref]int{}}
}

func (l *Log) thread(id event.ThreadID) *thread {
	for int(id) >= len(l.threads) {
		l.threads = append(l.threads, &thread{
			id: event.ThreadID(len(l.threads)), byNode: map[wet.NodeID][]int{}, frames: []frame{l.frame(0)},
		})
	}
	return l.threads[id]
}

// Batch implements event.Observer.
func (l *Log) Batch(b *event.Batch) error {
	t := l.thread(b.Thread)
	effects, events, values, addrs := b.Effects, b.Events, b.Values, b.Addrs
	for n := 0; n <= len(b.Blocks); n++ {
		for len(effects) > 0 && int(effects[0].At) <= n {
			if err := l.effect(t, effects[0]); err != nil {
				return err
			}
			effects = effects[1:]
		}
		for len(events) > 0 && int(events[0].At) <= n {
			l.stackEvent(t, events[0])
			events = events[1:]
		}
		if n == len(b.Blocks) {
			break
		}
		own := &l.blocks[b.Blocks[n]]
		count := rv.Values(own.insts, own.End)
		if len(values) < count || len(addrs) < len(own.Sites) {
			return fmt.Errorf("slicetest: block at %#x: %d values and %d addresses are left", own.PC, len(values), len(addrs))
		}
		if err := l.block(t, own, values[:count], addrs[:len(own.Sites)]); err != nil {
			return err
		}
		values, addrs = values[count:], addrs[len(own.Sites):]
	}
	if len(values)+len(addrs)+len(effects) != 0 {
		return fmt.Errorf("slicetest: %d values, %d addresses and %d effects are left over", len(values), len(addrs), len(effects))
	}
	return nil
}

// stackEvent applies what blocks do not show about the frames.
func (l *Log) stackEvent(t *thread, e event.Event) {
	if e.Mode&event.Returns != 0 {
		t.returns = true
	}
	switch e.Kind {
	case event.Unwound:
		t.returns = false
		if keep := int(e.Arg); keep < len(t.stack.Frames) {
			t.stack.Frames, t.frames = t.stack.Frames[:keep], t.frames[:keep+1]
		}
	case event.Rewound:
		t.stack.Call(e.Obj)
		t.frames = append(t.frames, l.frame(0))
		t.control = 0
	}
}

// begin records the execution of a node.
func (l *Log) begin(t *thread, n wet.NodeID) {
	t.byNode[n] = append(t.byNode[n], len(t.execs))
	t.execs = append(t.execs, exec{n, uint64(len(t.byNode[n]) - 1), len(l.stmts)})
}

// append adds a statement of the execution that began last.
func (l *Log) append(t *thread, s Statement) *Statement {
	e := t.execs[len(t.execs)-1]
	s.Frame = t.frames[len(t.frames)-1].number
	s.Thread, s.Ordinal, s.exec, s.stmt = t.id, t.count, len(t.execs)-1, uint32(len(l.stmts)-e.first)
	t.count++
	l.stmts = append(l.stmts, s)
	return &l.stmts[len(l.stmts)-1]
}
