// Package intent says what a memory access is in the source, where that matters for races
// and the instruction alone does not show it. On RISC-V, relaxed atomic loads, and stores
// of one or two bytes, are plain instructions, and a fence next to an access may be a
// separate statement.
//
// The evidence is the debug information (the scopes of atomic operations, the line table,
// the compiler's version), the names of library functions, and the source text that existed
// when the run was recorded ([ReadSources]). Without evidence nothing is claimed: every
// method reports whether something is known.
//
// A [Code] may be used by several goroutines at once.
package intent

import (
	"strings"
	"sync"

	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Code answers questions about the code of a program, and caches the answers.
type Code struct {
	img    *image.Space
	golang bool // the program was built by the Go toolchain
	*answers
}

// answers is the cache.
type answers struct {
	mu      sync.Mutex
	atomic  map[uint64]bool
	plain   map[uint64]bool
	fences  map[uint64]fence
	combos  map[uint64]*combinations // by function
	places  map[uint64]place
	files   map[string]*image.FileNotes
	loads   map[uint64]map[*image.FileNotes]*lineSpan // by function
	ordered map[uint64]image.OrderNotes
}

// fence is what is known about the fence next to an access.
type fence uint8

const (
	none  fence = iota
	whose       // it is unknown whether the fence is part of the access
	own         // in the same statement
	apart       // in another statement
)

// New returns a Code for img.
func New(img *image.Space) *Code {
	return &Code{img: img, golang: img.Main.Go() != "", answers: &answers{atomic: map[uint64]bool{}, plain: map[uint64]bool{}, fences: map[uint64]fence{}, combos: map[uint64]*combinations{}, places: map[uint64]place{}, loads: map[uint64]map[*image.FileNotes]*lineSpan{}, ordered: map[uint64]image.OrderNotes{}}}
}

// In returns a Code for the same images in the space of another run. The two share the
// cache.
func (c *Code) In(img *image.Space) *Code { return &Code{img, c.golang, c.answers} }

// fetch reads 16 bits of code.
func (c *Code) fetch(addr uint64) (uint16, bool) {
	b := c.img.Code(addr, 2)
	if len(b) < 2 {
		return 0, false
	}
	return uint16(b[0]) | uint16(b[1])<<8, true
}

// at decodes the instruction at pc.
func (c *Code) at(pc uint64) (rv.Inst, bool) {
	b := rv.Scan(pc, c.fetch, 1)
	if len(b.Insts) == 0 {
		return rv.Inst{}, false
	}
	return b.Insts[0], true
}

// remember returns the cached answer for pc. If there is none, it calls find.
func remember[T any](c *Code, known map[uint64]T, pc uint64, find func(uint64) T) T {
	c.mu.Lock()
	v, ok := known[pc]
	c.mu.Unlock()
	if !ok {
		v = find(pc)
		c.mu.Lock()
		known[pc] = v
		c.mu.Unlock()
	}
	return v
}

// firstPlainStores is the first version of gcc that emits relaxed atomic stores of four and
// eight bytes as plain stores. Earlier versions use AMOSWAP.
const firstPlainStores = 14

// Plain reports whether the plain load or store at pc is known not to be an atomic access
// in the source. That is so for a store of four or eight bytes from a compiler that uses
// AMOSWAP for relaxed stores, outside the C++ library's headers; for any access in a
// function of the C library that works on strings and blocks of memory; and where the
// source text has no atomic access.
func (c *Code) Plain(pc uint64) bool { return remember(c, c.plain, pc, c.findPlain) }

func (c *Code) findPlain(pc uint64) bool {
	i, ok := c.at(pc)
	if !ok {
		return false
	}
	access, size, ok := i.Mem()
	switch {
	case !ok:
		return false
	case c.golang:
		return true // sync/atomic uses other instructions
	case !c.img.User(pc):
		f, ok := c.img.Func(pc)
		return ok && copies(f.Name)
	case access == event.Write && size >= 4:
		if v := c.img.GCC(pc); v > 0 && v < firstPlainStores && !c.ofCXXLibrary(pc) {
			return true
		}
	}
	return c.place(pc).plain() && !c.swapped(pc) && !c.merged(pc)
}

// Meant reports whether the source text shows that the plain load or store at pc is an
// atomic access, by OpenMP's atomic or gcc's builtin functions. It also reports stores that
// gcc adds to a directive: to a loop with simd, stores of the loop's variables, which every
// thread makes if the loop has no iteration; to a task, the store of a reference that it
// shares.
func (c *Code) Meant(pc uint64) bool {
	p := c.place(pc)
	if p.notes == nil {
		return false
	}
	i, ok := c.at(pc)
	if !ok {
		return false
	}
	access, _, ok := i.Mem()
	if !ok {
		return false
	}
	if access == event.Read && !p.noted(image.NoteLoad) || access == event.Write && !p.noted(image.NoteStore, image.NoteWriteBack) {
		if !c.exact(pc, p, access) {
			return false
		}
	}
	const regSP, regS0 = 2, 8
	return i.Rs1 != regSP && (i.Rs1 != regS0 || !c.framed(pc)) // else a value that the statement copies, or the address
}

// ofCXXLibrary reports whether the instruction at pc comes from a function in the C++
// library's headers. The library orders plain and atomic accesses to its own counters by
// other means.
func (c *Code) ofCXXLibrary(pc uint64) bool {
	frames := c.img.Frames(pc)
	if len(frames) == 0 {
		return false
	}
	for _, prefix := range []string{"_ZNSt", "_ZNKSt", "_ZSt", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx"} {
		if strings.HasPrefix(frames[0].Linkage, prefix) {
			return true
		}
	}
	return strings.HasPrefix(frames[0].Function, "std::") || strings.HasPrefix(frames[0].Function, "__gnu_cxx::")
}

// copies reports whether a library function with that name works on strings or blocks of
// memory.
func copies(name string) bool {
	name = strings.TrimLeft(name, "_")
	for _, prefix := range []string{"mem", "str", "stpcpy", "stpncpy", "wcs", "wmem", "bcopy", "bzero", "explicit_bzero"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Atomic reports whether the plain load or store at pc is the access of an atomic operation
// in the source, from <stdatomic.h> or std::atomic, or one that [Code.Meant] reports.
func (c *Code) Atomic(pc uint64) bool { return remember(c, c.atomic, pc, c.findAtomic) }

func (c *Code) findAtomic(pc uint64) bool {
	s, ok := c.img.AtomicScope(pc)
	if !ok {
		return c.Meant(pc)
	}
	i, ok := c.at(pc)
	if !ok {
		return false
	}
	access, size, ok := i.Mem()
	if !ok || s.Size != 0 && s.Size != uint64(size) {
		return false
	}
	if access == event.Write {
		ok = s.Op == "store" || s.Op == "clear"
	} else {
		ok = s.Op == "load" || s.Op == "test"
	}
	return ok && c.through(pc, i, &s)
}

// through reports whether the access i at pc may go through the pointer of operation s.
// Operations also access their own parameters and the variables around the call of a
// macro.
func (c *Code) through(pc uint64, i rv.Inst, s *image.AtomicScope) bool {
	const regSP, regS0 = 2, 8
	p := &s.Pointer
	switch p.Kind {
	case image.OperandMemory: // the address was loaded from there
		before := c.before(pc)
		for n := len(before) - 1; n >= 0; n-- {
			if r, ok := before[n].Dest(); ok && r == i.Rs1 {
				if before[n].Op != rv.OpLD || i.Imm != 0 {
					return false
				}
				// Clang without optimisation has a copy of the pointer in the frame.
				return before[n].Rs1 == p.Reg && int64(before[n].Imm) == p.Offset ||
					s.Member && (before[n].Rs1 == regSP || before[n].Rs1 == regS0)
			}
		}
		return false
	case image.OperandSum:
		if i.Rs1 == p.Reg {
			return int64(i.Imm) == p.Offset
		}
	}
	return i.Rs1 != regSP && (i.Rs1 != regS0 || !c.framed(pc))
}

// framed reports whether the function at pc keeps its frame in s0.
func (c *Code) framed(pc uint64) bool {
	const regSP, regS0 = 2, 8
	for _, i := range c.before(pc) {
		if i.Op == rv.OpADDI && i.Rd == regS0 && i.Rs1 == regSP {
			return true
		}
	}
	return false
}

// maxFunction bounds the number of instructions of a function that are examined.
const maxFunction = 1 << 13

// before decodes the instructions of the function before pc.
func (c *Code) before(pc uint64) []rv.Inst {
	f, ok := c.img.Func(pc)
	if !ok {
		return nil
	}
	var list []rv.Inst
	for at := f.Addr; at < pc && len(list) < maxFunction; {
		i, ok := c.at(at)
		if !ok {
			return nil
		}
		list = append(list, i)
		at += uint64(i.Len)
	}
	return list
}

// Apart reports whether the fence that makes the plain load or store at pc an atomic access
// is a separate statement in the source. Then it is unknown whether the access is atomic.
func (c *Code) Apart(pc uint64) bool {
	return c.apart(pc) && !c.Atomic(pc)
}

// apart reports whether a plain load or store at pc has a fence next to it that is a
// separate statement.
func (c *Code) apart(pc uint64) bool {
	if remember(c, c.fences, pc, c.findFence) != apart {
		return false
	}
	i, ok := c.at(pc)
	return ok && !i.Atomic()
}

// Alien reports whether the instruction at pc has a fence next to it that may be a separate
// statement, and so orders more than the access.
func (c *Code) Alien(pc uint64) bool {
	f := remember(c, c.fences, pc, c.findFence)
	return f == apart || f == whose
}

// Releases reports whether the fence immediately after the plain load at pc is a statement
// of its own that orders earlier accesses before later stores. An acquire load of gcc
// before version 14 has the same fence, but does not order that.
func (c *Code) Releases(pc uint64) bool {
	if !c.apart(pc) || c.NextFenceMode(pc)&event.Release == 0 {
		return false
	}
	i, ok := c.at(pc)
	if !ok {
		return false
	}
	next, _ := c.at(pc + uint64(i.Len))
	pred, succ, ok := next.Fence()
	return ok && pred&(rv.FenceR|rv.FenceW) == rv.FenceR|rv.FenceW && succ&rv.FenceW != 0
}

func (c *Code) findFence(pc uint64) fence {
	i, ok := c.at(pc)
	if !ok {
		return none
	}
	at, ok := c.fenceOf(pc, i)
	if !ok {
		return none
	}
	a, known := c.img.Statement(pc)
	b, too := c.img.Statement(at)
	switch {
	case !known || !too || a.Column == 0 || b.Column == 0:
		return whose
	case a == b:
		return own
	}
	return apart
}

// fenceOf returns the fence that [rv.Scan] treats as part of the access i at pc.
func (c *Code) fenceOf(pc uint64, i rv.Inst) (at uint64, ok bool) {
	if access, _, plain := i.Mem(); plain && access == event.Read {
		at = pc + uint64(i.Len)
		next, ok := c.at(at)
		return at, ok && next.Op == rv.OpFENCE
	}
	const between = 3 // as in package rv
	before := c.before(pc)
	at = pc
	for n := len(before) - 1; n >= 0 && n >= len(before)-1-between; n-- {
		at -= uint64(before[n].Len)
		if before[n].Op == rv.OpFENCE {
			return at, true
		}
		if i.Atomic() {
			break
		}
	}
	return 0, false
}
