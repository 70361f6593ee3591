package local

import (
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
)

// Variable is the variable of a function's activation that contains memory on a stack.
// The zero value means that it is not known.
type Variable struct {
	PC     uint64 // where the function was; 0 if not known
	Name   string // or "" if only the activation is known
	Path   string // the accessed part in the syntax of the source: cache.hits
	Offset uint64 // of the first accessed byte in the variable
	Size   uint64 // size of the variable in bytes
}

// same reports whether two variables are the same.
func (v *Variable) same(w *Variable) bool {
	return v.Name == w.Name && v.Offset == w.Offset && v.Size == w.Size
}

// Frame is a moment of an activation: one of its instructions, and the address of its
// frame.
type Frame struct {
	PC uint64
	// Base returns the value of an integer register before that instruction, as far as it
	// is known.
	Base func(reg uint8) (uint64, bool)
}

// In finds the variable of a frame that contains size bytes at addr. Inner variables come
// first and hide outer ones with the same name.
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
	reg    uint8 // the value was loaded from offset relative to that register, and then add was added to it
	offset int64
	added  int64
}

// ByInstruction finds the variable that the instruction at pc accesses. It works if the
// debug information places the variable relative to the register that the instruction
// uses, or to a pointer on the stack that earlier instructions of the same block have
// loaded.
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

// follow updates the values from the stack for an instruction.
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
