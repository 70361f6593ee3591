package image

import "path"

// Frame is a place in the source.
type Frame struct {
	Function string // as the source spells it (C++ names demangled), "" if unknown
	Linkage  string // the linker's name of the function, "" if there is none
	File     string // as the line table has it, "" if unknown
	Line     int    // from 1; 0 if unknown
	Inlined  bool   // the function was inlined into the next frame
}

// Base is the last element of the file's path.
func (f Frame) Base() string {
	if f.File == "" {
		return ""
	}
	return path.Base(f.File)
}

type debugInfo struct{}

// Frames gives the source places of the instruction at pc, innermost inlined
// function first.
func (m *Image) Frames(pc uint64) []Frame {
	if s, ok := m.Func(pc); ok {
		return []Frame{{Function: s.Demangled(), Linkage: s.Name}}
	}
	return nil
}

// User says whether pc is in the user's code. See the package comment.
func (m *Image) User(pc uint64) bool { return false }

// UserObject says whether addr is in a variable of the user's code.
func (m *Image) UserObject(addr uint64) bool { return false }
