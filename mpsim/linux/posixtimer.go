package linux

import "encoding/binary"

// posixTimer is a timer of timer_create. It sends a signal to the process or to a task, or
// nothing.
type posixTimer struct {
	alarm
	id      int32
	signal  int   // 0: none
	task    *Task // nil: the process
	value   uint64
	overrun uint32 // number of expirations that the last signal stands for, minus one
}

const (
	maxTimers = 1024

	notifySignal = 0
	notifyNone   = 1
	notifyTask   = 4
)

// timerCreate is timer_create(clock, event, id).
func (c *call) timerCreate() int64 {
	if _, ok := c.clock(c.arg[0]); !ok {
		return -EINVAL
	}
	if c.arg[0] == clockProcessCPU || c.arg[0] == clockThreadCPU || int32(c.arg[0]) < 0 {
		c.note("timer_create of processor time")
		return -EINVAL
	}
	if len(c.timers) >= maxTimers {
		return -EAGAIN
	}
	t := &posixTimer{alarm: alarm{clock: c.arg[0]}, signal: SIGALRM}
	for _, o := range c.timers {
		t.id = max(t.id, o.id+1)
	}
	t.value = uint64(t.id)
	if c.arg[1] != 0 {
		if e := c.readEvent(t); e != 0 {
			return e
		}
	}
	if f := c.space.PutUint32(c.arg[2], uint32(t.id)); f != nil {
		return c.fault(f)
	}
	c.timers = append(c.timers, t)
	return 0
}

// readEvent reads a struct sigevent.
func (c *call) readEvent(t *posixTimer) int64 {
	var b [64]byte
	if f := c.space.Read(c.arg[1], b[:]); f != nil {
		return c.fault(f)
	}
	le := binary.LittleEndian
	t.value, t.signal = le.Uint64(b[0:]), int(int32(le.Uint32(b[8:])))
	switch le.Uint32(b[12:]) {
	case notifyNone:
		t.signal = 0
		return 0
	case notifySignal:
	case notifyTask:
		tid := int(int32(le.Uint32(b[16:])))
		for _, task := range c.tasks {
			if task.TID == tid {
				t.task = task
			}
		}
		if t.task == nil {
			return -EINVAL
		}
	default:
		return -EINVAL
	}
	if t.signal < 1 || t.signal > 64 {
		return -EINVAL
	}
	return 0
}

// posixTimerOf returns the timer with an id, or nil.
func (c *call) posixTimerOf(id uint64) *posixTimer {
	for _, t := range c.timers {
		if t.id == int32(id) {
			return t
		}
	}
	return nil
}

// timerSettime is timer_settime(id, flags, new, old).
func (c *call) timerSettime() int64 {
	t := c.posixTimerOf(c.arg[0])
	if t == nil || c.arg[2] == 0 {
		return -EINVAL
	}
	c.reads(processCell(cellTimer))
	if e := c.setAlarm(&t.alarm, c.arg[1], c.arg[2], c.arg[3]); e != 0 {
		return e
	}
	t.overrun = 0
	c.writes(processCell(cellTimer))
	return 0
}

// timerGettime is timer_gettime(id, buf).
func (c *call) timerGettime() int64 {
	t := c.posixTimerOf(c.arg[0])
	if t == nil {
		return -EINVAL
	}
	c.reads(processCell(cellTimer))
	return c.putAlarm(&t.alarm, c.arg[1])
}

func (c *call) timerGetoverrun() int64 {
	if t := c.posixTimerOf(c.arg[0]); t != nil {
		return int64(t.overrun)
	}
	return -EINVAL
}

func (c *call) timerDelete() int64 {
	for i, t := range c.timers {
		if t.id == int32(c.arg[0]) {
			c.timers = append(c.timers[:i:i], c.timers[i+1:]...)
			return 0
		}
	}
	return -EINVAL
}

// expire sends the signal of a timer that has expired.
func (k *Kernel) expire(t *posixTimer) {
	if !t.armed || t.deadline > k.now {
		return
	}
	t.overrun = uint32(min(t.again(k.now), 1<<31-1))
	if t.signal == 0 {
		return
	}
	i := siginfo{sig: t.signal, code: codeTimer, timer: true, order: t.order, value: t.value, addr: uint64(t.id) | uint64(t.overrun)<<32}
	if t.task != nil {
		k.sendTask(t.task, i)
	} else {
		k.sendProcess(i)
	}
}
