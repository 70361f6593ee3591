package image

import (
	"debug/dwarf"
	"encoding/binary"
)

// Composed is a local variable that is in several places at one instruction, such as a
// string of Go in two registers, or nowhere, because its value is known.
type Composed struct {
	Name  string
	Parts []Part // nil if Value is known
	Value []byte

	typ dwarf.Offset
}

// Part is a part of a variable, in order.
type Part struct {
	Local
	Size  uint64 // bytes
	Known bool   // it has a place
}

// Composed returns the variables around pc that are in several places or have a known
// value, in the order of Locals.
func (m *Image) Composed(pc uint64) []Composed { return m.searchLocals(pc).composed }

// ComposedType is the type of a variable that [Image.Composed] of this image has
// returned.
func (m *Image) ComposedType(c *Composed) Type { return Type{image: m, off: c.typ} }

// Operations of DWARF expressions that say what a variable consists of (DWARF 5 section
// 2.6.1).
const (
	opPiece    = 0x93
	opImplicit = 0x9e
)

// composite takes note of a variable whose expression is no single place.
func (l *localSearch) composite(e *dwarf.Entry, name string, expr []byte) {
	c := Composed{Name: name, typ: l.d.typeOfEntry(e.Offset)}
	var ok bool
	if c.Value, ok = constantValue(expr); !ok {
		if c.Parts, ok = l.parts(expr); !ok {
			return
		}
	}
	l.composed = append(l.composed, c)
}

// constant takes note of a variable that the entry itself has the value of.
func (l *localSearch) constant(e *dwarf.Entry) {
	name, _, _ := l.d.entryName(e.Offset)
	n, ok := e.Val(dwarf.AttrConstValue).(int64)
	if ok && name != "" {
		l.composed = append(l.composed, Composed{Name: name, typ: l.d.typeOfEntry(e.Offset), Value: binary.LittleEndian.AppendUint64(nil, uint64(n))})
	}
}

// constantValue reads an expression that is a value: a constant, or a block of bytes.
func constantValue(expr []byte) ([]byte, bool) {
	n := len(expr)
	if n > 1 && expr[n-1] == opStackValue {
		v, ok := constant(expr[:n-1])
		return binary.LittleEndian.AppendUint64(nil, v), ok
	}
	if n == 0 || expr[0] != opImplicit {
		return nil, false
	}
	c := cursor{data: expr, off: 1}
	b := c.take(int(min(c.uleb(), maxExpression)))
	return b, !c.bad && c.off == n
}

// parts reads an expression of places, each followed by the size of the part there.
func (l *localSearch) parts(expr []byte) (all []Part, ok bool) {
	const most = 64
	for len(expr) > 0 && len(all) < most {
		p := Part{}
		if expr[0] != opPiece {
			if p.Local, expr, p.Known = l.begin(expr); !p.Known || len(expr) == 0 || expr[0] != opPiece {
				return nil, false
			}
		}
		c := cursor{data: expr, off: 1}
		p.Size = c.uleb()
		if c.bad {
			return nil, false
		}
		all, expr = append(all, p), expr[c.off:]
	}
	return all, len(all) > 0
}

// listOffset is where the location list of an attribute begins: at an offset, or at the
// one that a table has for its number.
func (l *localSearch) listOffset(attribute any) (off uint64, ok bool) {
	switch v := attribute.(type) {
	case int64:
		return uint64(v), v >= 0
	case uint64:
		base, _ := l.unit.root.Val(dwarf.AttrLoclistsBase).(int64)
		const entry = 4
		if base < 0 || uint64(base) > uint64(len(l.d.locLists)) || v > uint64(len(l.d.locLists)) {
			return 0, false
		}
		c := cursor{data: l.d.locLists, off: int(min(uint64(base)+entry*v, uint64(len(l.d.locLists))))}
		off = uint64(base) + uint64(c.u32())
		return off, !c.bad
	}
	return 0, false
}
