package linux

import (
	"math/bits"
	"slices"

	"hindsight/mpsim/mem"
)

// Signals of Linux.
const (
	SIGHUP    = 1
	SIGINT    = 2
	SIGQUIT   = 3
	SIGILL    = 4
	SIGTRAP   = 5
	SIGABRT   = 6
	SIGBUS    = 7
	SIGFPE    = 8
	SIGKILL   = 9
	SIGUSR1   = 10
	SIGSEGV   = 11
	SIGUSR2   = 12
	SIGPIPE   = 13
	SIGALRM   = 14
	SIGTERM   = 15
	SIGSTKFLT = 16
	SIGCHLD   = 17
	SIGCONT   = 18
	SIGSTOP   = 19
	SIGTSTP   = 20
	SIGTTIN   = 21
	SIGTTOU   = 22
	SIGURG    = 23
	SIGXCPU   = 24
	SIGXFSZ   = 25
	SIGVTALRM = 26
	SIGPROF   = 27
	SIGWINCH  = 28
	SIGIO     = 29
	SIGPWR    = 30
	SIGSYS    = 31
	numSigs   = 64
	firstRT   = 32
	firstUser = 34 // the two before it belong to the C library

	// SetID is the second of these. It makes ids that one thread sets known to the others.
	SetID = 33
)

// Codes of siginfo for faults.
const (
	CodeMapErr     = 1 // SIGSEGV: SEGV_MAPERR
	CodeAccErr     = 2 // SIGSEGV: SEGV_ACCERR
	CodeMisaligned = 1 // SIGBUS: BUS_ADRALN
	CodeBusAddr    = 2 // SIGBUS: BUS_ADRERR
	CodeIllegal    = 1 // SIGILL: ILL_ILLOPC
	CodeBreakpoint = 1 // SIGTRAP: TRAP_BRKPT

	codeUser   = 0 // SI_USER
	codeKernel = 0x80
	codeTimer  = -2
	codeTkill  = -6
)

var signalNames = [...]string{
	1: "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL",
	"SIGUSR1", "SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT",
	"SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF",
	"SIGWINCH", "SIGIO", "SIGPWR", "SIGSYS",
}

// SignalName returns the name of a signal, such as "SIGSEGV".
func SignalName(sig int) string {
	if sig > 0 && sig < len(signalNames) {
		return signalNames[sig]
	}
	if sig >= firstRT && sig <= numSigs {
		return "SIGRTMIN+" + utoa(uint64(sig-firstRT))
	}
	return "signal " + utoa(uint64(sig))
}

// sigset is a set of signals. Bit n-1 stands for signal n.
type sigset uint64

func sigbit(sig int) sigset { return 1 << (sig - 1) }

func (s sigset) has(sig int) bool { return s&sigbit(sig) != 0 }

const (
	// unblockable signals cannot be blocked, caught or ignored.
	unblockable = sigset(1<<(SIGKILL-1) | 1<<(SIGSTOP-1))
	// synchronous signals are delivered before others.
	synchronous = sigset(1<<(SIGSEGV-1) | 1<<(SIGBUS-1) | 1<<(SIGILL-1) | 1<<(SIGTRAP-1) | 1<<(SIGFPE-1) | 1<<(SIGSYS-1))
	// harmless signals are ignored by default. They include the signals that stop a
	// process, because stopping is not supported.
	harmless = sigset(1<<(SIGCHLD-1) | 1<<(SIGCONT-1) | 1<<(SIGURG-1) | 1<<(SIGWINCH-1) |
		1<<(SIGSTOP-1) | 1<<(SIGTSTP-1) | 1<<(SIGTTIN-1) | 1<<(SIGTTOU-1))
)

// siginfo is the content of a siginfo_t.
type siginfo struct {
	sig, code int
	fault     bool   // addr is valid, instead of pid and value
	addr      uint64 // for a timer: its id, and its overrun in the upper half
	value     uint64
	timer     bool
	cell      uint64 // see Kernel.sent; 0: nobody's
	order     handle // what the senders, or the thread that set the timer, published
}

// maxQueued bounds the number of real-time signals in a queue.
const maxQueued = 1024

// sigqueue holds pending signals: standard signals at most once, real-time signals as often
// as they were sent.
type sigqueue struct {
	set   sigset
	infos []siginfo // in order of sending
}

// add queues a signal. It reports false if there is no room. The receiver is ordered after
// the acting task. If the signal was already pending and is not queued again, the receiver
// is ordered after both senders.
func (k *Kernel) add(q *sigqueue, i siginfo) bool {
	if q.set.has(i.sig) && i.sig < firstRT {
		at := slices.IndexFunc(q.infos, func(p siginfo) bool { return p.sig == i.sig })
		if p := &q.infos[at]; !p.timer && !i.timer {
			k.publish(&p.order)
		}
		return true
	}
	if len(q.infos) >= maxQueued {
		return false
	}
	if !i.timer && !Internal(i.sig) {
		k.publish(&i.order)
	}
	q.set |= sigbit(i.sig)
	q.infos = append(q.infos, i)
	k.files.changed = true // a task may be waiting for it with a signalfd
	return true
}

// received orders the acting task after the sender of a signal.
func (k *Kernel) received(i siginfo) {
	k.observe(i.order)
	if !i.timer {
		k.forget(&i.order)
	}
}

// take removes the first pending instance of a signal in the set: synchronous signals
// first, then the lowest number.
func (q *sigqueue) take(of sigset) (siginfo, bool) {
	can := q.set & of
	if can == 0 {
		return siginfo{}, false
	}
	if s := can & synchronous; s != 0 {
		can = s
	}
	sig := bits.TrailingZeros64(uint64(can)) + 1
	at := slices.IndexFunc(q.infos, func(i siginfo) bool { return i.sig == sig })
	info := q.infos[at]
	q.infos = slices.Delete(q.infos, at, at+1)
	if !slices.ContainsFunc(q.infos, func(i siginfo) bool { return i.sig == sig }) {
		q.set &^= sigbit(sig)
	}
	return info, true
}

// drop removes all instances of a signal.
func (q *sigqueue) drop(sig int) {
	q.set &^= sigbit(sig)
	q.infos = slices.DeleteFunc(q.infos, func(i siginfo) bool { return i.sig == sig })
}

const (
	sigDefault = 0
	sigIgnore  = 1
)

// sigaction is struct sigaction of RISC-V, which has no restorer.
type sigaction struct {
	handler, flags uint64
	mask           sigset
}

const (
	saOnStack   = 0x08000000
	saRestart   = 0x10000000
	saNoDefer   = 0x40000000
	saResetHand = 0x80000000
)

// signalState is the part of the signal state that all tasks share.
type signalState struct {
	actions [numSigs + 1]sigaction
	pending sigqueue
}

// ignored reports whether a signal would have no effect when delivered.
func (s *signalState) ignored(sig int) bool {
	switch s.actions[sig].handler {
	case sigIgnore:
		return true
	case sigDefault:
		return harmless.has(sig)
	}
	return false
}

// deliverable returns the pending signals that the task does not block.
func (k *Kernel) deliverable(t *Task) sigset {
	return (t.pending.set | k.signals.pending.set) &^ t.blocked
}

// attend notes whether the task has to handle signals before it runs.
func (k *Kernel) attend(t *Task) {
	t.attention = t.interrupted.set || t.hasRestore || k.deliverable(t) != 0
}

// sendTask queues a signal for one task.
func (k *Kernel) sendTask(t *Task, i siginfo) int64 {
	if t.State == Dead {
		return -ESRCH
	}
	if k.signals.ignored(i.sig) && !t.blocked.has(i.sig) && !t.waitsFor(i.sig) {
		return 0
	}
	k.sent(&i)
	if !k.add(&t.pending, i) {
		return -EAGAIN
	}
	k.notify(t, i.sig)
	return 0
}

// sendProcess queues a signal for the first task that does not block it, starting with the
// main task.
func (k *Kernel) sendProcess(i siginfo) int64 {
	var to *Task
	for _, t := range k.tasks {
		if t.waitsFor(i.sig) {
			to = t
			break
		}
		if to == nil && !t.blocked.has(i.sig) {
			to = t
		}
	}
	if k.signals.ignored(i.sig) && (to == nil || !to.waitsFor(i.sig)) {
		if to != nil {
			return 0
		}
	}
	k.sent(&i)
	if !k.add(&k.signals.pending, i) {
		return -EAGAIN
	}
	if to != nil {
		k.notify(to, i.sig)
	}
	return 0
}

// notify informs a task of a signal that was queued for it.
func (k *Kernel) notify(t *Task, sig int) {
	if t.waitsFor(sig) {
		k.endSigwait(t)
		return
	}
	if t.blocked.has(sig) {
		return
	}
	t.attention = true
	if k.signals.actions[sig].handler == sigDefault && !harmless.has(sig) {
		k.end(killedBy(sig))
		return
	}
	if t.State == Blocked {
		k.interrupt(t)
	}
}

// passSignals lets another task handle the signals of the process that the task that just
// ended has not handled.
func (k *Kernel) passSignals() {
	for _, t := range k.tasks {
		if k.signals.pending.set&^t.blocked == 0 {
			continue
		}
		t.attention = true
		if t.State == Blocked {
			k.interrupt(t)
		}
		return
	}
}

// killedBy returns the outcome of a guest that is killed by a signal.
func killedBy(sig int) Outcome {
	return Outcome{Action: ExitGroup, Status: 128 + sig, Signal: sig, Message: "killed by " + SignalName(sig)}
}

// interrupt ends a task's wait because of a signal. Deliver will decide whether the call
// restarts or returns EINTR.
func (k *Kernel) interrupt(t *Task) {
	b := t.block
	k.wake(t, -EINTR)
	if b.interrupted != nil {
		k.onBehalf(t, b.interrupted)
	}
	t.interrupted = interruption{set: true, restart: b.restart, a0: b.a0}
	if b.partial != nil {
		if n := b.partial(); n > 0 {
			t.ctx.X[regA0], t.interrupted.restart = uint64(n), false
		}
	}
	t.attention = true
}

// interruption says that a signal cut a task's call short.
type interruption struct {
	set     bool
	restart bool // the call restarts if the handler has SA_RESTART
	a0      uint64
}

// Raise delivers a signal that the task's own instruction caused: SIGSEGV, SIGBUS, SIGILL,
// SIGTRAP or SIGFPE, with one of the Code constants and the address. ctx.PC must be at that
// instruction. The outcome is Return, with ctx at the handler, or ExitGroup.
func (k *Kernel) Raise(t *Task, sig, code int, addr uint64, ctx *Context) Outcome {
	t.ctx = ctx
	act := &k.signals.actions[sig]
	if t.blocked.has(sig) || act.handler == sigIgnore {
		// A synchronous signal cannot wait, so it kills.
		act.handler = sigDefault
		t.blocked &^= sigbit(sig)
	}
	t.pending.drop(sig)
	k.add(&t.pending, siginfo{sig: sig, code: code, fault: true, addr: addr})
	return k.Deliver(t, ctx)
}

// RaiseFault delivers the signal for a failed access of the task's own instruction, with
// ctx.PC at it. A fault caused by the memory limit ends the guest.
func (k *Kernel) RaiseFault(t *Task, f *mem.Fault, ctx *Context) Outcome {
	switch f.Cause {
	case mem.OverLimit:
		k.end(limitOutcome(f))
		return *k.dying
	case mem.BeyondFile:
		return k.Raise(t, SIGBUS, CodeBusAddr, f.Addr, ctx)
	case mem.Denied:
		return k.Raise(t, SIGSEGV, CodeAccErr, f.Addr, ctx)
	}
	return k.Raise(t, SIGSEGV, CodeMapErr, f.Addr, ctx)
}

// Deliver delivers the signals that are pending for the task, by making ctx continue in
// their handlers. It must be called before a task runs whose [Task.Pending] is true. The
// outcome is Return or ExitGroup.
func (k *Kernel) Deliver(t *Task, ctx *Context) Outcome {
	t.ctx = ctx
	for k.dying == nil {
		info, ok := t.pending.take(^t.blocked)
		if !ok {
			info, ok = k.signals.pending.take(^t.blocked)
		}
		if !ok {
			break
		}
		act := &k.signals.actions[info.sig]
		if k.signals.ignored(info.sig) {
			continue
		}
		if act.handler == sigDefault {
			k.end(killedBy(info.sig))
			break
		}
		k.resumeAfterSignal(t, ctx, act.flags&saRestart != 0)
		if k.cfg.Tracer != nil {
			k.cfg.Tracer.Enter(t, info.sig, act.handler)
		}
		k.delivered(t, &info)
		k.onBehalf(t, func() { k.received(info) })
		k.enter(t, ctx, info, *act)
		if act.flags&saResetHand != 0 {
			act.handler = sigDefault
		}
	}
	if k.dying != nil {
		return *k.dying
	}
	// No handler ran. A call that was cut short restarts, and the mask of sigsuspend is no
	// longer needed.
	k.resumeAfterSignal(t, ctx, true)
	if t.hasRestore {
		t.blocked, t.hasRestore = t.restoreMask, false
	}
	k.attend(t)
	if t.attention {
		return k.Deliver(t, ctx)
	}
	return Outcome{Action: Return}
}

// resumeAfterSignal completes a call that was cut short: it is restarted or returns EINTR.
func (k *Kernel) resumeAfterSignal(t *Task, ctx *Context, again bool) {
	if in := t.interrupted; in.set {
		t.interrupted = interruption{}
		if in.restart && again {
			ctx.PC -= ecallBytes
			ctx.X[regA0] = in.a0
		}
	}
}

const ecallBytes = 4

// enter makes the task continue in a signal handler.
func (k *Kernel) enter(t *Task, ctx *Context, info siginfo, act sigaction) {
	mask := t.blocked
	if t.hasRestore {
		mask, t.hasRestore = t.restoreMask, false
	}
	if !k.pushFrame(t, ctx, info, act, mask) {
		if k.dying == nil {
			k.end(killedBy(SIGSEGV))
		}
		return
	}
	t.blocked |= act.mask
	if act.flags&saNoDefer == 0 {
		t.blocked |= sigbit(info.sig)
	}
	t.blocked &^= unblockable
}
