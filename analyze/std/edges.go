package std

import (
	"hindsight/analyze/hb"
	"hindsight/tracefmt/event"
)

// speller finds, event by event, how to express happens-before in STD. It works in the
// same way on both walks along S_synch: the first learns which events others must know
// of, and the second writes.
//
// Mutexes that are used as STD requires are locks. Create and Join are fork and join.
// Every other edge is a message: a separate lock, which first one event takes and
// releases, and then the other. It orders these two and nothing else. The vector clocks
// show which messages are needed: if a strand learns of an epoch at an event, and the STD
// text would not order that epoch before it, the strand needs a message from the event
// that ended the epoch.
type speller struct {
	order   *hb.Order
	known   []hb.Clock // by strand: what the text orders before it
	mutexes map[uint64]*mutex
	places  hb.Places // that have mutexes
	names   uint64    // number of mutexes so far
	forked  map[event.ThreadID]bool
	ended   map[event.ThreadID]bool
	// outbox are the messages to send when a strand's epoch ends, which the first walk
	// finds for the second. count numbers messages in both.
	outbox *outbox // nil in the second walk
	count  uint64
}

// mutex is a mutex since its initialisation, or since its memory began a life.
type mutex struct {
	name  uint64
	plain bool // has only been used as STD requires
	held  bool
	owner event.StrandID // strand
}

func newSpeller(order *hb.Order, outbox *outbox) *speller {
	return &speller{order: order, mutexes: map[uint64]*mutex{}, forked: map[event.ThreadID]bool{}, ended: map[event.ThreadID]bool{}, outbox: outbox}
}

// spelled is the STD form of an event.
type spelled struct {
	strand event.StrandID // the strand that executes it
	epoch  uint64         // of the strand
	// hear are the messages that it receives, and told those that it sends (only the
	// second walk finds these). other is a lock or thread.
	hear  []uint64
	op    Op
	hasOp bool
	other uint64
	tell  []letter
}

// acquired processes the first half of the next event, which orders it after others. The
// order has already applied it.
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
		// What a thread did ends with its ThreadEnd, so join means exactly that.
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

// released processes the second half, which orders others after the event. The order has
// already applied it. give is what the second walk found to be sent, by epochs.
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
			s.learn(child.Strand(), s.known[strand]) // its clock at the event
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
