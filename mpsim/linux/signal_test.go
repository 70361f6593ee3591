package linux

import (
	"testing"

	"hindsight/mpsim/mem"
)

const handlerAt = testText + 16

// handle installs a handler.
func (g *guest) handle(sig int, flags, mask uint64) {
	g.t.Helper()
	g.words(g.data+1024, handlerAt, flags, mask)
	g.must(g.main, 134, uint64(sig), g.data+1024, 0, 8)
}

func TestSignalFrameRoundTrip(t *testing.T) {
	g := newGuest(t, Config{})
	g.handle(SIGSEGV, 4, 1<<(SIGUSR2-1))
	for i := 5; i < 32; i++ {
		g.main.ctx.X[i] = uint64(i) * 0x0101010101010101
	}
	for i := range g.main.ctx.F {
		g.main.ctx.F[i] = ^uint64(i)
	}
	g.main.ctx.FCSR = 0x5f
	g.main.ctx.PC = testText + 4
	before := g.main.ctx
	if out := g.k.RaiseFault(g.main.Task, &mem.Fault{Addr: 0x4242, Access: mem.Write, Cause: mem.Unmapped}, &g.main.ctx); out.Action != Return {
		t.Fatalf("raise: %+v", out)
	}
	c := &g.main.ctx
	sp := c.X[regSP]
	if c.PC != handlerAt || c.X[regA0] != SIGSEGV || c.X[regA1] != sp || c.X[regA2] != sp+128 ||
		c.X[regRA] != g.k.Trampoline() || sp&15 != 0 || sp+1088 > before.X[regSP] {
		t.Fatalf("in the handler: %+v", c)
	}
	// The layout on which C programs rely: si_addr at 16, gregs after 176 bytes of
	// ucontext, pc first.
	if g.get32(sp) != SIGSEGV || g.get32(sp+8) != CodeMapErr || g.get64(sp+16) != 0x4242 {
		t.Fatal("siginfo is wrong")
	}
	if g.get64(sp+128+176) != before.PC || g.get64(sp+128+176+8*10) != before.X[10] {
		t.Fatal("saved registers are in the wrong place")
	}
	if g.main.blocked != 1<<(SIGUSR2-1)|1<<(SIGSEGV-1) {
		t.Fatalf("mask in the handler %#x", g.main.blocked)
	}
	if w := g.bytes(g.k.Trampoline(), 8); w != "\x93\x08\xb0\x08\x73\x00\x00\x00" {
		t.Fatalf("trampoline %x", w)
	}
	*c = Context{PC: g.k.Trampoline() + 8}
	c.X[regSP], c.X[regA7] = sp, 139
	if out := g.k.Syscall(g.main.Task, c); out.Action != SigReturn {
		t.Fatalf("sigreturn: %+v", out)
	}
	if *c != before || g.main.blocked != 0 {
		t.Fatalf("after return %+v, want %+v", *c, before)
	}
}

func TestFatalSignals(t *testing.T) {
	for _, sig := range []int{SIGSEGV, SIGILL, SIGTRAP, SIGBUS} {
		g := newGuest(t, Config{})
		if out := g.k.Raise(g.main.Task, sig, 1, 0, &g.main.ctx); out.Action != ExitGroup || out.Status != 128+sig || out.Signal != sig {
			t.Fatalf("%s: %+v", SignalName(sig), out)
		}
	}
	g := newGuest(t, Config{})
	a := g.spawn()
	g.blocks(a, sysFutex, g.data, futexWait, 0, 0)
	if out := g.call(g.main, 131, MainTID, uint64(a.TID), SIGABRT); out.Action != ExitGroup || out.Signal != SIGABRT {
		t.Fatalf("tgkill: %+v", out)
	}
	// A fault whose signal is blocked kills nevertheless.
	g = newGuest(t, Config{})
	g.handle(SIGSEGV, 0, 0)
	g.main.blocked = sigbit(SIGSEGV)
	if out := g.k.Raise(g.main.Task, SIGSEGV, 1, 0, &g.main.ctx); out.Action != ExitGroup {
		t.Fatalf("blocked fault: %+v", out)
	}
	g = newGuest(t, Config{})
	if out := g.k.RaiseFault(g.main.Task, &mem.Fault{Cause: mem.OverLimit}, &g.main.ctx); out.Action != ExitGroup || out.Message == "" {
		t.Fatalf("limit: %+v", out)
	}
}

func TestSignalsInterruptWaits(t *testing.T) {
	g := newGuest(t, Config{})
	a := g.spawn()
	tgkill := func(sig int) { g.want(0, g.main, 131, MainTID, uint64(a.TID), uint64(sig)) }

	g.handle(SIGUSR1, 0, 0)
	g.blocks(a, sysFutex, g.data, futexWait, 0, 0)
	pc := a.ctx.PC
	tgkill(SIGUSR1)
	g.woken(a)
	if !a.Pending() {
		t.Fatal("nothing is pending")
	}
	g.k.Deliver(a.Task, &a.ctx)
	if a.ctx.PC != handlerAt || int64(g.get64(a.ctx.X[regSP]+frameRegs+80)) != -EINTR || g.get64(a.ctx.X[regSP]+frameRegs) != pc {
		t.Fatalf("after the signal: %+v", a.ctx)
	}
	a.ctx.X[regA7] = 139
	g.k.Syscall(a.Task, &a.ctx)

	// With SA_RESTART the call restarts.
	g.handle(SIGUSR1, saRestart, 0)
	g.blocks(a, sysFutex, g.data, futexWait, 0, 0)
	pc = a.ctx.PC
	tgkill(SIGUSR1)
	g.woken(a)
	g.k.Deliver(a.Task, &a.ctx)
	if got := g.get64(a.ctx.X[regSP] + frameRegs); got != pc-4 || g.get64(a.ctx.X[regSP]+frameRegs+80) != g.data {
		t.Fatalf("restart at %#x, want %#x", got, pc-4)
	}
	a.ctx.X[regA7] = 139
	g.k.Syscall(a.Task, &a.ctx)

	// An ignored signal wakes nobody.
	g.blocks(a, sysFutex, g.data, futexWait, 0, 0)
	tgkill(SIGCHLD)
	g.woken()
}

func TestBlockedSignalsStayPending(t *testing.T) {
	g := newGuest(t, Config{})
	g.handle(SIGUSR1, 0, 0)
	set := g.words(g.data, 1<<(SIGUSR1-1))
	g.must(g.main, 135, 0, set, 0, 8)
	g.must(g.main, 129, MainTID, SIGUSR1)
	if g.main.Pending() {
		t.Fatal("a blocked signal wants delivery")
	}
	g.must(g.main, 136, g.data+64, 8)
	if g.get64(g.data+64) != 1<<(SIGUSR1-1) {
		t.Fatal("sigpending does not show it")
	}
	pc := g.main.ctx.PC
	out := g.call(g.main, 135, 1, set, 0, 8)
	if out.Action != Return || g.main.ctx.PC != handlerAt || g.get64(g.main.ctx.X[regSP]+frameRegs) != pc+4 {
		t.Fatalf("unblocking did not deliver: %+v", g.main.ctx)
	}
}

func TestSigwait(t *testing.T) {
	g := newGuest(t, Config{})
	a := g.spawn()
	set := g.words(g.data, 1<<(SIGUSR1-1))
	g.must(a, 135, 0, set, 0, 8)
	g.must(g.main, 135, 0, set, 0, 8)
	g.blocks(a, 137, set, g.data+64, 0, 8)
	g.want(0, g.main, 129, MainTID, SIGUSR1)
	g.woken(a)
	if a.result() != SIGUSR1 || g.get32(g.data+64) != SIGUSR1 || a.Pending() {
		t.Fatalf("sigwait gave %d", a.result())
	}
	g.words(g.data+32, 0, 10)
	g.blocks(a, 137, set, 0, g.data+32, 8)
	g.k.Advance(10)
	g.k.Expire()
	if a.result() != -EAGAIN {
		t.Fatalf("sigtimedwait gave %d", a.result())
	}
}

func TestSigsuspendRestoresMask(t *testing.T) {
	g := newGuest(t, Config{})
	a := g.spawn()
	g.handle(SIGUSR1, saRestart, 0)
	set := g.words(g.data, 1<<(SIGUSR1-1))
	g.must(a, 135, 0, set, 0, 8)
	g.words(g.data+8, 0)
	g.blocks(a, 133, g.data+8, 8)
	g.must(g.main, 131, MainTID, uint64(a.TID), SIGUSR1)
	g.woken(a)
	g.k.Deliver(a.Task, &a.ctx)
	if a.ctx.PC != handlerAt {
		t.Fatal("no handler")
	}
	if got := g.get64(a.ctx.X[regSP] + frameMask); got != 1<<(SIGUSR1-1) {
		t.Fatalf("the handler would restore mask %#x", got)
	}
	if int64(g.get64(a.ctx.X[regSP]+frameRegs+80)) != -EINTR {
		t.Fatal("sigsuspend did not give EINTR")
	}
}

func TestAlternateStack(t *testing.T) {
	g := newGuest(t, Config{})
	alt := g.data + 2*mem.PageSize
	g.words(g.data, alt, 0, 8192)
	g.must(g.main, 132, g.data, 0)
	g.handle(SIGSEGV, saOnStack, 0)
	g.main.ctx.X[regSP] = 8 // the stack has overflowed
	g.k.Raise(g.main.Task, SIGSEGV, CodeMapErr, 0, &g.main.ctx)
	if sp := g.main.ctx.X[regSP]; sp < alt || sp >= alt+8192 || g.main.ctx.PC != handlerAt {
		t.Fatalf("the handler runs at %#x on %#x", g.main.ctx.PC, sp)
	}
	g.want(-EPERM, g.main, 132, g.data, 0)
	// Without one, a signal that cannot be written to the stack kills.
	g = newGuest(t, Config{})
	g.handle(SIGSEGV, 0, 0)
	g.main.ctx.X[regSP] = 8
	if out := g.k.Raise(g.main.Task, SIGSEGV, CodeMapErr, 0, &g.main.ctx); out.Action != ExitGroup || out.Signal != SIGSEGV {
		t.Fatalf("overflown: %+v", out)
	}
}

func TestAlarm(t *testing.T) {
	g := newGuest(t, Config{})
	g.handle(SIGALRM, 0, 0)
	g.words(g.data, 0, 0, 0, 5) // once, after 5 µs
	g.must(g.main, 103, 0, g.data, 0)
	if d, ok := g.k.NextDeadline(); !ok || d != 5000 {
		t.Fatalf("deadline %d %v", d, ok)
	}
	g.k.Advance(5000)
	g.k.Expire()
	if !g.main.Pending() {
		t.Fatal("no alarm")
	}
	g.k.Deliver(g.main.Task, &g.main.ctx)
	if g.main.ctx.PC != handlerAt {
		t.Fatal("no handler")
	}
}

func TestSignalOfTheProcessOutlivesATask(t *testing.T) {
	g := newGuest(t, Config{})
	a, b := g.spawn(), g.spawn()
	g.handle(SIGUSR1, 0, 0)
	set := g.words(g.data, 1<<(SIGUSR1-1))
	g.must(g.main, 135, 0, set, 0, 8)
	g.blocks(b, sysFutex, g.data, futexWait, uint64(g.get32(g.data)), 0)
	g.must(g.main, 129, MainTID, SIGUSR1)
	if !a.Pending() || b.Pending() {
		t.Fatal("the signal did not go to the first task that takes it")
	}
	g.call(a, 93, 0)
	g.woken(b)
	g.k.Deliver(b.Task, &b.ctx)
	if b.ctx.PC != handlerAt {
		t.Fatal("the other task did not handle it")
	}
}
