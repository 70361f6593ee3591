package order

import (
	"fmt"

	"hindsight/analyze/race"
	"hindsight/tracefmt/event"
)

// wcp is the clocks of weak causal precedence, after the algorithm of the
// paper's section 3. All components are epochs of happens-before.
//
// Mutexes are the locks of the paper. All other edges are hard: they order as
// program order does.
type wcp struct {
	hard    *carrier[hardClock]
	strands []wcpStrand
	locks   map[uint64]*wcpLock
	entries int // in the logs of locks
}

type hardClock struct{ before, hard vector }

type wcpStrand struct {
	before vector // P: what precedes it by weak causal precedence
	hard   vector // what precedes it by program order and hard edges, without itself
	held   []*section
}

// section is a critical section that a strand is in.
type section struct {
	obj     uint64
	acquire vector // the clock of its acquire
	touched map[touch]struct{}
}

// touch is an access in a critical section: bytes of a granule.
type touch struct {
	granule uint64
	mask    uint8
	write   bool
}

type wcpLock struct {
	before  vector // P of the last release
	touched map[uint64][]touched
	log     []closed
	base    int         // of log in the numbering of cursors
	cursors map[int]int // of each strand: the first section that it is not known to be behind
	depth   int
}

// touched is the join of the clocks of releases whose sections touched bytes.
type touched struct {
	touch
	strand int
	clock  vector
}

// closed is a critical section that has ended.
type closed struct {
	strand  int
	acquire vector
	release vector // happens-before clock
}

// maxLog bounds the critical sections remembered because some strand may still
// be found to be behind them.
const maxLog = 1 << 22

func (w *wcp) strand(s int) *wcpStrand {
	for len(w.strands) <= s {
		w.strands = append(w.strands, wcpStrand{})
	}
	return &w.strands[s]
}

// clock is the clock of the strand's next event; own is its epoch.
func (w *wcp) clock(s int, own uint64) vector {
	th := w.strand(s)
	c := th.before.clone()
	c.join(th.hard)
	c.set(s, own)
	return c
}

// ordered says whether epoch n of strand u precedes the next event of s.
func (w *wcp) ordered(s, u int, n uint64) bool {
	th := &w.strands[s]
	return n <= th.before.at(u) || n <= th.hard.at(u)
}

func (w *wcp) lock(obj uint64) *wcpLock {
	l := w.locks[obj]
	if l == nil {
		l = &wcpLock{touched: map[uint64][]touched{}, cursors: map[int]int{}}
		w.locks[obj] = l
	}
	return l
}

// acquire begins a critical section.
func (w *wcp) acquire(s int, obj uint64, own uint64) {
	th, l := w.strand(s), w.lock(obj)
	th.before.join(l.before)
	th.held = append(th.held, &section{obj: obj, acquire: w.clock(s, own), touched: map[touch]struct{}{}})
}

// access orders an access in critical sections behind the sections of the same
// locks that conflict with it.
func (w *wcp) access(s int, a touch) {
	th := w.strand(s)
	for _, c := range th.held {
		for _, t := range w.lock(c.obj).touched[a.granule] {
			if t.strand != s && t.mask&a.mask != 0 && (t.write || a.write) {
				th.before.join(t.clock)
			}
		}
		c.touched[a] = struct{}{}
	}
}

// release ends a critical section; h is the happens-before clock.
func (w *wcp) release(s int, obj uint64, h vector) error {
	th := w.strand(s)
	i := len(th.held) - 1
	for ; i >= 0 && th.held[i].obj != obj; i-- {
	}
	if i < 0 {
		return nil // nobody saw it locked
	}
	c, l := th.held[i], w.lock(obj)
	th.held = append(th.held[:i], th.held[i+1:]...)
	now := w.clock(s, h.at(s))
	n := max(l.cursors[s]-l.base, 0)
	for ; n < len(l.log); n++ {
		if e := &l.log[n]; e.strand != s {
			if !below(e.acquire, now) {
				break
			}
			th.before.join(e.release)
			now.join(e.release)
		}
	}
	l.cursors[s] = l.base + n
	release := h.clone()
	for t := range c.touched {
		l.touch(t, s, release)
	}
	l.before = th.before.clone()
	l.log = append(l.log, closed{s, c.acquire, release})
	if w.entries++; w.entries > maxLog {
		return fmt.Errorf("%w: more than %d critical sections in no weak order", race.ErrLimit, maxLog)
	}
	w.trim(l)
	return nil
}

func below(a, b vector) bool {
	for i, n := range a {
		if n > b.at(i) {
			return false
		}
	}
	return true
}

func (l *wcpLock) touch(t touch, s int, release vector) {
	all := l.touched[t.granule]
	for i := range all {
		if all[i].touch == t && all[i].strand == s {
			all[i].clock = release // behind the one before
			return
		}
	}
	l.touched[t.granule] = append(all, touched{t, s, release})
}

// trim forgets sections that every strand is known to be behind.
func (w *wcp) trim(l *wcpLock) {
	if len(l.log)&63 != 0 {
		return
	}
	least := l.base + len(l.log)
	for s := range w.strands {
		least = min(least, max(l.cursors[s], l.base))
	}
	n := least - l.base
	l.log = append([]closed(nil), l.log[n:]...)
	l.base = least
	w.entries -= n
}

// soft says whether an event orders only as weak causal precedence says.
func soft(k event.Kind) bool { return k == event.MutexLock || k == event.MutexUnlock }
