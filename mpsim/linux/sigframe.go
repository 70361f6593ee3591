package linux

import "encoding/binary"

// The signal frame of RISC-V Linux, struct rt_sigframe, from the stack pointer
// up:
//
//	  0  siginfo_t                       128 bytes
//	128  ucontext_t
//	     +0    uc_flags                    8
//	     +8    uc_link                     8
//	     +16   uc_stack: sp, flags, size  24
//	     +40   uc_sigmask                  8, and 120 unused
//	     +176  sc_regs: pc, x1 … x31     256
//	     +432  sc_fpregs: f0 … f31, fcsr 528 (the union holds the Q registers)
const (
	frameInfo    = 0
	frameContext = 128
	frameStack   = frameContext + 16
	frameMask    = frameContext + 40
	frameRegs    = frameContext + 176
	frameFloats  = frameRegs + 256
	frameFCSR    = frameFloats + 256
	frameSize    = frameFloats + 528
)

// altStack is the stack that sigaltstack set.
type altStack struct {
	sp, size uint64
	flags    uint32
}

const (
	ssOnStack    = 1
	ssDisable    = 2
	ssAutoDisarm = 1 << 31
	minSigStack  = 2048
)

// holds reports whether sp is on the alternate stack.
func (a *altStack) holds(sp uint64) bool {
	if a.flags&ssAutoDisarm != 0 {
		return false
	}
	return sp > a.sp && sp-a.sp <= a.size
}

// OnAltStack reports whether sp is in the stack that the task has set for signal handlers.
func (t *Task) OnAltStack(sp uint64) bool { return t.altStack.holds(sp) }

// status returns the flags that sigaltstack reports for a stack pointer.
func (a *altStack) status(sp uint64) uint32 {
	switch {
	case a.size == 0:
		return ssDisable
	case a.holds(sp):
		return ssOnStack | a.flags&ssAutoDisarm
	}
	return a.flags & ssAutoDisarm
}

// pushFrame writes a signal frame to the guest's stack and makes ctx continue in the
// handler. mask will be restored when the handler returns. It reports false if the frame
// cannot be written to the stack.
func (k *Kernel) pushFrame(t *Task, ctx *Context, info siginfo, act sigaction, mask sigset) bool {
	sp := ctx.X[regSP]
	on := t.altStack.holds(sp)
	if act.flags&saOnStack != 0 && !on && t.altStack.size != 0 {
		sp = t.altStack.sp + t.altStack.size
		on = true
	}
	sp = (sp - frameSize) &^ 15
	if on && t.altStack.size != 0 && !t.altStack.holds(sp) && t.altStack.flags&ssAutoDisarm == 0 {
		return false // it would cross the end of the alternate stack
	}
	var f [frameSize]byte
	info.encode(f[frameInfo:frameContext])
	le := binary.LittleEndian
	le.PutUint64(f[frameStack:], t.altStack.sp)
	le.PutUint32(f[frameStack+8:], t.altStack.status(ctx.X[regSP]))
	le.PutUint64(f[frameStack+16:], t.altStack.size)
	le.PutUint64(f[frameMask:], uint64(mask))
	le.PutUint64(f[frameRegs:], ctx.PC)
	for i := 1; i < 32; i++ {
		le.PutUint64(f[frameRegs+8*i:], ctx.X[i])
	}
	for i, v := range ctx.F {
		le.PutUint64(f[frameFloats+8*i:], v)
	}
	le.PutUint32(f[frameFCSR:], ctx.FCSR)
	if fault := k.space.Write(sp, f[:]); fault != nil {
		k.fault(fault)
		return false
	}
	if t.altStack.flags&ssAutoDisarm != 0 {
		t.altStack = altStack{}
	}
	ctx.PC = act.handler
	ctx.X[regRA] = k.trampoline
	ctx.X[regSP] = sp
	ctx.X[regA0] = uint64(info.sig)
	ctx.X[regA1] = sp + frameInfo
	ctx.X[regA2] = sp + frameContext
	return true
}

// encode writes the siginfo as a siginfo_t.
func (i *siginfo) encode(b []byte) {
	le := binary.LittleEndian
	le.PutUint32(b[0:], uint32(i.sig))
	le.PutUint32(b[8:], uint32(i.code))
	switch {
	case i.fault:
		le.PutUint64(b[16:], i.addr)
	case i.timer: // id and overrun of a POSIX timer
		le.PutUint64(b[16:], i.addr)
		le.PutUint64(b[24:], i.value)
	default:
		le.PutUint32(b[16:], MainTID)
		le.PutUint64(b[24:], i.value)
	}
}

// sigreturn is rt_sigreturn. It restores the registers from the frame that the stack
// pointer points to.
func (c *call) sigreturn() int64 {
	c.quiet = true
	var f [frameSize]byte
	if fault := c.space.Read(c.ctx.X[regSP], f[:]); fault != nil {
		c.fault(fault)
		c.end(killedBy(SIGSEGV))
		return 0
	}
	le := binary.LittleEndian
	c.t.blocked = sigset(le.Uint64(f[frameMask:])) &^ unblockable
	if alt := (altStack{
		sp:    le.Uint64(f[frameStack:]),
		flags: le.Uint32(f[frameStack+8:]),
		size:  le.Uint64(f[frameStack+16:]),
	}); !c.t.altStack.holds(c.ctx.X[regSP]) {
		c.setAltStack(alt)
	}
	c.ctx.PC = le.Uint64(f[frameRegs:]) &^ 1
	for i := 1; i < 32; i++ {
		c.ctx.X[i] = le.Uint64(f[frameRegs+8*i:])
	}
	for i := range c.ctx.F {
		c.ctx.F[i] = le.Uint64(f[frameFloats+8*i:])
	}
	c.ctx.FCSR = le.Uint32(f[frameFCSR:]) & 0xff
	c.out.Action = SigReturn
	c.attend(c.t)
	return 0
}

// setAltStack installs an alternate stack. It returns 0 or an error number.
func (c *call) setAltStack(a altStack) int64 {
	mode := a.flags &^ ssAutoDisarm
	switch {
	case mode == ssDisable:
		c.t.altStack = altStack{}
	case mode != 0 && mode != ssOnStack:
		return -EINVAL
	case a.size < minSigStack:
		return -ENOMEM
	default:
		a.flags &= ssAutoDisarm
		c.t.altStack = a
	}
	return 0
}
