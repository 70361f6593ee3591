package mpsim

import (
	"hindsight/mpsim/linux"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Values across unrecorded code of a runtime, for observers that ask for values. Such code
// copies: an element through a channel, a boxed value, a stack that grows, the registers of
// a preempted goroutine. The copy keeps the writer of the original (event.EffectTake,
// EffectKeep, EffectPass). What such code computes belongs to the call that led to it: the
// memory that it writes and the registers in which the call returns its results.

// carried tracks where the values in a hart's registers come from while it executes
// unrecorded code.
type carried struct {
	on     bool
	open   bool // there is a call on whose behalf the code runs
	fiber  *fiber
	origin [2 * rv.RegF]origin // by register
	uses   [event.Slots]uint8  // by slot: number of registers that hold its value
	before registers           // as the observer knows them
	saved  []interruptedValues // what signal handlers interrupted, innermost last
}

// origin is where a value comes from. Below the number of registers, it is the register
// with that number when the code began; above that, a slot, or computed.
type origin uint8

const (
	fromSlot origin = 2 * rv.RegF
	computed origin = 255
)

// interruptedValues is the state that a signal handler interrupted.
type interruptedValues struct {
	origin [2 * rv.RegF]origin
	values registers
}

// Result registers of Go's ABI.
var (
	resultInts   = [...]uint8{10, 11, 12, 13, 14, 15, 16, 17, 8, 9, 18, 19, 20, 21, 22, 23}
	resultFloats = [...]uint8{42, 43, 44, 45, 46, 47, 48, 49, 40, 41, 50, 51, 52, 53, 54, 55}
)

// fiberCells are the addresses of places that stand for what a fiber's call did on one
// hart, for when the fiber continues on another.
const fiberCells = linux.StateBase | 1<<59

// carry starts to track h, which has executed recorded code until now.
func (r *recorder) carry(h *Hart) {
	c := &h.carried
	if c.on {
		return
	}
	c.on, c.open, c.fiber = true, false, nil
	c.uses = [event.Slots]uint8{}
	for n := range c.origin {
		c.origin[n] = origin(n)
	}
	c.before = h.registers()
}

// carriedBlock notes that h is about to execute b, which is not recorded.
func (r *recorder) carriedBlock(h *Hart, b *block) {
	r.current(h)
	if len(r.batch.Effects) >= batchEvents {
		r.flush(h)
	}
	h.unseen.block = b
	h.values = &h.valueScrap
}

// current makes the open group that of the call that h is in. What is recorded next belongs
// to it.
func (r *recorder) current(h *Hart) {
	r.stored(h)
	if c := &h.carried; c.fiber != h.fiber {
		r.carry(h)
		c.fiber = h.fiber
		r.openCall(h)
	}
}

// openCall opens the group for what the fiber's unrecorded code does on h.
func (r *recorder) openCall(h *Hart) {
	mu := &h.fiber.mute
	h.carried.open = h.fiberKey != 0
	switch {
	case h.fiberKey == 0:
	case mu.site == 0:
		r.effect(event.Effect{Kind: event.EffectStart})
	case mu.parked:
		mu.parked = false
		h.showStack()
		r.flush(h)
		r.openAt(h, 0)
		r.effect(event.Effect{Kind: event.EffectRead, Addr: fiberCells | h.fiberKey, Arg: placeBytes})
	default:
		args := 0
		if mu.called {
			args = h.m.fiberHooks.Signature(mu.callee).Args
		}
		r.openAt(h, args)
	}
}

// callBytes is the size of a call instruction as the Go toolchain emits it.
const callBytes = 4

// openAt opens the group for the unrecorded code that the fiber of h is in.
func (r *recorder) openAt(h *Hart, args int) {
	mu := &h.fiber.mute
	pc, callee := mu.site, mu.callee
	if !mu.called {
		pc = 0
		for n := len(h.frames) - 1; n >= 0 && pc == 0; n-- { // recorded code has returned into it
			if ret := h.frames[n].ret; h.m.fiberHooks.Code(ret-1) == Recorded {
				pc = ret - callBytes
			}
		}
	}
	if mu.interrupts || pc == 0 {
		r.effect(event.Effect{Kind: event.EffectSignal})
		return
	}
	r.effect(event.Effect{Kind: event.EffectRuntime, PC: pc, Addr: callee, Arg: uint64(args)})
}

// park records that the fiber of h leaves the hart in the middle of a call.
func (r *recorder) park(h *Hart) {
	r.stored(h)
	if h.carried.open && h.fiberKey != 0 {
		h.fiber.mute.parked = true
		r.effect(event.Effect{Kind: event.EffectWrote, Addr: fiberCells | h.fiberKey, Arg: placeBytes})
	}
	h.carried.open = false
}

// follow tracks the values through unrecorded code that h ran. addrs holds the address of
// each site's access. values is the number of entries in valueScrap; those of an atomic
// access come last.
func (r *recorder) follow(h *Hart, code *rv.Block, addrs []uint64, values int) {
	c := &h.carried
	for n := range code.Insts {
		i := &code.Insts[n]
		if n == len(code.Insts)-1 && code.End == event.EndAtomic {
			r.followAtomic(h, i, values-rv.Values(code.Insts[n:], event.EndAtomic))
			return
		}
		rd, defines := i.Dest()
		switch access, size, plain := i.Mem(); {
		case plain && access == event.Write:
			r.keep(h, operandOf(i, 2), addrs[0], size)
			addrs = addrs[1:]
		case plain:
			if defines {
				r.take(h, rd, addrs[0], size)
			}
			addrs = addrs[1:]
		case defines:
			c.set(rd, c.moved(i))
		}
	}
}

// operandOf returns the register of operand n, or 0, which holds no value, if there is
// none.
func operandOf(i *rv.Inst, n int) uint8 {
	reg, _ := i.Source(n)
	return reg
}

// followAtomic handles the atomic access at the end of a block.
func (r *recorder) followAtomic(h *Hart, i *rv.Inst, at int) {
	c := &h.carried
	addr := h.valueScrap[at]
	rd, defines := i.Dest()
	access, size, plain := i.Mem()
	if !plain {
		size = i.AtomicSize()
	}
	stored := operandOf(i, 2)
	was := computed
	if stored != 0 {
		was = c.origin[stored]
	}
	reads := !plain || access == event.Read
	switch i.Op {
	case rv.OpSCW, rv.OpSCD:
		if h.valueScrap[at+1] == 0 {
			r.keep(h, stored, addr, size)
		}
		reads = false
		if defines {
			c.set(rd, computed)
		}
	case rv.OpLRW, rv.OpLRD:
	case rv.OpAMOSWAPW, rv.OpAMOSWAPD:
		if was >= fromSlot && was != computed {
			c.uses[was-fromSlot]++ // in case rd takes its place
			defer func() { c.uses[was-fromSlot]-- }()
		}
		if defines {
			r.take(h, rd, addr, size)
		}
		r.store(h, was, addr, size)
		return
	default:
		if plain && access == event.Write {
			r.keep(h, stored, addr, size)
		} else if !plain {
			defer r.store(h, computed, addr, size)
		}
	}
	if reads && defines {
		r.take(h, rd, addr, size)
	}
}

// take notes that a register was loaded from memory.
func (r *recorder) take(h *Hart, rd uint8, addr uint64, size uint8) {
	c := &h.carried
	c.set(rd, computed)
	for s := range c.uses {
		if c.uses[s] == 0 {
			r.effect(event.Effect{Kind: event.EffectTake, Slot: uint8(s), Addr: addr, Arg: uint64(size)})
			c.set(rd, fromSlot+origin(s))
			return
		}
	}
}

// keep notes that a register was stored.
func (r *recorder) keep(h *Hart, reg uint8, addr uint64, size uint8) {
	from := computed
	if reg != 0 {
		from = h.carried.origin[reg]
	}
	r.store(h, from, addr, size)
}

func (r *recorder) store(h *Hart, from origin, addr uint64, size uint8) {
	switch {
	case from == computed:
		kind := event.EffectFresh
		if h.carried.open {
			kind = event.EffectWrote
		}
		if n := len(r.batch.Effects) - 1; n >= 0 {
			if e := &r.batch.Effects[n]; e.Kind == kind && e.Addr+e.Arg == addr && e.At == uint32(len(r.batch.Blocks)) {
				e.Arg += uint64(size)
				return
			}
		}
		r.effect(event.Effect{Kind: kind, Addr: addr, Arg: uint64(size)})
	case from < fromSlot:
		s, ok := r.slotOf(h, from)
		if !ok {
			r.store(h, computed, addr, size)
			return
		}
		r.effect(event.Effect{Kind: event.EffectKeep, Slot: uint8(s - fromSlot), Addr: addr, Arg: uint64(size)})
	default:
		r.effect(event.Effect{Kind: event.EffectKeep, Slot: uint8(from - fromSlot), Addr: addr, Arg: uint64(size)})
	}
}

// slotOf returns a slot for the value that a register held when the code began, and notes
// that the value is in it.
func (r *recorder) slotOf(h *Hart, from origin) (origin, bool) {
	c := &h.carried
	for s := range c.uses {
		if c.uses[s] == 0 {
			to := fromSlot + origin(s)
			r.effect(event.Effect{Kind: event.EffectTake, Slot: uint8(s), Addr: uint64(from)})
			for reg, o := range c.origin {
				if o == from && origin(reg) != from {
					c.set(uint8(reg), to)
				}
			}
			return to, true
		}
	}
	return computed, false
}

// set notes the origin of a register's new value.
func (c *carried) set(rd uint8, from origin) {
	if old := c.origin[rd]; old >= fromSlot && old != computed {
		c.uses[old-fromSlot]--
	}
	c.origin[rd] = from
	if from >= fromSlot && from != computed {
		c.uses[from-fromSlot]++
	}
}

// moved returns the origin of the result of an instruction that accesses no memory.
func (c *carried) moved(i *rv.Inst) origin {
	from := uint8(0)
	switch i.Op {
	case rv.OpADDI:
		if i.Imm == 0 {
			from = i.Rs1
		}
	case rv.OpADD:
		if i.Rs1 == 0 {
			from = i.Rs2
		} else if i.Rs2 == 0 {
			from = i.Rs1
		}
	case rv.OpFMVXD, rv.OpFMVDX:
		from = operandOf(i, 1)
	case rv.OpFSGNJD, rv.OpFSGNJS:
		if i.Rs1 == i.Rs2 {
			from = operandOf(i, 1)
		}
	}
	if from == 0 {
		return computed
	}
	return c.origin[from]
}

// handBack records the registers as recorded code, which continues in h, finds them.
// returned says that the call that this code had made has returned.
func (r *recorder) handBack(h *Hart, returned bool) {
	r.stored(h)
	c := &h.carried
	if !c.on {
		return
	}
	c.on = false
	now := h.registers()
	results := Signature{}
	if returned {
		results = h.m.fiberHooks.Signature(h.fiber.mute.callee)
	}
	for reg := uint8(1); reg < 2*rv.RegF; reg++ {
		if from := c.origin[reg]; from < fromSlot && from != origin(reg) {
			if s, ok := r.slotOf(h, from); ok {
				c.set(reg, s)
			}
		}
	}
	for reg := uint8(1); reg < 2*rv.RegF; reg++ {
		from := c.origin[reg]
		result := results.returns(reg)
		switch {
		case from == origin(reg):
		case results.Known && !result && now[reg] == c.before[reg], !result && from == computed && now[reg] == c.before[reg]:
		case results.Known && !result && reg != regSP: // after a call it holds nobody's value
		case from == computed || from < fromSlot:
			r.effect(event.Effect{Kind: event.EffectReg, Reg: reg, Arg: now[reg]})
		default:
			r.effect(event.Effect{Kind: event.EffectPass, Reg: reg, Slot: uint8(from - fromSlot), Apart: h.fiber.mute.interrupts, Arg: now[reg]})
		}
	}
}

// returns reports whether a register holds a result.
func (s *Signature) returns(reg uint8) bool {
	for n := range s.Ints {
		if resultInts[n] == reg {
			return true
		}
	}
	for n := range s.Floats {
		if resultFloats[n] == reg {
			return true
		}
	}
	return false
}

// kernelCarried does the work of kernelValues for h in unrecorded code, or when a signal
// interrupts recorded code. What the kernel does belongs to the call on whose behalf the
// code runs.
func (r *recorder) kernelCarried(h *Hart, signal bool, out linux.Outcome) {
	c := &h.carried
	now := h.registers()
	switch n := len(c.saved) - 1; {
	case out.Action == linux.SigReturn && n >= 0:
		s := &c.saved[n]
		for reg := range now {
			from := s.origin[reg]
			if now[reg] != s.values[reg] {
				from = computed // the handler changed it
			}
			c.set(uint8(reg), from)
		}
		for _, from := range s.origin {
			if from >= fromSlot && from != computed {
				c.uses[from-fromSlot]--
			}
		}
		c.saved = c.saved[:n]
	default:
		if signal && h.PC != r.pc {
			c.saved = append(c.saved, interruptedValues{c.origin, r.before})
			for _, from := range c.origin {
				if from >= fromSlot && from != computed {
					c.uses[from-fromSlot]++
				}
			}
		}
		for reg := range now {
			if now[reg] != r.before[reg] || reg == regA0 && !signal {
				c.set(uint8(reg), computed)
			}
		}
	}
	if !h.fiber.mute.on && len(c.saved) == 0 {
		c.on = false // recorded code continues at once
	}
}
