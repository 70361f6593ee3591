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
// that it has begun or resumed and neither ended nor suspended. A task that was
// suspended may be resumed by any thread: its clock is the strand's, not the
// thread's, and goes with it.
//
// A task gets a number when it begins: that of a task which has ended and whose
// end it is ordered after, if there is one, else a new one. What shares a number
// is therefore a chain of happens-before, and a comparison of epochs remains
// exact. Only when [MaxTasks] numbers are taken by tasks that nothing has waited
// for yet does a task take over a number that it should not: then the two count
// as ordered although they are not, which may hide races between them.

// NoStrand is no strand's number.
const NoStrand event.StrandID = math.MaxUint32

// MaxTasks is how many tasks that are in no order can be told apart.
const MaxTasks = 1024

// ErrStrand is wrapped by errors about strands that begin or end out of order.
var ErrStrand = errors.New("strand out of order")

type tasks struct {
	base    int                         // number of the first task, unless numbers are shared; 0 until it is known
	numbers int                         // that tasks have
	acting  map[event.ThreadID][]acting // tasks that a thread interrupted by others, and the one that it is, unless it is none
	begins  map[uint64]Clock            // clock of StrandCreate, until the task begins
	parked  map[uint64]event.StrandID   // of tasks that are suspended
	free    []component                 // strands of ended tasks, with their last epochs
	next    int                         // in free, to take over
	merged  uint64                      // tasks that took over a number that they should not
}

// acting is a task that a thread acts as.
type acting struct {
	task   uint64
	strand event.StrandID
}

func newTasks() tasks {
	return tasks{acting: map[event.ThreadID][]acting{}, begins: map[uint64]Clock{}, parked: map[uint64]event.StrandID{}}
}

// Threads says how many threads the run has, so that tasks are numbered after
// them. Without it they are numbered after those known when the first begins.
func (o *Order) Threads(n int) { o.tasks.base = n }

// Strands is the number of strands so far.
func (o *Order) Strands() int { return len(o.strands) }

// Merged is how many tasks took over the number of one that they are in no order
// with, since [MaxTasks] were taken: races between those two are not seen.
func (o *Order) Merged() uint64 { return o.tasks.merged }

// Strand is what thread t acts as.
func (o *Order) Strand(t event.ThreadID) event.StrandID {
	if s := o.tasks.acting[t]; len(s) > 0 {
		return s[len(s)-1].strand
	}
	return o.own(t)
}

func (o *Order) acting(t event.ThreadID) *strand { return o.strand(o.Strand(t)) }

// beginStrand makes t act as task id.
func (o *Order) beginStrand(t event.ThreadID, id uint64) error {
	begin, ok := o.tasks.begins[id]
	if !ok {
		return fmt.Errorf("%w: task %d begins but was not created", ErrStrand, id)
	}
	delete(o.tasks.begins, id)
	if o.tasks.base == 0 {
		o.tasks.base = len(o.strands)
	}
	for !o.shared && len(o.strands) < o.tasks.base {
		o.strands = append(o.strands, strand{last: 1})
	}
	s := o.chain(begin)
	st := o.strand(s)
	epoch := st.clock[s]
	*st = strand{clock: st.clock[:0], known: true, acquire: st.acquire[:0], release: st.release[:0]}
	st.clock.set(begin)
	o.spares.put(begin)
	st.clock.grow(int(s) + 1)
	st.clock[s] = epoch + 1
	o.tasks.acting[t] = append(o.tasks.acting[t], acting{id, s})
	return nil
}

// chain chooses the strand for a task that begins with the given clock.
func (o *Order) chain(begin Clock) event.StrandID {
	free := o.tasks.free
	for i, f := range free {
		if begin.At(f.strand) >= f.epoch {
			return o.takeOver(i)
		}
	}
	if o.tasks.numbers < MaxTasks || len(free) == 0 {
		o.tasks.numbers++
		return event.StrandID(len(o.strands))
	}
	o.tasks.merged++
	o.tasks.next = (o.tasks.next + 1) % len(free)
	return o.takeOver(o.tasks.next)
}

// takeOver is the strand of the ith ended task, which is another's from now on.
func (o *Order) takeOver(i int) event.StrandID {
	free := o.tasks.free
	s := free[i].strand
	free[i] = free[len(free)-1]
	o.tasks.free = free[:len(free)-1]
	return s
}

// leave makes t act as what it did before it began or resumed the task that it
// is, and says which that was.
func (o *Order) leave(t event.ThreadID) (acting, bool) {
	list := o.tasks.acting[t]
	if len(list) == 0 {
		return acting{}, false
	}
	a := list[len(list)-1]
	if o.tasks.acting[t] = list[:len(list)-1]; len(list) == 1 {
		delete(o.tasks.acting, t)
	}
	return a, true
}

// endStrand ends the task that t acts as.
func (o *Order) endStrand(t event.ThreadID) {
	if a, ok := o.leave(t); ok {
		st := o.strand(a.strand)
		st.ended = true
		o.tasks.free = append(o.tasks.free, component{a.strand, st.clock[a.strand]})
	}
}

// suspendStrand makes t leave task id, which it acts as, for later.
func (o *Order) suspendStrand(t event.ThreadID, id uint64) error {
	a, ok := o.leave(t)
	if !ok || a.task != id {
		return fmt.Errorf("%w: thread %d suspends task %d, which it does not act as", ErrStrand, t, id)
	}
	o.tasks.parked[id] = a.strand
	return nil
}

// resumeStrand makes t act as task id, which some thread suspended.
func (o *Order) resumeStrand(t event.ThreadID, id uint64) error {
	s, ok := o.tasks.parked[id]
	if !ok {
		return fmt.Errorf("%w: task %d is resumed but is not suspended", ErrStrand, id)
	}
	delete(o.tasks.parked, id)
	o.tasks.acting[t] = append(o.tasks.acting[t], acting{id, s})
	return nil
}
