package image

import (
	"debug/dwarf"
	"fmt"
	"slices"
	"strings"
)

// Local is a variable or parameter of a function, and where it is stored at one
// instruction.
type Local struct {
	Name string
	Size uint64 // bytes
	// Memory says that it is in memory, Offset bytes from the value of register Reg before
	// the instruction. Otherwise it is in register Reg: 0–31 integer, 32–63 floating-point.
	Memory bool
	Reg    uint8
	Offset int64
	// Then is used by [Image.Pointed]: the variable is that many bytes after the address
	// that the pointer in that memory contains.
	Then int64

	typ dwarf.Offset
}

// Operations of DWARF expressions for locations of local variables (DWARF 5 section 7.7.1).
const (
	opReg0         = 0x50
	opReg31        = 0x6f
	opBreg0        = 0x70
	opBreg31       = 0x8f
	opPlusUconst   = 0x23
	opDeref        = 0x06
	opRegx         = 0x90
	opFbreg        = 0x91
	opBregx        = 0x92
	opCallFrameCFA = 0x9c
)

// maxLocals bounds the number of variables of a function that are examined.
const maxLocals = 1 << 16

// Locals returns the variables and parameters of the functions around pc, including inlined
// ones, whose location there is a register or relative to one. Of several variables with
// the same name, inner ones come first.
func (m *Image) Locals(pc uint64) []Local {
	found, _ := m.localsAt(pc)
	return found
}

// Pointed returns the variables that are in memory to which a pointer on the stack points.
// Shared variables in the code of an OpenMP region are stored in this way. The order is
// that of Locals.
func (m *Image) Pointed(pc uint64) []Local {
	_, pointed := m.localsAt(pc)
	return pointed
}

func (m *Image) localsAt(pc uint64) (found, pointed []Local) {
	l := m.searchLocals(pc)
	return l.found, l.pointed
}

// searchLocals finds the variables of the functions around pc, in the order of Locals.
func (m *Image) searchLocals(pc uint64) (l localSearch) {
	d := m.lockDebug()
	defer d.mu.Unlock()
	pc -= m.Base
	u, function, ok := d.functionAt(pc)
	if !ok {
		return l
	}
	l = localSearch{m: m, d: d, unit: u, pc: pc}
	d.note(guard(func() error { return l.function(function) }))
	slices.Reverse(l.found)
	slices.Reverse(l.pointed)
	slices.Reverse(l.composed)
	return l
}

// LocalPath names the part of a local variable at off that contains an access of size
// bytes, as [Image.ObjectPathSize] does: cache.hits, grid[3].
func (m *Image) LocalPath(l Local, off, size uint64) string {
	d := m.lockDebug()
	defer d.mu.Unlock()
	var b strings.Builder
	b.WriteString(l.Name)
	d.note(guard(func() error { d.describe(&b, l.typ, off, size); return nil }))
	return b.String()
}

// localSearch searches the variables of one function.
type localSearch struct {
	m     *Image
	d     *debugInfo
	unit  *unit
	pc    uint64 // address of the file
	frame []byte // expression of the frame base

	found, pointed []Local
	composed       []Composed
}

// function visits the entries of a function. It skips blocks and inlined functions that do
// not cover the place.
func (l *localSearch) function(at dwarf.Offset) error {
	r := l.d.data.Reader()
	r.Seek(at)
	e, err := r.Next()
	if err != nil || e == nil || !e.Children {
		return err
	}
	l.frame, _ = e.Val(dwarf.AttrFrameBase).([]byte)
	covered := []bool{true} // of the open entries
	for n := 0; len(covered) > 0 && n < maxLocals; n++ {
		e, err := r.Next()
		if err != nil || e == nil {
			return err
		}
		if e.Tag == 0 {
			covered = covered[:len(covered)-1]
			continue
		}
		in := covered[len(covered)-1]
		switch e.Tag {
		case dwarf.TagVariable, dwarf.TagFormalParameter:
			if in {
				l.variable(e)
			}
			in = false
		case dwarf.TagLexDwarfBlock, dwarf.TagInlinedSubroutine:
			in = in && l.covers(e)
		default:
			in = false
		}
		if e.Children {
			covered = append(covered, in)
		}
	}
	return nil
}

// covers reports whether the code of a block or inlined function contains the place.
func (l *localSearch) covers(e *dwarf.Entry) bool {
	ranges, err := l.d.rangesOf(e)
	if err != nil {
		return false
	}
	for _, r := range ranges {
		if r[0] <= l.pc && l.pc < r[1] {
			return true
		}
	}
	return false
}

// variable records a variable if it has a location here.
func (l *localSearch) variable(e *dwarf.Entry) {
	expr, ok := e.Val(dwarf.AttrLocation).([]byte)
	if !ok {
		off, list := l.listOffset(e.Val(dwarf.AttrLocation))
		if !list {
			l.constant(e)
			return
		}
		expr = l.listed(off)
	}
	name, _, _ := l.d.entryName(e.Offset)
	v, rest, ok := l.begin(expr)
	if name == "" {
		return
	}
	if !ok || len(rest) > 0 && rest[0] == opPiece {
		l.composite(e, name, expr)
		return
	}
	v.Name = name
	v.typ = l.d.typeOfEntry(e.Offset)
	v.Size = max(l.d.typeAt(v.typ).size, 1)
	rest, offset := added(rest)
	v.Offset += offset
	switch {
	case len(rest) == 0 && (v.Memory || offset == 0):
		l.found = append(l.found, v)
	case v.Memory && len(rest) > 0 && rest[0] == opDeref:
		if rest, v.Then = added(rest[1:]); len(rest) == 0 {
			l.pointed = append(l.pointed, v)
		}
	}
}

// added decodes an addition of a constant at the beginning of an expression.
func added(expr []byte) (rest []byte, n int64) {
	if len(expr) == 0 || expr[0] != opPlusUconst {
		return expr, 0
	}
	c := cursor{data: expr, off: 1}
	n = int64(c.uleb())
	if c.bad {
		return expr, 0
	}
	return expr[c.off:], n
}

// place decodes an expression that consists only of a register or memory location.
func (l *localSearch) place(expr []byte) (v Local, ok bool) {
	v, rest, ok := l.begin(expr)
	return v, ok && len(rest) == 0
}

// begin decodes the beginning of an expression, which is a register or memory location.
func (l *localSearch) begin(expr []byte) (v Local, rest []byte, ok bool) {
	if len(expr) == 0 {
		return v, nil, false
	}
	c := cursor{data: expr, off: 1}
	reg := uint64(expr[0])
	switch op := expr[0]; {
	case op >= opReg0 && op <= opReg31:
		reg -= opReg0
	case op == opRegx:
		reg = c.uleb()
	case op >= opBreg0 && op <= opBreg31:
		reg -= opBreg0
		v.Memory, v.Offset = true, c.sleb()
	case op == opBregx:
		reg = c.uleb()
		v.Memory, v.Offset = true, c.sleb()
	case op == opFbreg:
		offset := c.sleb()
		if len(l.frame) == 1 && l.frame[0] == opCallFrameCFA {
			cfa, known := l.d.frameAddress(l.m, l.pc)
			if !known {
				return v, nil, false
			}
			v = Local{Memory: true, Reg: cfa.reg, Offset: cfa.offset + offset}
		} else if len(l.frame) > 0 && l.frame[0] != opFbreg {
			base, known := l.place(l.frame)
			if !known {
				return v, nil, false
			}
			v = Local{Memory: true, Reg: base.Reg, Offset: base.Offset + offset}
		} else {
			return v, nil, false
		}
		return v, expr[min(c.off, len(expr)):], !c.bad
	default:
		return v, nil, false
	}
	v.Reg = uint8(reg)
	return v, expr[min(c.off, len(expr)):], reg < 64 && !c.bad
}

// Entries of location lists (DWARF 5 section 7.7.3).
const (
	listEnd         = 0
	listBaseIndex   = 1
	listIndexes     = 2
	listIndexLength = 3
	listOffsetPair  = 4
	listDefault     = 5
	listBase        = 6
	listStartEnd    = 7
	listStartLength = 8
	listViewPair    = 9
)

// listed returns the expression of a location list that applies at the place.
func (l *localSearch) listed(off uint64) []byte {
	base, _ := l.unit.root.Val(dwarf.AttrLowpc).(uint64)
	if l.d.locLists == nil {
		return l.listed4(off, base)
	}
	if off > uint64(len(l.d.locLists)) {
		return nil
	}
	c := cursor{data: l.d.locLists, off: int(off)}
	var fallback []byte
	for !c.bad {
		var low, high uint64
		switch c.u8() {
		case listEnd:
			return fallback
		case listOffsetPair:
			low = base + c.uleb()
			high = base + c.uleb()
		case listDefault:
			fallback = c.take(int(min(c.uleb(), maxExpression)))
			continue
		case listBase:
			base = c.u64()
			continue
		case listBaseIndex:
			base = l.d.address(l.unit, c.uleb())
			continue
		case listIndexes:
			low = l.d.address(l.unit, c.uleb())
			high = l.d.address(l.unit, c.uleb())
		case listIndexLength:
			low = l.d.address(l.unit, c.uleb())
			high = low + c.uleb()
		case listStartEnd:
			low, high = c.u64(), c.u64()
		case listStartLength:
			low = c.u64()
			high = low + c.uleb()
		case listViewPair:
			c.uleb()
			c.uleb()
			continue
		default:
			return nil
		}
		expr := c.take(int(min(c.uleb(), maxExpression)))
		if low <= l.pc && l.pc < high {
			return expr
		}
	}
	return nil
}

// maxExpression bounds the length of an expression in bytes.
const maxExpression = 1 << 16

// listed4 is the variant of listed for DWARF 4 and earlier (DWARF 4 section 2.6.2).
func (l *localSearch) listed4(off, base uint64) []byte {
	if off > uint64(len(l.d.loc)) {
		return nil
	}
	c := cursor{data: l.d.loc, off: int(off)}
	for !c.bad {
		low, high := c.u64(), c.u64()
		if low == 0 && high == 0 {
			break
		}
		if low == ^uint64(0) {
			base = high
			continue
		}
		expr := c.take(int(c.u16()))
		if base+low <= l.pc && l.pc < base+high {
			return expr
		}
	}
	return nil
}

// String returns the location as text: a0, fa1, or -24(s0).
func (v Local) String() string {
	name := registerNames[v.Reg&63]
	if v.Memory {
		return fmt.Sprintf("%d(%s)", v.Offset, name)
	}
	return name
}

// registerNames are the names of the calling convention, by DWARF number.
var registerNames = [64]string{
	"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5",
	"a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
	"ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5",
	"fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
}
