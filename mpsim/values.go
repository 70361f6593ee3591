package mpsim

import (
	"hindsight/mpsim/linux"
	"hindsight/mpsim/mem"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Values of registers, and effects: changes of registers and memory outside the recorded
// instructions. They are collected if the observer is an event.ValueObserver that wants
// them. Blocks are then translated with an operation after each instruction that has a
// result to record (see translate), and the stores of hidden code are tracked.

// blockValues bounds the values of one block: one result per instruction, and the
// additional values of an atomic access at its end. It is a power of two because exec uses
// it as a mask.
const blockValues = 2 * rv.MaxBlock

const batchValues = 1 << 17

// registers are the registers of a hart, integer ones first.
type registers [2 * rv.RegF]uint64

func (h *Hart) registers() (r registers) {
	copy(r[:], h.X[:])
	copy(r[rv.RegF:], h.F[:])
	return r
}

// unseen is what a hart did in a hidden call and is not recorded yet.
type unseen struct {
	before registers // when the call began
	block  *block    // the block that ran last; the addresses of its stores are in Hart.scrap
	reads  []bytesAt // ranges that the call copies or keeps, as the hooks say
	wrote  []bytesAt
	begins bool    // the hooks are just being told of the call
	copies *copies // of a call that passes on what others left
}

// bytesAt is a range of memory.
type bytesAt struct{ addr, n uint64 }

// join appends a range, or extends the last one.
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
		h.unseen.before, h.unseen.block, h.unseen.copies = h.registers(), nil, nil
		if h.m.cfg.Hooks.Copies(h.call.fn) {
			h.unseen.copies = &copies{}
		}
		h.values = &h.valueScrap
	}
}

// unhide records what the hidden call of h, which has ended, did.
func (r *recorder) unhide(h *Hart) {
	if r.values {
		r.tellCall(h)
		r.changed(h, &h.unseen.before)
	}
}

// tellPart records what an interrupted hidden call has done so far, before others can see
// it.
func (r *recorder) tellPart(h *Hart) {
	r.stored(h)
	if len(h.unseen.reads)+len(h.unseen.wrote) > 0 {
		r.tellCall(h)
	}
}

// tellCall records what the hidden call of h has read and written since the last record.
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

// stored notes what the last block of h stored, if it ran hidden.
func (r *recorder) stored(h *Hart) {
	b := h.unseen.block
	if b == nil {
		return
	}
	h.unseen.block = nil
	r.storedBy(h, b, &b.code)
}

// storedBy notes the stores of code, which is b or the part of it that ran.
func (r *recorder) storedBy(h *Hart, b *block, code *rv.Block) {
	if h.fiber != nil {
		r.follow(h, code, h.scrap[:], int(b.values))
		return
	}
	u := &h.unseen
	if u.copies != nil {
		u.copies.follow(u, code, h.scrap[:len(code.Sites())])
	}
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
	at := int(b.values) - rv.Values(code.Insts[len(code.Insts)-1:], event.EndAtomic)
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

// changed records the registers of h that differ from before.
func (r *recorder) changed(h *Hart, before *registers) {
	for n, v := range h.registers() {
		if v != before[n] {
			r.effect(event.Effect{Kind: event.EffectReg, Reg: uint8(n), Arg: v})
		}
	}
}

// begun records the registers that h starts with.
func (r *recorder) begun(h *Hart) {
	if r.values {
		r.effect(event.Effect{Kind: event.EffectStart})
		r.changed(h, new(registers))
	}
}

// flow is what the kernel read and wrote on behalf of one task (nil: the caller) before it
// turned to another.
type flow struct {
	task         *linux.Task
	reads, wrote []bytesAt
}

// touched is called by the space for each access. It notes the accesses that the kernel
// makes.
func (r *recorder) touched(addr, n uint64, acc mem.Access) {
	if !r.inKernel || n == 0 {
		return
	}
	if acc == 0 {
		r.placed = append(r.placed, event.Effect{Kind: event.EffectFresh, Addr: addr, Arg: n})
		return
	}
	task, last := r.acting(), len(r.flows)-1
	if last < 0 || r.flows[last].task != task {
		last++
		if last < cap(r.flows) {
			r.flows = r.flows[:last+1] // reuses its storage
		} else {
			r.flows = append(r.flows, flow{})
		}
		f := &r.flows[last]
		f.task, f.reads, f.wrote = task, f.reads[:0], f.wrote[:0]
	}
	if f := &r.flows[last]; acc&mem.Write != 0 {
		f.wrote = join(f.wrote, addr, n)
	} else {
		f.reads = join(f.reads, addr, n)
	}
}

// moved is what the space tells of bytes that are at another place now.
func (r *recorder) moved(from, n, to uint64) {
	if r.inKernel {
		r.placed = append(r.placed, event.Effect{Kind: event.EffectMoved, Addr: to, Arg: n, PC: from})
	}
}

// interrupts records that a handler interrupts the hidden call of h in the middle of the
// kernel's work. What the kernel did until now belongs to the call.
func (r *recorder) interrupts(h *Hart) {
	for i := range r.flows {
		if f := &r.flows[i]; f.task == nil {
			h.unseen.adopt(f)
			f.reads, f.wrote = f.reads[:0], f.wrote[:0]
		}
	}
}

// adopt counts what the kernel did as done by the hidden call.
func (u *unseen) adopt(f *flow) {
	for _, b := range f.reads {
		if b.addr >= linux.StateBase {
			u.reads = append(u.reads, b)
		}
	}
	for _, b := range f.wrote {
		u.wrote = join(u.wrote, b.addr, b.n)
	}
}

// kernelValues is kernelCall for observers that ask for values. It records the effects of
// the kernel's work: as a group of kind open, or as part of the hidden call that h is in.
// What the kernel did for others whose calls were blocked belongs to those calls.
func (m *Machine) kernelValues(h *Hart, open event.EffectKind, do func() linux.Outcome) linux.Outcome {
	r := m.rec
	r.open = open
	var pc uint64
	carries := false // the kernel's work belongs to unrecorded code
	if h != nil {
		r.before, r.pc, pc = h.registers(), h.PC, h.PC-ecallBytes
		carries = h.fiber != nil && (h.fiber.mute.on || open == event.EffectSignal)
		if carries {
			r.stored(h)
			if !h.fiber.mute.on {
				r.carry(h)
			}
		}
	}
	r.inKernel = true
	out := do()
	r.inKernel = false
	for i := range r.placed {
		r.effect(r.placed[i])
	}
	flows := r.flows
	switch {
	case carries:
		if len(flows) > 0 && flows[0].task == nil {
			if h.fiber.mute.on {
				r.ranges(flows[0].reads, flows[0].wrote)
			}
			flows = flows[1:]
		}
		r.kernelCarried(h, open == event.EffectSignal, out)
	case h != nil && h.recording:
		if out.Action == linux.SigReturn {
			r.open = event.EffectSignal
		}
		r.effect(event.Effect{Kind: r.open, PC: pc})
		var wrote []bytesAt
		if len(flows) > 0 && flows[0].task == nil {
			r.ranges(flows[0].reads, nil)
			wrote, flows = flows[0].wrote, flows[1:]
		}
		if r.open == event.EffectSyscall && out.Action != linux.Block {
			r.before[regA0] = ^h.X[regA0] // so that it is always recorded
		}
		r.changed(h, &r.before)
		r.ranges(nil, wrote)
	}
	for i := range flows {
		m.tellFlow(h, r.open, pc, &flows[i])
	}
	r.placed, r.flows = r.placed[:0], r.flows[:0]
	return out
}

// tellFlow records what the kernel did when called by h, which may be nil.
func (m *Machine) tellFlow(h *Hart, open event.EffectKind, pc uint64, f *flow) {
	r, of := m.rec, h
	if f.task != nil {
		of = m.hartOf[f.task]
		if of == nil {
			return
		}
	}
	switch {
	case of == nil: // such as a timer
		if len(f.wrote) > 0 {
			r.effect(event.Effect{Kind: event.EffectSignal})
			r.ranges(nil, f.wrote)
		}
	case !of.recording:
		of.unseen.adopt(f)
	case of == h && of.fiber != nil && of.fiber.mute.on:
		r.ranges(f.reads, f.wrote)
	case of == h:
		r.effect(event.Effect{Kind: open, PC: pc})
		r.ranges(f.reads, f.wrote)
	default: // the call in which the other thread is blocked
		if r.owner != nil {
			r.flush(r.owner)
		}
		if of.fiber == nil || !of.fiber.mute.on {
			r.effect(event.Effect{Kind: event.EffectSyscall, PC: of.PC - 4})
		}
		r.ranges(f.reads, f.wrote)
		r.handOver(of.id, 0)
	}
}

// woken records the result of the system call that h was blocked in.
func (r *recorder) woken(h *Hart) {
	if !r.values || !h.blocked {
		return
	}
	h.blocked = false
	if h.fiber != nil && h.fiber.mute.on {
		h.carried.set(regA0, computed)
		return
	}
	if h.recording {
		r.effect(event.Effect{Kind: event.EffectSyscall, PC: h.PC - 4})
		r.effect(event.Effect{Kind: event.EffectReg, Reg: regA0, Arg: h.X[regA0]})
	}
}
