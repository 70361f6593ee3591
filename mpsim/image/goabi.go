package image

import "debug/dwarf"

// Registers holds the numbers of integer and floating-point registers that a Go function
// uses for arguments or results (ABIInternal).
type Registers struct {
	Ints, Floats int
}

// goInts and goFloats are the numbers of registers that the ABI has of each kind.
const (
	goInts   = 16
	goFloats = 16
)

// GoRegisters returns the numbers of registers in which the Go function at pc takes its
// arguments and returns its results. ok is false if the debug information does not say, as
// for functions in assembler. Arguments that do not fit are on the stack.
func (m *Image) GoRegisters(pc uint64) (args, results Registers, ok bool) {
	d := m.lockDebug()
	defer d.mu.Unlock()
	_, function, ok := d.functionAt(pc - m.Base)
	if !ok {
		return args, results, false
	}
	err := guard(func() error {
		r := d.data.Reader()
		r.Seek(function)
		e, err := r.Next()
		if err != nil || e == nil {
			return err
		}
		// If a function is also inlined, its parameters are declared elsewhere, but its
		// results are not.
		origin, abstract := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		err = children(r, e, func(c *dwarf.Entry) {
			switch result, _ := c.Val(dwarf.AttrVarParam).(bool); {
			case c.Tag != dwarf.TagFormalParameter:
			case result:
				results.assign(d, c)
			case !abstract:
				args.assign(d, c)
			}
		})
		if err != nil || !abstract {
			return err
		}
		r.Seek(origin)
		if e, err = r.Next(); err != nil || e == nil {
			return err
		}
		return children(r, e, func(c *dwarf.Entry) {
			if result, _ := c.Val(dwarf.AttrVarParam).(bool); c.Tag == dwarf.TagFormalParameter && !result {
				args.assign(d, c)
			}
		})
	})
	if err != nil {
		d.note(err)
		return args, results, false
	}
	return args, results, true
}

// assign finds registers for a parameter, or none if it does not fit completely.
func (r *Registers) assign(d *debugInfo, parameter *dwarf.Entry) {
	was := *r
	typ, _ := parameter.Val(dwarf.AttrType).(dwarf.Offset)
	if !r.add(d, typ, maxTypeDepth) || r.Ints > goInts || r.Floats > goFloats {
		*r = was
	}
}

func (r *Registers) add(d *debugInfo, typ dwarf.Offset, depth int) (fits bool) {
	e, err := d.entry(typ)
	if err != nil || e == nil || typ == 0 || depth == 0 {
		return false
	}
	const complexEncoding, floatEncoding = 3, 4
	switch e.Tag {
	case dwarf.TagTypedef:
		next, _ := e.Val(dwarf.AttrType).(dwarf.Offset)
		return r.add(d, next, depth-1)
	case dwarf.TagStructType:
		for _, f := range d.typeAt(typ).members {
			if !r.add(d, f.typ, depth-1) {
				return false
			}
		}
		return true
	case dwarf.TagArrayType:
		t := d.typeAt(typ)
		if len(t.dims) != 1 || t.dims[0] > 1 {
			return false
		}
		return t.dims[0] == 0 || r.add(d, t.elem, depth-1)
	case dwarf.TagBaseType:
		switch encoding, _ := e.Val(dwarf.AttrEncoding).(int64); encoding {
		case floatEncoding:
			r.Floats++
			return true
		case complexEncoding:
			r.Floats += 2
			return true
		}
	}
	r.Ints++
	return true
}
