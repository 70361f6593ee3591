package std

import (
	"hindsight/analyze/hb"
	"hindsight/tracefmt/event"
)

// speller finds, event by event, how happens-before is said in STD. It does
// the same on both walks along S_synch: the first learns which events others
// must hear of, the second writes.
//
// Mutexes that are used as STD demands are locks, Create and Join are fork and
// join. Every other edge is a message: a separate lock, which the one event
// takes and releases and then the other. It orders these two and nothing
// else. Which messages are needed is read off the vector clocks: what a strand
// has learnt at an event, and the STD text would not have told it, it gets from
// the events that ended those epochs.
type speller struct {
	order   *hb.Order
	known   []hb.Clock // by strand: what the text has told it
	mutexes map[uint64]*mutex
	places  hb.Places // of mutexes
	names   uint64    // of mutexes so far
	forked  map[event.ThreadID]bool
	ended   map[event.ThreadID]bool
	// outbox are the messages to send when a strand's epoch ends; sent by the
	// first walk for the second. count numbers messages in both.
	outbox *outbox // nil in the second
	count  uint64
}

// mutex is a mutex since its initialisation, or since its memory began a life.
type mutex struct {
	name  uint64
	plain bool // has only been used as STD demands
	held  bool
	owner event.StrandID // strand
}

func newSpeller(order *hb.Order, outbox *outbox) *speller {
	return &speller{order: order, mutexes: map[uint64]*mutex{}, forked: map[event.ThreadID]bool{}, ended: map[event.ThreadID]bool{}, outbox: outbox}
}

// spelled is what an event is in STD.
type spelled struct {
	strand event.StrandID // that does it
	epoch  uint64         // of the strand
	// hear are messages, told those of which the event is the sender (found by
	// the second walk only); other is a lock or thread.
	hear  []uint64
	op    Op
	hasOp bool
	other uint64
	tell  []letter
}

// acquired takes the first half of the next event: that which orders it after
// others, and which the order has taken.
func (s *speller) acquired(t event.ThreadID, e *event.Event, out *spelled) {
	*out = spelled{hear: out.hear[:0]}
	strand := s.order.Strand(t)
	out.strand, out.epoch = strand, s.order.Epoch(strand)
	clock := s.order.Clock(t)
	for len(s.known) <= int(strand) {
		s.known = append(s.known, nil)
	}
	switch e.Kind {
	case event.MutexLock:
		m := s.mutex(e.Obj)
		m.plain = m.plain && !m.held
		if m.plain {
			m.held, m.owner = true, strand
			out.op, out.hasOp, out.other = Acquire, true, m.name
			s.learn(strand, clock)
		}
	case event.Join:
		// What a thread did ends with its ThreadEnd, so that join says neither
		// more nor less.
		if child := event.ThreadID(e.Obj); s.ended[child] {
			out.op, out.hasOp, out.other = Join, true, e.Obj
			s.learn(strand, s.known[child.Strand()])
			s.learnOne(strand, child.Strand(), clock.At(child.Strand()))
		}
	}
	for i, v := range clock {
		k := event.StrandID(i)
		if k != strand && v > s.known[strand].At(k) {
			out.hear = append(out.hear, s.count)
			if s.outbox != nil {
				s.outbox.put(k, v, s.count)
			}
			s.count++
		}
	}
	s.learn(strand, clock)
}

func (s *speller) learn(strand event.StrandID, clock hb.Clock) {
	for i, v := range clock {
		s.learnOne(strand, event.StrandID(i), v)
	}
}

func (s *speller) learnOne(strand, of event.StrandID, epoch uint64) {
	for len(s.known) <= int(strand) {
		s.known = append(s.known, nil)
	}
	c := &s.known[strand]
	for len(*c) <= int(of) {
		*c = append(*c, 0)
	}
	(*c)[of] = max((*c)[of], epoch)
}

// released takes the second half: that which orders others after the event, and
// which the order has taken. Give is what the second walk found to be told, by
// epochs.
func (s *speller) released(t event.ThreadID, e *event.Event, give *outbox, out *spelled) {
	strand := out.strand
	switch e.Kind {
	case event.MutexUnlock:
		m := s.mutex(e.Obj)
		if m.held && m.owner == strand {
			m.held = false
			out.op, out.hasOp, out.other = Release, true, m.name
		} else {
			m.plain = false
		}
	case event.Create:
		child := event.ThreadID(e.Obj)
		if !s.forked[child] && e.Obj < event.MaxThreads {
			s.forked[child] = true
			out.op, out.hasOp, out.other = Fork, true, e.Obj
			s.learn(child.Strand(), s.known[strand]) // which is its clock at the event
		}
	case event.ThreadEnd:
		s.ended[t] = strand == t.Strand()
	case event.Init, event.Destroy:
		delete(s.mutexes, e.Obj)
	}
	if addr, size, ok := hb.LifeOf(e); ok {
		s.places.Take(addr, size, func(granule uint64) {
			for b := range uint64(8) {
				delete(s.mutexes, granule+b)
			}
		})
	}
	if give != nil && (s.order.Epoch(strand) != out.epoch || e.Kind == event.Publish) {
		out.tell = give.take(strand, out.epoch)
	}
}

func (s *speller) mutex(obj uint64) *mutex {
	m := s.mutexes[obj]
	if m == nil {
		m = &mutex{name: s.names, plain: true}
		s.names++
		s.mutexes[obj] = m
		s.places.Add(obj)
	}
	return m
}
