package local

import (
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
)

// Variable is the variable of a function's activation that memory on a stack
// belongs to. The zero value: not known.
type Variable struct {
	PC     uint64 // where the function was; 0: not known
	Name   string // "" if only the activation is known
	Path   string // the part that holds the access, as the source writes it: cache.hits
	Offset uint64 // of the first byte accessed, in the variable
	Size   uint64 // of the variable, in bytes
}

// same reports whether two answers name the same.
func (v *Variable) same(w *Variable) bool {
	return v.Name == w.Name && v.Offset == w.Offset && v.Size == w.Size
}

// Frame is a moment of an activation: an instruction of it, and where its frame is.
type Frame struct {
	PC uint64
	// Base returns the value of an integer register before that instruction, as
	// far as it is known.
	Base func(reg uint8) (uint64, bool)
}

// In finds the variable of a frame that an access of size bytes at addr is to.
// Inner variables of a name, which come first, hide outer ones.
func In(img *image.Space, f Frame, addr, size uint64) (Variable, bool) {
	for _, l := range img.Locals(f.PC) {
		if !l.Memory {
			continue
		}
		base, known := f.Base(l.Reg)
		if off := addr - base - uint64(l.Offset); known && off < l.Size {
			return variable(img, f.PC, &l, off, size), true
		}
	}
	return Variable{}, false
}

func variable(img *image.Space, pc uint64, l *image.Local, off, size uint64) Variable {
	return Variable{PC: pc, Name: l.Name, Path: img.LocalPath(pc, *l, off, min(size, l.Size-off)), Offset: off, Size: l.Size}
}

const regSP = 2

// slot is a value that was loaded from the stack.
type slot struct {
	reg    uint8 // the value is at that register's value and offset, and then it was added to
	offset int64
	added  int64
}

// ByInstruction finds the variable that the instruction at pc accesses, where the
// debug information places it by the register that the instruction uses, or by a
// pointer on the stack that the instructions before it, from the beginning of
// their block on, have loaded.
func ByInstruction(img *image.Space, block, pc uint64) (Variable, bool) {
	slots := map[uint8]slot{}
	read := img.Reader()
	for block < pc {
		i := decode(read, block)
		if i.Len == 0 {
			return Variable{}, false
		}
		follow(slots, i)
		block += uint64(i.Len)
	}
	i := decode(read, pc)
	_, size, ok := i.Mem()
	if !ok || i.Len == 0 {
		return Variable{}, false
	}
	at := int64(i.Imm)
	for _, l := range img.Locals(pc) {
		if off := at - l.Offset; l.Memory && l.Reg == i.Rs1 && off >= 0 && off < int64(l.Size) {
			return variable(img, pc, &l, uint64(off), uint64(size)), true
		}
	}
	s, ok := slots[i.Rs1]
	if !ok {
		return Variable{}, false
	}
	for _, l := range img.Pointed(pc) {
		if off := at + s.added - l.Then; l.Reg == s.reg && l.Offset == s.offset && off >= 0 && off < int64(l.Size) {
			return variable(img, pc, &l, uint64(off), uint64(size)), true
		}
	}
	return Variable{}, false
}

func decode(read rv.Code, pc uint64) rv.Inst {
	s := rv.Scan(pc, read, 1)
	if len(s.Insts) == 0 {
		return rv.Inst{}
	}
	return s.Insts[0]
}

// follow takes note of what an instruction does to values from the stack.
func follow(slots map[uint8]slot, i rv.Inst) {
	from, added := slots[i.Rs1]
	for reg := range uint8(rv.RegF) {
		if !i.Defs().Has(int(reg)) {
			continue
		}
		delete(slots, reg)
		for to, s := range slots {
			if s.reg == reg {
				delete(slots, to)
			}
		}
	}
	switch {
	case i.Op == rv.OpLD && i.Rd != 0 && i.Rd != i.Rs1:
		slots[i.Rd] = slot{reg: i.Rs1, offset: int64(i.Imm)}
	case i.Op == rv.OpADDI && added && i.Rd != 0:
		from.added += int64(i.Imm)
		slots[i.Rd] = from
	}
}
