package hb

import "hindsight/tracefmt/event"

// A thread is a separate strand, with its own number. If numbers are shared
// ([Order.ShareNumbers]), a thread that starts takes over that of one that has
// ended and whose end it is ordered after, if there is one. What shares a number
// is then a chain of happens-before, as with tasks, and clocks are as long as
// there are threads in no order, not as threads were ever started.

// thread is what is known of a thread besides the strand that it is.
type thread struct {
	number       event.StrandID // of the strand, if numbers are shared; NoStrand: it has none
	known, ended bool
}

// held is a clock of which only the components above 0 are kept.
type held []component

type component struct {
	strand event.StrandID
	epoch  uint64
}

// ShareNumbers makes threads share numbers where they can: thread t is not strand
// t then. It is called before anything else.
func (o *Order) ShareNumbers() { o.shared = true }

// thread is what is known of t.
func (o *Order) thread(t event.ThreadID) *thread {
	for int(t) >= len(o.threads) {
		o.threads = append(o.threads, thread{number: NoStrand})
	}
	return &o.threads[t]
}

// own is the strand that thread t is, when it acts as no task.
func (o *Order) own(t event.ThreadID) event.StrandID {
	if !o.shared {
		return t.Strand()
	}
	th := o.thread(t)
	if th.number == NoStrand {
		th.number = event.StrandID(len(o.strands))
		st := o.strand(th.number)
		if th.ended { // and another may have its number now
			st.ended = true
			st.clock.joinHeld(o.ends[t])
		}
	}
	return th.number
}

// strand is what is known of strand s, with its clock.
func (o *Order) strand(s event.StrandID) *strand {
	for int(s) >= len(o.strands) {
		o.strands = append(o.strands, strand{last: 1})
	}
	st := &o.strands[s]
	if len(st.clock) <= int(s) {
		st.clock.grow(int(s) + 1)
		if st.ended && !o.shared { // a thread that does something after its end
			st.clock.joinHeld(o.ends[event.ThreadID(s)])
		}
		st.clock[s] = st.last
	}
	return st
}

// Epoch is the present epoch of strand s, from 1.
func (o *Order) Epoch(s event.StrandID) uint64 {
	if int(s) >= len(o.strands) {
		return 1
	}
	return o.strands[s].epoch(s)
}

func (st *strand) epoch(s event.StrandID) uint64 {
	if int(s) < len(st.clock) {
		return st.clock[s]
	}
	return st.last
}

// mostVacant is how many numbers are tried for a thread that starts.
const mostVacant = 1 << 10

// start lets thread t, which starts, take over a number.
func (o *Order) start(t event.ThreadID) {
	th := o.thread(t)
	begin, ok := o.begins[t]
	if !o.shared || !ok || th.ended || th.number != NoStrand {
		return
	}
	for i := len(o.free) - 1; i >= max(0, len(o.free)-mostVacant); i-- {
		s := o.free[i]
		if last := o.strands[s].last; begin.At(s) >= last-1 {
			o.free[i] = o.free[len(o.free)-1]
			o.free = o.free[:len(o.free)-1]
			th.number, o.strands[s] = s, strand{last: last}
			return
		}
	}
}

// endThread keeps what the joiner of thread t will take, and releases its clock
// and its number.
func (o *Order) endThread(t event.ThreadID, st *strand, s event.StrandID) {
	o.thread(t).ended = true
	o.ends[t] = st.clock.above0()
	st.ended, st.last = true, st.clock[s]+1
	if s != o.own(t) { // it ends within a task
		st.clock[s]++
		return
	}
	o.spares.put(st.clock)
	st.clock = nil
	if o.shared {
		st.acquire, st.release = nil, nil
		o.threads[t].number = NoStrand
		o.free = append(o.free, s)
	}
}

func (c Clock) above0() (h held) {
	n := 0
	for _, v := range c {
		if v > 0 {
			n++
		}
	}
	h = make(held, 0, n)
	for s, v := range c {
		if v > 0 {
			h = append(h, component{event.StrandID(s), v})
		}
	}
	return h
}

// joinHeld is [Clock.join].
func (c *Clock) joinHeld(h held) {
	for _, x := range h {
		c.grow(int(x.strand) + 1)
		(*c)[x.strand] = max((*c)[x.strand], x.epoch)
	}
}
