package hb

import "hindsight/tracefmt/event"

// A thread is a separate strand with its own number. If numbers are shared
// ([Order.ShareNumbers]), a thread that starts takes over the number of a thread that has
// ended and whose end it is ordered after, if there is one. The strands that share a
// number then form a chain of happens-before, as with tasks. The length of clocks is then
// the largest number of unordered threads, not the number of threads ever started.

// thread is what is known of a thread, apart from its strand.
type thread struct {
	number       event.StrandID // the strand's number, if numbers are shared; NoStrand: it has none
	known, ended bool
}

// held is a clock of which only the components above 0 are kept.
type held []component

type component struct {
	strand event.StrandID
	epoch  uint64
}

// ShareNumbers makes threads share numbers where they can. Thread t is then no longer
// strand t. It must be called first.
func (o *Order) ShareNumbers() { o.shared = true }

// thread returns what is known of t.
func (o *Order) thread(t event.ThreadID) *thread {
	for int(t) >= len(o.threads) {
		o.threads = append(o.threads, thread{number: NoStrand})
	}
	return &o.threads[t]
}

// own returns the strand that thread t is when it acts as no task.
func (o *Order) own(t event.ThreadID) event.StrandID {
	if !o.shared {
		return t.Strand()
	}
	th := o.thread(t)
	if th.number == NoStrand {
		th.number = event.StrandID(len(o.strands))
		st := o.strand(th.number)
		if th.ended { // another thread may have its number now
			st.ended = true
			st.clock.joinHeld(o.ends[t])
		}
	}
	return th.number
}

// strand returns what is known of strand s, with its clock.
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

// Epoch returns the current epoch of strand s, counted from 1.
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

// mostVacant is the largest number of candidates that are tried for a thread that starts.
const mostVacant = 1 << 10

// start makes thread t, which starts, take over a number.
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

// endThread stores the clock for the thread that joins t, and releases the clock and the
// number of t.
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

// joinHeld is [Clock.join] for a held clock.
func (c *Clock) joinHeld(h held) {
	for _, x := range h {
		c.grow(int(x.strand) + 1)
		(*c)[x.strand] = max((*c)[x.strand], x.epoch)
	}
}
