package race

import (
	"cmp"
	"context"
	"math"
	"slices"

	"hindsight/analyze/place"
	"hindsight/analyze/race/internal/resolve"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// details finds out, on a last walk along S_synch, what a report says about instances
// beyond their existence: locks held, memory, segments.
type details struct {
	e    *engine
	src  replay.Source
	res  *Result
	run  *replay.Walk
	held replay.Held[event.StrandID]
	// acting has the tasks that each thread acts as, the current one last.
	acting map[event.ThreadID][]event.StrandID
	// Sides to complete, by their unit; locations likewise.
	sides     map[uint64][]*Side
	locations map[uint64][]*Race
	mutexes   map[uint64]*mutex // by address
}

// mutex is a lock and, once a side holds it, its index in the result.
type mutex struct {
	Mutex
	first uint64 // 1 + position in S_synch of its first lock
	sides []sideLock
}

type sideLock struct {
	side *Side
	slot int
}

func newDetails(e *engine, src replay.Source, res *Result, threads int) *details {
	run := (&replay.Survey{Threads: threads}).Walk(replay.Options{TLSSize: e.opts.TLSSize, NoOrder: true})
	return &details{e: e, src: src, res: res, run: run, acting: map[event.ThreadID][]event.StrandID{},
		sides: map[uint64][]*Side{}, locations: map[uint64][]*Race{}, mutexes: map[uint64]*mutex{}}
}

func (d *details) instance(x *resolve.Instance) Instance {
	return Instance{Later: d.side(&x.Later), Earlier: d.side(&x.Earlier), Address: x.Addr}
}

func (d *details) side(x *resolve.Execution) Side {
	a := &d.e.accesses[x.Access]
	s := Side{Place: d.e.places[a.Place], Thread: x.Thread, Address: x.Addr, Seq: math.MaxUint64}
	if x.Order < replay.Unfinished {
		s.Seq = x.Order / 2
	}
	if s.Op.Plain() {
		s.Site, s.Ordinal = a.Site, x.Ordinal
		s.Address, s.Size = replay.Whole(d.src, a.Site, x.Addr)
	}
	return s
}

// want notes what must be completed. The race must not move any more.
func (d *details) want(r *Race) {
	for _, s := range []*Side{&r.First.Later, &r.First.Earlier, &r.Last.Later, &r.Last.Earlier} {
		d.sides[s.Seq] = append(d.sides[s.Seq], s)
	}
	d.locations[r.First.Earlier.Seq] = append(d.locations[r.First.Earlier.Seq], r)
}

// walk completes what is wanted.
func (d *details) walk(ctx context.Context, src replay.Source) error {
	err := d.run.Run(ctx, src, &replay.Visitor{Event: d.before, Done: d.after})
	if err == nil {
		d.finish()
	}
	return err
}

// before completes the sides of the segment that an event ends, or of the event itself,
// with the state before the event.
func (d *details) before(ev *replay.Event) error {
	for _, r := range d.locations[ev.Seq] {
		r.Location = d.run.Memory.Locate(r.First.Address)
	}
	for _, s := range d.sides[ev.Seq] {
		d.fill(s)
		if !s.Op.Plain() {
			s.Address, s.Size = ev.Obj, replay.Extent(d.run.Memory, &ev.Event)
		}
	}
	return nil
}

func (d *details) after(ev *replay.Event) error {
	d.lock(ev)
	return nil
}

// finish completes the sides of segments that no event ends, and numbers the mutexes.
func (d *details) finish() {
	for _, r := range d.locations[math.MaxUint64] {
		r.Location = d.run.Memory.Locate(r.First.Address)
	}
	for _, s := range d.sides[math.MaxUint64] {
		d.fill(s)
	}
	d.number()
}

func (d *details) fill(s *Side) {
	s.Segment = d.run.Index[s.Thread]
	for i, l := range d.held.Of(d.strand(s.Thread)) {
		s.Locks = append(s.Locks, Lock{Mutex: -1, Write: l.Write})
		m := d.mutex(l.Obj)
		m.sides = append(m.sides, sideLock{s, i})
	}
}

// strand returns the number of what a thread acts as: itself, or a task.
func (d *details) strand(t event.ThreadID) event.StrandID {
	if s := d.acting[t]; len(s) > 0 {
		return s[len(s)-1]
	}
	return t.Strand()
}

// lock follows the locks that strands hold, and records where each was first used.
func (d *details) lock(ev *replay.Event) {
	d.held.Apply(d.strand(ev.Thread), &ev.Event)
	switch ev.Kind {
	case event.StrandBegin, event.StrandResume:
		task := event.StrandID(event.MaxThreads + ev.Obj)
		d.acting[ev.Thread] = append(d.acting[ev.Thread], task)
	case event.StrandEnd, event.StrandSuspend:
		if s := d.acting[ev.Thread]; len(s) > 0 {
			d.acting[ev.Thread] = s[:len(s)-1]
		}
	case event.MutexLock, event.WriteLock, event.ReadLock:
		m := d.mutex(ev.Obj)
		if m.first == 0 {
			m.first, m.FirstLock = ev.Seq+1, EventRef{ev.Thread, ev.Index}
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

// number assigns the mutexes that sides hold their indexes in the result, in order of
// first use in the run.
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
	all := make([]place.Thread, max(len(d.run.Index), d.run.Memory.Threads()))
	for t := range all {
		all[t] = d.run.Memory.Thread(event.ThreadID(t))
	}
	return all
}
