package order

import (
	"fmt"
	"slices"
	"sort"

	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// wcp is the clocks of weak causal precedence, after the algorithm of the
// paper's section 3. All components are epochs of happens-before.
//
// Mutexes are the locks of the paper. All other edges are hard: they order as
// program order does.
type wcp struct {
	hard    *carrier[hardClock]
	threads int
	strands []wcpStrand
	locks   map[uint64]*wcpLock
	uses    map[uint64][]lockUse
	tasks   map[uint64]hardClock // of tasks that have not begun
	entries int                  // in the logs of locks
	spare   []sectionTouch       // of a section that has ended
	guarded *guarded             // nil: there is none
}

type hardClock struct{ before, hard vector }

type wcpStrand struct {
	before vector // P: what precedes it by weak causal precedence
	hard   vector // what precedes it by program order and hard edges, without itself
	held   []*section
	alive  bool // begun or created, and not ended
	// recent are the clocks that before was joined with last: a section that
	// touched much is met as often.
	recent [4]*uint64
}

// behind joins before with the clock of a release.
func (th *wcpStrand) behind(release vector) {
	if len(release) == 0 || slices.Contains(th.recent[:], &release[0]) {
		return
	}
	th.before.join(release)
	copy(th.recent[1:], th.recent[:])
	th.recent[0] = &release[0]
}

// section is a critical section that a strand is in.
type section struct {
	obj     uint64
	lock    *wcpLock
	version int    // of the lock, when the section began
	acquire uint64 // the epoch of its acquire
	touched []sectionTouch
	alike   *alike // what it touched besides; nil: nothing
}

// touch is an access in a critical section: bytes of a granule.
type touch struct {
	granule uint64
	mask    uint8
	write   bool
}

type wcpLock struct {
	version int                   // counts releases
	before  vector                // P of the last release
	alike   *alike                // what all its sections touched; nil: nothing, or they differ
	differ  bool                  // they do: it has cells
	blocks  map[uint64]*lockBlock // by number of the first granule / blockGranules
	number  uint64                // of recent
	recent  *lockBlock            // looked up last, or nil
	size    int                   // of what was touched in all cells
	limit   int                   // of size, before something is forgotten
	logs    []*sectionLog         // of each strand that has released it
}

// sectionLog is the critical sections of a strand that have ended.
type sectionLog struct {
	strand event.StrandID
	closed []closed
	base   int   // number of the first
	passed []int // by strand, how many of them it is known to be after
	limit  int   // of closed, before some are forgotten
}

// blockGranules is how many neighbouring granules have their cells together: a
// section mostly touches more than one.
const blockGranules = 32

// lockBlock is the cells of neighbouring granules; nil: no section touched it.
type lockBlock [blockGranules]*lockCell

// lockCell is what sections of a lock touched in a granule.
type lockCell struct {
	touched []touched // by those that have ended
	present *section  // that touched it last
	here    []touch   // by that one
	dropped bool      // it is no cell of the lock any more
}

// sectionTouch is a touch with its cell, so that the end of a section need not
// look for it.
type sectionTouch struct {
	cell *lockCell
	touch
}

// add reports whether t is new in section c.
func (l *lockCell) add(c *section, t touch) bool {
	if l.present != c {
		l.present, l.here = c, append(l.here[:0], t)
		return true
	}
	if slices.Contains(l.here, t) {
		return false
	}
	l.here = append(l.here, t)
	return true
}

// touched is the join of the clocks of releases whose sections touched bytes.
type touched struct {
	touch
	strand event.StrandID
	clock  vector
}

// closed is a critical section that has ended.
type closed struct {
	acquire uint64 // the epoch of its acquire
	release vector // happens-before clock
}

// maxLog bounds the critical sections remembered because some strand may still
// be found to be after them.
const maxLog = 1 << 22

func newWCP(s *replay.Survey, uses map[uint64][]lockUse) *wcp {
	w := &wcp{hard: newCarrier[hardClock](s.Order()), threads: s.Threads, locks: map[uint64]*wcpLock{}, uses: uses, tasks: map[uint64]hardClock{}}
	for _, t := range s.Roots {
		w.strand(t.Strand()).alive = true
	}
	return w
}

func (w *wcp) strand(s event.StrandID) *wcpStrand {
	for len(w.strands) <= int(s) {
		w.strands = append(w.strands, wcpStrand{})
	}
	return &w.strands[s]
}

// ordered reports whether epoch n of strand u precedes the next event of s.
func (w *wcp) ordered(s, u event.StrandID, n uint64) bool {
	th := &w.strands[s]
	return n <= th.before.at(u) || n <= th.hard.at(u)
}

func (w *wcp) lock(obj uint64) *wcpLock {
	l := w.locks[obj]
	if l == nil {
		l = &wcpLock{blocks: map[uint64]*lockBlock{}}
		w.locks[obj] = l
	}
	return l
}

// acquire begins a critical section.
func (w *wcp) acquire(s event.StrandID, obj uint64, own uint64) {
	th, l := w.strand(s), w.lock(obj)
	th.before.join(l.before)
	th.held = append(th.held, &section{obj: obj, lock: l, version: l.version, acquire: own, touched: w.spare})
	w.spare = nil
}

// access orders an access in critical sections after the sections of the same
// locks that conflict with it.
func (w *wcp) access(s event.StrandID, a touch) {
	th := w.strand(s)
	for _, c := range th.held {
		w.tellApart(c.lock)
		w.touch(s, th, c, a)
	}
}

// touch is access for one of the sections that the strand is in.
func (w *wcp) touch(s event.StrandID, th *wcpStrand, c *section, a touch) {
	cell := c.lock.cell(a.granule)
	if cell.add(c, a) {
		c.touched = append(c.touched, sectionTouch{cell, a})
	} else if c.lock.version == c.version {
		return // nobody has released the lock since
	}
	for i := range cell.touched {
		t := &cell.touched[i]
		if t.strand != s && t.mask&a.mask != 0 && (t.write || a.write) {
			th.behind(t.clock)
		}
	}
}

// release ends a critical section; h is the happens-before clock, now the place
// in S_synch, from 1.
func (w *wcp) release(s event.StrandID, obj uint64, h vector, now uint64) error {
	th := w.strand(s)
	i := len(th.held) - 1
	for ; i >= 0 && th.held[i].obj != obj; i-- {
	}
	if i < 0 {
		return nil // nobody saw it locked
	}
	c, l := th.held[i], w.lock(obj)
	l.version++
	th.held = append(th.held[:i], th.held[i+1:]...)
	for w.behind(l, s) {
	}
	release := h.clone()
	switch c.alike {
	case nil:
	case l.alike:
		l.size += l.alike.release(s, release)
	default:
		w.tellApart(l)
		w.ended(l, c.alike, s, release)
	}
	if len(c.touched) > 0 {
		w.tellApart(l)
	}
	for i := range c.touched {
		t := &c.touched[i]
		if t.cell.dropped || l != c.lock {
			t.cell = l.cell(t.granule)
		}
		l.touch(t, s, release)
	}
	if cap(c.touched) > cap(w.spare) {
		w.spare = c.touched[:0]
	}
	c.touched = nil // cells still have c
	l.before = append(l.before[:0], th.before...)
	log := l.log(s)
	log.closed = append(log.closed, closed{c.acquire, release})
	if w.entries++; w.entries > maxLog {
		return fmt.Errorf("%w: more than %d critical sections in no weak order", race.ErrLimit, maxLog)
	}
	w.reclaim(l, obj, s, now)
	return nil
}

// log returns that of the critical sections of a strand.
func (l *wcpLock) log(s event.StrandID) *sectionLog {
	for _, log := range l.logs {
		if log.strand == s {
			return log
		}
	}
	log := &sectionLog{strand: s, limit: minLog}
	l.logs = append(l.logs, log)
	return log
}

// behind orders the strand, which is about to release, after the releases of
// the sections whose acquires precede it. It says whether there were any new
// ones. (The paper has a queue for each pair of threads, of which the front is
// the only candidate; that is not so with hard edges.)
func (w *wcp) behind(l *wcpLock, s event.StrandID) (some bool) {
	th := w.strand(s)
	for _, log := range l.logs {
		u := log.strand
		if u == s || len(log.closed) == 0 {
			continue
		}
		known := max(th.before.at(u), th.hard.at(u))
		if log.closed[0].acquire > known {
			continue
		}
		n := sort.Search(len(log.closed), func(i int) bool { return log.closed[i].acquire > known })
		for len(log.passed) <= int(s) {
			log.passed = append(log.passed, 0)
		}
		if log.base+n > log.passed[s] {
			th.before.join(log.closed[n-1].release) // which is after those before it
			log.passed[s], some = log.base+n, true
		}
	}
	return some
}

// cell returns that of a granule.
func (l *wcpLock) cell(granule uint64) *lockCell {
	number := granule / blockGranules
	if l.recent == nil || l.number != number {
		b := l.blocks[number]
		if b == nil {
			b = &lockBlock{}
			l.blocks[number] = b
		}
		l.number, l.recent = number, b
	}
	c := &l.recent[granule%blockGranules]
	if *c == nil {
		*c = &lockCell{}
	}
	return *c
}

func (l *wcpLock) touch(t *sectionTouch, s event.StrandID, release vector) {
	for i := range t.cell.touched {
		old := &t.cell.touched[i]
		if old.touch == t.touch && old.strand == s {
			old.clock = release // after the previous one
			return
		}
	}
	t.cell.touched = append(t.cell.touched, touched{t.touch, s, release})
	l.size++
}
