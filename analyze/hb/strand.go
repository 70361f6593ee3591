package hb

import (
	"errors"
	"fmt"
	"math"

	"hindsight/tracefmt/event"
)

// Strands are the things that are ordered: a thread, or a task that it runs. Clocks have
// a component for each strand. The strands of threads have the threads' numbers, and
// those of tasks follow. At any time a thread acts as one strand: as the innermost task
// that it has begun or resumed and neither ended nor suspended. Any thread may resume a
// suspended task. The clock belongs to the strand, not to the thread, and moves with it.
//
// When a task begins, it gets the number of a task that has ended and whose end it is
// ordered after, or a new one if there is none. The tasks that share a number therefore
// form a chain of happens-before, and comparing epochs remains exact. Only if [MaxTasks]
// numbers are in use by tasks that nothing has waited for yet does a task take over a
// number that it should not. The two tasks then count as ordered although they are not,
// which may hide races between them.

// NoStrand is not the number of a strand.
const NoStrand event.StrandID = math.MaxUint32

// MaxTasks is the largest number of unordered tasks that can be distinguished.
const MaxTasks = 1024

// ErrStrand is wrapped by errors about strands that begin or end in an impossible order.
var ErrStrand = errors.New("strand out of order")

type tasks struct {
	base    int                         // number of the first task, unless numbers are shared; 0 until known
	numbers int                         // how many numbers tasks have
	acting  map[event.ThreadID][]acting // by thread: its current task, if any, after the tasks that were interrupted by it
	begins  map[uint64]Clock            // clock of StrandCreate, until the task begins
	parked  map[uint64]event.StrandID   // strands of suspended tasks
	free    []component                 // strands of ended tasks, with their last epochs
	next    int                         // index into free of the next one to take over
	merged  uint64                      // number of tasks that took over a number that they should not have
}

// acting is a task that a thread acts as.
type acting struct {
	task   uint64
	strand event.StrandID
}

func newTasks() tasks {
	return tasks{acting: map[event.ThreadID][]acting{}, begins: map[uint64]Clock{}, parked: map[uint64]event.StrandID{}}
}

// Threads sets the number of threads in the run, so that the numbers of tasks follow
// theirs. Without it they follow the threads known when the first task begins.
func (o *Order) Threads(n int) { o.tasks.base = n }

// Strands returns the number of strands so far.
func (o *Order) Strands() int { return len(o.strands) }

// Merged returns how many tasks took over the number of a task with which they are
// unordered, because [MaxTasks] numbers were in use. Races between two such tasks are not
// found.
func (o *Order) Merged() uint64 { return o.tasks.merged }

// Strand returns the strand that thread t acts as.
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

// takeOver returns the strand of the ith ended task, which it removes from the list.
func (o *Order) takeOver(i int) event.StrandID {
	free := o.tasks.free
	s := free[i].strand
	free[i] = free[len(free)-1]
	o.tasks.free = free[:len(free)-1]
	return s
}

// leave makes t act as what it was before it began or resumed its current task, and
// returns that task.
func (o *Order) leave(t event.ThreadID) (acting, bool) {
	list := o.tasks.acting[t]
	if len(list) == 0 {
		return acting{}, false
	}
	a := list[len(list)-1]
	o.tasks.acting[t] = list[:len(list)-1]
	if len(list) == 1 {
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

// suspendStrand makes t leave task id, which it acts as. The task may be resumed later.
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
