package linux

import (
	"slices"

	"hindsight/tracefmt/event"
)

// Operations of futex and their flags.
const (
	futexWait          = 0
	futexWake          = 1
	futexRequeue       = 3
	futexCmpRequeue    = 4
	futexWakeOp        = 5
	futexLockPI        = 6
	futexUnlockPI      = 7
	futexTrylockPI     = 8
	futexWaitBitset    = 9
	futexWakeBitset    = 10
	futexLockPI2       = 13
	futexPrivate       = 128
	futexClockRealtime = 256

	futexWaiters   = 0x80000000
	futexOwnerDied = 0x40000000
	futexTIDMask   = 0x3fffffff
	futexAnyBit    = 0xffffffff
)

// futexQueue holds the tasks that wait for one word, in the order of their arrival.
type futexQueue struct {
	addr    uint64
	waiters []*Task
}

// futex is futex(addr, op, val, timeout or val2, addr2, val3). There is only one process,
// so private and shared futexes are the same.
func (c *call) futex() int64 {
	c.quiet = true
	op := c.arg[1] &^ (futexPrivate | futexClockRealtime)
	addr, val := c.arg[0], uint32(c.arg[2])
	if c.arg[1]&futexClockRealtime != 0 {
		switch op {
		case futexWait, futexWaitBitset, futexLockPI2:
		default:
			return -ENOSYS
		}
	}
	if addr&3 != 0 {
		return -EINVAL
	}
	switch op {
	case futexWait:
		return c.futexWait(addr, val, futexAnyBit, false)
	case futexWaitBitset:
		return c.futexWait(addr, val, uint32(c.arg[5]), true)
	case futexWake:
		return c.futexWake(addr, int64(int32(val)), futexAnyBit)
	case futexWakeBitset:
		return c.futexWake(addr, int64(int32(val)), uint32(c.arg[5]))
	case futexRequeue:
		return c.futexRequeue(false)
	case futexCmpRequeue:
		return c.futexRequeue(true)
	case futexWakeOp:
		return c.futexWakeOp()
	case futexLockPI:
		return c.futexLockPI(addr, true, true)
	case futexLockPI2:
		return c.futexLockPI(addr, true, c.arg[1]&futexClockRealtime != 0)
	case futexTrylockPI:
		return c.futexLockPI(addr, false, false)
	case futexUnlockPI:
		return c.futexUnlockPI(addr)
	}
	c.note("futex operation " + utoa(op))
	return -ENOSYS
}

// futexWait sleeps while the word is val. The timeout is relative, or absolute in the
// bitset variant.
func (c *call) futexWait(addr uint64, val, bitset uint32, absolute bool) int64 {
	if bitset == 0 {
		return -EINVAL
	}
	w := Wait{Kind: WaitFutex, Addr: addr}
	if c.arg[3] != 0 {
		d, e := c.timespec(c.arg[3])
		if e != 0 {
			return e
		}
		w.Timed = true
		if absolute {
			w.Deadline = c.fromClock(c.futexClock(), d)
		} else {
			w.Deadline = later(c.now, d)
		}
	}
	have, f := c.space.Uint32(addr)
	if f != nil {
		return c.fault(f)
	}
	own := c.own()
	if have != val {
		if own {
			c.observe(c.cleared[addr])
		}
		return -EAGAIN
	}
	if w.Timed && w.Deadline <= c.now {
		return -ETIMEDOUT
	}
	q := c.queueAt(addr)
	q.waiters = append(q.waiters, c.t)
	return c.sleep(w, blockState{futex: q, bitset: bitset, timeout: -ETIMEDOUT, restart: !w.Timed, own: own})
}

func (c *call) futexClock() uint64 {
	if c.arg[1]&futexClockRealtime != 0 {
		return clockRealtime
	}
	return clockMonotonic
}

// queueAt returns the queue of a word, and creates it if necessary.
func (k *Kernel) queueAt(addr uint64) *futexQueue {
	q := k.futexes[addr]
	if q == nil {
		q = &futexQueue{addr: addr}
		k.futexes[addr] = q
	}
	return q
}

// leaveFutex removes a task from its queue.
func (k *Kernel) leaveFutex(t *Task) {
	q := t.block.futex
	if q == nil {
		return
	}
	t.block.futex = nil
	q.waiters = slices.DeleteFunc(q.waiters, func(w *Task) bool { return w == t })
	if len(q.waiters) == 0 {
		delete(k.futexes, q.addr)
	}
}

// futexWake wakes up to n waiters whose bitset intersects bitset.
func (k *Kernel) futexWake(addr uint64, n int64, bitset uint32) int64 {
	return k.wakeWaiters(addr, n, bitset, k.own())
}

// wakeWaiters does the work of futexWake. own says that the program itself makes the call.
func (k *Kernel) wakeWaiters(addr uint64, n int64, bitset uint32, own bool) int64 {
	if bitset == 0 {
		return -EINVAL
	}
	q := k.futexes[addr]
	if q == nil {
		return 0
	}
	var woken int64
	for _, t := range slices.Clone(q.waiters) {
		if t.block.pi {
			if woken == 0 {
				return -EINVAL
			}
			break
		}
		if t.block.bitset&bitset == 0 {
			continue
		}
		k.wakeOne(t, own)
		// Wake at least one, whatever n is, as Linux does.
		woken++
		if woken >= n {
			break
		}
	}
	return woken
}

// wakeOne wakes a waiter. If both calls are the program's own, the waiter is ordered after
// the thread that wakes it. The C library's own use of futexes orders nothing.
func (k *Kernel) wakeOne(t *Task, own bool) {
	if own && t.block.own {
		k.pass(t)
	}
	k.wake(t, 0)
}

// futexRequeue wakes some waiters of one word and moves others to another word.
func (c *call) futexRequeue(compare bool) int64 {
	from, to := c.arg[0], c.arg[4]
	wake, move := int64(int32(c.arg[2])), int64(int32(c.arg[3]))
	if wake < 0 || move < 0 || to&3 != 0 {
		return -EINVAL
	}
	have, f := c.space.Uint32(from)
	if f != nil {
		return c.fault(f)
	}
	if f := c.space.Check(to, 4, readAccess); f != nil {
		return c.fault(f)
	}
	if compare && have != uint32(c.arg[5]) {
		return -EAGAIN
	}
	q := c.futexes[from]
	if q == nil {
		return 0
	}
	var done int64
	own := c.own()
	for _, t := range slices.Clone(q.waiters) {
		switch {
		case done < wake:
			c.wakeOne(t, own)
		case done < wake+move:
			c.leaveFutex(t)
			t.block.futex = c.queueAt(to)
			t.block.futex.waiters = append(t.block.futex.waiters, t)
			t.Wait.Addr = to
		default:
			return done
		}
		done++
	}
	return done
}

// futexWakeOp changes the second word. It wakes waiters of the first word, and those of the
// second if its old value satisfies the comparison.
func (c *call) futexWakeOp() int64 {
	addr2, enc := c.arg[4], uint32(c.arg[5])
	if addr2&3 != 0 {
		return -EINVAL
	}
	op, cmp := enc>>28&15, enc>>24&15
	oparg := int32(enc<<8) >> 20
	cmparg := int32(enc<<20) >> 20
	if op&8 != 0 {
		oparg = 1 << (oparg & 31)
	}
	old, f := c.space.Uint32(addr2)
	if f != nil {
		return c.fault(f)
	}
	val := old
	switch op & 7 {
	case 0:
		val = uint32(oparg)
	case 1:
		val += uint32(oparg)
	case 2:
		val |= uint32(oparg)
	case 3:
		val &^= uint32(oparg)
	case 4:
		val ^= uint32(oparg)
	default:
		return -ENOSYS
	}
	if f := c.space.PutUint32(addr2, val); f != nil {
		return c.fault(f)
	}
	var hit bool
	switch o := int32(old); cmp {
	case 0:
		hit = o == cmparg
	case 1:
		hit = o != cmparg
	case 2:
		hit = o < cmparg
	case 3:
		hit = o <= cmparg
	case 4:
		hit = o > cmparg
	case 5:
		hit = o >= cmparg
	default:
		return -ENOSYS
	}
	n := c.futexWake(c.arg[0], int64(int32(c.arg[2])), futexAnyBit)
	if n >= 0 && hit {
		if m := c.futexWake(addr2, int64(int32(c.arg[3])), futexAnyBit); m >= 0 {
			n += m
		}
	}
	return n
}

// futexLockPI takes a lock whose word holds the owner's tid. Priorities are not simulated:
// waiters get the lock in the order of their arrival.
func (c *call) futexLockPI(addr uint64, block, realtime bool) int64 {
	word, f := c.space.Uint32(addr)
	if f != nil {
		return c.fault(f)
	}
	me := uint32(c.t.TID)
	owner := word & futexTIDMask
	switch {
	case owner == me:
		return -EDEADLK
	case owner == 0:
		return c.fault(c.space.PutUint32(addr, me|word&(futexWaiters|futexOwnerDied)))
	case !block:
		return -EAGAIN
	case c.task(int(owner)) == nil:
		return -ESRCH
	}
	w := Wait{Kind: WaitFutex, Addr: addr}
	if c.arg[3] != 0 {
		d, e := c.timespec(c.arg[3])
		if e != 0 {
			return e
		}
		clock := uint64(clockMonotonic)
		if realtime {
			clock = clockRealtime
		}
		w.Timed, w.Deadline = true, c.fromClock(clock, d)
		if w.Deadline <= c.now {
			return -ETIMEDOUT
		}
	}
	if f := c.space.PutUint32(addr, word|futexWaiters); f != nil {
		return c.fault(f)
	}
	q := c.queueAt(addr)
	q.waiters = append(q.waiters, c.t)
	return c.sleep(w, blockState{futex: q, pi: true, timeout: -ETIMEDOUT, restart: true, own: c.own()})
}

// futexUnlockPI passes the lock to the first waiter.
func (c *call) futexUnlockPI(addr uint64) int64 {
	word, f := c.space.Uint32(addr)
	if f != nil {
		return c.fault(f)
	}
	if word&futexTIDMask != uint32(c.t.TID) {
		return -EPERM
	}
	return c.passPI(addr, 0)
}

// passPI passes a lock to its first waiter, or frees it. The word keeps the bits in flags.
func (k *Kernel) passPI(addr uint64, flags uint32) int64 {
	q := k.futexes[addr]
	if q == nil {
		return k.fault(k.space.PutUint32(addr, flags))
	}
	next := q.waiters[0]
	word := uint32(next.TID) | flags
	if len(q.waiters) > 1 {
		word |= futexWaiters
	}
	if f := k.space.PutUint32(addr, word); f != nil {
		return k.fault(f)
	}
	k.wakeOne(next, k.own())
	return 0
}

// robustLimit bounds the number of entries of a robust list that are processed, as in
// Linux.
const robustLimit = 2048

// robustListBytes is the size of struct robust_list_head.
const robustListBytes = 24

// exitRobust marks the robust mutexes that an exiting task holds.
func (k *Kernel) exitRobust(t *Task) {
	head := t.robustHead
	if head == 0 {
		return
	}
	entry, f1 := k.space.Uint64(head)
	offset, f2 := k.space.Uint64(head + 8)
	pending, f3 := k.space.Uint64(head + 16)
	if f1 != nil || f2 != nil || f3 != nil {
		return
	}
	for range robustLimit {
		if entry&^1 == head {
			break
		}
		next, f := k.space.Uint64(entry &^ 1)
		if entry&^1 != pending&^1 && !k.ownerDied(t, entry&^1+offset, entry&1 != 0, false) {
			return
		}
		if f != nil {
			break
		}
		entry = next
	}
	if pending&^1 != 0 {
		k.ownerDied(t, pending&^1+offset, pending&1 != 0, true)
	}
}

// ownerDied marks one robust mutex. It reports false to end the walk.
func (k *Kernel) ownerDied(t *Task, addr uint64, pi, pendingOp bool) bool {
	if addr&3 != 0 {
		return false
	}
	word, f := k.space.Uint32(addr)
	if f != nil {
		return false
	}
	if pendingOp && !pi && word == 0 {
		k.futexWake(addr, 1, futexAnyBit)
		return true
	}
	if word&futexTIDMask != uint32(t.TID) {
		return true
	}
	if k.traced() { // the next owner may rely on everything that this one did
		k.cfg.Tracer.Emit(t, event.Event{Kind: event.MutexUnlock, Obj: addr})
	}
	if pi {
		k.passPI(addr, futexOwnerDied)
		return true
	}
	if k.space.PutUint32(addr, word&futexWaiters|futexOwnerDied) != nil {
		return false
	}
	if word&futexWaiters != 0 {
		k.futexWake(addr, 1, futexAnyBit)
	}
	return true
}

// setRobustList is set_robust_list(head, len).
func (c *call) setRobustList() int64 {
	if c.arg[1] != robustListBytes {
		return -EINVAL
	}
	c.t.robustHead = c.arg[0]
	return 0
}

// getRobustList is get_robust_list(tid, head, len).
func (c *call) getRobustList() int64 {
	t := c.t
	if tid := int(int32(c.arg[0])); tid != 0 {
		t = c.task(tid)
		if t == nil {
			return -ESRCH
		}
	}
	if f := c.space.PutUint64(c.arg[2], robustListBytes); f != nil {
		return c.fault(f)
	}
	return c.fault(c.space.PutUint64(c.arg[1], t.robustHead))
}
