package artifact

import (
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// followBlocks is the number of blocks after a racy read in which its value is followed.
const followBlocks = 64

// slot is a word of a stack frame, relative to a register at the read.
type slot struct {
	reg uint8
	off int64
}

// value says where a value that was read is at present.
type value struct {
	regs  uint64
	slots map[slot]bool
	sp    int64 // by how much the stack pointer has moved
	frame bool  // the frame pointer is unchanged
}

// looked returns the point from which on a thread has used the value of a racy read: a
// branch that depends on it has been executed, or an access at an address that is, or is
// computed from, the value is next. ok is false if the thread continues without that for
// a while; it would then have done the same with another value.
func (g *graph) looked(read point) (from point, ok bool, err error) {
	v := value{slots: map[slot]bool{}, frame: true}
	at := read
	for range followBlocks {
		if at.block >= g.history[at.thread].Blocks() {
			break
		}
		if err := g.spend(); err != nil {
			return point{}, false, err
		}
		b, d, err := g.block(at.thread, at.block)
		if err != nil || d.bad {
			return point{}, false, err
		}
		for ; at.inst < len(d.insts); at.inst++ {
			i := d.insts[at.inst]
			if at == read {
				v.define(i)
				continue
			}
			switch v.step(i) {
			case decided:
				return point{at.thread, at.block + 1, 0}, true, nil
			case reached:
				return at, true, nil
			}
		}
		switch {
		case b.End == event.EndSyscall:
			v.regs &^= 1 << regA0
		case g.code.hooked[d.pcs[len(d.pcs)-1]]:
			v.regs &^= clobbered
		}
		if v.regs == 0 && len(v.slots) == 0 {
			break
		}
		at.block, at.inst = at.block+1, 0
	}
	return point{}, false, nil
}

// define makes the result of an instruction the value.
func (v *value) define(i rv.Inst) { v.regs |= i.Defs().Regs }

type used uint8

const (
	unused  used = iota
	decided      // a branch or a jump
	reached      // an address
)

// step follows the value through an instruction.
func (v *value) step(i rv.Inst) used {
	kind, _, plain := i.Mem()
	bears := i.Uses().Regs&v.regs != 0
	switch {
	case plain || i.Atomic():
		if v.regs>>i.Rs1&1 != 0 && i.Rs1 != 0 {
			return reached
		}
	case bears && i.End() != event.EndFall && i.End() != event.EndSyscall:
		return decided
	}
	at, stack := v.slot(i)
	switch {
	case plain && kind == event.Write && stack:
		delete(v.slots, at)
		if bears {
			v.slots[at] = true
		}
		return unused
	case plain && kind == event.Read:
		bears = stack && v.slots[at]
	case i.Op == rv.OpADDI && i.Rd == regSP && i.Rs1 == regSP:
		v.sp += int64(i.Imm)
		return unused
	}
	defs := i.Defs().Regs
	v.regs &^= defs
	if bears {
		v.regs |= defs
	}
	if defs>>regFP&1 != 0 {
		v.frame = false
	}
	return unused
}

// regFP is the frame pointer.
const regFP = 8

// slot returns the word of the frame that a load or store is about.
func (v *value) slot(i rv.Inst) (slot, bool) {
	switch {
	case i.Rs1 == regSP:
		return slot{regSP, v.sp + int64(i.Imm)}, true
	case i.Rs1 == regFP && v.frame:
		return slot{regFP, int64(i.Imm)}, true
	}
	return slot{}, false
}
