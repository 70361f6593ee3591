package gorun

import "hindsight/tracefmt/event"

// channel is what is known about a channel. For a buffered channel, the kth receive is
// synchronised before the completion of the send that reuses its place (go.dev/ref/mem). At
// each place of the buffer, sender and receiver therefore exchange what they have
// published.
type channel struct {
	capacity     uint64
	count        uint64 // number of elements when its lock was last released
	sends, takes uint64
	slots        map[uint64]uint64 // by place: handle of the last user
	closed       uint64            // handle of the goroutine that closed it
}

// operation is a send, receive or select in progress.
type operation struct {
	handle   uint64   // what was published for it; 0: nothing yet
	cases    []uint64 // channels of a select
	sends    int
	elements []uint64 // addresses of the elements sent or received; 0: on the stack
}

// channelAt returns the channel at an address.
func (k *Hooks) channelAt(c *call, addr uint64) *channel {
	ch := k.channels[addr]
	if ch == nil {
		l := &k.layout
		ch = &channel{capacity: word(c.Hart, addr+l.chanCapacity), count: word(c.Hart, addr+l.chanCount), slots: map[uint64]uint64{}}
		k.channels[addr] = ch
		k.locks[addr+l.chanLock] = ch
	}
	return ch
}

// made handles the end of makechan. A previous channel at the address no longer exists.
func made(k *Hooks, c *call, result uint64) {
	delete(k.channels, result)
	k.channelAt(c, result)
}

// chanBegin starts a send or receive on the channel that is the first argument.
func chanBegin(send bool) func(k *Hooks, c *call) bool {
	return func(k *Hooks, c *call) bool {
		addr := c.Arg(0)
		if addr == 0 {
			return false
		}
		k.channelAt(c, addr)
		if send {
			k.touches(c, event.RangeRead, addr+k.layout.chanBuf)
		}
		c.op = &operation{cases: []uint64{addr}, elements: []uint64{c.offStack(c.Arg(1))}}
		if send {
			k.element(c, event.RangeRead, 0)
		}
		return true
	}
}

// touches records an access to the word that stands for whether the channel is open.
func (k *Hooks) touches(c *call, kind event.Kind, addr uint64) {
	if c.g.strand != 0 {
		c.Record(event.Event{Kind: kind, Obj: addr, Arg: 1})
	}
}

// offStack returns addr, or 0 if it is on the stack of the goroutine, which no other
// goroutine accesses.
func (c *call) offStack(addr uint64) uint64 {
	low, high := word(c.Hart, c.Fiber()+gStackLow), word(c.Hart, c.Fiber()+gStackHigh)
	if addr-low < high-low {
		return 0
	}
	return addr
}

// element records an access to the element that case n of the operation sends or receives.
func (k *Hooks) element(c *call, kind event.Kind, n int) {
	const sizeBytes = 2
	addr := c.op.elements[n]
	if addr == 0 || c.g.strand == 0 || c.g.inTimer {
		return
	}
	if size, ok := c.Load(c.op.cases[n]+k.layout.chanElemSize, sizeBytes); ok && size > 0 {
		c.Record(event.Event{Kind: kind, Obj: addr, Arg: size})
	}
}

// sent handles the end of chansend.
func sent(*Hooks, *call, uint64) {}

// received handles the end of chanrecv: (selected, received bool).
func received(k *Hooks, c *call, selected uint64) {
	const regA1 = 11
	if selected&0xff == 0 {
		return
	}
	if c.X[regA1]&0xff == 0 {
		k.sawClosed(c, c.op.cases[0])
	}
	k.element(c, event.RangeWrite, 0)
}

func (k *Hooks) sawClosed(c *call, addr uint64) {
	if ch := k.channels[addr]; ch != nil {
		observe(c, ch.closed)
	}
}

// maxCases is the maximum number of cases of a select statement (runtime/select.go).
const maxCases = 1 << 16

// selectBegin handles selectgo (cases, order, pcs, sends, receives, block).
func selectBegin(k *Hooks, c *call) bool {
	const caseBytes = 16
	sends, n := c.Arg(3), c.Arg(3)+c.Arg(4)
	if n > maxCases {
		return false
	}
	c.op = &operation{sends: int(sends)}
	for i := range n {
		addr := word(c.Hart, c.Arg(0)+caseBytes*i)
		c.op.cases = append(c.op.cases, addr)
		c.op.elements = append(c.op.elements, c.offStack(word(c.Hart, c.Arg(0)+caseBytes*i+8)))
		if addr == 0 {
			continue
		}
		k.channelAt(c, addr)
		if i < sends {
			k.touches(c, event.RangeRead, addr+k.layout.chanBuf)
		}
	}
	return true
}

// selected handles its end: (chosen int, received bool).
func selected(k *Hooks, c *call, chosen uint64) {
	const regA1 = 11
	switch n := int(chosen); {
	case chosen >= uint64(len(c.op.cases)):
	case n < c.op.sends:
		k.element(c, event.RangeRead, n)
	default:
		if c.X[regA1]&0xff == 0 {
			k.sawClosed(c, c.op.cases[n])
		}
		k.element(c, event.RangeWrite, n)
	}
}

// closes handles closechan (c).
func closes(k *Hooks, c *call) bool {
	if addr := c.Arg(0); addr != 0 {
		ch := k.channelAt(c, addr)
		k.touches(c, event.RangeWrite, addr+k.layout.chanBuf)
		ch.closed = publish(c)
	}
	return false
}

// handleOf returns the handle that the actor has published for the present operation.
func (k *Hooks) handleOf(c *call) uint64 {
	switch {
	case c.g.strand == 0 || c.g.inTimer:
		return c.g.timer // the scheduler acts for the goroutine that set the timer
	}
	if op := c.g.operation(); op != nil {
		if op.handle == 0 {
			op.handle = publish(c)
		}
		return op.handle
	}
	return publish(c)
}

// operation returns the innermost channel operation of g, or nil.
func (g *goroutine) operation() *operation {
	for i := len(g.calls) - 1; i >= 0; i-- {
		if op := g.calls[i].op; op != nil {
			return op
		}
	}
	return nil
}

// takes makes the actor observe what was published, if the actor is a goroutine.
func takes(c *call, handle uint64) {
	if c.g.strand != 0 && !c.g.inTimer {
		observe(c, handle)
	}
}

// meets handles send or recv (c, sudog, …): the actor exchanges an element with another
// goroutine that waits on the channel.
func meets(send bool) func(k *Hooks, c *call) bool {
	return func(k *Hooks, c *call) bool {
		ch := k.channelAt(c, c.Arg(0))
		other := k.goroutines[word(c.Hart, c.Arg(1)+sudogG)]
		if other == nil {
			return false
		}
		mine, its := k.handleOf(c), other.handoff
		if ch.capacity == 0 {
			takes(c, its)
			other.owed = append(other.owed, mine)
			return false
		}
		// As if the element went through the buffer.
		if send {
			place := ch.sends % ch.capacity
			takes(c, ch.slots[place])
			other.owed = append(other.owed, mine)
			ch.slots[place] = its
		} else {
			place := ch.takes % ch.capacity
			takes(c, ch.slots[place])
			other.owed = append(other.owed, mine)
			ch.slots[place] = its
		}
		ch.sends++
		ch.takes++
		return false
	}
}

// unlocks handles unlock2 (lock). If the lock is a channel's, its count shows what was done
// while it was held.
func unlocks(k *Hooks, c *call) bool {
	ch := k.locks[c.Arg(0)]
	if ch == nil {
		return false
	}
	count := word(c.Hart, c.Arg(0)-k.layout.chanLock+k.layout.chanCount)
	if count == ch.count || ch.capacity == 0 {
		return false
	}
	counter := &ch.takes
	if count > ch.count {
		counter = &ch.sends
	}
	ch.count = count
	place := *counter % ch.capacity
	*counter++
	mine := k.handleOf(c)
	takes(c, ch.slots[place])
	ch.slots[place] = mine
	return false
}

// parks handles gopark. A goroutine that waits on a channel publishes what it did, for the
// goroutine that will wake it.
func parks(k *Hooks, c *call) bool {
	if op := c.g.operation(); op != nil && c.g.strand != 0 {
		c.g.handoff = k.handleOf(c)
	}
	return false
}
