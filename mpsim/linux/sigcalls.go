package linux

import "encoding/binary"

// sigSetBytes is the size of the kernel's sigset_t.
const sigSetBytes = 8

// sigactionCall is rt_sigaction(sig, new, old, size).
func (c *call) sigactionCall() int64 {
	sig := int(int32(c.arg[0]))
	if sig < 1 || sig > numSigs || c.arg[3] != sigSetBytes {
		return -EINVAL
	}
	if c.arg[1] != 0 && unblockable.has(sig) {
		return -EINVAL
	}
	act := &c.signals.actions[sig]
	old := *act
	if c.arg[2] != 0 {
		c.reads(processCell(cellActions + sig))
	}
	if c.arg[1] != 0 {
		var b [24]byte
		if f := c.space.Read(c.arg[1], b[:]); f != nil {
			return c.fault(f)
		}
		c.writes(processCell(cellActions + sig))
		act.handler = binary.LittleEndian.Uint64(b[0:])
		act.flags = binary.LittleEndian.Uint64(b[8:])
		act.mask = sigset(binary.LittleEndian.Uint64(b[16:])) &^ unblockable
		if c.signals.ignored(sig) {
			c.signals.pending.drop(sig)
			for _, t := range c.tasks {
				t.pending.drop(sig)
			}
		}
	}
	if c.arg[2] != 0 {
		var b [24]byte
		binary.LittleEndian.PutUint64(b[0:], old.handler)
		binary.LittleEndian.PutUint64(b[8:], old.flags)
		binary.LittleEndian.PutUint64(b[16:], uint64(old.mask))
		return c.fault(c.space.Write(c.arg[2], b[:]))
	}
	return 0
}

// sigprocmask is rt_sigprocmask(how, set, old, size).
func (c *call) sigprocmask() int64 {
	if c.arg[3] != sigSetBytes {
		return -EINVAL
	}
	old := c.t.blocked
	if c.arg[2] != 0 || c.arg[1] != 0 && c.arg[0] != 2 {
		c.reads(c.t.cell(cellMask))
	}
	if c.arg[1] != 0 {
		v, f := c.space.Uint64(c.arg[1])
		if f != nil {
			return c.fault(f)
		}
		mask := old
		switch c.arg[0] {
		case 0:
			mask |= sigset(v)
		case 1:
			mask &^= sigset(v)
		case 2:
			mask = sigset(v)
		default:
			return -EINVAL
		}
		c.t.blocked = mask &^ unblockable
		c.writes(c.t.cell(cellMask))
		c.attend(c.t)
	}
	if c.arg[2] != 0 {
		return c.fault(c.space.PutUint64(c.arg[2], uint64(old)))
	}
	return 0
}

// sigpending is rt_sigpending(set, size).
func (c *call) sigpending() int64 {
	if c.arg[1] > sigSetBytes {
		return -EINVAL
	}
	return c.fault(c.space.PutUint64(c.arg[0], uint64((c.t.pending.set|c.signals.pending.set)&c.t.blocked)))
}

// sigsuspend is rt_sigsuspend(mask, size).
func (c *call) sigsuspend() int64 {
	if c.arg[1] != sigSetBytes {
		return -EINVAL
	}
	v, f := c.space.Uint64(c.arg[0])
	if f != nil {
		return c.fault(f)
	}
	c.swapMask(sigset(v))
	return c.sleep(Wait{Kind: WaitSignal}, blockState{})
}

// swapMask sets the mask until the call ends, as sigsuspend and ppoll do.
func (c *call) swapMask(mask sigset) {
	c.t.restoreMask, c.t.hasRestore = c.t.blocked, true
	c.t.blocked = mask &^ unblockable
	c.t.attention = true
}

// sigtimedwait is rt_sigtimedwait(set, info, timeout, size).
func (c *call) sigtimedwait() int64 {
	if c.arg[3] != sigSetBytes {
		return -EINVAL
	}
	v, f := c.space.Uint64(c.arg[0])
	if f != nil {
		return c.fault(f)
	}
	set := sigset(v) &^ unblockable
	w := Wait{Kind: WaitSignal}
	if c.arg[2] != 0 {
		d, e := c.timespec(c.arg[2])
		if e != 0 {
			return e
		}
		w.Timed, w.Deadline = true, later(c.now, d)
	}
	if i, ok := c.takeSignal(c.t, set); ok {
		c.reads(i.cell)
		return c.giveInfo(c.arg[1], i)
	}
	if w.Timed && w.Deadline == c.now {
		return -EAGAIN
	}
	info := c.arg[1]
	return c.sleep(w, blockState{sigwait: set, info: info, timeout: -EAGAIN})
}

// takeSignal removes a pending signal of the set.
func (k *Kernel) takeSignal(t *Task, set sigset) (siginfo, bool) {
	if i, ok := t.pending.take(set); ok {
		return i, true
	}
	return k.signals.pending.take(set)
}

// giveInfo stores the siginfo of a signal that sigwait took. It returns the result of the
// call.
func (k *Kernel) giveInfo(addr uint64, i siginfo) int64 {
	k.received(i)
	if addr != 0 {
		var b [128]byte
		i.encode(b[:])
		if f := k.space.Write(addr, b[:]); f != nil {
			return k.fault(f)
		}
	}
	return int64(i.sig)
}

// waitsFor reports whether the task is waiting for the signal in sigtimedwait.
func (t *Task) waitsFor(sig int) bool {
	return t.State == Blocked && t.block.sigwait.has(sig)
}

// endSigwait wakes a task for which an awaited signal was queued.
func (k *Kernel) endSigwait(t *Task) {
	if i, ok := k.takeSignal(t, t.block.sigwait); ok {
		k.onBehalf(t, func() {
			k.reads(i.cell)
			k.wake(t, k.giveInfo(t.block.info, i))
		})
	}
}

// sigaltstack is sigaltstack(new, old).
func (c *call) sigaltstack() int64 {
	old := c.t.altStack
	sp := c.ctx.X[regSP]
	if c.arg[1] != 0 {
		c.reads(c.t.cell(cellAltStack))
	}
	if c.arg[0] != 0 {
		var b [24]byte
		if f := c.space.Read(c.arg[0], b[:]); f != nil {
			return c.fault(f)
		}
		if old.holds(sp) {
			return -EPERM
		}
		if e := c.setAltStack(altStack{
			sp:    binary.LittleEndian.Uint64(b[0:]),
			flags: binary.LittleEndian.Uint32(b[8:]),
			size:  binary.LittleEndian.Uint64(b[16:]),
		}); e != 0 {
			return e
		}
		c.writes(c.t.cell(cellAltStack))
	}
	if c.arg[1] != 0 {
		var b [24]byte
		binary.LittleEndian.PutUint64(b[0:], old.sp)
		binary.LittleEndian.PutUint32(b[8:], old.status(sp))
		binary.LittleEndian.PutUint64(b[16:], old.size)
		return c.fault(c.space.Write(c.arg[1], b[:]))
	}
	return 0
}

// kill is kill(pid, sig). It can only signal the guest itself. -1 means all other
// processes, of which there are none.
func (c *call) kill() int64 {
	pid, sig := int32(c.arg[0]), int(int32(c.arg[1]))
	if sig < 0 || sig > numSigs {
		return -EINVAL
	}
	switch pid {
	case MainTID, 0, -MainTID:
	default:
		return -ESRCH
	}
	if sig == 0 {
		return 0
	}
	return c.sendProcess(siginfo{sig: sig, code: codeUser})
}

// tkill is tkill(tid, sig).
func (c *call) tkill() int64 {
	return c.signalTask(int32(c.arg[0]), int(int32(c.arg[1])), siginfo{code: codeTkill})
}

// tgkill is tgkill(tgid, tid, sig).
func (c *call) tgkill() int64 {
	if int32(c.arg[0]) <= 0 || int32(c.arg[1]) <= 0 {
		return -EINVAL
	}
	if int32(c.arg[0]) != MainTID {
		return -ESRCH
	}
	return c.signalTask(int32(c.arg[1]), int(int32(c.arg[2])), siginfo{code: codeTkill})
}

func (c *call) signalTask(tid int32, sig int, i siginfo) int64 {
	if sig < 0 || sig > numSigs || tid <= 0 {
		return -EINVAL
	}
	t := c.task(int(tid))
	if t == nil {
		return -ESRCH
	}
	if sig == 0 {
		return 0
	}
	i.sig = sig
	return c.sendTask(t, i)
}

// sigqueueinfo is rt_sigqueueinfo(pid, sig, info). tgsigqueueinfo is rt_tgsigqueueinfo,
// with a thread id before sig.
func (c *call) sigqueueinfo() int64 {
	if int32(c.arg[0]) != MainTID {
		return -ESRCH
	}
	i, e := c.userInfo(int(int32(c.arg[1])), c.arg[2])
	if e != 0 || i.sig == 0 {
		return e
	}
	return c.sendProcess(i)
}

func (c *call) tgsigqueueinfo() int64 {
	if int32(c.arg[0]) != MainTID {
		return -ESRCH
	}
	i, e := c.userInfo(int(int32(c.arg[2])), c.arg[3])
	if e != 0 {
		return e
	}
	return c.signalTask(int32(c.arg[1]), i.sig, i)
}

// userInfo reads a siginfo that the program filled in.
func (c *call) userInfo(sig int, addr uint64) (siginfo, int64) {
	var b [128]byte
	if f := c.space.Read(addr, b[:]); f != nil {
		return siginfo{}, c.fault(f)
	}
	if sig < 0 || sig > numSigs {
		return siginfo{}, -EINVAL
	}
	return siginfo{
		sig:   sig,
		code:  int(int32(binary.LittleEndian.Uint32(b[8:]))),
		value: binary.LittleEndian.Uint64(b[24:]),
	}, 0
}
