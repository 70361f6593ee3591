package image

import (
	"path"
	"strings"
)

// User reports whether pc is in the user's code rather than in a library. See the
// package comment.
func (m *Image) User(pc uint64) bool {
	d := m.lockDebug()
	u := d.unitAt(pc - m.Base)
	known := len(d.units) > 0
	d.mu.Unlock()
	if known {
		return u != nil && (m.Go() == "" || !GoRuntime(u.name()))
	}
	return m.userBySymbols(pc)
}

// Library reports whether pc is in the code of a system library. In a program with debug
// information, code without it counts as library code, unless the symbol table names a
// source file for it. Then it belongs to another library that was compiled without debug
// information.
func (m *Image) Library(pc uint64) bool {
	return !m.User(pc) && (len(m.symbols.pieces) == 0 || !userFile(m.pieceFile(pc)))
}

// facets is a symbol that exists if the program has the C++ library's facets.
const facets = "_ZNSt5ctypeIcE2idE"

// Borrowed reports whether the instruction at pc, which debug information covers, is in a
// function of the C++ library's facets that the compiler included from their header. These
// functions fill the library's own tables without a lock, always with the same values.
func (m *Image) Borrowed(pc uint64) bool {
	d := m.lockDebug()
	defer d.mu.Unlock()
	u := d.unitAt(pc - m.Base)
	if u == nil {
		return false
	}
	file := ""
	d.note(guard(func() error {
		d.readUnitLines(m, u)
		if row, ok := u.lines.find(pc - m.Base); ok {
			file = u.lines.file(uint64(row.file))
		}
		return nil
	}))
	return path.Base(file) == "locale_facets.h"
}

// UserObject reports whether addr is in a global variable of the user's code: declared by a
// compilation unit or, without any debug information, by the rule at userName. Variables
// that glibc leaves to the user to guard ([Symbol.callers]) count, too.
func (m *Image) UserObject(addr uint64) bool {
	known, found := m.declared(addr-m.Base, false)
	if found {
		return true
	}
	s, off, ok := m.Object(addr)
	if ok && s.callers() {
		return true
	}
	if known && ok && off != 0 {
		// For a class that is only declared, the size is not in the debug information but
		// in the symbol.
		_, found = m.declared(s.Addr-m.Base, false)
		return found
	}
	return !known && ok && userName(s)
}

// UserTLS reports whether offset off of the TLS block is in a variable of the user's code.
func (m *Image) UserTLS(off uint64) bool {
	if known, found := m.declared(off, true); known {
		return found
	}
	s, _, ok := m.TLSObject(off)
	return ok && userName(s)
}

// declared reports whether there is debug information at all, and whether it has a variable
// that covers addr.
func (m *Image) declared(addr uint64, tls bool) (known, found bool) {
	d := m.lockDebug()
	defer d.mu.Unlock()
	if len(d.units) == 0 {
		return false, false
	}
	d.note(guard(func() error {
		g := d.allVariables(m)
		list := g.fixed
		if tls {
			list = g.tls
		}
		_, found = findVariable(list, addr)
		return nil
	}))
	return true, found
}

// userBySymbols decides without debug information. The assembler marks the start of each
// input file's code with a local symbol ($x…), and the symbol table names the file of each
// local symbol. For the user's code, the compiler driver puts the source file there
// (prog.c). The C library of the cross toolchain is built through assembler files, so its
// files appear as printf.o. Code before the first mark, of crtstuff.c, and of files that
// are not source files is not the user's. Without marks, code is the user's if the name of
// its function is not reserved for the implementation.
func (m *Image) userBySymbols(pc uint64) bool {
	if len(m.symbols.pieces) > 0 {
		return m.Exec(pc) && userFile(m.pieceFile(pc))
	}
	s, ok := m.Func(pc)
	return ok && userName(s) && !strings.HasSuffix(s.Name, StubSuffix)
}

// userFile reports whether a file named in the symbol table looks like a source file of the
// user's.
func userFile(name string) bool {
	switch path.Ext(name) {
	case ".c", ".cc", ".cpp", ".cxx", ".C", ".c++", ".s", ".S", ".f90", ".f", ".rs", ".zig":
		return name != "crtstuff.c"
	}
	return strings.HasPrefix(name, "cc") && strings.HasSuffix(name, ".ltrans0.ltrans.o")
}

// userName decides by a symbol alone: for a local symbol by its file, for a global one by
// whether its name is reserved for the implementation.
func userName(s Symbol) bool {
	if s.File != "" {
		return userFile(s.File)
	}
	return !strings.HasPrefix(s.Name, "_") || strings.HasPrefix(s.Name, "_Z") && !strings.HasPrefix(s.Name, "_ZNSt") && !strings.HasPrefix(s.Name, "_ZSt")
}
