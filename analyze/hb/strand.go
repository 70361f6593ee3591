package hb

import (
	"errors"
	"fmt"
	"math"

	"hindsight/tracefmt/event"
)

// Strands are what is ordered: a thread, or a task that it runs. Clocks have a
// component for each strand; those of threads have the threads' numbers, those
// of tasks follow. A thread acts as one strand at a time, the innermost task
// that it has begun and not ended.
//
// A task gets a number when it begins: that of a task which has ended and whose
// end it is ordered after, if there is one, else a new one. What shares a number
// is therefore a chain of happens-before, and a comparison of epochs remains
// exact. Only when [MaxTasks] numbers are taken by tasks that nothing has waited
// for yet does a task take over a number that it should not: then the two count
// as ordered although they are not, which may hide races between them.

// NoStrand is no strand's number.
const NoStrand event.ThreadID = math.MaxUint32

// MaxTasks is how many tasks that are in no order can be told apart.
const MaxTasks = 1024

// ErrStrand is wrapped by errors about strands that begin or end out of order.
var ErrStrand = errors.New("strand out of order")

type strands struct {
	base   int                                 // number of the first task; 0 until it is known
	acting map[event.ThreadID][]event.ThreadID // strands that a thread suspended, and the one that it is, unless that is its own
	begins map[uint64]Clock                    // clock of StrandCreate, until the task begins
	free   []event.ThreadID                    // strands of ended tasks
	next   int                                 // in free, to take over
}

func newStrands() strands {
	return strands{acting: map[event.ThreadID][]event.ThreadID{}, begins: map[uint64]Clock{}}
}

// Threads says how many threads the run has, so that tasks are numbered behind
// them. Without it they are numbered behind those known when the first begins.
func (o *Order) Threads(n int) { o.strands.base = n }

// Strands is the number of strands so far.
func (o *Order) Strands() int { return len(o.threads) }

// Strand is what thread t acts as.
func (o *Order) Strand(t event.ThreadID) event.ThreadID {
	if s := o.strands.acting[t]; len(s) > 0 {
		return s[len(s)-1]
	}
	return t
}

func (o *Order) acting(t event.ThreadID) *thread {
	if len(o.strands.acting) == 0 {
		return o.thread(t)
	}
	return o.thread(o.Strand(t))
}

// beginStrand makes t act as task id.
func (o *Order) beginStrand(t event.ThreadID, id uint64) error {
	begin, ok := o.strands.begins[id]
	if !ok {
		return fmt.Errorf("%w: task %d begins, which was not created", ErrStrand, id)
	}
	delete(o.strands.begins, id)
	if o.strands.base == 0 {
		o.strands.base = len(o.threads)
	}
	for len(o.threads) < o.strands.base {
		o.thread(event.ThreadID(len(o.threads)))
	}
	s := o.chain(begin)
	th := o.thread(s)
	epoch := th.clock[s]
	*th = thread{clock: th.clock[:0], known: true, acquire: th.acquire[:0], release: th.release[:0]}
	th.clock.set(begin)
	th.clock.grow(int(s) + 1)
	th.clock[s] = epoch + 1
	o.strands.acting[t] = append(o.strands.acting[t], s)
	return nil
}

// chain chooses the strand for a task that begins with the given clock.
func (o *Order) chain(begin Clock) event.ThreadID {
	free := o.strands.free
	for i, s := range free {
		if begin.At(s) >= o.threads[s].clock[s] {
			free[i] = free[len(free)-1]
			o.strands.free = free[:len(free)-1]
			return s
		}
	}
	if len(o.threads)-o.strands.base < MaxTasks || len(free) == 0 {
		return event.ThreadID(len(o.threads))
	}
	o.strands.next = (o.strands.next + 1) % len(free)
	s := free[o.strands.next]
	free[o.strands.next] = free[len(free)-1]
	o.strands.free = free[:len(free)-1]
	return s
}

// endStrand makes t act as what it did before it began the task.
func (o *Order) endStrand(t event.ThreadID) {
	acting := o.strands.acting[t]
	if len(acting) == 0 {
		return
	}
	s := acting[len(acting)-1]
	if o.strands.acting[t] = acting[:len(acting)-1]; len(acting) == 1 {
		delete(o.strands.acting, t)
	}
	th := o.thread(s)
	th.ended = true
	o.strands.free = append(o.strands.free, s)
}
