package race

import (
	"testing"

	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// The plain vector-clock detector with which benchmarks compare the engine: FastTrack
// (Flanagan and Freund, PLDI 2009) on a run that is in memory access by access. It only
// finds the four-byte locations that have a race, and only implements the events of the
// kernels: threads, mutexes, barriers. It shares no code with the engine.

// expanded is a run access by access.
type expanded struct {
	sites    []replay.Site
	events   []replay.Event
	segments [][]expandedSegment // by thread
	accesses int
}

type expandedSegment struct {
	place    uint64
	accesses []expandedAccess
}

type expandedAccess struct {
	addr uint64
	site replay.SiteID
}

func expand(t testing.TB, src replay.Source) *expanded {
	t.Helper()
	x := &expanded{}
	for id := range src.NumSites() {
		x.sites = append(x.sites, src.Site(replay.SiteID(id)))
	}
	for ev, err := range src.Events() {
		if err != nil {
			t.Fatal(err)
		}
		x.events = append(x.events, ev)
	}
	for th := range src.NumThreads() {
		var segs []expandedSegment
		for seg, err := range src.Segments(event.ThreadID(th)) {
			if err != nil {
				t.Fatal(err)
			}
			s := expandedSegment{place: seg.Place()}
			for r, err := range seg.Runs() {
				if err != nil {
					t.Fatal(err)
				}
				for i := range r.Count {
					s.accesses = append(s.accesses, expandedAccess{r.Base + i*uint64(r.Stride), r.Site})
				}
			}
			x.accesses += len(s.accesses)
			segs = append(segs, s)
		}
		x.segments = append(x.segments, segs)
	}
	return x
}

type vectorClock []uint32

func (c vectorClock) join(d vectorClock) {
	for i, v := range d {
		c[i] = max(c[i], v)
	}
}

// location is what is stored about four bytes.
type location struct {
	write, read             uint32 // epochs
	writeThread, readThread uint16
	racy                    bool
	reads                   vectorClock // of several threads, in place of read
}

type locationPage [1024]location

type vectorDetector struct {
	x        *expanded
	clocks   []vectorClock
	locks    map[uint64]vectorClock
	barrier  map[[2]uint64]vectorClock
	begins   []vectorClock
	atomic   map[uint64]bool // locations
	pages    map[uint64]*locationPage
	last     *locationPage
	lastPage uint64
	racy     int
}

// vectorDetect returns the number of locations with a race.
func vectorDetect(x *expanded) int {
	n := len(x.segments)
	d := &vectorDetector{x: x, locks: map[uint64]vectorClock{}, barrier: map[[2]uint64]vectorClock{}, atomic: map[uint64]bool{},
		begins: make([]vectorClock, n), pages: map[uint64]*locationPage{}}
	for t := range n {
		d.clocks = append(d.clocks, make(vectorClock, n))
		d.clocks[t][t] = 1
	}
	for i := range x.events {
		switch e := &x.events[i]; e.Kind {
		case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
			d.atomic[e.Obj>>2] = true // coarser than it should be
		}
	}
	next := make([]int, n)
	segment := func(t event.ThreadID, upTo uint64) {
		for next[t] < len(x.segments[t]) && x.segments[t][next[t]].place <= upTo {
			for _, a := range x.segments[t][next[t]].accesses {
				d.access(t, a)
			}
			next[t]++
		}
	}
	for i := range x.events {
		e := &x.events[i]
		segment(e.Thread, e.Index)
		d.event(e)
	}
	for t := range n {
		segment(event.ThreadID(t), 1<<63)
	}
	return d.racy
}

func (d *vectorDetector) event(e *replay.Event) {
	c := d.clocks[e.Thread]
	at := func(m map[uint64]vectorClock) vectorClock {
		if m[e.Obj] == nil {
			m[e.Obj] = make(vectorClock, len(c))
		}
		return m[e.Obj]
	}
	switch e.Kind {
	case event.Create:
		d.begins[e.Obj] = append(vectorClock(nil), c...)
	case event.ThreadStart:
		c.join(d.begins[e.Thread])
		return
	case event.ThreadEnd:
		return
	case event.Join:
		c.join(d.clocks[e.Obj])
		return
	case event.MutexLock:
		c.join(at(d.locks))
		return
	case event.MutexUnlock:
		at(d.locks).join(c)
	case event.BarrierEnter:
		key := [2]uint64{e.Obj, e.Arg}
		if d.barrier[key] == nil {
			d.barrier[key] = make(vectorClock, len(c))
		}
		d.barrier[key].join(c)
	case event.BarrierLeave:
		c.join(d.barrier[[2]uint64{e.Obj, e.Arg}])
		return
	default:
		return
	}
	c[e.Thread]++
}

func (d *vectorDetector) access(t event.ThreadID, a expandedAccess) {
	site := &d.x.sites[a.site]
	for at := a.addr >> 2; at <= (a.addr+uint64(site.Size)-1)>>2; at++ {
		if len(d.atomic) > 0 && d.atomic[at] {
			continue
		}
		if d.last == nil || d.lastPage != at>>10 {
			if d.last, d.lastPage = d.pages[at>>10], at>>10; d.last == nil {
				d.last = new(locationPage)
				d.pages[at>>10] = d.last
			}
		}
		l := &d.last[at&1023]
		if l.racy {
			continue
		}
		if site.Access == event.Write {
			l.racy = l.written(t, d.clocks[t])
		} else {
			l.racy = l.wasRead(t, d.clocks[t])
		}
		if l.racy {
			d.racy++
		}
	}
}

func (l *location) written(t event.ThreadID, c vectorClock) (race bool) {
	if l.write == c[t] && l.writeThread == uint16(t) {
		return false
	}
	race = l.write > c[l.writeThread]
	if l.reads == nil {
		race = race || l.read > c[l.readThread]
	}
	for u, e := range l.reads {
		race = race || e > c[u]
	}
	l.write, l.writeThread, l.read, l.reads = c[t], uint16(t), 0, nil
	return race
}

func (l *location) wasRead(t event.ThreadID, c vectorClock) (race bool) {
	switch {
	case l.reads != nil:
		l.reads[t] = c[t]
	case l.readThread == uint16(t) || l.read <= c[l.readThread]:
		l.read, l.readThread = c[t], uint16(t)
	default:
		l.reads = make(vectorClock, len(c))
		l.reads[l.readThread], l.reads[t] = l.read, c[t]
	}
	return l.write > c[l.writeThread]
}
