package race

import (
	"cmp"
	"math"
	"slices"

	"hindsight/analyze/place"
	"hindsight/tracefmt/event"
)

// details finds out, on a last walk along S_synch, what a report says about
// instances beyond their existence: the locks held, the memory, the segments.
type details struct {
	e      *engine
	res    *Result
	memory *place.Map
	held   [][]hold
	events []uint64 // of each thread, so far
	// sides to fill in by the unit they are of; locations likewise
	sides     map[uint64][]*Side
	locations map[uint64][]*Race
	mutexes   map[uint64]*mutex // by address
}

type hold struct {
	mutex *mutex
	write bool
}

// mutex is a lock and, once some side holds it, its place in the result.
type mutex struct {
	Mutex
	first uint64 // 1 + place in S_synch of its first lock
	sides []sideLock
}

type sideLock struct {
	side *Side
	slot int
}

func newDetails(e *engine, res *Result) *details {
	n := len(e.starts)
	return &details{e: e, res: res, memory: place.NewMap(e.opts.TLSSize), held: make([][]hold, n), events: make([]uint64, n),
		sides: map[uint64][]*Side{}, locations: map[uint64][]*Race{}, mutexes: map[uint64]*mutex{}}
}

func (d *details) instance(x *instance) Instance {
	return Instance{Later: d.side(&x.later), Earlier: d.side(&x.earlier), Address: x.addr}
}

func (d *details) side(x *execution) Side {
	a := &d.e.accesses[x.access]
	s := Side{Place: d.e.places[a.place], Thread: x.thread, Address: x.addr, Seq: math.MaxUint64}
	if x.order < unfinished {
		s.Seq = x.order / 2
	}
	if s.Op.Plain() {
		s.Size, s.Site, s.Ordinal = uint64(a.size), a.site, x.ordinal
	}
	return s
}

// want notes what must be filled in. The race must not move any more.
func (d *details) want(r *Race) {
	for _, s := range []*Side{&r.First.Later, &r.First.Earlier, &r.Last.Later, &r.Last.Earlier} {
		d.sides[s.Seq] = append(d.sides[s.Seq], s)
	}
	d.locations[r.First.Earlier.Seq] = append(d.locations[r.First.Earlier.Seq], r)
}

// apply takes the next event of S_synch. Sides of the segment that it ends, or
// of the event itself, are as things stand before it.
func (d *details) apply(ev *Event) {
	for _, r := range d.locations[ev.Seq] {
		r.Location = d.memory.Locate(r.First.Address)
	}
	for _, s := range d.sides[ev.Seq] {
		d.fill(s)
		if !s.Op.Plain() {
			s.Address, s.Size = ev.Obj, uint64(min(ev.Size, maxAtomic))
			if s.Op == Free {
				s.Size = ev.Arg
				if b, ok := d.memory.Block(ev.Obj); ok && ev.Arg == 0 {
					s.Size = b.Size
				}
			}
		}
	}
	d.memory.Apply(ev.Thread, ev.Index, &ev.Event)
	d.lock(ev)
	d.events[ev.Thread] = ev.Index + 1
}

// finish fills in the sides of segments that no event ends and numbers the
// mutexes.
func (d *details) finish() {
	for _, r := range d.locations[math.MaxUint64] {
		r.Location = d.memory.Locate(r.First.Address)
	}
	for _, s := range d.sides[math.MaxUint64] {
		d.fill(s)
	}
	d.number()
}

func (d *details) fill(s *Side) {
	s.Segment = d.events[s.Thread]
	for i, h := range d.held[s.Thread] {
		s.Locks = append(s.Locks, Lock{Mutex: -1, Write: h.write})
		h.mutex.sides = append(h.mutex.sides, sideLock{s, i})
	}
}

// lock follows the locks that threads hold.
func (d *details) lock(ev *Event) {
	switch ev.Kind {
	case event.MutexLock, event.WriteLock, event.ReadLock:
		m := d.mutex(ev.Obj)
		if m.first == 0 {
			m.first, m.FirstLock = ev.Seq+1, EventRef{ev.Thread, ev.Index}
		}
		d.held[ev.Thread] = append(d.held[ev.Thread], hold{m, ev.Kind != event.ReadLock})
	case event.MutexUnlock, event.WriteUnlock, event.ReadUnlock:
		held := d.held[ev.Thread]
		for i := len(held) - 1; i >= 0; i-- {
			if held[i].mutex.Address == ev.Obj {
				d.held[ev.Thread] = append(held[:i], held[i+1:]...)
				break
			}
		}
	case event.Init:
		switch event.Kind(ev.Arg) {
		case event.MutexLock, event.WriteLock, event.ReadLock:
			if m := d.mutex(ev.Obj); !m.HasInit {
				m.Init, m.HasInit = EventRef{ev.Thread, ev.Index}, true
			}
		}
	}
}

func (d *details) mutex(addr uint64) *mutex {
	m := d.mutexes[addr]
	if m == nil {
		m = &mutex{Mutex: Mutex{Address: addr}}
		d.mutexes[addr] = m
	}
	return m
}

// number gives the mutexes that sides hold their places in the result, in
// order of first use in the run.
func (d *details) number() {
	var used []*mutex
	for _, m := range d.mutexes {
		if len(m.sides) > 0 {
			used = append(used, m)
		}
	}
	slices.SortFunc(used, func(x, y *mutex) int { return cmp.Compare(x.first, y.first) })
	for i, m := range used {
		d.res.Mutexes = append(d.res.Mutexes, m.Mutex)
		for _, l := range m.sides {
			l.side.Locks[l.slot].Mutex = i
		}
	}
}

func (d *details) threads() []place.Thread {
	all := make([]place.Thread, max(len(d.e.starts), d.memory.Threads()))
	for t := range all {
		all[t] = d.memory.Thread(event.ThreadID(t))
	}
	return all
}
