package order

import (
	"math"
	"slices"

	"hindsight/analyze/hb"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// What weak causal precedence must remember of critical sections is unbounded
// in general (Kini, Mathur and Viswanathan, PLDI 2017, section 4). But of a
// lock nothing is needed any more once those that will still take it know it:
// the queues of a lock lose what everybody has passed. Who will take a lock is
// known from a walk before.

// minLog and minTouched are what a log, and the accesses in sections of a lock,
// may take before something is forgotten.
const (
	minLog     = 16
	minTouched = 64
)

// life follows which strands are alive; own is the present epoch of strand s.
func (w *wcp) life(t event.ThreadID, s event.StrandID, own uint64, ev *format.Event) {
	switch ev.Kind {
	case event.StrandBegin:
		*w.strand(s) = wcpStrand{alive: true}
		delete(w.tasks, ev.Obj)
	case event.StrandEnd:
		w.strand(s).alive = false
	case event.StrandCreate:
		w.tasks[ev.Obj] = w.strand(s).handed(s, own)
	case event.Create:
		if ev.Obj < uint64(w.threads) && event.StrandID(ev.Obj) != s {
			h := w.strand(s).handed(s, own)
			child := w.strand(event.StrandID(ev.Obj))
			// It begins with what its creator knows.
			child.alive = true
			child.before.join(h.before)
			child.hard.join(h.hard)
		}
	case event.ThreadEnd:
		w.strand(t.Strand()).alive = false
	}
}

// handed returns what strand s hands on in its present epoch.
func (th *wcpStrand) handed(s event.StrandID, own uint64) hardClock {
	hard := th.hard.clone()
	hard.set(s, own)
	return hardClock{th.before.clone(), hard}
}

// known is up to which epoch of strand u strand s is after it.
func (th *wcpStrand) known(u event.StrandID) uint64 { return max(th.before.at(u), th.hard.at(u)) }

// users calls visit for the strands that will still use a lock. known is false
// if there will be others, of which all that is sure is that they begin with
// what somebody alive knows then.
func (w *wcp) users(obj, now uint64, visit func(s event.StrandID)) (known bool) {
	known = true
	for _, u := range w.uses[obj] {
		switch {
		case u.last <= now:
		case int(u.strand) < min(w.threads, len(w.strands)) && w.strands[u.strand].alive:
			visit(u.strand)
		default:
			known = false
		}
	}
	return known
}

// used reports whether anybody will use a lock.
func (w *wcp) used(obj, now uint64) bool {
	for _, u := range w.uses[obj] {
		if u.last > now {
			return true
		}
	}
	return false
}

// reclaim forgets what is not needed about a lock that strand s has released.
func (w *wcp) reclaim(l *wcpLock, obj uint64, s event.StrandID, now uint64) {
	if !w.used(obj, now) {
		for _, log := range l.logs {
			w.entries -= len(log.closed)
		}
		delete(w.locks, obj)
		return
	}
	if log := l.log(s); len(log.closed) >= log.limit {
		floor := uint64(math.MaxUint64)
		least := func(s2 event.StrandID) {
			if s2 != s {
				floor = min(floor, w.strands[s2].known(s))
			}
		}
		if !w.users(obj, now, least) {
			w.everybody(func(s2 event.StrandID, th *wcpStrand) {
				if s2 != s { // the strands that it creates know its past
					floor = min(floor, th.known(s))
				}
			})
		}
		w.entries -= log.trim(floor)
		log.limit = max(minLog, 2*len(log.closed))
	}
	if l.size >= max(l.limit, minTouched) {
		w.forgetTouched(l, obj, now)
		l.limit = 2 * l.size
	}
}

// everybody calls visit for each strand that is alive or has been created; s is hb.NoStrand
// for tasks that have not begun.
func (w *wcp) everybody(visit func(s event.StrandID, th *wcpStrand)) {
	for s := range w.strands {
		if w.strands[s].alive {
			visit(event.StrandID(s), &w.strands[s])
		}
	}
	for _, c := range w.tasks {
		visit(hb.NoStrand, &wcpStrand{before: c.before, hard: c.hard})
	}
}

// trim forgets sections that everybody who matters is after as soon as it
// releases the lock: all with acquires up to floor but the last of them, whose
// release is after the others'. It returns their number.
func (l *sectionLog) trim(floor uint64) int {
	n := 0
	for n < len(l.closed) && l.closed[n].acquire <= floor {
		n++
	}
	if floor != math.MaxUint64 { // else nobody else will take the lock
		n--
	}
	if n <= 0 {
		return 0
	}
	l.closed = append([]closed(nil), l.closed[n:]...)
	l.base += n
	return n
}

// forgetTouched forgets accesses in sections that whoever will take the lock is
// weakly after already.
func (w *wcp) forgetTouched(l *wcpLock, obj, now uint64) {
	floors := map[event.StrandID]vector{}
	floor := func(u event.StrandID) vector {
		f, ok := floors[u]
		if ok {
			return f
		}
		some := false
		take := func(v vector) {
			if !some {
				f, some = append(vector{}, v...), true
			} else {
				f.meet(v)
			}
		}
		known := w.users(obj, now, func(s event.StrandID) {
			if s != u {
				take(w.strands[s].before)
			}
		})
		if !known {
			w.everybody(func(_ event.StrandID, th *wcpStrand) { take(th.before) })
		}
		if !some {
			f = nil // nobody else takes it
		}
		floors[u] = f
		return f
	}
	l.size, l.recent = 0, nil
	known := func(strand event.StrandID, clock vector) bool {
		f := floor(strand)
		return f == nil || clock.below(f)
	}
	if l.alike != nil {
		l.alike.clocks = slices.DeleteFunc(l.alike.clocks, func(c sectionClock) bool { return known(c.strand, c.clock) })
		if l.size = len(l.alike.clocks); l.size == 0 {
			l.alike = nil
		}
	}
	for number, block := range l.blocks {
		left := 0
		for i, cell := range block {
			if cell == nil {
				continue
			}
			cell.touched = slices.DeleteFunc(cell.touched, func(t touched) bool { return known(t.strand, t.clock) })
			if n := len(cell.touched); n > 0 {
				left += n
			} else {
				block[i], cell.dropped = nil, true
			}
		}
		l.size += left
		if left == 0 {
			delete(l.blocks, number)
		}
	}
}
