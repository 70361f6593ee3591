package image

import "debug/dwarf"

// Declared returns where the source declares the global variable at addr: the file name as
// in the debug information, and a line. ok is false if that is not known.
func (m *Image) Declared(addr uint64) (file string, line int, ok bool) {
	d := m.lockDebug()
	defer d.mu.Unlock()
	v, ok := findVariable(d.allVariables(m).fixed, addr-m.Base)
	if !ok {
		return "", 0, false
	}
	err := guard(func() error {
		e, err := d.entry(v.entry)
		if err != nil || e == nil {
			return err
		}
		// A definition that is separate from its declaration may have no line itself.
		if spec, has := e.Val(dwarf.AttrSpecification).(dwarf.Offset); has && e.Val(dwarf.AttrDeclLine) == nil {
			if e, err = d.entry(spec); err != nil || e == nil {
				return err
			}
		}
		n, _ := e.Val(dwarf.AttrDeclLine).(int64)
		f, _ := e.Val(dwarf.AttrDeclFile).(int64)
		for _, u := range d.units {
			for _, of := range u.vars {
				if of.entry == v.entry && n > 0 {
					d.readUnitLines(m, u)
					if u.lines != nil {
						file, line = u.lines.file(uint64(f)), int(n)
					}
					return nil
				}
			}
		}
		return nil
	})
	d.note(err)
	return file, line, line > 0
}

// entry reads one entry.
func (d *debugInfo) entry(at dwarf.Offset) (*dwarf.Entry, error) {
	r := d.data.Reader()
	r.Seek(at)
	return r.Next()
}

// Params returns the number of parameters of the function at pc. It returns -1 if the debug
// information does not contain the function, or if it is variadic.
func (m *Image) Params(pc uint64) int {
	d := m.lockDebug()
	defer d.mu.Unlock()
	pc -= m.Base
	_, function, ok := d.functionAt(pc)
	if !ok {
		return -1
	}
	count := 0
	err := guard(func() error {
		r := d.data.Reader()
		r.Seek(function)
		e, err := r.Next()
		if err != nil || e == nil || !e.Children {
			return err
		}
		return children(r, e, func(c *dwarf.Entry) {
			switch c.Tag {
			case dwarf.TagFormalParameter:
				if count >= 0 {
					count++
				}
			case dwarf.TagUnspecifiedParameters:
				count = -1
			}
		})
	})
	if err != nil {
		d.note(err)
		return -1
	}
	return count
}
