package hb

import (
	"errors"
	"fmt"

	"hindsight/tracefmt/event"
)

// ErrThread is wrapped by errors about thread identifiers that are out of range.
var ErrThread = errors.New("thread identifier out of range")

// Order follows happens-before along S_synch.
//
// For each event, in order: call Acquire, then read the clocks (if the event is an
// access, they are the clocks of that access), then call Release.
type Order struct {
	strands  []strand                 // those of threads first, then those of tasks, unless numbers are shared
	threads  []thread                 //
	shared   bool                     // see ShareNumbers
	free     []event.StrandID         // numbers of threads that have ended, if numbers are shared
	tasks    tasks                    //
	locks    map[uint64]*Clock        // mutexes
	rwlocks  map[uint64]*rwClock      //
	barriers map[uint64]*barrier      //
	sems     map[uint64]*Clock        //
	onces    map[uint64]*Clock        //
	atomics  map[uint64][]cell        // by 8-byte granule
	handles  map[uint64]*Clock        // by handle
	begins   map[event.ThreadID]Clock // clock of Create, until the child starts
	ends     map[event.ThreadID]held  // clock of ThreadEnd
	places   Places                   // addresses of all objects above that have one
	spares   spares
}

type strand struct {
	clock Clock  // its own component is the current epoch, counted from 1; empty if the strand has not begun or its thread has ended
	last  uint64 // the epoch that it would have, if clock is empty
	// Fences: what an acquire fence will join, and what relaxed stores carry since the
	// last release fence.
	acquire, release Clock
	known, ended     bool
	entered          *generation // of the last barrier that it entered
}

type rwClock struct{ write, read Clock }

// barrier has the generations that some thread has entered and that not all have left.
type barrier map[uint64]*generation

type generation struct {
	obj, number uint64
	clock       Clock
	in          int // number of threads that entered and have not left
}

// New returns the order at the start of a run.
func New() *Order {
	return &Order{
		locks:    map[uint64]*Clock{},
		rwlocks:  map[uint64]*rwClock{},
		barriers: map[uint64]*barrier{},
		sems:     map[uint64]*Clock{},
		onces:    map[uint64]*Clock{},
		atomics:  map[uint64][]cell{},
		handles:  map[uint64]*Clock{},
		begins:   map[event.ThreadID]Clock{},
		ends:     map[event.ThreadID]held{},
		tasks:    newTasks(),
	}
}

// Root announces a thread without a Create event, such as the main thread.
func (o *Order) Root(t event.ThreadID) {
	o.thread(t).known = true
	o.strand(o.own(t)).known = true
}

// Clock returns the current clock of the strand that thread t acts as. It is valid until
// the next Acquire or Release. The strand's own component is the current epoch: an access
// that t makes now happens before everything in strands that have seen that epoch.
func (o *Order) Clock(t event.ThreadID) Clock { return o.acting(t).clock }

// Acquire applies the part of an event of thread t that orders the event after earlier
// ones.
func (o *Order) Acquire(t event.ThreadID, e *event.Event) error {
	if t >= event.MaxThreads {
		return fmt.Errorf("%w: %d", ErrThread, t)
	}
	if e.Kind == event.ThreadStart {
		o.start(t)
	}
	st := o.acting(t)
	st.known, o.thread(t).known = true, true
	switch e.Kind {
	case event.StrandBegin:
		return o.beginStrand(t, e.Obj)
	case event.StrandResume:
		return o.resumeStrand(t, e.Obj)
	case event.Observe:
		take(st, o.handles[e.Obj])
	case event.ThreadStart:
		st.clock.join(o.begins[t])
		o.spares.put(o.begins[t])
		delete(o.begins, t)
	case event.Join:
		if e.Obj < event.MaxThreads {
			st.clock.joinHeld(o.ends[event.ThreadID(e.Obj)])
		}
	case event.MutexLock:
		take(st, o.locks[e.Obj])
	case event.ReadLock:
		if rw := o.rwlocks[e.Obj]; rw != nil {
			st.clock.join(rw.write)
		}
	case event.WriteLock:
		if rw := o.rwlocks[e.Obj]; rw != nil {
			st.clock.join(rw.write)
			st.clock.join(rw.read)
		}
	case event.BarrierLeave:
		o.leaveBarrier(st, e)
	case event.SemWait:
		take(st, o.sems[e.Obj])
	case event.OnceSeen:
		take(st, o.onces[e.Obj])
	case event.AtomicLoad, event.AtomicRMW:
		o.loadAtomic(st, e)
	case event.Fence:
		if e.Mode&event.Acquire != 0 {
			st.clock.join(st.acquire)
			st.acquire = st.acquire[:0]
		}
	}
	return nil
}

func take(st *strand, c *Clock) {
	if c != nil {
		st.clock.join(*c)
	}
}

// leaveBarrier is for a strand that leaves a barrier. It uses the generation that the
// strand entered, because the barrier may have been destroyed by a strand that left
// before.
func (o *Order) leaveBarrier(st *strand, e *event.Event) {
	g := st.entered
	if g == nil || g.obj != e.Obj || g.number != e.Arg {
		return
	}
	st.entered = nil
	st.clock.join(g.clock)
	g.in--
	if g.in > 0 {
		return
	}
	if b := o.barriers[e.Obj]; b != nil && (*b)[e.Arg] == g {
		delete(*b, e.Arg)
	}
}

// Release applies the part of an event of thread t that orders later events after it.
func (o *Order) Release(t event.ThreadID, e *event.Event) error {
	if t >= event.MaxThreads {
		return fmt.Errorf("%w: %d", ErrThread, t)
	}
	st := o.acting(t)
	switch e.Kind {
	case event.StrandCreate:
		o.tasks.begins[e.Obj] = o.spares.copyOf(st.clock)
	case event.StrandEnd:
		o.endStrand(t)
		o.renew(e)
		return nil
	case event.StrandSuspend:
		o.renew(e)
		return o.suspendStrand(t, e.Obj)
	case event.Publish:
		if c := o.handles[e.Obj]; c != nil {
			c.join(st.clock)
		} else {
			d := o.spares.copyOf(st.clock)
			o.handles[e.Obj] = &d
		}
		if e.Arg != 0 {
			return nil // so that tasks after those that wait for it share its number
		}
	case event.Forget:
		if c := o.handles[e.Obj]; c != nil {
			o.spares.put(*c)
			delete(o.handles, e.Obj)
		}
		return nil
	case event.Create:
		if e.Obj >= event.MaxThreads {
			return fmt.Errorf("%w: %d is created", ErrThread, e.Obj)
		}
		o.begins[event.ThreadID(e.Obj)] = o.spares.copyOf(st.clock)
	case event.ThreadEnd:
		o.endThread(t, st, o.Strand(t))
		return nil
	case event.MutexUnlock:
		publish(o.locks, e.Obj, st)
		o.places.Add(e.Obj)
	case event.WriteUnlock:
		o.rwlock(e.Obj).write.join(st.clock)
	case event.ReadUnlock:
		o.rwlock(e.Obj).read.join(st.clock)
	case event.BarrierEnter:
		o.enter(st, e)
	case event.SemPost:
		publish(o.sems, e.Obj, st)
		o.places.Add(e.Obj)
	case event.OnceDone:
		publish(o.onces, e.Obj, st)
		o.places.Add(e.Obj)
	case event.AtomicStore, event.AtomicRMW:
		if !o.storeAtomic(st, e) {
			return nil
		}
	case event.Fence:
		if e.Mode&event.Release == 0 {
			return nil
		}
		st.release.set(st.clock)
	case event.Init, event.Destroy:
		o.forget(e.Obj)
		return nil
	default:
		o.renew(e)
		return nil
	}
	st.clock[o.Strand(t)]++
	return nil
}

func publish(objects map[uint64]*Clock, obj uint64, st *strand) {
	c := objects[obj]
	if c == nil {
		c = new(Clock)
		objects[obj] = c
	}
	c.join(st.clock)
}

func (o *Order) rwlock(obj uint64) *rwClock {
	rw := o.rwlocks[obj]
	if rw == nil {
		rw = new(rwClock)
		o.rwlocks[obj] = rw
		o.places.Add(obj)
	}
	return rw
}

func (o *Order) enter(st *strand, e *event.Event) {
	b := o.barriers[e.Obj]
	if b == nil {
		b = &barrier{}
		o.barriers[e.Obj] = b
		o.places.Add(e.Obj)
	}
	g := (*b)[e.Arg]
	if g == nil {
		g = &generation{obj: e.Obj, number: e.Arg}
		(*b)[e.Arg] = g
	}
	g.clock.join(st.clock)
	g.in++
	st.entered = g
}

// forget removes what is known of the sync object at obj, because its memory becomes
// another object or stops being one. Release sequences stay.
func (o *Order) forget(obj uint64) {
	delete(o.locks, obj)
	delete(o.rwlocks, obj)
	delete(o.barriers, obj)
	delete(o.sems, obj)
	delete(o.onces, obj)
}

// Live calls yield with the clock of every strand that can still act: strands that have
// not ended, and strands that have been created but not started, which have no number yet
// ([NoStrand]).
func (o *Order) Live(yield func(s event.StrandID, c Clock)) {
	for i := range o.strands {
		if s := &o.strands[i]; s.known && !s.ended {
			yield(event.StrandID(i), s.clock)
		}
	}
	for _, c := range o.begins {
		yield(NoStrand, c)
	}
	for _, c := range o.tasks.begins {
		yield(NoStrand, c)
	}
}

// Running calls yield with every thread that can still act.
func (o *Order) Running(yield func(event.ThreadID)) {
	for t := range o.threads {
		if th := &o.threads[t]; th.known && !th.ended {
			yield(event.ThreadID(t))
		}
	}
	for t := range o.begins {
		if !o.thread(t).known {
			yield(t)
		}
	}
}

// Ends calls yield with the components of the clocks that a join may still receive.
func (o *Order) Ends(yield func(s event.StrandID, epoch uint64)) {
	for _, h := range o.ends {
		for _, x := range h {
			yield(x.strand, x.epoch)
		}
	}
}

// Held calls yield with every other clock that a thread may still receive: those of live
// threads and of sync objects. An epoch boundary that neither these nor those of
// [Order.Ends] distinguish no longer matters.
func (o *Order) Held(yield func(Clock)) {
	o.Live(func(_ event.StrandID, c Clock) { yield(c) })
	for i := range o.strands {
		st := &o.strands[i]
		yield(st.acquire)
		yield(st.release)
		if st.entered != nil {
			yield(st.entered.clock)
		}
	}
	for _, objects := range []map[uint64]*Clock{o.locks, o.sems, o.onces, o.handles} {
		for _, c := range objects {
			yield(*c)
		}
	}
	for _, rw := range o.rwlocks {
		yield(rw.write)
		yield(rw.read)
	}
	for _, b := range o.barriers {
		for _, g := range *b {
			yield(g.clock)
		}
	}
	for _, cells := range o.atomics {
		for i := range cells {
			yield(cells[i].clock)
		}
	}
}
