package image

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
)

// variable is a variable with a fixed address or a fixed place in the TLS block.
type variable struct {
	addr  uint64 // address of the file, or offset in the TLS block
	size  uint64
	entry dwarf.Offset
	typ   dwarf.Offset
	tls   bool
}

// variables holds all variables, in order of address.
type variables struct {
	fixed, tls []variable
}

// Operations of DWARF expressions (DWARF 5 section 7.7.1).
const (
	opAddr        = 0x03
	opConst4u     = 0x0c
	opConst8u     = 0x0e
	opFormTLS     = 0x9b
	opAddrx       = 0xa1
	opPushTLSAddr = 0xe0
)

// addVariable records a variable whose location is a plain address. Variables in registers
// and on the stack, whose place changes between instructions, are left out. global says
// that it is outside functions.
func (d *debugInfo) addVariable(u *unit, e *dwarf.Entry, global bool) {
	loc, ok := e.Val(dwarf.AttrLocation).([]byte)
	if !ok || len(loc) == 0 {
		d.addThreadLocal(u, e, global)
		return
	}
	v := variable{entry: e.Offset}
	c := cursor{data: loc, off: 1}
	switch loc[0] {
	case opAddr:
		v.addr = c.u64()
	case opAddrx: // Clang's
		v.addr = d.address(u, c.uleb())
	case opConst4u:
		v.addr, v.tls = uint64(c.u32()), true
	case opConst8u:
		v.addr, v.tls = c.u64(), true
	default:
		return
	}
	if v.tls {
		if op := c.u8(); op != opFormTLS && op != opPushTLSAddr {
			return
		}
	}
	if c.bad || c.off != len(loc) {
		return
	}
	if v.tls { // Clang's number may be the address of the variable's initial value
		if addr, ok := d.threadLocal(u, e, global); ok {
			v.addr = addr
		}
	}
	u.vars = append(u.vars, v)
}

// address is an entry of the unit's table of addresses, or 0.
func (d *debugInfo) address(u *unit, index uint64) uint64 {
	base, _ := u.root.Val(dwarf.AttrAddrBase).(int64)
	const entry = 8
	if base < 0 || uint64(base) > uint64(len(d.addr)) || index > uint64(len(d.addr)) {
		return 0
	}
	c := cursor{data: d.addr, off: int(min(uint64(base)+entry*index, uint64(len(d.addr))))}
	return c.u64()
}

// addThreadLocal finds a thread-local variable by its symbol. The RISC-V psABI has no
// relocation for a TLS offset in debug information, so gcc omits its location.
func (d *debugInfo) addThreadLocal(u *unit, e *dwarf.Entry, global bool) {
	if len(d.tlsNames) == 0 || e.Val(dwarf.AttrDeclaration) != nil || e.Val(dwarf.AttrConstValue) != nil {
		return
	}
	if e.Val(dwarf.AttrLocation) != nil {
		return // a list of locations, i.e. a local variable
	}
	if addr, ok := d.threadLocal(u, e, global); ok {
		u.vars = append(u.vars, variable{addr: addr, entry: e.Offset, tls: true})
	}
}

// threadLocal returns the place of a thread-local variable by its symbol.
func (d *debugInfo) threadLocal(u *unit, e *dwarf.Entry, global bool) (addr uint64, ok bool) {
	name, linkage, _ := d.entryName(e.Offset)
	if linkage != "" {
		name = linkage
	}
	file, _ := u.root.Val(dwarf.AttrName).(string)
	for _, s := range d.tlsNames[name] {
		// A static variable of a function has a numeric suffix.
		if numbered := strings.Contains(s.Name, "."); numbered == global {
			continue
		}
		if s.Global || path.Base(s.File) == path.Base(file) {
			return s.Addr, true
		}
	}
	return 0, false
}

// allVariables reads the variables of all units.
func (d *debugInfo) allVariables(m *Image) *variables {
	if d.globals != nil {
		return d.globals
	}
	d.globals = &variables{}
	for _, u := range d.units {
		d.walk(u)
		for _, v := range u.vars {
			v.typ = d.typeOfEntry(v.entry)
			v.size = max(d.typeAt(v.typ).size, 1)
			if v.tls && v.addr < m.TLS.MemSize && v.size <= m.TLS.MemSize-v.addr {
				d.globals.tls = append(d.globals.tls, v)
			} else if s := m.segment(v.addr + m.Base); !v.tls && s != nil && v.size <= s.End()-v.addr-m.Base {
				d.globals.fixed = append(d.globals.fixed, v)
			}
		}
	}
	for _, list := range [][]variable{d.globals.fixed, d.globals.tls} {
		slices.SortStableFunc(list, func(a, b variable) int { return cmp.Compare(a.addr, b.addr) })
	}
	return d.globals
}

// findVariable returns the variable in the list that covers addr. Variables do not overlap.
// If damaged information says that they do, the last one counts.
func findVariable(list []variable, addr uint64) (variable, bool) {
	i := sort.Search(len(list), func(i int) bool { return list[i].addr > addr }) - 1
	for ; i >= 0; i-- {
		if v := list[i]; addr-v.addr < v.size {
			return v, true
		} else if v.addr != list[max(i-1, 0)].addr {
			break
		}
	}
	return variable{}, false
}

// ObjectPath names the part of a global variable that contains addr, as the source would
// write it: account.balance, table[17].hits. It descends to the smallest part, but not into
// what is internal to the implementation (members whose names begin with two underscores,
// or one and a capital). For an address inside a part, the offset is appended: x+2. Without
// debug information for the variable, the result is the symbol and the offset in bytes:
// table+280. If addr is in no global variable, the result is "".
func (m *Image) ObjectPath(addr uint64) string { return m.ObjectPathSize(addr, 0) }

// ObjectPathSize is like ObjectPath for an access of size bytes. It descends only as long
// as the part contains the whole access.
func (m *Image) ObjectPathSize(addr, size uint64) string {
	if p := m.debugPath(addr-m.Base, size, false); p != "" {
		return p
	}
	if s, off, ok := m.Object(addr); ok {
		return withOffset(s.Demangled(), off)
	}
	return ""
}

// TLSPath names the part of a thread-local variable at offset off of the TLS block, by the
// rules of ObjectPath.
func (m *Image) TLSPath(off uint64) string {
	if p := m.debugPath(off, 0, true); p != "" {
		return p
	}
	if s, o, ok := m.TLSObject(off); ok {
		return withOffset(s.Demangled(), o)
	}
	return ""
}

func withOffset(name string, off uint64) string {
	if off == 0 {
		return name
	}
	return fmt.Sprintf("%s+%d", name, off)
}

// debugPath returns the path according to the debug information, or "" if there is none.
func (m *Image) debugPath(addr, size uint64, tls bool) (path string) {
	d := m.lockDebug()
	defer d.mu.Unlock()
	err := guard(func() error {
		g := d.allVariables(m)
		list := g.fixed
		if tls {
			list = g.tls
		}
		v, ok := findVariable(list, addr)
		if !ok {
			return nil
		}
		name, linkage, _ := d.entryName(v.entry)
		if strings.HasPrefix(linkage, "_Z") {
			name = d.spelled(linkage)
		}
		if name == "" {
			return nil
		}
		var b strings.Builder
		b.WriteString(name)
		d.describe(&b, v.typ, addr-v.addr, size)
		path = b.String()
		return nil
	})
	d.note(err)
	return path
}

// typeOfEntry returns the type of a variable or member: its own, or that of the entry that
// it defines.
func (d *debugInfo) typeOfEntry(off dwarf.Offset) dwarf.Offset {
	r := d.data.Reader()
	for range 8 {
		r.Seek(off)
		e, err := r.Next()
		if err != nil || e == nil {
			return 0
		}
		if t, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok {
			return t
		}
		next, ok := e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		if !ok {
			next, ok = e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
			if !ok {
				return 0
			}
		}
		off = next
	}
	return 0
}
