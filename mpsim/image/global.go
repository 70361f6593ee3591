package image

import (
	"debug/dwarf"
	"path"
	"strings"
)

// Global is a variable with a fixed place, as the debug information has it: a global
// one, or a static one of a function.
type Global struct {
	Name string // as the source spells it, with its namespaces
	Addr uint64 // an offset in the image's block, if it is thread-local
	TLS  bool
	Type Type
	File string // of its compilation unit, without directories
}

// GlobalsNamed returns the variables of a name, or of that name in any namespace.
func (m *Image) GlobalsNamed(name string) (all []Global) {
	d := m.lockDebug()
	defer d.mu.Unlock()
	d.note(guard(func() error {
		g := d.allVariables(m)
		for _, list := range [][]variable{g.fixed, g.tls} {
			for i := range list {
				if v := d.global(m, &list[i]); v.Name == name || strings.HasSuffix(v.Name, "::"+name) {
					all = append(all, v)
				}
			}
		}
		return nil
	}))
	return all
}

// GlobalAt returns the variable that begins at addr.
func (m *Image) GlobalAt(addr uint64) (found Global, ok bool) {
	d := m.lockDebug()
	defer d.mu.Unlock()
	d.note(guard(func() error {
		v, in := findVariable(d.allVariables(m).fixed, addr-m.Base)
		if ok = in && v.addr == addr-m.Base; ok {
			found = d.global(m, &v)
		}
		return nil
	}))
	return found, ok
}

func (d *debugInfo) global(m *Image, v *variable) Global {
	name, linkage, _ := d.entryName(v.entry)
	if strings.HasPrefix(linkage, "_Z") {
		name = d.spelled(linkage)
	}
	name, _, _ = strings.Cut(name, "[abi:") // where the library's strings are of the new kind
	g := Global{Name: name, Addr: v.addr, TLS: v.tls, Type: Type{image: m, off: v.typ}}
	if !v.tls {
		g.Addr += m.Base
	}
	if u := d.unitOf(v.entry); u != nil {
		file, _ := u.root.Val(dwarf.AttrName).(string)
		g.File = path.Base(file)
	}
	return g
}

// TypeNamed finds a type by its name in the source: of a structure, union or
// enumeration with or without that word, of a typedef, with the namespaces around it.
func (m *Image) TypeNamed(name string) (Type, bool) {
	for _, word := range []string{"struct ", "union ", "enum ", "class "} {
		name = strings.TrimPrefix(name, word)
	}
	d := m.lockDebug()
	defer d.mu.Unlock()
	if d.typeNames == nil {
		d.typeNames = map[string]dwarf.Offset{}
		for _, u := range d.units {
			d.note(guard(func() error { return d.nameTypes(u) }))
		}
	}
	off, ok := d.typeNames[name]
	return Type{image: m, off: off}, ok
}

// nameTypes takes note of the types of a unit that are in no function or class.
func (d *debugInfo) nameTypes(u *unit) error {
	type open struct {
		off    dwarf.Offset
		prefix string
	}
	left := []open{{u.first, ""}}
	for len(left) > 0 && len(left) < maxLocals {
		at := left[0]
		left = left[1:]
		r := d.data.Reader()
		r.Seek(at.off)
		e, err := r.Next()
		if err != nil || e == nil {
			return err
		}
		err = children(r, e, func(c *dwarf.Entry) {
			name, _ := c.Val(dwarf.AttrName).(string)
			switch c.Tag {
			case dwarf.TagNamespace:
				if name != "" {
					left = append(left, open{c.Offset, at.prefix + name + "::"})
				}
			case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType, dwarf.TagTypedef, dwarf.TagBaseType:
				if name != "" && c.Val(dwarf.AttrDeclaration) == nil {
					d.typeNames[at.prefix+name] = c.Offset
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// InlinedCode returns where the inlined copies of functions begin whose names are
// wanted.
func (m *Image) InlinedCode(wanted func(name string) bool) (pcs []uint64) {
	d := m.lockDebug()
	defer d.mu.Unlock()
	for _, u := range d.units {
		d.walk(u)
		lows := map[int32]uint64{}
		for _, s := range u.spans {
			if low, ok := lows[s.scope]; u.scopes[s.scope].parent >= 0 && (!ok || s.low < low) {
				lows[s.scope] = s.low
			}
		}
		d.note(guard(func() error {
			for scope, low := range lows {
				name, linkage, _ := d.entryName(u.scopes[scope].entry)
				if strings.HasPrefix(linkage, "_Z") {
					name = d.spelled(linkage)
				}
				if wanted(name) {
					pcs = append(pcs, low+m.Base)
				}
			}
			return nil
		}))
	}
	return pcs
}
