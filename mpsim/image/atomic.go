package image

import (
	"cmp"
	"debug/dwarf"
	"slices"
	"strconv"
	"strings"
)

// AtomicScope is an atomic operation of <stdatomic.h> or std::atomic, as the debug
// information shows it. In C, it is the compound statement to which a macro expands, with a
// variable that points to the object. In C++, it is a member function with its parameters,
// usually inlined.
type AtomicScope struct {
	Op      string    // load, store, exchange, compare_exchange_strong, fetch_add, …
	Size    uint64    // of the object in bytes; 0 if unknown
	Member  bool      // a member function of C++, with no code around it
	Pointer Operand   // to the object
	Orders  []Operand // parameters of type memory_order; none in C
}

// OperandKind says what is known about an [Operand].
type OperandKind uint8

const (
	OperandUnknown OperandKind = iota
	OperandConst               // it is Value
	OperandSum                 // it is register Reg plus Offset
	OperandMemory              // it is in memory, Offset bytes from register Reg
)

// Operand is the location of the value of a variable or parameter immediately before an
// instruction.
type Operand struct {
	Kind   OperandKind
	Value  uint64
	Reg    uint8
	Offset int64
}

// atomicScope is an AtomicScope in the debug information.
type atomicScope struct {
	ranges  [][2]uint64
	op      string
	pointer dwarf.Offset
	orders  []dwarf.Offset
	size    uint64
	params  []dwarf.Offset // of a function
}

// AtomicScope returns the innermost atomic operation whose code contains pc.
func (m *Image) AtomicScope(pc uint64) (s AtomicScope, ok bool) {
	d := m.lockDebug()
	defer d.mu.Unlock()
	pc -= m.Base
	u, function, found := d.functionAt(pc)
	if !found {
		return s, false
	}
	d.note(guard(func() error {
		list, err := d.atomicScopes(function)
		for i := len(list) - 1; i >= 0 && !ok; i-- { // inner ones come later
			if covers(list[i].ranges, pc) {
				s, ok = d.atomicAt(m, u, function, pc, &list[i]), true
			}
		}
		return err
	}))
	return s, ok
}

// covers reports whether one of the ranges contains pc.
func covers(ranges [][2]uint64, pc uint64) bool {
	return slices.ContainsFunc(ranges, func(r [2]uint64) bool { return r[0] <= pc && pc < r[1] })
}

// atomicScopes returns the atomic operations in a function, outer ones before inner ones.
func (d *debugInfo) atomicScopes(function dwarf.Offset) ([]atomicScope, error) {
	if list, ok := d.atomics[function]; ok {
		return list, nil
	}
	if d.atomics == nil {
		d.atomics = map[dwarf.Offset][]atomicScope{}
	}
	d.atomics[function] = nil
	r := d.data.Reader()
	r.Seek(function)
	e, err := r.Next()
	if err != nil || e == nil {
		return nil, err
	}
	w := atomicWalk{d: d}
	w.open(e)
	for n := 0; len(w.around) > 0 && n < maxLocals; n++ {
		if e, err = r.Next(); err != nil || e == nil {
			return w.found, err
		}
		w.take(e)
	}
	w.parameters()
	d.atomics[function] = w.found
	return w.found, nil
}

// atomicWalk visits the entries of a function.
type atomicWalk struct {
	d      *debugInfo
	around []openEntry
	found  []atomicScope
}

// openEntry is an entry whose children are being read.
type openEntry struct {
	*dwarf.Entry
	scope int // index in found, for a function that is an atomic operation; otherwise -1
}

func (w *atomicWalk) open(e *dwarf.Entry) {
	o := openEntry{e, -1}
	if e.Tag == dwarf.TagSubprogram || e.Tag == dwarf.TagInlinedSubroutine {
		if op, ok := w.d.atomicFunction(e.Offset); ok {
			o.scope = w.add(e, op)
		}
	}
	if e.Children {
		w.around = append(w.around, o)
	}
}

// add records an operation whose code is that of entry e. It returns the operation's index,
// or -1.
func (w *atomicWalk) add(e *dwarf.Entry, op string) int {
	ranges, err := w.d.rangesOf(e)
	if err != nil || len(ranges) == 0 {
		return -1
	}
	w.found = append(w.found, atomicScope{ranges: ranges, op: op})
	return len(w.found) - 1
}

func (w *atomicWalk) take(e *dwarf.Entry) {
	if e.Tag == 0 {
		w.around = w.around[:len(w.around)-1]
		return
	}
	in := w.around[len(w.around)-1]
	switch e.Tag {
	case dwarf.TagFormalParameter:
		if in.scope >= 0 {
			w.found[in.scope].params = append(w.found[in.scope].params, e.Offset)
		}
	case dwarf.TagVariable:
		if in.Tag == dwarf.TagLexDwarfBlock {
			w.variable(in.Entry, e)
		}
	}
	w.open(e)
}

// parameters sorts the parameters of the C++ operations: the first one points to the
// object. Inlined copies may list them in a different order from the original function.
func (w *atomicWalk) parameters() {
	for i := range w.found {
		s := &w.found[i]
		slices.SortFunc(s.params, func(a, b dwarf.Offset) int { return cmp.Compare(w.d.origin(a), w.d.origin(b)) })
		for n, off := range s.params {
			typ := w.d.typeOfEntry(off)
			if n == 0 {
				s.pointer, s.size = off, w.d.pointee(typ)
			} else if w.d.typeName(typ) == "memory_order" {
				s.orders = append(s.orders, off)
			}
		}
	}
}

// origin returns the entry of which the one at off is an instance, or off if it is none.
func (d *debugInfo) origin(off dwarf.Offset) dwarf.Offset {
	r := d.data.Reader()
	r.Seek(off)
	if e, err := r.Next(); err == nil && e != nil {
		if o, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
			return o
		}
	}
	return off
}

// variable checks whether e is the pointer that <stdatomic.h> declares in the block.
func (w *atomicWalk) variable(block, e *dwarf.Entry) {
	name, _ := e.Val(dwarf.AttrName).(string)
	if name == "" && e.Val(dwarf.AttrAbstractOrigin) != nil {
		name, _, _ = w.d.entryName(e.Offset)
	}
	op, ok := strings.CutPrefix(name, "__atomic_")
	if !ok {
		return
	}
	op, ok = strings.CutSuffix(op, "_ptr")
	if ok {
		if i := w.add(block, op); i >= 0 {
			w.found[i].pointer, w.found[i].size = e.Offset, w.d.pointee(w.d.typeOfEntry(e.Offset))
		}
	}
}

// atomicOps are the names of the C++ library's functions that access an atomic object
// themselves. In libc++ they are called __cxx_atomic_….
var atomicOps = []string{"load", "store", "test", "clear", "exchange", "compare_exchange_weak", "compare_exchange_strong",
	"compare_exchange", "test_and_set", "fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor",
	"__fetch_add", "__fetch_sub", "__fetch_and", "__fetch_or", "__fetch_xor"}

// atomicFunction reports whether the function at off is an operation of the C++ library on
// an atomic object, and returns its name.
func (d *debugInfo) atomicFunction(off dwarf.Offset) (op string, ok bool) {
	name, linkage, _ := d.entryName(off)
	name, _, _ = strings.Cut(name, "<") // of a template
	op, cxx := strings.CutPrefix(name, "__cxx_atomic_")
	if !slices.Contains(atomicOps, op) {
		return "", false
	}
	if cxx {
		return op, true
	}
	rest, ok := strings.CutPrefix(linkage, "_ZN")
	// An atomic_ref has a pointer to the object. Its operations call other functions.
	return op, ok && strings.HasPrefix(strings.TrimLeft(rest, "VK"), "St") && strings.Contains(linkage, "atomic") && !strings.Contains(linkage, "atomic_ref")
}

// pointee returns the size of the type to which a pointer type points.
func (d *debugInfo) pointee(typ dwarf.Offset) uint64 {
	r := d.data.Reader()
	for range maxTypeDepth {
		r.Seek(typ)
		e, err := r.Next()
		if err != nil || e == nil {
			return 0
		}
		next, _ := e.Val(dwarf.AttrType).(dwarf.Offset)
		switch e.Tag {
		case dwarf.TagPointerType, dwarf.TagReferenceType:
			return d.typeAt(next).size
		case dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagTypedef, dwarf.TagRestrictType:
			typ = next
		default:
			return 0
		}
	}
	return 0
}

// typeName returns the name of a type.
func (d *debugInfo) typeName(typ dwarf.Offset) string {
	r := d.data.Reader()
	r.Seek(typ)
	e, err := r.Next()
	if err != nil || e == nil {
		return ""
	}
	name, _ := e.Val(dwarf.AttrName).(string)
	return name
}

// atomicAt returns the locations of the operands of an operation at pc.
func (d *debugInfo) atomicAt(m *Image, u *unit, function dwarf.Offset, pc uint64, a *atomicScope) AtomicScope {
	l := localSearch{m: m, d: d, unit: u, pc: pc}
	r := d.data.Reader()
	r.Seek(function)
	if e, err := r.Next(); err == nil && e != nil {
		l.frame, _ = e.Val(dwarf.AttrFrameBase).([]byte)
	}
	s := AtomicScope{Op: strings.TrimPrefix(a.op, "__"), Size: a.size, Member: len(a.params) > 0, Pointer: l.operand(a.pointer)}
	for _, off := range a.orders {
		s.Orders = append(s.Orders, l.operand(off))
	}
	return s
}

// operand returns the location of the value of the variable or parameter at off.
func (l *localSearch) operand(off dwarf.Offset) Operand {
	r := l.d.data.Reader()
	r.Seek(off)
	e, err := r.Next()
	if err != nil || e == nil {
		return Operand{}
	}
	if v, ok := e.Val(dwarf.AttrConstValue).(int64); ok {
		return Operand{Kind: OperandConst, Value: uint64(v)}
	}
	expr, ok := e.Val(dwarf.AttrLocation).([]byte)
	if list, listed := e.Val(dwarf.AttrLocation).(int64); !ok && listed && list >= 0 {
		expr = l.listed(uint64(list))
	}
	return l.value(expr)
}

// Operations of DWARF expressions that are values.
const (
	opConst1u    = 0x08
	opConst8s    = 0x0f
	opConstu     = 0x10
	opConsts     = 0x11
	opLit0       = 0x30
	opLit31      = 0x4f
	opStackValue = 0x9f
)

// value evaluates an expression that describes a value.
func (l *localSearch) value(expr []byte) Operand {
	if n := len(expr); n > 1 && expr[n-1] == opStackValue {
		if v, ok := constant(expr[:n-1]); ok {
			return Operand{Kind: OperandConst, Value: v}
		}
		if v, ok := l.place(expr[:n-1]); ok && v.Memory && expr[0] != opFbreg {
			return Operand{Kind: OperandSum, Reg: v.Reg, Offset: v.Offset}
		}
		return Operand{}
	}
	switch v, ok := l.place(expr); {
	case ok && v.Memory:
		return Operand{Kind: OperandMemory, Reg: v.Reg, Offset: v.Offset}
	case ok:
		return Operand{Kind: OperandSum, Reg: v.Reg}
	}
	return Operand{}
}

// constant evaluates an expression that pushes a number.
func constant(expr []byte) (v uint64, ok bool) {
	c := cursor{data: expr, off: 1}
	switch op := expr[0]; {
	case op >= opLit0 && op <= opLit31:
		v = uint64(op - opLit0)
	case op >= opConst1u && op <= opConst8s:
		b := c.take(1 << ((op - opConst1u) / 2))
		for i := range b {
			v |= uint64(b[i]) << (8 * i)
		}
		if shift := 64 - 8*len(b); op%2 == 1 { // signed
			v = uint64(int64(v<<shift) >> shift)
		}
	case op == opAddr:
		v = c.u64()
	case op == opConstu:
		v = c.uleb()
	case op == opConsts:
		v = uint64(c.sleb())
	default:
		return 0, false
	}
	return v, !c.bad && c.off == len(expr)
}

// Statement is the place of an instruction in the source, according to the line table.
type Statement struct {
	File, Line, Column uint32
}

// Statement returns the source place of the instruction at pc. Instructions that a compiler
// generated from one operation have the same place.
func (m *Image) Statement(pc uint64) (Statement, bool) {
	d := m.lockDebug()
	defer d.mu.Unlock()
	pc -= m.Base
	u := d.unitAt(pc)
	if u == nil {
		return Statement{}, false
	}
	var row lineRow
	ok := false
	d.note(guard(func() error {
		d.readUnitLines(m, u)
		row, ok = u.lines.find(pc)
		return nil
	}))
	return Statement{row.file, row.line, row.column}, ok
}

// GCC returns the major version of gcc that compiled the code at pc. It returns 0 for
// another compiler, or if none is named. For libraries without debug information, the notes
// of all compilers involved decide.
func (m *Image) GCC(pc uint64) int {
	d := m.lockDebug()
	u := d.unitAt(pc - m.Base)
	var producer string
	if u != nil {
		producer, _ = u.root.Val(dwarf.AttrProducer).(string)
	}
	d.mu.Unlock()
	if u != nil {
		return gccVersion(producer)
	}
	version := 0
	for i := range m.sections {
		if m.sections[i].name != ".comment" {
			continue
		}
		data, err := m.sections[i].contents(m.Data)
		if err != nil {
			return 0
		}
		for note := range strings.SplitSeq(string(data), "\x00") {
			if note == "" {
				continue
			}
			v := gccVersion(note)
			if v == 0 {
				return 0
			}
			version = max(version, v)
		}
	}
	return version
}

// gccVersion extracts the version from gcc's own description: "GNU C17 12.2.0 -O2 …" in
// debug information, "GCC: (Debian 12.2.0-13) 12.2.0" in a note. The assembler does not
// count, because the compiler of its input is unknown.
func gccVersion(producer string) int {
	if strings.HasPrefix(producer, "GNU AS") || !strings.HasPrefix(producer, "GNU ") && !strings.HasPrefix(producer, "GCC: ") {
		return 0
	}
	if _, rest, ok := strings.Cut(producer, ") "); ok && strings.HasPrefix(producer, "GCC: ") {
		producer = rest
	}
	for word := range strings.FieldsSeq(producer) {
		if major, _, dotted := strings.Cut(word, "."); dotted {
			if v, err := strconv.Atoi(major); err == nil {
				return v
			}
		}
	}
	return 0
}
