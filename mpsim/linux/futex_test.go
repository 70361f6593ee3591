package linux

import "testing"

const sysFutex = 98

func TestFutexWaitAndWake(t *testing.T) {
	g := newGuest(t, Config{})
	a, b, c := g.spawn(), g.spawn(), g.spawn()
	word := g.data
	g.put32(word, 7)
	g.want(-EAGAIN, a, sysFutex, word, futexWait, 8, 0)
	g.want(-EINVAL, a, sysFutex, word+1, futexWait, 7, 0)
	g.want(-EFAULT, a, sysFutex, 0x8000, futexWait, 7, 0)
	for _, th := range []*thread{a, b, c} {
		g.blocks(th, sysFutex, word, futexWait|futexPrivate, 7, 0)
		if th.Wait.Kind != WaitFutex || th.Wait.Addr != word {
			t.Fatalf("waits for %+v", th.Wait)
		}
	}
	g.want(2, g.main, sysFutex, word, futexWake, 2)
	g.woken(a, b)
	g.want(1, g.main, sysFutex, word, futexWake, 2)
	g.woken(c)
	g.want(0, g.main, sysFutex, word, futexWake, 2)
	if a.result() != 0 || len(g.k.futexes) != 0 {
		t.Fatalf("result %d, %d queues left", a.result(), len(g.k.futexes))
	}
}

func TestFutexBitset(t *testing.T) {
	g := newGuest(t, Config{})
	a, b := g.spawn(), g.spawn()
	word := g.data
	g.want(-EINVAL, a, sysFutex, word, futexWaitBitset, 0, 0, 0, 0)
	g.blocks(a, sysFutex, word, futexWaitBitset, 0, 0, 0, 1)
	g.blocks(b, sysFutex, word, futexWaitBitset, 0, 0, 0, 2)
	g.want(1, g.main, sysFutex, word, futexWakeBitset, 9, 0, 0, 2)
	g.woken(b)
	g.want(1, g.main, sysFutex, word, futexWake, 9)
	g.woken(a)
}

func TestFutexTimeouts(t *testing.T) {
	g := newGuest(t, Config{})
	a, b := g.spawn(), g.spawn()
	word, ts := g.data, g.data+64
	g.k.Advance(1000)
	g.words(ts, 0, 500)
	g.blocks(a, sysFutex, word, futexWait, 0, ts)
	g.words(ts, (bootNS+1200)/second, (bootNS+1200)%second)
	g.blocks(b, sysFutex, word, futexWaitBitset, 0, ts, 0, futexAnyBit)
	if d, ok := g.k.NextDeadline(); !ok || d != 1200 {
		t.Fatalf("next deadline %d %v", d, ok)
	}
	g.k.AdvanceTo(1200)
	g.k.Expire()
	g.woken(b)
	g.k.AdvanceTo(5000)
	g.k.Expire()
	g.woken(a)
	if a.result() != -ETIMEDOUT || b.result() != -ETIMEDOUT {
		t.Fatalf("results %d %d", a.result(), b.result())
	}
	g.want(-ETIMEDOUT, a, sysFutex, word, futexWaitBitset, 0, ts, 0, futexAnyBit)
	g.words(ts, 0, second)
	g.want(-EINVAL, a, sysFutex, word, futexWait, 0, ts)
	if _, ok := g.k.NextDeadline(); ok {
		t.Fatal("a deadline is left")
	}
}

func TestFutexRequeue(t *testing.T) {
	g := newGuest(t, Config{})
	from, to := g.data, g.data+4
	var th []*thread
	for range 4 {
		th = append(th, g.spawn())
		g.blocks(th[len(th)-1], sysFutex, from, futexWait, 0, 0)
	}
	g.want(-EAGAIN, g.main, sysFutex, from, futexCmpRequeue, 1, 2, to, 9)
	g.want(3, g.main, sysFutex, from, futexCmpRequeue, 1, 2, to, 0)
	g.woken(th[0])
	if th[1].Wait.Addr != to {
		t.Fatalf("moved task waits for %+v", th[1].Wait)
	}
	g.want(2, g.main, sysFutex, to, futexWake, 100)
	g.woken(th[1], th[2])
	g.want(1, g.main, sysFutex, from, futexWake, 100)
	g.woken(th[3])
}

func TestFutexWakeOp(t *testing.T) {
	g := newGuest(t, Config{})
	a, b := g.spawn(), g.spawn()
	one, two := g.data, g.data+4
	g.blocks(a, sysFutex, one, futexWait, 0, 0)
	g.blocks(b, sysFutex, two, futexWait, 0, 0)
	// *two += 5; wake one; wake two if the old value was 0.
	g.want(2, g.main, sysFutex, one, futexWakeOp, 1, 1, two, 1<<28|5<<12)
	g.woken(a, b)
	if v := g.get32(two); v != 5 {
		t.Fatalf("the word is %d", v)
	}
}

func TestFutexPI(t *testing.T) {
	g := newGuest(t, Config{})
	a, b := g.spawn(), g.spawn()
	word := g.data
	g.want(0, g.main, sysFutex, word, futexLockPI, 0, 0)
	g.want(-EDEADLK, g.main, sysFutex, word, futexLockPI, 0, 0)
	g.want(-EAGAIN, a, sysFutex, word, futexTrylockPI, 0, 0)
	g.blocks(a, sysFutex, word, futexLockPI, 0, 0)
	g.blocks(b, sysFutex, word, futexLockPI, 0, 0)
	g.want(-EPERM, b2(b, a), sysFutex, word+8, futexUnlockPI)
	g.want(0, g.main, sysFutex, word, futexUnlockPI)
	g.woken(a)
	if v := g.get32(word); v != uint32(a.TID)|futexWaiters {
		t.Fatalf("the word is %#x", v)
	}
	g.want(0, a, sysFutex, word, futexUnlockPI)
	g.woken(b)
	g.want(0, b, sysFutex, word, futexUnlockPI)
	if v := g.get32(word); v != 0 {
		t.Fatalf("the word is %#x", v)
	}
}

// b2 returns an additional thread, which can make a call while the others sleep.
func b2(_, a *thread) *thread { return &thread{&Task{TID: a.TID + 100}, Context{}} }

func TestRobustListAtExit(t *testing.T) {
	g := newGuest(t, Config{})
	a, b := g.spawn(), g.spawn()
	head, lock := g.data, g.data+128
	g.words(head, lock-16, 16, 0)
	g.words(lock-16, head) // the list leads back to its head
	g.put32(lock, uint32(a.TID)|futexWaiters)
	g.must(a, 99, head, robustListBytes)
	g.blocks(b, sysFutex, lock, futexWait, uint64(g.get32(lock)), 0)
	clear := g.data + dataSize - 8
	g.put32(clear, 77)
	if out := g.call(a, 93, 0); out.Action != Exit || a.State != Dead {
		t.Fatalf("exit: action %d", out.Action)
	}
	g.woken(b)
	if v := g.get32(lock); v != futexOwnerDied|futexWaiters {
		t.Fatalf("the lock is %#x", v)
	}
	if v := g.get32(clear); v != 0 {
		t.Fatalf("the tid word is %d", v)
	}
	if g.k.task(a.TID) != nil {
		t.Fatal("the task is still there")
	}
}

func TestJoinByClearTID(t *testing.T) {
	g := newGuest(t, Config{})
	a := g.spawn()
	word := g.data + dataSize - 8
	g.put32(word, uint32(a.TID))
	g.blocks(g.main, sysFutex, word, futexWait, uint64(a.TID), 0)
	g.call(a, 93, 0)
	g.woken(g.main)
	if out := g.call(g.main, 93, 3); out.Action != ExitGroup || out.Status != 3 {
		t.Fatalf("last exit: %+v", out)
	}
}
