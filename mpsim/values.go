package mpsim

import (
	"hindsight/mpsim/linux"
	"hindsight/mpsim/mem"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Values of registers, and effects: what changes registers and memory outside
// the recorded instructions. They are collected when the observer is an
// event.ValueObserver that wants them. Blocks are then translated with an
// operation behind each instruction that has a result to tell (see translate),
// and hidden code is followed for what it stores.

// blockValues bounds the values of one block: a result an instruction, and what
// an atomic access at its end has besides. A power of two for exec's mask.
const blockValues = 2 * rv.MaxBlock

const batchValues = 1 << 17

// registers of a hart, integer first.
type registers [2 * rv.RegF]uint64

func (h *Hart) registers() (r registers) {
	copy(r[:], h.X[:])
	copy(r[rv.RegF:], h.F[:])
	return r
}

// unseen is what a hart did in a hidden call that was not told yet.
type unseen struct {
	before registers // when the call began
	block  *block    // that ran last; what it stored is in Hart.scrap
	reads  []bytesAt // that the call carries on, as the hooks say
	wrote  []bytesAt
}

// bytesAt is a range of memory.
type bytesAt struct{ addr, n uint64 }

// join appends a range, or lengthens the last one.
func join(ranges []bytesAt, addr, n uint64) []bytesAt {
	if k := len(ranges) - 1; k >= 0 && ranges[k].addr+ranges[k].n == addr {
		ranges[k].n += n
		return ranges
	}
	return append(ranges, bytesAt{addr, n})
}

// hide is called when a hidden call of h begins.
func (r *recorder) hide(h *Hart) {
	if r.values {
		h.unseen.before, h.unseen.block = h.registers(), nil
		h.values = &h.valueScrap
	}
}

// unhide tells what the hidden call of h, which has ended, did.
func (r *recorder) unhide(h *Hart) {
	if r.values {
		r.tellCall(h)
		r.changed(h, &h.unseen.before)
	}
}

// tellPart tells what a hidden call that is interrupted has done so far, before
// others can see it.
func (r *recorder) tellPart(h *Hart) {
	if r.stored(h); len(h.unseen.reads)+len(h.unseen.wrote) > 0 {
		r.tellCall(h)
	}
}

// tellCall tells what the hidden call of h read and wrote since it told last.
func (r *recorder) tellCall(h *Hart) {
	r.stored(h)
	u := &h.unseen
	r.effect(event.Effect{Kind: event.EffectCall, PC: h.call.site, Addr: h.call.at, Arg: uint64(h.m.cfg.Hooks.Args(h.call.fn))})
	r.ranges(u.reads, u.wrote)
	u.reads, u.wrote = u.reads[:0], u.wrote[:0]
}

func (r *recorder) ranges(reads, wrote []bytesAt) {
	for _, b := range reads {
		r.effect(event.Effect{Kind: event.EffectRead, Addr: b.addr, Arg: b.n})
	}
	for _, b := range wrote {
		r.effect(event.Effect{Kind: event.EffectWrote, Addr: b.addr, Arg: b.n})
	}
}

// hidden notes that h is about to execute b inside a hidden call.
func (r *recorder) hidden(h *Hart, b *block) *[64]uint64 {
	r.stored(h)
	h.unseen.block = b
	return &h.scrap
}

// stored notes what the last block of h stored, if that ran hidden.
func (r *recorder) stored(h *Hart) {
	b := h.unseen.block
	if b == nil {
		return
	}
	h.unseen.block = nil
	r.storedBy(h, b, &b.code)
}

// storedBy notes what code, which is b or the part of it that ran, stored.
func (r *recorder) storedBy(h *Hart, b *block, code *rv.Block) {
	u := &h.unseen
	for n, site := range code.Sites() {
		if site.Access == event.Write {
			u.wrote = join(u.wrote, h.scrap[n], uint64(site.Size))
		}
	}
	if code.End != event.EndAtomic {
		return
	}
	last := code.Insts[len(code.Insts)-1]
	access, size, plain := last.Mem()
	if !plain {
		size = last.AtomicSize()
	}
	entries := rv.Values(code.Insts[len(code.Insts)-1:], event.EndAtomic)
	at := int(b.values) - entries
	switch {
	case plain && access == event.Read, last.Op == rv.OpLRW, last.Op == rv.OpLRD:
	case (last.Op == rv.OpSCW || last.Op == rv.OpSCD) && h.valueScrap[at+1] != 0:
	default:
		u.wrote = join(u.wrote, h.valueScrap[at], uint64(size))
	}
}

// effect appends e at the present place.
func (r *recorder) effect(e event.Effect) {
	e.At = uint32(len(r.batch.Blocks))
	r.batch.Effects = append(r.batch.Effects, e)
}

// changed tells the registers of h that differ from before.
func (r *recorder) changed(h *Hart, before *registers) {
	for n, v := range h.registers() {
		if v != before[n] {
			r.effect(event.Effect{Kind: event.EffectReg, Reg: uint8(n), Arg: v})
		}
	}
}

// begun tells the registers that h begins with.
func (r *recorder) begun(h *Hart) {
	if r.values {
		r.effect(event.Effect{Kind: event.EffectStart})
		r.changed(h, new(registers))
	}
}

// touched is mem.Config's Watch: while the kernel runs its accesses are noted.
func (r *recorder) touched(addr, n uint64, acc mem.Access) {
	switch {
	case !r.inKernel || n == 0:
	case acc == 0:
		r.fresh = append(r.fresh, bytesAt{addr, n})
	case acc&mem.Write != 0:
		r.kernelWrote = join(r.kernelWrote, addr, n)
	default:
		r.kernelRead = join(r.kernelRead, addr, n)
	}
}

// kernelCall lets the kernel do something for h, which may be nil, and tells
// what came of it: as a group of kind open, or as part of the hidden call that
// h is in.
func (m *Machine) kernelCall(h *Hart, open event.EffectKind, do func() linux.Outcome) linux.Outcome {
	r := m.rec
	if !m.values {
		return do()
	}
	var before registers
	var pc uint64
	if h != nil {
		before, pc = h.registers(), h.PC-4
	}
	r.inKernel = true
	out := do()
	r.inKernel = false
	for _, b := range r.fresh {
		r.effect(event.Effect{Kind: event.EffectFresh, Addr: b.addr, Arg: b.n})
	}
	if h != nil && !h.recording {
		for _, b := range r.kernelWrote {
			h.unseen.wrote = join(h.unseen.wrote, b.addr, b.n)
		}
	} else if h == nil {
		if len(r.kernelWrote) > 0 {
			r.effect(event.Effect{Kind: event.EffectSignal})
			r.ranges(nil, r.kernelWrote)
		}
	} else {
		if out.Action == linux.SigReturn {
			open = event.EffectSignal
		}
		r.effect(event.Effect{Kind: open, PC: pc})
		r.ranges(r.kernelRead, nil)
		if open == event.EffectSyscall && out.Action != linux.Block {
			before[regA0] = ^h.X[regA0] // always told
		}
		r.changed(h, &before)
		r.ranges(nil, r.kernelWrote)
	}
	r.fresh, r.kernelRead, r.kernelWrote = r.fresh[:0], r.kernelRead[:0], r.kernelWrote[:0]
	return out
}

// woken tells the result of the system call that h was blocked in.
func (r *recorder) woken(h *Hart) {
	if !r.values || !h.blocked {
		return
	}
	h.blocked = false
	if h.recording {
		r.effect(event.Effect{Kind: event.EffectSyscall, PC: h.PC - 4})
		r.effect(event.Effect{Kind: event.EffectReg, Reg: regA0, Arg: h.X[regA0]})
	}
}
