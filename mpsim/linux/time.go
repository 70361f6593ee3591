package linux

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// The guest's clocks, in nanoseconds, are the virtual time plus a constant.
const (
	second     = 1_000_000_000
	bootNS     = second             // CLOCK_MONOTONIC at the start of the run
	epochNS    = 946684800 * second // CLOCK_REALTIME at the start: 1 January 2000
	clockTicks = 100                // per second, in times
	tickNS     = second / clockTicks
	maxTime    = uint64(1) << 62   // no time is later
	farFuture  = math.MaxInt64 / 2 // nanoseconds
)

// Clock numbers.
const (
	clockRealtime        = 0
	clockMonotonic       = 1
	clockProcessCPU      = 2
	clockThreadCPU       = 3
	clockMonotonicRaw    = 4
	clockRealtimeCoarse  = 5
	clockMonotonicCoarse = 6
	clockBoottime        = 7
	clockTAI             = 11
)

// Now returns the virtual time in nanoseconds since the start.
func (k *Kernel) Now() uint64 { return k.now }

// Advance advances the clock by ns nanoseconds, in which the guest computed.
func (k *Kernel) Advance(ns uint64) {
	k.busy = later(k.busy, ns)
	k.now = later(k.now, ns)
}

// AdvanceTo advances the clock to t, unless that has passed, while the guest slept.
func (k *Kernel) AdvanceTo(t uint64) { k.now = max(k.now, min(t, maxTime)) }

// NextDeadline returns the time at which the next task has to be woken or the next timer
// expires. It reports false if there is none.
func (k *Kernel) NextDeadline() (uint64, bool) {
	next, ok := maxTime, false
	for _, t := range k.tasks {
		if t.State == Blocked && t.Wait.Timed && t.Wait.Deadline < next {
			next, ok = t.Wait.Deadline, true
		}
	}
	for _, t := range k.timerFDs {
		if t.armed && t.deadline < next {
			next, ok = t.deadline, true
		}
	}
	for _, t := range k.timers {
		if t.armed && t.deadline < next {
			next, ok = t.deadline, true
		}
	}
	if k.itimer.armed && k.itimer.deadline < next {
		next, ok = k.itimer.deadline, true
	}
	return next, ok
}

// NextSleeper returns the time of NextDeadline if only the end of a sleep is due then.
// Otherwise it reports false.
func (k *Kernel) NextSleeper() (uint64, bool) {
	next, ok := k.NextDeadline()
	if !ok || k.itimer.armed && k.itimer.deadline <= next {
		return 0, false
	}
	for _, t := range k.timers {
		if t.armed && t.deadline <= next {
			return 0, false
		}
	}
	for _, t := range k.tasks {
		if t.State == Blocked && t.Wait.Timed && t.Wait.Deadline == next && t.Wait.Kind != WaitSleep {
			return 0, false
		}
	}
	return next, true
}

// Expire wakes the tasks whose deadlines have passed, the earliest first. The outcome is
// Return, or ExitGroup if a timer's signal ended the guest.
func (k *Kernel) Expire() Outcome {
	var due []*Task
	for _, t := range k.tasks {
		if t.State == Blocked && t.Wait.Timed && t.Wait.Deadline <= k.now {
			due = append(due, t)
		}
	}
	slices.SortStableFunc(due, func(a, b *Task) int {
		return cmp.Compare(a.Wait.Deadline, b.Wait.Deadline)
	})
	for _, t := range due {
		ret := t.block.timeout
		if t.block.expire != nil {
			k.onBehalf(t, func() { ret = t.block.expire() })
		}
		k.wake(t, ret)
	}
	k.expireTimer()
	for _, t := range k.timers {
		k.expire(t)
	}
	for _, t := range k.timerFDs {
		t.run()
	}
	k.retryIO()
	if k.dying != nil {
		return *k.dying
	}
	return Outcome{Action: Return}
}

// later returns t + d, or the largest time if that would overflow.
func later(t, d uint64) uint64 { return min(t+min(d, maxTime), maxTime) }

// timespec reads a struct timespec and returns it in nanoseconds.
func (c *call) timespec(addr uint64) (uint64, int64) {
	var b [16]byte
	if f := c.space.Read(addr, b[:]); f != nil {
		return 0, c.fault(f)
	}
	return nanoseconds(int64(binary.LittleEndian.Uint64(b[0:])), int64(binary.LittleEndian.Uint64(b[8:])))
}

func nanoseconds(sec, nsec int64) (uint64, int64) {
	if sec < 0 || nsec < 0 || nsec >= second {
		return 0, -EINVAL
	}
	if sec > farFuture/second {
		return farFuture, 0
	}
	return uint64(sec)*second + uint64(nsec), 0
}

// putTime writes nanoseconds as two doublewords: the seconds, and the rest in units of unit
// nanoseconds.
func (k *Kernel) putTime(addr, ns, unit uint64) int64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[0:], ns/second)
	binary.LittleEndian.PutUint64(b[8:], ns%second/unit)
	return k.fault(k.space.Write(addr, b[:]))
}

// clock returns the reading of a clock. It reports false if there is no such clock. The
// processor time of a task is that of all tasks together.
func (k *Kernel) clock(id uint64) (uint64, bool) {
	switch id {
	case clockRealtime, clockRealtimeCoarse, clockTAI:
		return k.now + epochNS, true
	case clockMonotonic, clockMonotonicRaw, clockMonotonicCoarse, clockBoottime:
		return k.now + bootNS, true
	case clockProcessCPU, clockThreadCPU:
		return k.busy, true
	}
	// The clocks of other tasks: pthread_getcpuclockid.
	if int32(id) < 0 {
		return k.busy, true
	}
	return 0, false
}

// fromClock converts a reading of a clock to virtual time. If it has passed, the result is
// the present time.
func (k *Kernel) fromClock(id, ns uint64) uint64 {
	at, _ := k.clock(id)
	return later(k.now, max(ns, at)-at)
}

func (c *call) clockGettime() int64 {
	ns, ok := c.clock(c.arg[0])
	if !ok {
		return -EINVAL
	}
	return c.putTime(c.arg[1], ns, 1)
}

func (c *call) clockGetres() int64 {
	if _, ok := c.clock(c.arg[0]); !ok {
		return -EINVAL
	}
	if c.arg[1] == 0 {
		return 0
	}
	return c.putTime(c.arg[1], 1, 1)
}

func (c *call) gettimeofday() int64 {
	if c.arg[0] != 0 {
		if e := c.putTime(c.arg[0], c.now+epochNS, 1000); e != 0 {
			return e
		}
	}
	if c.arg[1] != 0 {
		return c.fault(c.space.Write(c.arg[1], make([]byte, 8)))
	}
	return 0
}

// nanosleep is nanosleep(want, left).
func (c *call) nanosleep() int64 {
	d, e := c.timespec(c.arg[0])
	if e != 0 {
		return e
	}
	return c.sleepUntil(later(c.now, d), c.arg[1])
}

// clockNanosleep is clock_nanosleep(clock, flags, want, left).
func (c *call) clockNanosleep() int64 {
	if _, ok := c.clock(c.arg[0]); !ok || c.arg[0] == clockThreadCPU {
		return -EINVAL
	}
	d, e := c.timespec(c.arg[2])
	if e != 0 {
		return e
	}
	if c.arg[1]&1 != 0 { // TIMER_ABSTIME
		return c.sleepUntil(c.fromClock(c.arg[0], d), 0)
	}
	return c.sleepUntil(later(c.now, d), c.arg[3])
}

// sleepUntil sleeps until the deadline. If a signal ends the sleep early, it stores the
// remaining time at left.
func (c *call) sleepUntil(deadline, left uint64) int64 {
	if deadline <= c.now {
		c.out.Action = Yield
		return 0
	}
	k := c.Kernel
	b := blockState{}
	if left != 0 {
		b.interrupted = func() { k.putTime(left, deadline-min(k.now, deadline), 1) }
	}
	return c.sleep(Wait{Kind: WaitSleep, Timed: true, Deadline: deadline}, b)
}

// times is times(buf). All processor time is user time.
func (c *call) times() int64 {
	if c.arg[0] != 0 {
		var b [32]byte
		binary.LittleEndian.PutUint64(b[0:], c.busy/tickNS)
		if f := c.space.Write(c.arg[0], b[:]); f != nil {
			return c.fault(f)
		}
	}
	return int64((c.now + bootNS) / tickNS)
}

// getrusage is getrusage(who, buf).
func (c *call) getrusage() int64 {
	var b [144]byte
	switch int32(c.arg[0]) {
	case 0, 1:
		binary.LittleEndian.PutUint64(b[0:], c.busy/second)
		binary.LittleEndian.PutUint64(b[8:], c.busy%second/1000)
		binary.LittleEndian.PutUint64(b[32:], c.space.Resident()/1024)
	case -1:
	default:
		return -EINVAL
	}
	return c.fault(c.space.Write(c.arg[1], b[:]))
}

// itimer is the timer of setitimer(ITIMER_REAL), which alarm uses.
type itimer struct {
	armed              bool
	deadline, interval uint64
	order              handle // of the call that set it
}

// expireTimer sends SIGALRM when the timer has expired.
func (k *Kernel) expireTimer() {
	t := &k.itimer
	if !t.armed || t.deadline > k.now {
		return
	}
	t.armed = t.interval != 0
	if t.armed {
		// Missed expirations count as one signal.
		missed := (k.now - t.deadline) / t.interval
		t.deadline = later(t.deadline, (missed+1)*t.interval)
	}
	k.sendProcess(siginfo{sig: SIGALRM, code: codeKernel, timer: true, order: t.order})
}

// setitimer is setitimer(which, new, old). Only ITIMER_REAL is supported.
func (c *call) setitimer() int64 {
	if c.arg[0] > 2 {
		return -EINVAL
	}
	if c.arg[0] != 0 {
		c.note("setitimer of processor time")
		return -ENOSYS
	}
	var set itimer
	if c.arg[1] != 0 {
		var v [2]uint64
		for i := range v {
			var b [16]byte
			if f := c.space.Read(c.arg[1]+uint64(16*i), b[:]); f != nil {
				return c.fault(f)
			}
			usec := int64(binary.LittleEndian.Uint64(b[8:]))
			if usec < 0 || usec >= 1e6 {
				return -EINVAL
			}
			ns, e := nanoseconds(int64(binary.LittleEndian.Uint64(b[0:])), usec*1000)
			if e != 0 {
				return e
			}
			v[i] = ns
		}
		set = itimer{armed: v[1] != 0, deadline: later(c.now, v[1]), interval: v[0]}
	}
	if c.arg[2] != 0 {
		if e := c.putTimer(c.arg[2]); e != 0 {
			return e
		}
	}
	c.publish(&set.order)
	c.itimer = set
	c.writes(processCell(cellTimer))
	return 0
}

// getitimer is getitimer(which, buf).
func (c *call) getitimer() int64 {
	if c.arg[0] != 0 {
		return -EINVAL
	}
	return c.putTimer(c.arg[1])
}

func (k *Kernel) putTimer(addr uint64) int64 {
	k.reads(processCell(cellTimer))
	var left, interval uint64
	if t := k.itimer; t.armed {
		left, interval = max(t.deadline, k.now+1000)-k.now, t.interval
	}
	if e := k.putTime(addr, interval, 1000); e != 0 {
		return e
	}
	return k.putTime(addr+16, left, 1000)
}
