package hook

import "hindsight/tracefmt/event"

// The layout of the C library's objects in memory (glibc, 64-bit: pthreadtypes.h,
// struct_mutex.h, internaltypes.h). What a releasing call will do must be known when it
// begins, before another thread can act on it.
const (
	mutexCount = 4 // of a recursive mutex: number of times it is held
	mutexOwner = 8
	mutexKind  = 16

	kindMask      = 3
	kindRecursive = 1
	kindChecked   = 2
	kindRobust    = 16
	kindInherit   = 32 // priority-inheriting

	lockOwner = 0x3fffffff // in the lock word of robust and of priority-inheriting mutexes

	semaphoreMax = 0x7fffffff
)

// Sizes in bytes of objects and of what they are initialised from.
const (
	mutexBytes     = 40
	conditionBytes = 48
	rwlockBytes    = 56
	semaphoreBytes = 32
	barrierBytes   = 32
	spinBytes      = 4
	timespecBytes  = 16
	pointerBytes   = 8
)

// word reads four bytes of an object. It returns 0 if they cannot be read.
func word(c *Call, addr uint64) uint64 {
	v, _ := c.Load(addr, 4)
	return v
}

// holds reports whether the calling thread holds the mutex, according to the mutex itself.
func holds(c *Call, mutex uint64) bool {
	owner := word(c, mutex+mutexOwner)
	if word(c, mutex+mutexKind)&(kindRobust|kindInherit) != 0 {
		owner = word(c, mutex) & lockOwner
	}
	return owner == uint64(c.TID())
}

// recursive reports whether a mutex can be locked more than once, and how many times it is
// locked.
func recursive(c *Call, mutex uint64) (times uint64, can bool) {
	if word(c, mutex+mutexKind)&kindMask != kindRecursive {
		return 0, false
	}
	return word(c, mutex+mutexCount), true
}

// releases reports whether unlocking a mutex now would release it. Calls that fail, and the
// inner ones of nested calls, do not.
func releases(c *Call, mutex uint64) bool {
	kind := word(c, mutex+mutexKind)
	if kind&(kindRobust|kindInherit) != 0 || kind&kindMask == kindRecursive || kind&kindMask == kindChecked {
		if !holds(c, mutex) {
			return false
		}
	}
	times, nested := recursive(c, mutex)
	return !nested || times == 1
}

// lockMutex records that a mutex was obtained, for the outermost of nested calls.
func (s *State) lockMutex(c *Call, mutex uint64) {
	if times, nested := recursive(c, mutex); !nested || times <= 1 {
		s.lock(c, event.MutexLock, mutex)
	}
}

// unlockMutex records that a mutex is about to be released, if the call releases it.
func (s *State) unlockMutex(c *Call, mutex uint64) bool {
	if !releases(c, mutex) {
		return false
	}
	s.unlock(c, event.MutexUnlock, mutex)
	return true
}

// Conditions. Waiting releases the mutex, unless the call fails at once.

func conditionBegin(s *State, c *Call, deadline uint64) {
	if deadline != 0 {
		c.reads(deadline, timespecBytes)
		if ns, ok := c.Load(deadline+8, 8); ok && ns >= 1e9 {
			return // EINVAL
		}
	}
	c.Emit(event.CondWait, c.Arg(0), c.Arg(1))
	if s.unlockMutex(c, c.Arg(1)) {
		c.Note = given
	}
}

// given is the note of a call that has released a mutex and must obtain it again.
const given = 1

// conditionEnd is also called for a thread that is cancelled while it waits. Such a thread
// has obtained the mutex again before its cleanup handlers run. And it is called for a
// thread that left the call by a long jump out of a signal handler, which has not obtained
// the mutex.
func conditionEnd(s *State, c *Call) {
	if c.Note == given && holds(c, c.Arg(1)) {
		s.lock(c, event.MutexLock, c.Arg(1))
	}
}

// Semaphores. A post may fail because there are too many.

func postBegin(_ *State, c *Call) {
	if word(c, c.Arg(0)) != semaphoreMax {
		c.Emit(event.SemPost, c.Arg(0), 0)
		c.Note = given
	}
}

func postEnd(_ *State, c *Call, result uint64) {
	if c.Note != given && int32(result) == success { // only when the call began was it at its maximum
		c.Emit(event.SemPost, c.Arg(0), 0)
	}
}

// reads records that the call reads n bytes of the caller's memory, unless the address is
// 0.
func (c *Call) reads(addr, n uint64) {
	if addr != 0 {
		c.Emit(event.RangeRead, addr, n)
	}
}

// readsDeadline records that the call reads the time that argument n points to, unless n is
// 0.
func (c *Call) readsDeadline(n int) {
	if n != 0 {
		c.reads(c.Arg(n), timespecBytes)
	}
}

// writes is the counterpart of reads for writing.
func (c *Call) writes(addr, n uint64) {
	if addr != 0 {
		c.Emit(event.RangeWrite, addr, n)
	}
}
