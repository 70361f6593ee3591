package image

import (
	"debug/dwarf"
	"fmt"
	"slices"
	"strings"
)

// Kind is what sort of type a [Type] is.
type Kind uint8

const (
	KindUnknown Kind = iota
	KindVoid
	KindBool
	KindInt  // signed
	KindUint // unsigned
	KindChar // of one byte
	KindFloat
	KindEnum
	KindPointer
	KindReference
	KindArray
	KindStruct // or a union or class
	KindFunction
)

// Type is a type of the source. Its zero value is an unknown type.
type Type struct {
	image   *Image
	off     dwarf.Offset
	indexed int // dimensions of an array that are taken away
	made    *Shape
}

// Shape is what a type consists of. Typedefs and qualifiers are only in its name.
type Shape struct {
	Kind   Kind
	Name   string // as the source would write it
	Size   uint64 // bytes; 0 if unknown
	Elem   Type   // of an array, a pointer or a reference
	Count  uint64 // of an array: elements
	Fields []Field
	Names  []Enumerator // of an enumeration
}

// Field is a member of a structure.
type Field struct {
	Name   string // "" of a base class and of an unnamed structure in this one
	Type   Type
	Offset uint64 // bytes
	Base   bool   // a base class
	// Bits is the size of a bit-field, and Shift how many bits of the byte at Offset come
	// before it. Bits is 0 for other members.
	Bits, Shift uint8
}

// Enumerator is a constant of an enumeration.
type Enumerator struct {
	Name  string
	Value int64
}

// Basic returns a type that needs no debug information.
func Basic(kind Kind, name string, size uint64) Type {
	return Type{made: &Shape{Kind: kind, Name: name, Size: size}}
}

// Pointer returns the type of pointers to t.
func (t Type) Pointer() Type {
	name := t.Shape().Name
	if !strings.HasSuffix(name, "*") {
		name += " "
	}
	return Type{made: &Shape{Kind: KindPointer, Name: name + "*", Size: 8, Elem: t}}
}

// Shape reads the type.
func (t Type) Shape() *Shape {
	switch {
	case t.made != nil:
		return t.made
	case t.image == nil:
		return &Shape{}
	case t.off == 0:
		return &Shape{Kind: KindVoid, Name: "void"}
	}
	d := t.image.lockDebug()
	defer d.mu.Unlock()
	s := &Shape{}
	d.note(guard(func() error { d.shape(s, t); return nil }))
	return s
}

// shape fills in what a type consists of.
func (d *debugInfo) shape(s *Shape, t Type) {
	info := d.typeAt(t.off)
	s.Name, s.Size, s.Names = d.spelledType(t.off, "", maxTypeDepth), info.size, info.names
	s.Elem = Type{image: t.image, off: info.elem}
	switch info.tag {
	case dwarf.TagBaseType:
		s.Kind = baseKind(info.encoding)
	case dwarf.TagEnumerationType:
		s.Kind = KindEnum
	case dwarf.TagPointerType:
		s.Kind, s.Size = KindPointer, 8
	case dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		s.Kind, s.Size = KindReference, 8
	case dwarf.TagSubroutineType:
		s.Kind = KindFunction
	case dwarf.TagArrayType:
		d.arrayShape(s, t, info)
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		s.Kind = KindStruct
		for _, f := range info.members {
			s.Fields = append(s.Fields, Field{Name: f.name, Type: Type{image: t.image, off: f.typ}, Offset: f.off, Base: f.base, Bits: f.bits, Shift: f.shift})
		}
	}
}

// arrayShape fills in an array, or a part of one of several dimensions.
func (d *debugInfo) arrayShape(s *Shape, t Type, info *typeInfo) {
	s.Kind = KindArray
	if t.indexed >= len(info.dims) {
		return
	}
	dims := info.dims[t.indexed:]
	s.Count = dims[0]
	s.Size = d.typeAt(info.elem).size
	for _, n := range dims {
		s.Size *= n
	}
	if t.indexed > 0 {
		s.Name = d.spelledType(info.elem, dimensions(dims), maxTypeDepth)
	}
	if len(dims) > 1 {
		s.Elem = Type{image: t.image, off: t.off, indexed: t.indexed + 1}
		// A typedef of the array has the name of the whole: parts are named after the
		// elements.
	}
}

func dimensions(dims []uint64) string {
	var b strings.Builder
	for _, n := range dims {
		fmt.Fprintf(&b, "[%d]", n)
	}
	return b.String()
}

// Encodings of base types (DWARF 5 section 7.8).
const (
	encodedBool         = 2
	encodedFloat        = 4
	encodedSigned       = 5
	encodedSignedChar   = 6
	encodedUnsigned     = 7
	encodedUnsignedChar = 8
	encodedUTF          = 0x10
)

func baseKind(encoding int64) Kind {
	switch encoding {
	case encodedBool:
		return KindBool
	case encodedFloat:
		return KindFloat
	case encodedSigned:
		return KindInt
	case encodedSignedChar, encodedUnsignedChar:
		return KindChar
	case encodedUnsigned, encodedUTF:
		return KindUint
	}
	return KindUnknown
}

// Languages of units whose structures are named with the word before (DWARF 5 section
// 7.12).
var tagged = map[int64]bool{0x01: true, 0x02: true, 0x0c: true, 0x1d: true, 0x2c: true} // C89, C, C99, C11, C17

// spelledType is the name of the type at off as C writes it around a declared name.
func (d *debugInfo) spelledType(off dwarf.Offset, inner string, depth int) string {
	spaced := inner
	if inner != "" && inner[0] != '[' {
		spaced = " " + inner
	}
	if off == 0 || depth == 0 {
		return "void" + spaced
	}
	r := d.data.Reader()
	r.Seek(off)
	e, err := r.Next()
	if err != nil || e == nil {
		return "?" + spaced
	}
	name, _ := e.Val(dwarf.AttrName).(string)
	next, _ := e.Val(dwarf.AttrType).(dwarf.Offset)
	wrapped := func(mark string) string {
		inner := mark + inner
		switch d.typeAt(next).tag {
		case dwarf.TagArrayType, dwarf.TagSubroutineType:
			inner = "(" + inner + ")"
		}
		return d.spelledType(next, inner, depth-1)
	}
	switch e.Tag {
	case dwarf.TagPointerType:
		if name != "" { // of Go
			return name + spaced
		}
		return wrapped("*")
	case dwarf.TagReferenceType:
		return wrapped("&")
	case dwarf.TagRvalueReferenceType:
		return wrapped("&&")
	case dwarf.TagConstType:
		return d.qualifiedType("const", next, inner, depth)
	case dwarf.TagVolatileType:
		return d.qualifiedType("volatile", next, inner, depth)
	case dwarf.TagRestrictType, dwarf.TagAtomicType:
		return d.spelledType(next, inner, depth-1)
	case dwarf.TagArrayType:
		return d.spelledType(next, inner+dimensions(d.typeAt(off).dims), depth-1)
	case dwarf.TagSubroutineType:
		return d.functionName(r, e, inner, depth)
	}
	u := d.unitOf(off)
	if name == "" {
		name = "{…}"
	} else if u != nil {
		name = d.qualified(u, off, name)
	}
	if u != nil {
		if language, _ := u.root.Val(dwarf.AttrLanguage).(int64); tagged[language] {
			name = map[dwarf.Tag]string{dwarf.TagStructType: "struct ", dwarf.TagUnionType: "union ", dwarf.TagEnumerationType: "enum "}[e.Tag] + name
		}
	}
	return name + spaced
}

// qualifiedType is the name of a qualified type: the word stands after "*", and before
// other types.
func (d *debugInfo) qualifiedType(word string, of dwarf.Offset, inner string, depth int) string {
	if d.typeAt(of).tag != dwarf.TagPointerType {
		return word + " " + d.spelledType(of, inner, depth-1)
	}
	if inner != "" {
		word += " "
	}
	return d.spelledType(of, word+inner, depth-1)
}

// functionName is the name of a type of functions, which r has just read.
func (d *debugInfo) functionName(r *dwarf.Reader, e *dwarf.Entry, inner string, depth int) string {
	var params []dwarf.Offset
	d.note(children(r, e, func(c *dwarf.Entry) {
		if c.Tag == dwarf.TagFormalParameter {
			t, _ := c.Val(dwarf.AttrType).(dwarf.Offset)
			params = append(params, t)
		}
	}))
	var names []string
	for _, p := range params[:min(len(params), maxTypeDepth)] {
		names = append(names, d.spelledType(p, "", depth/4)) // there may be many, each of functions again
	}
	result, _ := e.Val(dwarf.AttrType).(dwarf.Offset)
	return d.spelledType(result, inner+"("+strings.Join(names, ", ")+")", depth-1)
}

// unitOf is the unit that has the entry at off.
func (d *debugInfo) unitOf(off dwarf.Offset) *unit {
	i, _ := slices.BinarySearchFunc(d.units, off, func(u *unit, off dwarf.Offset) int {
		if u.end <= off {
			return -1
		}
		return 1
	})
	if i < len(d.units) && d.units[i].first <= off {
		return d.units[i]
	}
	return nil
}

// LocalType is the type of a variable that [Image.Locals] of this image has returned.
func (m *Image) LocalType(l Local) Type { return Type{image: m, off: l.typ} }
