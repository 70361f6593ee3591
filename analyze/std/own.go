package std

import (
	"slices"

	"hindsight/tracefmt/event"
)

// own is the memory of which threads have private parts: thread-local variables, and
// parts of reductions. Tasks that one thread runs do not race there, in whatever order
// they are, but other tasks do. STD cannot express that. If tasks of one thread share a
// granule of such memory, the text therefore has a variable for each two strands that can
// race, which these two access, in place of one variable that all access.
type own struct {
	tasks bool // the run has tasks; without them there is nothing to do
	spans []ownSpan
	turns [][]turn // by thread: what it acted as
	users map[uint64][]user
}

// ownSpan is memory of a thread, or memory of which each thread has its own part.
type ownSpan struct {
	lo, hi uint64
	owner  event.ThreadID
	each   bool
}

// turn says as which strand a thread acts from one of its events on.
type turn struct {
	index  uint64
	strand event.StrandID
}

// user is a strand that touches a granule, and the thread that acts as it.
type user struct {
	thread event.ThreadID
	strand event.StrandID
	owns   bool
}

const (
	maxOwnSpans = 1 << 10
	maxUsers    = 32 // of a granule; if there are more, it is one variable
)

// event adds memory that an event makes private.
func (o *own) event(t event.ThreadID, e *event.Event, tls uint64) {
	s := ownSpan{lo: e.Obj, hi: e.Obj + tls, owner: t}
	switch e.Kind {
	case event.StrandBegin:
		o.tasks = true
		return
	case event.Private:
		s = ownSpan{lo: e.Obj, hi: e.Obj + e.Arg, each: true}
	case event.ThreadLocal:
		s.hi = e.Obj + uint64(e.Size)
	case event.ThreadStart:
		s.lo, s.hi = e.Arg, e.Arg+tls
	case event.ThreadPointer:
	default:
		return
	}
	if s.lo != 0 && s.lo < s.hi && len(o.spans) < maxOwnSpans && !slices.Contains(o.spans, s) {
		o.spans = append(o.spans, s)
	}
}

// turn records what a thread acts as after its event with that index.
func (o *own) turn(t event.ThreadID, index uint64, strand event.StrandID) {
	for len(o.turns) <= int(t) {
		o.turns = append(o.turns, nil)
	}
	list := o.turns[t]
	if now := t.Strand(); len(list) > 0 {
		now = list[len(list)-1].strand
		if now == strand {
			return
		}
	} else if now == strand {
		return
	}
	o.turns[t] = append(list, turn{index + 1, strand})
}

// strand returns what a thread acts as in its segment with that index. next is where the
// search continues, from 0.
func (o *own) strand(t event.ThreadID, index uint64, next *int) event.StrandID {
	if int(t) >= len(o.turns) {
		return t.Strand()
	}
	list := o.turns[t]
	for *next < len(list) && list[*next].index <= index {
		*next++
	}
	if *next == 0 {
		return t.Strand()
	}
	return list[*next-1].strand
}

// note adds an access.
func (o *own) note(t event.ThreadID, strand event.StrandID, addr, size uint64) {
	if !o.tasks || size == 0 || addr+size < addr {
		return
	}
	for _, s := range o.spans {
		if addr >= s.hi || addr+size <= s.lo {
			continue
		}
		for g := max(addr, s.lo) >> 3; g <= (min(addr+size, s.hi)-1)>>3; g++ {
			u := user{t, strand, s.each || s.owner == t}
			users := o.users[g]
			if i := slices.IndexFunc(users, func(v user) bool { return v.thread == t && v.strand == strand }); i >= 0 {
				users[i].owns = users[i].owns || u.owns
			} else if len(users) <= maxUsers {
				if o.users == nil {
					o.users = map[uint64][]user{}
				}
				o.users[g] = append(users, u)
			}
		}
	}
}

// parts calls yield with the pairs of users for which the strand's accesses to a granule
// stand, the lower number first. ok is false if the granule is one variable. A strand
// that does not race with any other strand there gets a pair with itself.
func (o *own) parts(t event.ThreadID, strand event.StrandID, granule uint64, yield func(a, b int) error) (ok bool, err error) {
	users := o.users[granule]
	me, mixed := -1, false
	for i, u := range users {
		if u.thread == t && u.strand == strand {
			me = i
		}
		for _, v := range users[:i] {
			mixed = mixed || u.thread == v.thread && u.owns
		}
	}
	if me < 0 || !mixed || len(users) > maxUsers {
		return false, nil
	}
	some := false
	for i, u := range users {
		if u.strand == strand || u.thread == t && u.owns {
			continue
		}
		some = true
		if err := yield(min(i, me), max(i, me)); err != nil {
			return true, err
		}
	}
	if !some {
		err = yield(me, me)
	}
	return true, err
}
