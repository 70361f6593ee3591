package image

import (
	"debug/dwarf"
	"fmt"
	"path"
	"strings"
)

// Frame is a place in the source.
type Frame struct {
	Function string // as in the source (C++ names demangled); "" if unknown
	Linkage  string // the linker's name of the function; "" if there is none
	File     string // as in the line table; "" if unknown
	Line     int    // from 1; 0 if unknown
	Inlined  bool   // the function was inlined into the next frame
}

// Base returns the last element of the file's path.
func (f Frame) Base() string {
	if f.File == "" {
		return ""
	}
	return path.Base(f.File)
}

// maxInlining bounds the number of frames of one instruction.
const maxInlining = 256

// Frames returns the source places of the instruction at pc: first the innermost inlined
// function, last the function that was really called. If pc has no debug information, there
// is one frame, from the symbol table and without a line. If there is no symbol either,
// there is none.
func (m *Image) Frames(pc uint64) []Frame {
	var frames []Frame
	d := m.lockDebug()
	if u := d.unitAt(pc - m.Base); u != nil {
		if err := guard(func() error { frames = d.frames(m, u, pc-m.Base); return nil }); err != nil {
			d.note(err)
		}
	}
	d.mu.Unlock()
	s, ok := m.Func(pc)
	if len(frames) == 0 {
		if !ok {
			return nil
		}
		return []Frame{{Function: s.Demangled(), Linkage: s.Name}}
	}
	outer := &frames[len(frames)-1]
	if ok && (outer.Function == "" || outer.Linkage == "" && strings.HasPrefix(s.Name, "_Z")) {
		outer.Linkage, outer.Function = s.Name, s.Demangled()
	}
	return frames
}

// frames returns the frames of pc, which is an address of the file that u covers.
func (d *debugInfo) frames(m *Image, u *unit, pc uint64) []Frame {
	d.walk(u)
	d.readUnitLines(m, u)
	var place Frame
	if row, ok := u.lines.find(pc); ok {
		place.File, place.Line = u.lines.file(uint64(row.file)), int(row.line)
	}
	var frames []Frame
	for i := u.scopeAt(pc); i >= 0 && len(frames) < maxInlining; {
		s := &u.scopes[i]
		f := place
		var declared dwarf.Offset
		f.Function, f.Linkage, declared = d.entryName(s.entry)
		if f.Linkage != "" {
			f.Function = d.spelled(f.Linkage)
		} else if f.Function != "" {
			f.Function = d.qualified(u, declared, f.Function)
		}
		f.Inlined = s.parent >= 0
		frames = append(frames, f)
		place = Frame{File: u.lines.file(s.callFile), Line: s.callLine}
		i = s.parent
	}
	if len(frames) == 0 && place.File != "" {
		frames = append(frames, place)
	}
	return frames
}

// readUnitLines runs the unit's line number program, once.
func (d *debugInfo) readUnitLines(m *Image, u *unit) {
	if u.lined {
		return
	}
	u.lined = true
	off, dir, ok := u.lineProgram()
	if !ok {
		return
	}
	lines, err := d.readLines(off, dir, func(a uint64) bool { return m.Exec(a + m.Base) }, &d.rowsLeft)
	if err != nil {
		d.note(err)
		return
	}
	u.lines = lines
}

// lineProgram returns the offset of the unit's line number program, and the directory that
// its file names are relative to.
func (u *unit) lineProgram() (off uint64, dir string, ok bool) {
	at, ok := u.root.Val(dwarf.AttrStmtList).(int64)
	dir, _ = u.root.Val(dwarf.AttrCompDir).(string)
	return uint64(at), dir, ok
}

// Short formats a frame for reports: function file:line.
func (f Frame) Short() string {
	name := f.Function
	if name == "" {
		name = "??"
	}
	if f.File == "" {
		return name
	}
	return fmt.Sprintf("%s %s:%d", name, f.Base(), f.Line)
}
