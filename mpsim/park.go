package mpsim

import (
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// A hart that waits by reading a word again and again makes progress only when another hart
// writes the word. The policy of vary.go parks it: it is not chosen while others can run
// and the words that it reads keep their values. The words are checked when a hart is
// chosen, which is no later than a hart that really spun could see them. After patience
// instructions the hart is chosen anyway, because the loop may end in another way, such as
// by a count.
//
// There are two signs of such a hart. One is atomic accesses that find the same value again
// and again (Hart.spun). The other is a loop, at the end of a slice, that can make progress
// only through what it reads (Hart.polling). libgomp has such loops; their loads are
// relaxed and so plain loads to the machine.

// parking is the reason why a hart is not chosen.
type parking struct {
	on    bool
	until int64 // when it is chosen in any case; see variety.now
	words []polled
	obj   uint64 // or when another thread reaches it; see variety.hold
}

// polled is a word that a hart reads repeatedly.
type polled struct {
	addr, value uint64
	size        uint8
}

// patience is the number of instructions of others for which a hart is parked.
const patience = 1 << 16

// park excludes the hart from the choice while the words that it polls keep their values.
func (h *Hart) park(now int64) {
	p := &h.parking
	for n := range p.words {
		w := &p.words[n]
		value, ok := h.Load(w.addr, int(w.size))
		if !ok {
			return
		}
		w.value = value
	}
	p.on, p.until, p.obj = len(p.words) > 0, now+patience, anywhere
}

// parked reports whether the hart is still waiting for the words that it reads.
func (h *Hart) parked(now int64) bool {
	p := &h.parking
	if !p.on {
		return false
	}
	if now >= p.until {
		p.on = false
	}
	for _, w := range p.words {
		if value, ok := h.Load(w.addr, int(w.size)); !ok || value != w.value {
			p.on = false
		}
	}
	return p.on
}

// Bounds of the loops that polling examines.
const (
	pollBlocks = 6
	pollInsts  = 24
)

// polling reports whether the hart is in a small loop that writes nothing to memory, calls
// nothing and reads words at addresses that do not change. It leaves these words in
// h.parking.words.
func (h *Hart) polling() bool {
	b := h.m.lookup(h.PC)
	if b == nil {
		return false
	}
	if b.loop == nil {
		b.loop = h.m.loopAt(b)
	}
	h.parking.words = h.parking.words[:0]
	if len(b.loop) == 0 {
		return false
	}
	// Registers that the loop does not write keep their values. Some others become known
	// when they are written.
	turn := turnOf{x: h.X}
	for _, part := range b.loop {
		for _, in := range part.code.Insts {
			turn.unknown |= in.Defs().Regs
		}
	}
	for _, part := range b.loop {
		pc := part.pc
		for _, in := range part.code.Insts {
			if !h.turnOn(&turn, in, pc) {
				return false
			}
			pc += uint64(in.Len)
		}
	}
	return len(h.parking.words) > 0
}

// turnOf is the state of one iteration of a loop, as far as it can be predicted.
type turnOf struct {
	x       [32]uint64
	unknown uint64 // mask of registers
}

// turnOn evaluates an instruction of a loop. It reports false if the instruction reads from
// an unknown address.
func (h *Hart) turnOn(t *turnOf, in rv.Inst, pc uint64) bool {
	a, b := t.x[in.Rs1&31], t.x[in.Rs2&31]
	lacks := in.Uses().Regs & t.unknown
	imm := uint64(int64(in.Imm))
	var v uint64
	ok := lacks == 0
	switch access, size, loads := in.Mem(); {
	case loads && access == event.Read:
		if !ok {
			return false
		}
		v, ok = h.Load(a+imm, int(size))
		if !ok {
			return false
		}
		h.parking.words = append(h.parking.words, polled{addr: a + imm, size: size})
		v = extended(in.Op, v)
	case in.Op == rv.OpLUI:
		v = imm
	case in.Op == rv.OpAUIPC:
		v = pc + imm
	case in.Op == rv.OpADDI:
		v = a + imm
	case in.Op == rv.OpADD:
		v = a + b
	case in.Op == rv.OpADDIW:
		v = uint64(int64(int32(a + imm)))
	case in.Op == rv.OpANDI:
		v = a & imm
	case in.Op == rv.OpSLLI:
		v = a << (imm & 63)
	default:
		ok = false
	}
	defs := in.Defs().Regs
	t.unknown |= defs
	if ok && defs != 0 && defs < 1<<rv.RegF {
		t.unknown &^= defs
		t.x[in.Rd&31] = v
	}
	return true
}

// extended returns what a load leaves in its register if it found v.
func extended(op rv.Op, v uint64) uint64 {
	switch op {
	case rv.OpLB:
		return uint64(int64(int8(v)))
	case rv.OpLH:
		return uint64(int64(int16(v)))
	case rv.OpLW:
		return uint64(int64(int32(v)))
	}
	return v
}

// loopAt returns the blocks of a small loop that begins with b and writes nothing to
// memory. If there is none, it returns an empty slice that is not nil.
func (m *Machine) loopAt(b *block) []*block {
	if path := m.loopFrom(b, b, nil, 0); path != nil {
		return path
	}
	return []*block{}
}

// loopFrom continues from block at, along path, until it reaches first again.
func (m *Machine) loopFrom(first, at *block, path []*block, insts int) []*block {
	insts += int(at.insts)
	if len(path) == pollBlocks || insts > pollInsts || !at.polls() {
		return nil
	}
	path = append(path, at)
	var next [2]uint64
	switch at.code.End {
	case event.EndFall, event.EndAtomic:
		next[0] = at.next
	case event.EndJump:
		next[0] = at.target
	case event.EndBranch:
		next[0], next[1] = at.next, at.target
	}
	for _, pc := range next {
		if pc == first.pc {
			return path
		}
	}
	for _, pc := range next {
		if pc == 0 {
			continue
		}
		if b := m.lookup(pc); b != nil {
			if loop := m.loopFrom(first, b, path, insts); loop != nil {
				return loop
			}
		}
	}
	return nil
}

// polls reports whether the block may be part of a waiting loop: it changes only integer
// registers.
func (b *block) polls() bool {
	if b.hook != noHook {
		return false
	}
	switch b.code.End {
	case event.EndFall, event.EndAtomic, event.EndJump, event.EndBranch:
	default:
		return false
	}
	for _, in := range b.code.Insts {
		access, _, plain := in.Mem()
		switch {
		case in.Atomic(), plain && access == event.Write, in.Op >= rv.OpCSRRW && in.Op <= rv.OpCSRRCI, in.Op == rv.OpFENCEI:
			return false
		}
	}
	return true
}
