package confirm

import (
	"encoding/binary"
	"fmt"
	"strings"

	"hindsight/mpsim/image"
	"hindsight/mpsim/mem"
)

// names are the program's own variables, through which its memory is read at the end of a
// run. The zero value finds them when they are first needed.
type names struct {
	roots  []root
	shapes map[image.Type]*image.Shape
}

// root is a global variable.
type root struct {
	name       string
	addr, size uint64
	typ        image.Type // unknown without debug information
}

// Bounds for following pointers.
const (
	maxObjects = 4096
	maxSteps   = 32 // number of pointers from a variable to an object
	maxParts   = 64 // number of elements of an array that contain pointers
	maxVisits  = 1 << 18
)

// find finds the variables. Those of Go's standard library do not count.
func (n *names) find(img *image.Space) {
	n.shapes = map[image.Type]*image.Shape{}
	goes := img.Go() != ""
	for _, m := range img.Images() {
		for _, s := range m.Objects() {
			if s.Size == 0 || s.Size > maxVariable || !img.UserObject(s.Addr) || goes && image.GoStandard(packageOf(s.Name)) {
				continue
			}
			r := root{name: s.Demangled(), addr: s.Addr, size: s.Size}
			if g, ok := m.GlobalAt(s.Addr); ok {
				r.typ = g.Type
			}
			n.roots = append(n.roots, r)
		}
	}
}

// packageOf returns the package of a Go symbol.
func packageOf(symbol string) string {
	slash := strings.LastIndexByte(symbol, '/') + 1
	name, _, _ := strings.Cut(symbol[slash:], ".")
	return symbol[:slash] + name
}

func (n *names) shape(t image.Type) *image.Shape {
	s, ok := n.shapes[t]
	if !ok {
		s = t.Shape()
		n.shapes[t] = s
	}
	return s
}

// reached is an object on the heap that a name leads to.
type reached struct {
	name  string
	addr  uint64
	typ   image.Type
	steps int
}

// reading is one reading of the memory.
type reading struct {
	*names
	space *mem.Space
	img   *image.Space
	out   map[string][]byte
	seen  map[reached]bool // without names and steps
	left  []reached
	// visits is how many parts of objects may still be looked at. It also ends types
	// that contain themselves, which damaged debug information may have.
	visits int
}

// read returns the content of the variables, and of what they lead to on the heap, as far
// as types are known, by name. It leaves out addresses of heap and stack.
func (n *names) read(space *mem.Space, img *image.Space) map[string][]byte {
	if n.shapes == nil {
		n.find(img)
	}
	r := reading{names: n, space: space, img: img, out: map[string][]byte{}, seen: map[reached]bool{}, visits: maxVisits}
	for i := range n.roots {
		v := &n.roots[i]
		b := make([]byte, v.size)
		if space.Peek(v.addr, b) != nil {
			continue
		}
		r.out[v.name] = withoutPointers(space, img, v.addr, b)
		r.pointers(v.name, v.addr, v.typ, 0)
	}
	for count := 0; len(r.left) > 0 && count < maxObjects; count++ {
		at := r.left[0]
		r.left = r.left[1:]
		r.parts(at.name, at.addr, at.typ)
		r.pointers(at.name, at.addr, at.typ, at.steps)
	}
	return r.out
}

// parts reads the content of an object on the heap: each member of a structure by its name,
// without pointers and padding.
func (r *reading) parts(name string, addr uint64, t image.Type) {
	if r.visits--; r.visits < 0 {
		return
	}
	s := r.shape(t)
	switch s.Kind {
	case image.KindStruct:
		for _, f := range s.Fields {
			if f.Bits == 0 {
				r.parts(name+member(name, f.Name), addr+f.Offset, f.Type)
			}
		}
		return
	case image.KindPointer, image.KindReference, image.KindFunction, image.KindVoid, image.KindUnknown:
		return
	}
	if s.Size == 0 || s.Size > maxVariable {
		return
	}
	b := make([]byte, s.Size)
	if r.space.Peek(addr, b) == nil {
		r.out[name] = withoutPointers(r.space, r.img, addr, b)
	}
}

// member returns the name of a member, preceded by what contains it.
func member(of, name string) string {
	if name == "" || strings.HasSuffix(of, "->") {
		return name
	}
	return "." + name
}

// pointers finds the pointers in an object, and records the objects on the heap that they
// point to.
func (r *reading) pointers(name string, addr uint64, t image.Type, steps int) {
	if r.visits--; r.visits < 0 {
		return
	}
	s := r.shape(t)
	switch s.Kind {
	case image.KindStruct:
		for _, f := range s.Fields {
			if f.Bits == 0 {
				r.pointers(name+member(name, f.Name), addr+f.Offset, f.Type, steps)
			}
		}
	case image.KindArray:
		if elem := r.shape(s.Elem); elem.Kind == image.KindPointer || elem.Kind == image.KindStruct || elem.Kind == image.KindArray {
			for i := range min(s.Count, maxParts) {
				r.pointers(fmt.Sprintf("%s[%d]", name, i), addr+i*elem.Size, s.Elem, steps)
			}
		}
	case image.KindPointer:
		var b [8]byte
		if r.space.Peek(addr, b[:]) != nil {
			return
		}
		r.follow(name, binary.LittleEndian.Uint64(b[:]), s.Elem, steps)
	}
}

// follow records an object on the heap. Of the pointers to it, the first by name counts.
func (r *reading) follow(name string, to uint64, t image.Type, steps int) {
	size := r.shape(t).Size
	if to < mem.LowestAddress || size == 0 || size > maxVariable || steps == maxSteps || r.img.At(to) != nil {
		return
	}
	vma, mapped := r.space.Find(to)
	key := reached{addr: to, typ: t}
	if !mapped || vma.Kind == mem.Stack || r.seen[key] {
		return
	}
	r.seen[key] = true
	if r.shape(t).Kind == image.KindStruct {
		name += "->"
	} else {
		name = "*" + name
	}
	r.left = append(r.left, reached{name, to, t, steps + 1})
}

// withoutPointers replaces words that are addresses of heap or stack by a mark, because the
// place of an object is not a difference.
func withoutPointers(space *mem.Space, img *image.Space, addr uint64, b []byte) []byte {
	const word = 8
	for at := int(-addr & (word - 1)); at+word <= len(b); at += word {
		v := binary.LittleEndian.Uint64(b[at:])
		if v < mem.LowestAddress || img.At(v) != nil {
			continue
		}
		if _, mapped := space.Find(v); mapped {
			binary.LittleEndian.PutUint64(b[at:], ^uint64(0))
		}
	}
	return b
}
