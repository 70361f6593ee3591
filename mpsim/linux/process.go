package linux

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"hindsight/mpsim/mem"
	"hindsight/tracefmt/event"
)

const (
	readAccess  = mem.Read
	writeAccess = mem.Write
)

// processState is what all tasks share besides memory, files and signals.
type processState struct {
	umask  uint32
	limits [numLimits]*limit // those that were set
}

// limit is a struct rlimit.
type limit struct{ soft, hard uint64 }

// Flags of clone.
const (
	cloneVM            = 0x100
	cloneFS            = 0x200
	cloneFiles         = 0x400
	cloneSighand       = 0x800
	cloneThread        = 0x10000
	cloneSettls        = 0x80000
	cloneParentSettid  = 0x100000
	cloneChildCleartid = 0x200000
	cloneChildSettid   = 0x1000000
	cloneIntoCgroup    = 0x200000000
	cloneClearSighand  = 0x100000000
	cloneThreadFlags   = cloneVM | cloneFS | cloneFiles | cloneSighand | cloneThread
	clone3MinBytes     = 64
	clone3Bytes        = 88
)

// cloneArgs holds the relevant members of struct clone_args.
type cloneArgs struct {
	flags, childTID, parentTID, stack, stackLen, tls uint64
}

// clone is clone(flags, stack, parent tid, tls, child tid).
func (c *call) clone() int64 {
	return c.newTask(cloneArgs{
		flags:     c.arg[0] &^ 0xff, // the exit signal
		stack:     c.arg[1],
		parentTID: c.arg[2],
		tls:       c.arg[3],
		childTID:  c.arg[4],
	})
}

// clone3 is clone3(args, size).
func (c *call) clone3() int64 {
	if c.arg[1] < clone3MinBytes {
		return -EINVAL
	}
	var b [clone3Bytes]byte
	if f := c.space.Read(c.arg[0], b[:min(c.arg[1], clone3Bytes)]); f != nil {
		return c.fault(f)
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	a := cloneArgs{
		flags: word(0), childTID: word(2), parentTID: word(3),
		stack: word(5), stackLen: word(6), tls: word(7),
	}
	if (a.stack == 0) != (a.stackLen == 0) || a.flags&0xff != 0 {
		return -EINVAL
	}
	a.stack += a.stackLen
	return c.newTask(a)
}

// newTask creates a thread. It refuses to create a process.
func (c *call) newTask(a cloneArgs) int64 {
	if a.flags&cloneThreadFlags != cloneThreadFlags {
		c.note(c.name + aProcess)
		return -ENOSYS
	}
	if a.flags&(cloneIntoCgroup|cloneClearSighand) != 0 {
		return -EINVAL
	}
	if len(c.tasks) >= c.cfg.MaxTasks {
		// Linux would return EAGAIN, and a program that ignores it would retry forever.
		c.end(Outcome{Status: 128 + SIGKILL, Signal: SIGKILL, Limit: ThreadLimit,
			Message: fmt.Sprintf("stopped: more than %d threads at the same time", c.cfg.MaxTasks)})
		return -EAGAIN
	}
	t := &Task{
		TID: c.next, Name: c.t.Name,
		blocked: c.t.blocked, StackLen: a.stackLen, StackLow: a.stack - a.stackLen,
	}
	if a.stackLen == 0 {
		t.StackLow = 0
	}
	if a.flags&cloneParentSettid != 0 {
		if f := c.space.PutUint32(a.parentTID, uint32(t.TID)); f != nil {
			return c.fault(f)
		}
	}
	if a.flags&cloneChildSettid != 0 {
		c.fault(c.space.PutUint32(a.childTID, uint32(t.TID)))
	}
	if a.flags&cloneChildCleartid != 0 {
		t.clearTID = a.childTID
	}
	t.own = c.own()
	c.next++
	c.tasks = append(c.tasks, t)
	for _, n := range [...]int{cellMask, cellName} { // inherited
		c.reads(c.t.cell(n))
		c.writes(t.cell(n))
	}
	child := *c.ctx
	child.X[regA0] = 0
	if a.stack != 0 {
		child.X[regSP] = a.stack
	}
	if a.flags&cloneSettls != 0 {
		child.X[regTP] = a.tls
	}
	c.out = Outcome{Action: Clone, Child: t, ChildContext: child}
	return int64(t.TID)
}

// task returns the live task with an id, or nil.
func (k *Kernel) task(tid int) *Task {
	for _, t := range k.tasks {
		if t.TID == tid {
			return t
		}
	}
	return nil
}

// exit ends the task, and the guest if it was the last task.
func (c *call) exit() int64 {
	t := c.t
	c.quiet = true
	c.exitRobust(t)
	if t.clearTID != 0 {
		if c.space.PutUint32(t.clearTID, 0) == nil {
			c.tellCleared(t)
			c.wakeWaiters(t.clearTID, 1, futexAnyBit, t.own && c.traced())
		}
	}
	t.State = Dead
	for i, o := range c.tasks {
		if o == t {
			c.tasks = append(c.tasks[:i:i], c.tasks[i+1:]...)
			break
		}
	}
	if len(c.tasks) == 0 {
		return c.exitGroup()
	}
	c.passSignals()
	c.out.Action = Exit
	return 0
}

// tellCleared records that t, which is ending, has cleared its id. If the program itself
// created the thread, another thread may wait for this as for the thread's end.
func (c *call) tellCleared(t *Task) {
	if !c.traced() || !t.own {
		return
	}
	c.cfg.Tracer.Emit(t, event.Event{Kind: event.AtomicStore, Mode: event.Release, Size: 4, Obj: t.clearTID})
	h := c.cleared[t.clearTID]
	c.publish(&h)
	if c.cleared == nil {
		c.cleared = map[uint64]handle{}
	}
	c.cleared[t.clearTID] = h
}

func (c *call) exitGroup() int64 {
	c.end(Outcome{Status: int(c.arg[0] & 0xff)})
	return 0
}

func (c *call) setTidAddress() int64 {
	c.t.clearTID = c.arg[0]
	return int64(c.t.TID)
}

func (c *call) getpid() int64  { return MainTID }
func (c *call) getppid() int64 { return ParentPID }
func (c *call) gettid() int64  { return int64(c.t.TID) }
func (c *call) zero() int64    { return 0 }
func (c *call) setsid() int64  { return -EPERM } // it leads its process group

// getpgid is getpgid(pid) and getsid(pid).
func (c *call) getpgid() int64 {
	if p := int32(c.arg[0]); p != 0 && p != MainTID {
		return -ESRCH
	}
	return MainTID
}

// getresid implements getresuid and getresgid, whose three ids are all zero.
func (c *call) getresid() int64 {
	for _, a := range c.arg[:3] {
		if f := c.space.PutUint32(a, 0); f != nil {
			return c.fault(f)
		}
	}
	return 0
}

// schedYield lets other tasks run.
func (c *call) schedYield() int64 {
	c.out.Action = Yield
	return 0
}

// schedSetaffinity and schedGetaffinity keep a mask of processors for each task. It has no
// effect on where the task runs.
func (c *call) schedSetaffinity() int64 {
	t, e := c.taskOrSelf()
	if e != 0 {
		return e
	}
	b := make([]byte, min(c.arg[1], 128))
	if f := c.space.Read(c.arg[2], b); f != nil {
		return c.fault(f)
	}
	var word [8]byte
	copy(word[:], b)
	mask := binary.LittleEndian.Uint64(word[:]) & c.allCPUs()
	if mask == 0 {
		return -EINVAL
	}
	t.affinity = mask
	c.writes(t.cell(cellAffinity))
	return 0
}

func (c *call) schedGetaffinity() int64 {
	t, e := c.taskOrSelf()
	if e != 0 {
		return e
	}
	if c.arg[1] < 8 || c.arg[1]&7 != 0 {
		return -EINVAL
	}
	mask := t.affinity
	c.reads(t.cell(cellAffinity))
	if mask == 0 {
		mask = c.allCPUs()
	}
	if f := c.space.PutUint64(c.arg[2], mask); f != nil {
		return c.fault(f)
	}
	return 8
}

func (k *Kernel) allCPUs() uint64 { return ^uint64(0) >> (64 - k.cfg.CPUs) }

// taskOrSelf returns the task whose id is the first argument.
func (c *call) taskOrSelf() (*Task, int64) {
	tid := int32(c.arg[0])
	if tid == 0 {
		return c.t, 0
	}
	if tid < 0 {
		return nil, -EINVAL
	}
	if t := c.task(int(tid)); t != nil {
		return t, 0
	}
	return nil, -ESRCH
}

// getcpu distributes the tasks over the processors on which they may run.
func (c *call) getcpu() int64 {
	mask := c.t.affinity
	if mask == 0 {
		mask = c.allCPUs()
	}
	for range (c.t.TID - MainTID) % bits.OnesCount64(mask) {
		mask &= mask - 1
	}
	for i, v := range [2]uint32{uint32(bits.TrailingZeros64(mask)), 0} {
		if a := c.arg[i]; a != 0 {
			if f := c.space.PutUint32(a, v); f != nil {
				return c.fault(f)
			}
		}
	}
	return 0
}

// The scheduling policy of all tasks is SCHED_OTHER.
func (c *call) schedSetscheduler() int64 {
	if _, e := c.taskOrSelf(); e != 0 {
		return e
	}
	v, f := c.space.Uint32(c.arg[2])
	if f != nil {
		return c.fault(f)
	}
	return c.setScheduler(c.arg[1]&^0x40000000, v)
}

// setScheduler accepts a policy and a priority, without effect.
func (c *call) setScheduler(policy uint64, priority uint32) int64 {
	switch policy {
	case 0, 3, 5: // OTHER, BATCH, IDLE
		if priority == 0 {
			return 0
		}
	case 1, 2:
		return -EPERM
	}
	return -EINVAL
}

func (c *call) schedGetscheduler() int64 {
	_, e := c.taskOrSelf()
	return e
}

func (c *call) schedSetparam() int64 {
	if _, e := c.taskOrSelf(); e != 0 {
		return e
	}
	v, f := c.space.Uint32(c.arg[1])
	if f != nil {
		return c.fault(f)
	}
	if v != 0 {
		return -EINVAL
	}
	return 0
}

func (c *call) schedGetparam() int64 {
	if _, e := c.taskOrSelf(); e != 0 {
		return e
	}
	return c.fault(c.space.PutUint32(c.arg[1], 0))
}

// schedPriorityMax is sched_get_priority_max, schedPriorityMin sched_get_priority_min.
func (c *call) schedPriorityMax() int64 { return c.schedPriority(99) }
func (c *call) schedPriorityMin() int64 { return c.schedPriority(1) }

func (c *call) schedPriority(realtime int64) int64 {
	switch c.arg[0] {
	case 1, 2:
		return realtime
	case 0, 3, 5, 6:
		return 0
	}
	return -EINVAL
}

// utsField is the size of each value that uname returns.
const utsField = 65

func (c *call) uname() int64 {
	var b [6 * utsField]byte
	for i, s := range []string{"Linux", "hindsight", "6.1.0", "#1 SMP", "riscv64", "(none)"} {
		copy(b[i*utsField:], s)
	}
	return c.fault(c.space.Write(c.arg[0], b[:]))
}

// sysinfo describes a machine with as much memory as the guest may use.
func (c *call) sysinfo() int64 {
	var b [112]byte
	le := binary.LittleEndian
	le.PutUint64(b[0:], (c.now+bootNS)/second)
	le.PutUint64(b[32:], c.space.MaxBytes())
	le.PutUint64(b[40:], c.space.MaxBytes()-min(c.space.MaxBytes(), c.space.Resident()))
	le.PutUint16(b[80:], uint16(len(c.tasks)))
	le.PutUint32(b[104:], 1)
	return c.fault(c.space.Write(c.arg[0], b[:]))
}

// Resources of prlimit64.
const (
	rlimStack  = 3
	rlimNProc  = 6
	rlimNoFile = 7
	numLimits  = 16
)

// prlimit is prlimit64(pid, resource, new, old). Limits can be set and read, but have no
// effect.
func (c *call) prlimit() int64 {
	if p := int32(c.arg[0]); p != 0 && p != MainTID {
		return -ESRCH
	}
	return c.limits(c.arg[1], c.arg[2], c.arg[3])
}

func (c *call) getrlimit() int64 { return c.limits(c.arg[0], 0, c.arg[1]) }
func (c *call) setrlimit() int64 { return c.limits(c.arg[0], c.arg[1], 0) }

func (c *call) limits(resource, set, get uint64) int64 {
	if resource >= numLimits {
		return -EINVAL
	}
	old := c.limit(resource)
	if set != 0 {
		var b [16]byte
		if f := c.space.Read(set, b[:]); f != nil {
			return c.fault(f)
		}
		now := limit{binary.LittleEndian.Uint64(b[0:]), binary.LittleEndian.Uint64(b[8:])}
		if now.soft > now.hard {
			return -EINVAL
		}
		c.process.limits[resource] = &now
	}
	if get != 0 {
		c.reads(processCell(cellLimits + int(resource)))
		var b [16]byte
		binary.LittleEndian.PutUint64(b[0:], old.soft)
		binary.LittleEndian.PutUint64(b[8:], old.hard)
		if f := c.space.Write(get, b[:]); f != nil {
			return c.fault(f)
		}
	}
	if set != 0 {
		c.writes(processCell(cellLimits + int(resource)))
	}
	return 0
}

// limit returns the limit of a resource.
func (c *call) limit(resource uint64) limit {
	if l := c.process.limits[resource]; l != nil {
		return *l
	}
	l := limit{^uint64(0), ^uint64(0)}
	switch resource {
	case rlimStack:
		l.soft = stackBytes
	case 4: // core files
		l.soft = 0
	case rlimNoFile:
		l = limit{maxFiles, maxFiles}
	case rlimNProc:
		l = limit{uint64(c.cfg.MaxTasks), uint64(c.cfg.MaxTasks)}
	}
	return l
}

// prctl supports the few options that libraries use.
func (c *call) prctl() int64 {
	switch c.arg[0] {
	case 15: // PR_SET_NAME
		s, _, f := c.space.ReadCString(c.arg[1], 15)
		if f != nil {
			return c.fault(f)
		}
		if s == "" {
			s = c.cstringUpTo(c.arg[1], 15)
		}
		c.t.Name = s
		c.space.Tell(c.t.cell(cellName), 2*cellBytes, writeAccess)
		return 0
	case 16: // PR_GET_NAME
		var b [16]byte
		copy(b[:15], c.t.Name)
		c.space.Tell(c.t.cell(cellName), 2*cellBytes, readAccess)
		return c.fault(c.space.Write(c.arg[1], b[:]))
	case 3: // PR_GET_DUMPABLE
		return 1
	case 1, 4, 29, 38: // PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_TIMERSLACK, PR_SET_NO_NEW_PRIVS
		return 0
	case 30: // PR_GET_TIMERSLACK
		return 50000
	}
	return -EINVAL
}

// cstringUpTo reads a string of at most n bytes, which need not end with a zero byte.
func (c *call) cstringUpTo(addr uint64, n int) string {
	b := make([]byte, n)
	if c.space.Read(addr, b) != nil {
		return ""
	}
	for i, v := range b {
		if v == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// membarrier has nothing to do: one hart runs at a time, in order, so every barrier has
// taken effect.
func (c *call) membarrier() int64 {
	const all = 0x7f
	switch cmd := c.arg[0]; {
	case c.arg[1] != 0:
		return -EINVAL
	case cmd == 0:
		return all
	case cmd&(cmd-1) == 0 && cmd&^all == 0:
		return 0
	}
	return -EINVAL
}

// flushICache is riscv_flush_icache(start, end, flags).
func (c *call) flushICache() int64 {
	if c.arg[2]&^1 != 0 {
		return -EINVAL
	}
	c.space.InvalidateCode()
	return 0
}

// getrandom returns bytes that depend only on the seed.
func (c *call) getrandom() int64 {
	if c.arg[2]&^7 != 0 {
		return -EINVAL
	}
	return c.copyOut(c.arg[0], min(c.arg[1], 1<<25-1), func(p []byte) (int, int64) {
		c.random(p)
		return len(p), 0
	})
}

// random fills p with random bytes.
func (k *Kernel) random(p []byte) {
	for len(p) > 0 {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], k.rng.Uint64())
		p = p[copy(p, b[:]):]
	}
}

func (c *call) umask() int64 {
	old := c.process.umask
	c.reads(processCell(cellUmask))
	c.writes(processCell(cellUmask))
	c.process.umask = uint32(c.arg[0]) & 0o777
	return int64(old)
}

func (c *call) getpriority() int64  { return 20 }
func (c *call) noChild() int64      { return -ECHILD }
func (c *call) denied() int64       { return -EPERM }
func (c *call) absent() int64       { return -ENOSYS }
func (c *call) noAttributes() int64 { return -EOPNOTSUPP } // the file systems do not support attributes
