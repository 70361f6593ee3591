package image

import "debug/dwarf"

// Privatized returns the global variables of which an OpenMP construct has its own copies
// (reduction, private, firstprivate, lastprivate). pc must be in the outlined function of
// the construct; elsewhere there are none. gcc describes a copy as a variable of the
// function that is declared where the global variable is.
func (m *Image) Privatized(pc uint64) (globals []Range) {
	if f, ok := m.Func(pc); !ok || !outlined(f.Name) {
		return nil
	}
	d := m.lockDebug()
	defer d.mu.Unlock()
	pc -= m.Base
	u, function, ok := d.functionAt(pc)
	if !ok {
		return nil
	}
	d.note(guard(func() error {
		copies, err := d.declaredIn(function)
		if err != nil || len(copies) == 0 {
			return err
		}
		r := d.data.Reader()
		r.Seek(u.first)
		root, err := r.Next()
		if err != nil || root == nil {
			return err
		}
		return children(r, root, func(e *dwarf.Entry) {
			if c, ok := declarationOf(e); ok && copies[c] {
				globals = append(globals, d.placeOf(m, u, e, c.name)...)
			}
		})
	}))
	return globals
}

// declaration says where the source declares a variable.
type declaration struct {
	name         string
	file         int64
	line, column int64
}

func declarationOf(e *dwarf.Entry) (c declaration, ok bool) {
	if e.Tag != dwarf.TagVariable {
		return c, false
	}
	c.name, _ = e.Val(dwarf.AttrName).(string)
	c.file, _ = e.Val(dwarf.AttrDeclFile).(int64)
	c.line, ok = e.Val(dwarf.AttrDeclLine).(int64)
	c.column, _ = e.Val(dwarf.AttrDeclColumn).(int64)
	return c, ok && c.name != ""
}

// declaredIn returns where the variables of a function are declared.
func (d *debugInfo) declaredIn(function dwarf.Offset) (map[declaration]bool, error) {
	r := d.data.Reader()
	r.Seek(function)
	e, err := r.Next()
	if err != nil || e == nil || !e.Children {
		return nil, err
	}
	found := map[declaration]bool{}
	for n, depth := 0, 1; depth > 0 && n < maxLocals; n++ {
		e, err := r.Next()
		if err != nil || e == nil {
			return found, err
		}
		if c, ok := declarationOf(e); ok {
			found[c] = true
		}
		switch {
		case e.Tag == 0:
			depth--
		case e.Children:
			depth++
		}
	}
	return found, nil
}

// placeOf returns the address range of the variable that e defines, or that it declares and
// another unit defines.
func (d *debugInfo) placeOf(m *Image, u *unit, e *dwarf.Entry, name string) []Range {
	for _, v := range u.vars {
		if v.entry == e.Offset && !v.tls {
			size := max(d.typeAt(d.typeOfEntry(v.entry)).size, 1)
			return []Range{{v.addr + m.Base, v.addr + m.Base + size}}
		}
	}
	if e.Val(dwarf.AttrDeclaration) == nil {
		return nil
	}
	if _, linkage, _ := d.entryName(e.Offset); linkage != "" {
		name = linkage
	}
	for _, s := range m.Objects() {
		if s.Name == name {
			return []Range{{s.Addr, s.Addr + s.Size}}
		}
	}
	return nil
}
