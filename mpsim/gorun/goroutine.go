package gorun

import (
	"hindsight/mpsim"
	"hindsight/tracefmt/event"
)

// goroutine is one of the program's goroutines, or the scheduler of a thread.
type goroutine struct {
	strand uint64 // 0: the scheduler of a thread
	begun  bool
	calls  []call
	// handoff is the handle that it published when it parked in a channel operation.
	handoff uint64
	// owed are the handles that it observes when it continues, published by the goroutines
	// that woke it.
	owed []uint64
	// waking is the handle that the goroutines observe that it makes ready; 0: none.
	waking uint64
	// finalized is the number of finalizers after whose setters it is ordered.
	finalized int
	// allocating says that it is in the allocator.
	allocating bool
	// timer is the handle of the timer that it runs; see timer.go.
	timer   uint64
	inTimer bool
	// bubble is the address of its synctest bubble; 0: none.
	bubble uint64
}

// actor returns the goroutine, or the scheduler, that acts on a thread.
func (k *Hooks) actor(h *mpsim.Hart) *goroutine {
	if g := k.running[h.ID()]; g != nil {
		return g
	}
	s := k.system[h.ID()]
	if s == nil {
		s = new(goroutine)
		k.system[h.ID()] = s
	}
	return s
}

// Offsets in the runtime's structures that are the same in all releases.
const (
	gStackLow  = 0
	gStackHigh = 8
	bufSP      = 0
	bufPC      = 8
	bufG       = 16
	sudogG     = 0
)

// leave suspends the goroutine of a thread. The thread continues with the scheduler, on an
// empty stack.
func leave(k *Hooks, c *call) bool {
	k.suspend(c.Hart)
	c.SwitchFiber(0)
	*k.actor(c.Hart) = goroutine{}
	return false
}

// calls handles mcall (f), through which a goroutine is left. If f is coroswitch_m, through
// which iter.Pull switches to the goroutine waiting there, that goroutine is ordered after
// the caller.
func calls(k *Hooks, c *call) bool {
	if k.layout.gCoro != 0 && word(c.Hart, c.Arg(0)) == k.switcher && c.g.strand != 0 {
		coro := word(c.Hart, c.Fiber()+k.layout.gCoro)
		if other := k.goroutines[word(c.Hart, coro)]; other != nil {
			other.owed = append(other.owed, publish(c))
		}
	}
	return leave(k, c)
}

func (k *Hooks) suspend(h *mpsim.Hart) {
	if g := k.running[h.ID()]; g != nil {
		k.reachable(h)
		k.stopsInBubble(h, g)
		h.EmitEvent(event.Event{Kind: event.StrandSuspend, Obj: g.strand})
		delete(k.running, h.ID())
	}
}

// exit ends the goroutine of a thread.
func exit(k *Hooks, c *call) bool {
	if g := k.running[c.ID()]; g != nil {
		k.reachable(c.Hart)
		k.stopsInBubble(c.Hart, g)
		c.EmitEvent(event.Event{Kind: event.StrandEnd, Obj: g.strand, Arg: c.SP(), Size: 8})
		delete(k.running, c.ID())
		delete(k.goroutines, c.Fiber())
	}
	return false
}

// resume handles gogo (buf): the thread continues where buf says.
func resume(k *Hooks, c *call) bool {
	const firstArg = 8 // on the stack
	buf := word(c.Hart, c.SP()+firstArg)
	at, sp, pc := word(c.Hart, buf+bufG), word(c.Hart, buf+bufSP), word(c.Hart, buf+bufPC)
	low, high := word(c.Hart, at+gStackLow), word(c.Hart, at+gStackHigh)
	if c.Fiber() == at {
		c.CutFrames(pc, sp, low, high) // its stack has grown, or a panic was recovered
		return false
	}
	k.suspend(c.Hart)
	c.SwitchFiber(at)
	c.CutFrames(pc, sp, low, high)
	g := k.goroutines[at]
	if g == nil {
		return false
	}
	k.running[c.ID()] = g
	if g.begun {
		c.EmitEvent(event.Event{Kind: event.StrandResume, Obj: g.strand})
	} else {
		g.begun = true
		c.EmitEvent(event.Event{Kind: event.StrandBegin, Obj: g.strand, Arg: high, Size: uint32(high - low)})
	}
	c.g = g
	observeAll(c, g.owed)
	g.owed = g.owed[:0]
	return false
}

// created handles the end of newproc1, whose result is the new goroutine.
func created(k *Hooks, c *call, result uint64) {
	if result == 0 {
		return
	}
	k.strands++
	g := &goroutine{strand: k.strands}
	k.goroutines[result] = g
	c.Machine().NewFiber(result)
	if c.g.inTimer { // a bubble's timer, on the thread of a goroutine
		k.createdByTimer(c, g)
		return
	}
	emit(c, event.StrandCreate, g.strand)
}

// Cloning implements [mpsim.FiberHooks]. A thread of the runtime is not ordered after the
// goroutine for which it is created.
func (k *Hooks) Cloning(h *mpsim.Hart) {
	if g := k.running[h.ID()]; g != nil {
		h.EmitEvent(event.Event{Kind: event.StrandSuspend, Obj: g.strand})
	}
}

// Cloned implements [mpsim.FiberHooks].
func (k *Hooks) Cloned(h *mpsim.Hart) {
	if g := k.running[h.ID()]; g != nil {
		h.EmitEvent(event.Event{Kind: event.StrandResume, Obj: g.strand})
	}
}

// movesStack handles the beginning of copystack (g, size), and movedStack its end.
func movesStack(_ *Hooks, c *call) bool {
	c.a, c.b = word(c.Hart, c.Arg(0)+gStackLow), word(c.Hart, c.Arg(0)+gStackHigh)
	return true
}

func movedStack(k *Hooks, c *call, _ uint64) {
	low, high := word(c.Hart, c.Arg(0)+gStackLow), word(c.Hart, c.Arg(0)+gStackHigh)
	c.Machine().MoveStack(c.Arg(0), c.a, c.b, high-c.b)
	k.pause(c, c.Arg(0))
	c.Record(event.Event{Kind: event.Renew, Obj: low, Arg: high - low})
}

// pause ends the segment of goroutine g if g is running. The memory that g accesses later
// may be in another life, because g's stack has moved or the garbage collector has scanned
// it.
func (k *Hooks) pause(c *call, g uint64) {
	if at := k.goroutines[g]; at != nil && at == k.running[c.ID()] {
		c.EmitEvent(event.Event{Kind: event.StrandSuspend, Obj: at.strand})
		c.EmitEvent(event.Event{Kind: event.StrandResume, Obj: at.strand})
	}
}

// scanned handles scanstack (g, …). entersSystem handles the beginning of a system call,
// during which the stack may be scanned.
func scanned(k *Hooks, c *call) bool {
	k.pause(c, c.Arg(0))
	return false
}

func entersSystem(k *Hooks, c *call) bool {
	k.pause(c, c.Fiber())
	return false
}
