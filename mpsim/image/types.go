package image

import (
	"debug/dwarf"
	"fmt"
	"math/bits"
	"strings"
)

// typeInfo is what must be known about a type to name and show a part of a variable.
type typeInfo struct {
	tag      dwarf.Tag // without typedefs and qualifiers
	encoding int64     // of a base type (DW_ATE_…)
	size     uint64    // bytes; 0 if unknown
	members  []member
	elem     dwarf.Offset // of an array: the type of its elements; of a pointer: what it points to
	dims     []uint64     // of an array: elements in each dimension, outermost first
	names    []Enumerator // of an enumeration
}

// member is a member of a structure or union, or a base class (without a name).
type member struct {
	name string
	off  uint64
	typ  dwarf.Offset
	base bool
	// bits and shift are those of a bit-field: its size, and how many bits of the byte
	// at off come before it.
	bits, shift uint8
}

// maxTypeDepth bounds the nesting of types that is followed.
const maxTypeDepth = 32

// typeAt reads the type at off. A type that cannot be read has size 0.
func (d *debugInfo) typeAt(off dwarf.Offset) *typeInfo { return d.typeWithin(off, maxTypeDepth) }

func (d *debugInfo) typeWithin(off dwarf.Offset, depth int) *typeInfo {
	if t, ok := d.types[off]; ok {
		return t
	}
	t := &typeInfo{}
	d.types[off] = t // a type that contains itself ends here
	if off == 0 || depth == 0 {
		return t
	}
	r := d.data.Reader()
	r.Seek(off)
	e, err := r.Next()
	if err != nil || e == nil {
		d.note(err)
		return t
	}
	if n, ok := e.Val(dwarf.AttrByteSize).(int64); ok && n > 0 {
		t.size = uint64(n)
	}
	t.tag = e.Tag
	t.encoding, _ = e.Val(dwarf.AttrEncoding).(int64)
	switch e.Tag {
	case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
		if next, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok {
			*t = *d.typeWithin(next, depth-1)
		}
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		t.elem, _ = e.Val(dwarf.AttrType).(dwarf.Offset)
		if t.size == 0 { // Go leaves it out
			t.size = 8
		}
	case dwarf.TagEnumerationType:
		d.note(children(r, e, func(c *dwarf.Entry) {
			if n, ok := c.Val(dwarf.AttrConstValue).(int64); ok && c.Tag == dwarf.TagEnumerator {
				name, _ := c.Val(dwarf.AttrName).(string)
				t.names = append(t.names, Enumerator{name, n})
			}
		}))
	case dwarf.TagArrayType:
		d.readArray(t, r, e, depth)
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		d.note(d.readMembers(t, r, e))
	}
	return t
}

// children calls f for each direct child of the entry that r has just read.
func children(r *dwarf.Reader, e *dwarf.Entry, f func(*dwarf.Entry)) error {
	if !e.Children {
		return nil
	}
	last := e.Offset
	for depth := 1; depth > 0; {
		c, err := r.Next()
		if err != nil || c == nil {
			return err
		}
		if c.Tag == 0 {
			depth--
			continue
		}
		if c.Offset <= last {
			return fmt.Errorf("%w: entry at %#x does not follow %#x", ErrDebug, c.Offset, last)
		}
		last = c.Offset
		if depth == 1 {
			f(c)
		}
		if !c.Children {
			continue
		}
		if sibling, ok := c.Val(dwarf.AttrSibling).(dwarf.Offset); ok && sibling > c.Offset {
			r.Seek(sibling)
			last = sibling - 1
			continue
		}
		depth++
	}
	return nil
}

// readArray reads the dimensions of an array and computes its size.
func (d *debugInfo) readArray(t *typeInfo, r *dwarf.Reader, e *dwarf.Entry, depth int) {
	t.elem, _ = e.Val(dwarf.AttrType).(dwarf.Offset)
	d.note(children(r, e, func(c *dwarf.Entry) {
		if c.Tag != dwarf.TagSubrangeType {
			return
		}
		n := uint64(0) // a flexible array
		if v, ok := c.Val(dwarf.AttrCount).(int64); ok && v > 0 {
			n = uint64(v)
		} else if v, ok := c.Val(dwarf.AttrUpperBound).(int64); ok && v >= 0 {
			n = uint64(v) + 1
		}
		t.dims = append(t.dims, n)
	}))
	if t.size != 0 {
		return
	}
	size := d.typeWithin(t.elem, depth-1).size
	for _, n := range t.dims {
		hi, lo := bits.Mul64(size, n)
		if hi != 0 {
			lo = 0
		}
		size = lo
	}
	t.size = size
}

// readMembers reads the members of a structure, class or union.
func (d *debugInfo) readMembers(t *typeInfo, r *dwarf.Reader, e *dwarf.Entry) error {
	return children(r, e, func(c *dwarf.Entry) {
		if c.Tag != dwarf.TagMember && c.Tag != dwarf.TagInheritance || c.Val(dwarf.AttrExternal) != nil {
			return
		}
		f := member{base: c.Tag == dwarf.TagInheritance}
		f.name, _ = c.Val(dwarf.AttrName).(string)
		f.typ, _ = c.Val(dwarf.AttrType).(dwarf.Offset)
		switch v := c.Val(dwarf.AttrDataMemberLoc).(type) {
		case int64:
			f.off = uint64(v)
		case []byte:
			return // a virtual base: its place is known only at run time
		default:
			if bit, ok := c.Val(dwarf.AttrDataBitOffset).(int64); ok {
				f.off, f.shift = uint64(bit)/8, uint8(bit%8)
			}
		}
		if n, ok := c.Val(dwarf.AttrBitSize).(int64); ok && n > 0 && n <= 64 {
			f.bits = uint8(n)
		}
		t.members = append(t.members, f)
	})
}

// reserved reports whether a name is reserved for the implementation (C17 section 7.1.3).
func reserved(name string) bool {
	return len(name) >= 2 && name[0] == '_' && (name[1] == '_' || name[1] >= 'A' && name[1] <= 'Z')
}

// describe writes the path from a variable of the given type to its part at off: .member,
// [index] and, at the end, +bytes. It ends at the smallest part that contains the whole
// access of size bytes.
func (d *debugInfo) describe(b *strings.Builder, typ dwarf.Offset, off, size uint64) {
	for range maxTypeDepth {
		t := d.typeAt(typ)
		if len(t.dims) > 0 {
			index, rest, ok := d.element(t, off, size)
			if !ok {
				break
			}
			b.WriteString(index)
			typ, off = t.elem, rest
			continue
		}
		f, ok := d.memberAt(t, off, size)
		if !ok {
			break
		}
		if f.name != "" {
			b.WriteString("." + f.name)
		}
		typ, off = f.typ, off-f.off
	}
	if off != 0 {
		fmt.Fprintf(b, "+%d", off)
	}
}

// element finds the element of an array that contains off: its indices in source notation,
// and the offset in it.
func (d *debugInfo) element(t *typeInfo, off, size uint64) (index string, rest uint64, ok bool) {
	each := d.typeAt(t.elem).size
	if each == 0 || off%each+size > each || size > each {
		return "", 0, false
	}
	n := off / each
	for i := len(t.dims) - 1; i >= 0; i-- {
		k := n
		if i > 0 {
			if t.dims[i] == 0 {
				return "", 0, false
			}
			k, n = n%t.dims[i], n/t.dims[i]
		}
		index = fmt.Sprintf("[%d]", k) + index
	}
	return index, off % each, true
}

// memberAt returns the first member that contains size bytes at off and may be named.
func (d *debugInfo) memberAt(t *typeInfo, off, size uint64) (member, bool) {
	for _, f := range t.members {
		n := d.typeAt(f.typ).size
		if off < f.off || off-f.off >= n || size > n-(off-f.off) {
			continue
		}
		if reserved(f.name) {
			return member{}, false
		}
		return f, true
	}
	return member{}, false
}
