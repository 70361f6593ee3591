package debug

import (
	"encoding/binary"
	"strings"

	"hindsight/mpsim/image"
)

// Variable is a value at the present time: of a variable, of a part of one, or of an
// expression.
type Variable struct {
	Name string
	Path string // an expression for it, or ""
	Addr uint64 // 0: it is in a register, or was computed
	Size uint64 // bytes
	Data []byte // its content, or its beginning
	Type image.Type
	// Bits is the size of a bit-field, and Shift the number of bits of Data before it.
	Bits, Shift uint8
}

// maxVariable bounds how many bytes of a variable are read.
const maxVariable = 4096

// object returns the object of a type at an address. For a reference, it returns the object
// referred to.
func (d *Debugger) object(name, path string, addr uint64, t image.Type) Variable {
	shape := t.Shape()
	v := Variable{Name: name, Path: path, Addr: addr, Size: shape.Size, Type: t}
	v.Data = d.Memory(addr, int(min(v.Size, maxVariable)))
	return d.referred(v)
}

// referred follows a reference.
func (d *Debugger) referred(v Variable) Variable {
	const word = 8
	if shape := v.Type.Shape(); shape.Kind == image.KindReference && len(v.Data) == word {
		return d.object(v.Name, v.Path, binary.LittleEndian.Uint64(v.Data), shape.Elem)
	}
	return v
}

// Locals returns the local variables and parameters of a frame that have a location there.
func (d *Debugger) Locals(f *Frame) (all []Variable) {
	const general = 32
	img := d.Journal().Image()
	m := img.At(f.Code())
	if m == nil {
		return nil
	}
	seen := map[string]bool{}
	add := func(v Variable) {
		seen[v.Name] = true
		all = append(all, v)
	}
	for _, l := range m.Locals(f.Code()) {
		if seen[l.Name] || l.Size == 0 {
			continue
		}
		if l.Memory && l.Reg < general {
			add(d.object(l.Name, l.Name, f.X[l.Reg]+uint64(l.Offset), m.LocalType(l)))
		} else if data, ok := d.located(f, &l, l.Size); ok {
			add(d.referred(Variable{Name: l.Name, Path: l.Name, Size: l.Size, Data: data, Type: m.LocalType(l)}))
		}
	}
	for _, l := range m.Pointed(f.Code()) {
		if at, ok := d.word(f.X[l.Reg%general] + uint64(l.Offset)); ok && !seen[l.Name] && l.Reg < general {
			add(d.object(l.Name, l.Name, at+uint64(l.Then), m.LocalType(l)))
		}
	}
	composed := m.Composed(f.Code())
	for i := range composed {
		if v, ok := d.composed(f, m, &composed[i]); ok && !seen[v.Name] {
			add(v)
		}
	}
	return all
}

// composed returns a variable that is in several places, or a constant. ok is false if a
// part of it has no location.
func (d *Debugger) composed(f *Frame, m *image.Image, c *image.Composed) (v Variable, ok bool) {
	v = Variable{Name: c.Name, Path: c.Name, Type: m.ComposedType(c)}
	v.Size = v.Type.Shape().Size
	if c.Value != nil {
		v.Data = c.Value[:min(v.Size, uint64(len(c.Value)))]
		return v, v.Size > 0
	}
	for i := range c.Parts {
		p := &c.Parts[i]
		if !p.Known || p.Size > maxVariable {
			return v, false
		}
		data, ok := d.located(f, &p.Local, p.Size)
		if !ok {
			return v, false
		}
		v.Data = append(v.Data, data...)
	}
	return v, uint64(len(v.Data)) >= v.Size
}

// located returns the content of the location of a variable or part: size bytes of memory,
// or at most 8 of a register.
func (d *Debugger) located(f *Frame, l *image.Local, size uint64) ([]byte, bool) {
	const general, registers = 32, 64
	switch {
	case l.Memory && l.Reg < general:
		data := d.Memory(f.X[l.Reg]+uint64(l.Offset), int(size))
		return data, uint64(len(data)) == size
	case !l.Memory && l.Reg < general:
		return binary.LittleEndian.AppendUint64(nil, f.X[l.Reg])[:min(size, 8)], true
	case !l.Memory && l.Reg < registers && f.F != nil:
		return binary.LittleEndian.AppendUint64(nil, f.F[l.Reg-general])[:min(size, 8)], true
	}
	return nil, false
}

// Globals returns the program's own global variables.
func (d *Debugger) Globals() (all []Variable) {
	img := d.Journal().Image()
	for _, s := range img.Main.Objects() {
		if s.Size > 0 && img.UserObject(s.Addr) {
			all = append(all, d.global(img.Main, s))
		}
	}
	return all
}

func (d *Debugger) global(m *image.Image, s image.Symbol) Variable {
	name := s.Demangled()
	if g, ok := m.GlobalAt(s.Addr); ok {
		return d.object(name, name, s.Addr, g.Type)
	}
	return Variable{Name: name, Path: name, Addr: s.Addr, Size: s.Size, Data: d.Memory(s.Addr, int(min(s.Size, maxVariable)))}
}

// Variable finds a variable by name: one of the frame, or a global one. Of several with the
// same name, that of the frame's source file comes first.
func (d *Debugger) Variable(f *Frame, name string) (Variable, bool) {
	img := d.Journal().Image()
	file := ""
	if f != nil {
		for _, v := range d.Locals(f) {
			if v.Name == name {
				return v, true
			}
		}
		if frames := img.Frames(f.Code()); len(frames) > 0 {
			file = frames[len(frames)-1].Base()
		}
	}
	best, found := Variable{}, 0
	for _, m := range img.Images() {
		for _, g := range m.GlobalsNamed(name) {
			rank := 1
			if g.Name == name {
				rank += 2
			}
			if g.File == file {
				rank++
			}
			if rank <= found {
				continue
			}
			if addr, ok := d.place(f, m, &g); ok {
				best, found = d.object(name, name, addr, g.Type), rank
			}
		}
	}
	if found > 0 {
		return best, true
	}
	for _, m := range img.Images() {
		for _, s := range m.Objects() {
			if s.Size > 0 && s.Demangled() == name {
				return d.global(m, s), true
			}
		}
	}
	return Variable{}, false
}

// place returns the address of a global variable or, for a thread-local one, the address
// for the thread of the frame.
func (d *Debugger) place(f *Frame, m *image.Image, g *image.Global) (uint64, bool) {
	if !g.TLS {
		return g.Addr, true
	}
	if f == nil {
		return 0, false
	}
	block, ok := d.ThreadLocals(f.Thread, m)
	return block + g.Addr, ok
}

// Parts returns how many parts a value has: elements, or members.
func (d *Debugger) Parts(v *Variable) (members, elements int) {
	s := v.Type.Shape()
	switch s.Kind {
	case image.KindArray:
		return 0, int(min(s.Count, 1<<24))
	case image.KindStruct:
		if _, text := d.string(v); text {
			return 0, 0
		}
		if _, n, _, ok := d.sequence(v); ok {
			return 0, n
		}
		return len(s.Fields), 0
	case image.KindPointer:
		target := s.Elem.Shape()
		if at, ok := unsigned(v); !ok || at == 0 || target.Size == 0 || len(d.Memory(at, 1)) == 0 {
			return 0, 0
		}
		if target.Kind == image.KindStruct {
			return len(target.Fields), 0
		}
		return 1, 0
	}
	return 0, 0
}

// Part returns the nth member or element of a value that has [Debugger.Parts].
func (d *Debugger) Part(v *Variable, n int) Variable {
	s := v.Type.Shape()
	switch s.Kind {
	case image.KindArray:
		return d.Element(v, n)
	case image.KindPointer:
		target := d.Target(v)
		if s.Elem.Shape().Kind != image.KindStruct {
			target.Name = "*" + v.Name
			return target
		}
		return d.member(&target, v.Path, "->", n)
	}
	if _, _, _, ok := d.sequence(v); ok {
		return d.Element(v, n)
	}
	return d.member(v, v.Path, ".", n)
}

// Target returns what a pointer points to.
func (d *Debugger) Target(v *Variable) Variable {
	at, _ := unsigned(v)
	return d.object("*"+v.Name, under("*", v.Path), at, v.Type.Shape().Elem)
}

// under puts an operator before an expression.
func under(operator, path string) string {
	if path == "" {
		return ""
	}
	return operator + path
}

// member returns the nth member of a structure. Its path consists of from, the operator and
// the name.
func (d *Debugger) member(v *Variable, from, operator string, n int) Variable {
	f := v.Type.Shape().Fields[n]
	name, path := f.Name, ""
	if name == "" {
		name = f.Type.Shape().Name
		path = from // its content has the path of the structure around it
	} else if from != "" {
		if strings.HasPrefix(from, "*") {
			from = "(" + from + ")"
		}
		path = from + operator + name
	}
	part := d.within(v, name, path, f.Offset, f.Type)
	if f.Bits > 0 {
		part.Bits, part.Shift = f.Bits, f.Shift
		const most = 9 // bytes of a bit-field of 64 bits that does not begin with a byte
		if v.Addr != 0 {
			part.Data = d.Memory(part.Addr, most)
		} else {
			part.Data = v.Data[min(f.Offset, uint64(len(v.Data))):]
		}
	}
	return part
}

// within returns the part of a value at an offset.
func (d *Debugger) within(v *Variable, name, path string, offset uint64, t image.Type) Variable {
	if v.Addr != 0 {
		return d.object(name, path, v.Addr+offset, t)
	}
	part := Variable{Name: name, Path: path, Size: t.Shape().Size, Type: t}
	if offset < uint64(len(v.Data)) {
		part.Data = v.Data[offset:min(offset+part.Size, uint64(len(v.Data)))]
	}
	return d.referred(part)
}

// Member finds a member by name, including base classes and unnamed structures.
func (d *Debugger) Member(v *Variable, name string) (Variable, bool) {
	const deep = 16
	return d.memberWithin(v, name, deep)
}

func (d *Debugger) memberWithin(v *Variable, name string, depth int) (Variable, bool) {
	fields := v.Type.Shape().Fields
	for i := range fields {
		if fields[i].Name == name {
			return d.member(v, v.Path, ".", i), true
		}
	}
	for i := range fields {
		if fields[i].Name == "" && depth > 0 {
			inner := d.member(v, v.Path, ".", i)
			if found, ok := d.memberWithin(&inner, name, depth-1); ok {
				return found, true
			}
		}
	}
	return Variable{}, false
}
