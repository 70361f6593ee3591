package wet

import (
	"slices"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// maxPathStmts is the number of statements at which a path is cut.
const maxPathStmts = 1 << 12

// none is not an index.
const none = -1

// code is a basic block's code.
type code struct {
	pc    uint64
	raw   []byte
	insts []rv.Inst
	end   event.End // EndAtomic: the values also have the address of the last instruction's access
}

// decodeCode reads the instructions of raw.
func decodeCode(raw []byte) (insts []rv.Inst, ok bool) {
	for len(raw) >= 2 {
		word := uint32(raw[0]) | uint32(raw[1])<<8
		n := int(rv.Len(uint16(word)))
		if n > len(raw) {
			return insts, false
		}
		if n == 4 {
			word |= uint32(raw[2])<<16 | uint32(raw[3])<<24
		}
		i, _ := rv.Decode(word) // an illegal instruction is a statement too
		i.Len = uint8(n)
		insts = append(insts, i)
		raw = raw[n:]
	}
	return insts, len(raw) == 0
}

// flavour says how the values in a file were stored.
type flavour struct {
	ops [(rv.NumOps + 63) / 64]uint64 // operations whose results are computed and not stored
}

func (f *flavour) has(op rv.Op) bool { return op < rv.NumOps && f.ops[op/64]>>(op%64)&1 != 0 }

// source says how the result of a statement is found.
type source uint8

const (
	sourceNone    source = iota // there is none
	sourceStatic                // from the code
	sourceDerived               // from its operands
	sourceKept                  // it is stored, or found through memory
)

// origin says where a path finds something: at an index from 0 in itself, whose meaning
// depends on the use, or in a slot, from before the path.
type origin int32

func fromSlot(slot int32) origin { return origin(^slot) }

// slot returns the number of the slot. ok is false for an origin in the path.
func (o origin) slot() (slot int32, ok bool) { return int32(^o), o < 0 }

// operand is a register that a statement uses.
type operand struct {
	reg  uint8
	pos  uint8  // 0–2: rs1–rs3; 3: an argument of an environment call
	from origin // statement of the path, or slot of a register that is live in
}

// stmtInfo is what a path knows about a statement beyond the public part.
type stmtInfo struct {
	uses   []operand
	source source
	val    int32 // index into the values of an execution, or none
	kept   int32 // index into template.kept, or none
	access int32 // index into template.accesses, or none
}

// access is a statement's access to memory.
type access struct {
	stmt     uint32
	size     uint8
	read     bool
	write    bool
	sc       bool     // stores only if its value is 0
	forward  bool     // read: a plain load; write: a plain store
	plain    int32    // index into the plain addresses, or none
	addrVal  int32    // otherwise into the values
	slot     int32    // of what it reads
	kept     int32    // of a load: index into template.kept, or none
	data     int32    // of a plain store: index of its data operand among the statement's uses, or none (x0)
	dataFrom []origin // what that operand is computed from, as in template.anchors
}

// liveOut is a register that a path leaves defined.
type liveOut struct {
	reg    uint8
	val    int32 // index of its value, or none if it is static
	static uint64
	stmt   uint32
	kept   int32    // index into template.kept, or none
	roots  []origin // what its value is computed from, as in template.anchors
}

// template is what the code of a node determines. Recorder and reader build it in the
// same way.
type template struct {
	Node
	mode
	info     []stmtInfo
	liveIn   []uint8 // registers by slot
	accesses []access
	reads    int       // slots of accesses that read, which follow the live registers
	ctl      []origin  // by block: the block of the path that decides, or a control slot
	ctlSlots int       // they follow the reads
	end      event.End // of a path
	liveOuts []liveOut
	inMask   uint64 // registers that are live on entry, and those that are left defined
	outMask  uint64
	leaves   [64]uint32 // by register that is left defined: the statement
	kept     []int32    // statements whose values are stored
	anchors  [][]origin // by kept: for a statement that could also be computed, what it is computed from: values in kept, and slots of live registers
	groups   [][]int32  // indexes into kept
	values   int        // an execution's number of entries in event.Batch.Values
	plain    int        // an execution's number of entries in event.Batch.Addrs
	valued   int        // statements with values
	rounding bool       // it changes the rounding mode
	cones    [][]int32  // see cone
	deps     int        // dependences through registers and control of one execution
}

func (t *template) slots() int { return len(t.liveIn) + t.reads + t.ctlSlots }

// readSlot numbers the slots of accesses that read, and ctlSlot the control slots among
// all slots.
func (t *template) readSlot(a *access) int { return int(a.slot) - len(t.liveIn) }

func (t *template) ctlSlot(i int32) int { return len(t.liveIn) + t.reads + int(i) }

// newPath builds the template of a path. ctl says what decides about each block, as in
// template.
func newPath(fn uint32, blocks []code, ctl []origin, m mode, f *flavour) *template {
	t := &template{Node: Node{Kind: NodePath, Func: fn}, mode: m, ctl: ctl, end: blocks[len(blocks)-1].end}
	for _, c := range ctl {
		if slot, ok := c.slot(); ok {
			t.ctlSlots = max(t.ctlSlots, int(slot)+1)
		}
	}
	t.addStmts(blocks)
	b := builderOf(t)
	for s := range t.Stmts {
		b.classify(s, f)
	}
	b.finish()
	return t
}

func (t *template) addStmts(blocks []code) {
	n := 0
	for i := range blocks {
		n += len(blocks[i].insts)
	}
	t.Stmts, t.info = make([]Stmt, 0, n), make([]stmtInfo, n)
	for i := range blocks {
		b := &blocks[i]
		t.Blocks = append(t.Blocks, NodeBlock{PC: b.pc, First: len(t.Stmts)})
		pc := b.pc
		for k, in := range b.insts {
			s := len(t.Stmts)
			t.Stmts = append(t.Stmts, Stmt{PC: pc, Inst: in, Block: i})
			t.addAccess(s, in, b.end == event.EndAtomic && k == len(b.insts)-1)
			t.addValue(s, in)
			pc += uint64(in.Len)
		}
	}
}

// addAccess adds the access of a statement. An atomic access has its address among the
// values.
func (t *template) addAccess(s int, in rv.Inst, atomic bool) {
	t.info[s].access = none
	kind, size, plain := in.Mem()
	a := access{stmt: uint32(s), size: size, plain: none, addrVal: none, kept: none, data: none}
	switch {
	case plain:
		a.read, a.write = kind == event.Read, kind == event.Write
		a.forward = true
	case in.Atomic() && atomic:
		a.size = in.AtomicSize()
		switch in.Op {
		case rv.OpLRW, rv.OpLRD:
			a.read = true
		case rv.OpSCW, rv.OpSCD:
			a.write, a.sc = true, true
		default:
			a.read, a.write = true, true
		}
	default:
		return
	}
	if atomic {
		a.addrVal = int32(t.values)
		t.values++
	} else {
		a.plain = int32(t.plain)
		t.plain++
	}
	t.info[s].access = int32(len(t.accesses))
	t.accesses = append(t.accesses, a)
}

func (t *template) addValue(s int, in rv.Inst) {
	info := &t.info[s]
	info.val, info.kept = none, none
	a := info.access
	if _, told := in.Told(a != none && t.accesses[a].addrVal != none); told {
		info.val = int32(t.values)
		t.values++
		if in.Valued() {
			t.Stmts[s].Valued = true
			t.valued++
		}
	}
}

// pathBuilder follows registers through a path.
type pathBuilder struct {
	t      *template
	last   [64]int32  // statement that defined a register last
	slot   [64]int32  // of a register that is live on entry
	inputs [][]origin // by statement: inputs of the node that it depends on: input statements, and slots of live registers
	roots  [][]origin // by statement: what its value is computed from, as in template.anchors
}

func builderOf(t *template) *pathBuilder {
	b := &pathBuilder{t: t, inputs: make([][]origin, len(t.Stmts)), roots: make([][]origin, len(t.Stmts))}
	for r := range b.last {
		b.last[r], b.slot[r] = none, none
	}
	return b
}

// mode is what is not determined by a path's code.
type mode struct {
	strict bool  // the rounding mode in fcsr may be other than to nearest
	args   uint8 // of a path that ends with an environment call: bit n: it takes a0+n
}

// Registers of an environment call.
const (
	callArgs   = 10 // the first of maxArgs
	maxArgs    = 6
	callNumber = 17
)

// classify finds where a statement's operands come from, and how its result is found.
func (b *pathBuilder) classify(s int, f *flavour) {
	t := b.t
	in, info := t.Stmts[s].Inst, &t.info[s]
	for n := 1; n <= 3; n++ {
		if r, ok := in.Source(n); ok {
			b.use(s, r, uint8(n-1))
		}
	}
	if in.Op == rv.OpECALL {
		b.use(s, callNumber, 3)
		for n := range uint8(maxArgs) {
			if t.args>>n&1 != 0 {
				b.use(s, callArgs+n, 3)
			}
		}
	}
	t.rounding = t.rounding || in.Rounds()
	dest, defines := in.Dest()
	_, static := in.Static(t.Stmts[s].PC)
	_, _, mem := in.Mem()
	switch {
	case info.access != none && t.accesses[info.access].sc:
		info.source = sourceKept // even if it has no destination register, because it must be known whether it stored
		b.inputs[s] = []origin{origin(s)}
	case !defines:
		info.source = sourceNone
	case static:
		info.source = sourceStatic
	case !mem && !in.Atomic() && f.has(in.Op) && (!t.strict || in.RM != rv.DynamicRounding):
		info.source = sourceDerived
		b.inputs[s] = above(info, b.inputs)
	default:
		info.source = sourceKept
		// What is read inside the node is a separate input. Without an evaluator,
		// computed values depend on inputs all the same.
		if !mem && !in.Atomic() && len(info.uses) > 0 {
			b.inputs[s] = above(info, b.inputs)
		} else {
			b.inputs[s] = []origin{origin(s)}
		}
	}
	if defines {
		b.last[dest] = int32(s)
	}
}

func (b *pathBuilder) use(s int, r, pos uint8) {
	t := b.t
	from := origin(b.last[r])
	if b.last[r] == none {
		if b.slot[r] == none {
			b.slot[r] = int32(len(t.liveIn))
			t.liveIn = append(t.liveIn, r)
		}
		from = fromSlot(b.slot[r])
	}
	info := &t.info[s]
	known := slices.ContainsFunc(info.uses, func(u operand) bool { return u.reg == r })
	if !known {
		t.deps++
	}
	info.uses = append(info.uses, operand{r, pos, from})
}

// finish chooses what is stored, and numbers the slots and values.
func (b *pathBuilder) finish() {
	t := b.t
	// A register that the path computes from live registers may be stored, so that
	// finding its value does not take a chain of paths.
	anchor := make([]bool, len(t.info))
	for _, s := range b.last {
		if s != none && t.info[s].source == sourceDerived && slices.ContainsFunc(b.inputs[s], func(x origin) bool { return x < 0 }) {
			t.info[s].source, anchor[s] = sourceKept, true
		}
	}
	for s := range t.info {
		info := &t.info[s]
		if info.source == sourceDerived || anchor[s] {
			b.roots[s] = above(info, b.roots)
		}
		if info.source == sourceKept {
			info.kept = int32(len(t.kept))
			t.kept = append(t.kept, int32(s))
			t.anchors = append(t.anchors, b.roots[s])
			b.roots[s] = []origin{origin(info.kept)}
		}
	}
	for i := range t.accesses {
		b.finishAccess(&t.accesses[i])
	}
	for r, s := range b.last {
		if s != none {
			o := liveOut{reg: uint8(r), val: t.info[s].val, stmt: uint32(s), kept: t.info[s].kept, roots: b.roots[s]}
			o.static, _ = t.Stmts[s].Inst.Static(t.Stmts[s].PC)
			t.liveOuts = append(t.liveOuts, o)
			t.outMask |= 1 << r
			t.leaves[r] = uint32(s)
		}
	}
	for _, r := range t.liveIn {
		t.inMask |= 1 << r
	}
	t.deps += len(t.Stmts) // one control dependence for each
	b.group()
}

// above joins the lists of a statement's operands, sorted and without duplicates.
// Operands from before the path stand for themselves.
func above(info *stmtInfo, list [][]origin) (all []origin) {
	for _, u := range info.uses {
		if _, comesIn := u.from.slot(); comesIn {
			all = append(all, u.from)
		} else {
			all = append(all, list[u.from]...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (b *pathBuilder) finishAccess(a *access) {
	t := b.t
	info := &t.info[a.stmt]
	a.kept = info.kept
	if a.read {
		a.slot = int32(len(t.liveIn) + t.reads)
		t.reads++
	}
	if !a.forward || !a.write {
		return
	}
	for n, u := range info.uses {
		if u.pos != 1 {
			continue
		}
		a.data = int32(n)
		if _, comesIn := u.from.slot(); comesIn {
			a.dataFrom = []origin{u.from}
		} else {
			a.dataFrom = b.roots[u.from]
		}
	}
}

// group divides the stored statements as section 3.2 says. Statements that depend on the
// same inputs go together. A group whose inputs are a proper subset of another's joins
// it. An input that is read inside the node joins one of the groups that depend on it.
func (b *pathBuilder) group() {
	t := b.t
	type group struct {
		inputs  []origin
		members []int32
	}
	var groups []*group
	isInput := func(s int32) bool { return len(b.inputs[s]) == 1 && b.inputs[s][0] == origin(s) }
	for k, s := range t.kept {
		if isInput(s) {
			continue
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return slices.Equal(g.inputs, b.inputs[s]) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{inputs: b.inputs[s]})
		}
		groups[i].members = append(groups[i].members, int32(k))
	}
	// The largest first: a subset joins the largest group that contains it.
	slices.SortStableFunc(groups, func(x, y *group) int { return len(y.inputs) - len(x.inputs) })
	var merged []*group
	for _, g := range groups {
		i := slices.IndexFunc(merged, func(m *group) bool { return contains(m.inputs, g.inputs) })
		if i < 0 {
			merged = append(merged, g)
			continue
		}
		merged[i].members = append(merged[i].members, g.members...)
	}
	for k, s := range t.kept {
		if !isInput(s) {
			continue
		}
		i := slices.IndexFunc(merged, func(m *group) bool { return contains(m.inputs, []origin{origin(s)}) })
		if i < 0 {
			i = len(merged)
			merged = append(merged, &group{inputs: []origin{origin(s)}})
		}
		merged[i].members = append(merged[i].members, int32(k))
	}
	for _, g := range merged {
		slices.Sort(g.members)
		t.groups = append(t.groups, g.members)
	}
}

// contains reports whether the sorted set contains all of the sorted subset.
func contains(set, subset []origin) bool {
	for _, x := range subset {
		if _, ok := slices.BinarySearch(set, x); !ok {
			return false
		}
	}
	return true
}

// newOutside builds the template of a statement that stands for something
// outside the recorded code.
func newOutside(kind NodeKind, pc, callee uint64, args uint8) *template {
	t := &template{Node: Node{Kind: kind, Callee: callee, Args: args, Stmts: []Stmt{{PC: pc}}}, info: make([]stmtInfo, 1)}
	t.info[0] = stmtInfo{val: none, kept: none, access: none}
	for r := range min(args, 8) {
		t.info[0].uses = append(t.info[0].uses, operand{reg: 10 + r, pos: 3, from: fromSlot(int32(r))})
		t.liveIn = append(t.liveIn, 10+r)
		t.inMask |= 1 << (10 + r)
	}
	t.deps = len(t.liveIn)
	if kind != NodeStart {
		t.ctlSlots = 1
		t.deps++
	}
	return t
}
