package race

import (
	"cmp"
	"math"
	"slices"

	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// The plain detector handles every access by itself, computes happens-before as
// reachability in a graph of events, and compares every pair. It shares nothing with the
// engine but the rules of docs/semantics.md.

// unfinished is where the units that no event ends stand in the order.
const unfinished = 1 << 63

type plainAccess struct {
	place      Place
	strand     event.ThreadID // see plainStrands
	from, to   int            // nodes of the strand, as begin and end are of the thread
	thread     event.ThreadID
	lo, size   uint64
	begin, end int // nodes; -1: before all; len(nodes): after all
	instant    bool
	order      uint64
	ordinal    uint64
	access     uint64
}

type plainPair struct {
	dynamic     uint64
	first, last [7]uint64
}

type plainKey [2]Place

func sortedKey(a, b Place) plainKey {
	if c := cmp.Or(cmp.Compare(a.PC, b.PC), cmp.Compare(a.Op, b.Op)); c > 0 {
		a, b = b, a
	}
	return plainKey{a, b}
}

func plainDetect(f *fake, mode Atomics) map[plainKey]*plainPair {
	strands := plainStrands(f.events)
	reach := plainReach(strands)
	accesses := plainExpand(f)
	plainPlace(f, strands, accesses)
	d := plainDetector{f: f, mode: mode, atomics: map[uint64][]*plainAccess{}}
	for i := range accesses {
		if a := &accesses[i]; a.place.Op.Atomic() && !d.apart(a) {
			for b := range a.size {
				d.atomics[a.lo+b] = append(d.atomics[a.lo+b], a)
			}
		}
	}
	found := map[plainKey]*plainPair{}
	check := func(i, j int) { d.check(&accesses[i], &accesses[j], reach, found) }
	near := map[uint64][]int{} // by granule
	var frees []int
	for i := range accesses {
		a := &accesses[i]
		if plainRange(a.place.Op) {
			for j := range i {
				check(i, j)
			}
			frees = append(frees, i)
			continue
		}
		for _, j := range frees {
			check(i, j)
		}
		for g := a.lo >> 3; g <= (a.lo+a.size-1)>>3; g++ {
			for _, j := range near[g] {
				if max(a.lo, accesses[j].lo)>>3 == g { // their first common byte, if any
					check(i, j)
				}
			}
			near[g] = append(near[g], i)
		}
	}
	return found
}

// plainDetector is what it knows about a run.
type plainDetector struct {
	f       *fake
	mode    Atomics
	atomics map[uint64][]*plainAccess // that show a byte to be part of an atomic variable
}

// plain says that the source has a plain access there, meant that it has an atomic one,
// and apart that a separate fence is next to the access.
func (d *plainDetector) plain(a *plainAccess) bool { return d.f.Plain(a.place.PC) }
func (d *plainDetector) meant(a *plainAccess) bool { return d.f.Meant(a.place.PC) }
func (d *plainDetector) apart(a *plainAccess) bool { return d.f.Apart(a.place.PC) }

// counts reports whether a counts as an atomic access to the byte at addr. A free never
// does.
func (d *plainDetector) counts(a *plainAccess, addr uint64) bool {
	switch {
	case a.place.Op == replay.Free:
		return false
	case plainRange(a.place.Op):
		return d.mode == Relaxed
	case a.place.Op.Atomic() && !d.apart(a):
		return true
	case !a.place.Op.Atomic() && d.mode == Relaxed && d.meant(a):
		return true
	case !a.place.Op.Atomic() && d.plain(a) || d.mode == Strict:
		return false
	}
	for _, e := range d.atomics[addr] {
		if !separated(d.f, a, e, addr) && !separated(d.f, e, a, addr) {
			return true
		}
	}
	return false
}

func (d *plainDetector) check(a, b *plainAccess, reach [][]bool, found map[plainKey]*plainPair) {
	if a.strand == b.strand || !a.place.Op.Writes() && !b.place.Op.Writes() {
		return
	}
	f := d.f
	at := max(a.lo, b.lo)
	end := min(a.lo+a.size, b.lo+b.size)
	for at < end && (!plainRange(a.place.Op) || !plainRange(b.place.Op)) && d.counts(a, at) && d.counts(b, at) {
		at++
	}
	if at >= end || before(a, b, reach) || before(b, a, reach) || separated(f, a, b, at) || separated(f, b, a, at) {
		return
	}
	if a.order < b.order {
		a, b = b, a
	}
	tuple := [7]uint64{a.order, b.order, a.ordinal, b.ordinal, a.access, b.access, at}
	key := sortedKey(a.place, b.place)
	p := found[key]
	if p == nil {
		p = &plainPair{first: tuple, last: tuple}
		found[key] = p
	}
	p.dynamic++
	if slices.Compare(tuple[:], p.first[:]) < 0 {
		p.first = tuple
	}
	if slices.Compare(tuple[:], p.last[:]) > 0 {
		p.last = tuple
	}
}

// plainRange reports whether an access is an event that is no atomic access: those
// count on atomic variables too, among themselves.
func plainRange(op replay.Op) bool {
	return op == replay.Free || op == replay.CallRead || op == replay.CallWrite || op == replay.Use
}

// before reports whether a happens before b.
func before(a, b *plainAccess, reach [][]bool) bool {
	if a.to >= len(reach) || b.from < 0 {
		return false
	}
	if a.instant && b.instant && a.end == b.begin {
		return false
	}
	return a.to == b.from || reach[a.to][b.from]
}

// separated reports whether the memory was reallocated between a and b.
func separated(f *fake, a, b *plainAccess, at uint64) bool {
	for _, e := range f.events {
		switch e.Kind {
		case event.Alloc, event.Map, event.StackMap, event.Renew:
			p := int(e.Seq)
			if plainRenews(&e, at) && a.end <= p && p <= b.begin {
				return true
			}
		}
	}
	return false
}

// plainRenews reports whether e begins a new life of the granule of addr.
func plainRenews(e *replay.Event, addr uint64) bool {
	switch e.Kind {
	case event.Alloc, event.Map, event.StackMap, event.Renew:
		return e.Arg > 0 && e.Obj&^7 <= addr && addr < (e.Obj+e.Arg+7)&^7
	}
	return false
}

func plainExpand(f *fake) []plainAccess {
	var all []plainAccess
	node := make([][]int, len(f.segments)) // events of a thread
	began := make([]int, len(f.segments))  // where a thread without events begins
	for t := range began {
		began[t] = -1
	}
	for i, e := range f.events {
		node[e.Thread] = append(node[e.Thread], i)
		if e.Kind == event.Create && len(node[e.Obj]) == 0 {
			began[e.Obj] = i
		}
	}
	for t, segs := range f.segments {
		for _, s := range segs {
			begin, end, order := began[t], len(f.events), unfinished+uint64(t)
			if s.place > 0 {
				begin = node[t][s.place-1]
			}
			if int(s.place) < len(node[t]) {
				end = node[t][s.place]
				order = 2 * uint64(end)
			}
			for _, r := range s.runs {
				site := f.sites[r.Site]
				op := replay.Read
				if site.Access == event.Write {
					op = replay.Write
				}
				for i := range r.Count {
					all = append(all, plainAccess{place: Place{site.PC, op}, thread: event.ThreadID(t), lo: r.Base + i*uint64(r.Stride),
						size: uint64(site.Size), begin: begin, end: end, order: order, ordinal: r.First + i, access: uint64(r.Site)})
				}
			}
		}
	}
	for i, e := range f.events {
		a := plainAccess{thread: e.Thread, lo: e.Obj, size: uint64(e.Size), begin: i, end: i, instant: true,
			order: 2*uint64(i) + 1, ordinal: e.Index, access: math.MaxUint64}
		switch e.Kind {
		case event.AtomicLoad:
			a.place = Place{e.PC, replay.AtomicRead}
		case event.AtomicStore:
			a.place = Place{e.PC, replay.AtomicWrite}
		case event.AtomicRMW:
			a.place = Place{e.PC, replay.AtomicUpdate}
		case event.Free:
			a.place, a.size = Place{e.PC, replay.Free}, e.Arg
		case event.RangeRead:
			a.place, a.size = Place{e.PC, replay.CallRead}, e.Arg
		case event.RangeWrite:
			a.place, a.size = Place{e.PC, replay.CallWrite}, e.Arg
		case event.MutexLock, event.ReadLock, event.WriteLock, event.MutexUnlock, event.ReadUnlock, event.WriteUnlock,
			event.SemPost, event.SemWait, event.BarrierEnter, event.CondWait, event.CondSignal, event.CondBroadcast:
			made := func(m replay.Event) bool { return (m.Kind == event.Init || m.Kind == event.Destroy) && m.Obj == e.Obj }
			if !slices.ContainsFunc(f.events, made) {
				continue
			}
			a.place, a.size = Place{e.PC, replay.Use}, 1
		default:
			continue
		}
		all = append(all, a)
	}
	return all
}

// plainReach returns, for each two events, whether the first happens before the
// second.
func plainReach(events []replay.Event) [][]bool {
	n := len(events)
	edges := make([][]int, n) // into each node
	for j := range events {
		edges[j] = plainEdges(events, j)
	}
	reach := make([][]bool, n)
	for i := range reach {
		reach[i] = make([]bool, n)
	}
	for j := range events {
		for _, i := range edges[j] {
			reach[i][j] = true
			for k := range i {
				if reach[k][i] {
					reach[k][j] = true
				}
			}
		}
	}
	return reach
}

// plainEdges returns the events that directly order event j after themselves.
func plainEdges(events []replay.Event, j int) (from []int) {
	e := events[j]
	for i := j - 1; i >= 0; i-- {
		if events[i].Thread == e.Thread {
			from = append(from, i)
			break
		}
	}
	if e.Kind == event.BarrierLeave {
		return append(from, plainEntered(events, j)...)
	}
	for i := j - 1; i >= 0; i-- {
		d := events[i]
		if plainEnds(&d, e.Obj) {
			switch e.Kind {
			case event.MutexLock, event.ReadLock, event.WriteLock, event.SemWait, event.OnceSeen:
				return from
			}
		}
		same := d.Obj == e.Obj
		var edge bool
		switch e.Kind {
		case event.StrandBegin:
			edge = same && d.Kind == event.StrandCreate
		case event.ThreadStart:
			edge = d.Kind == event.Create && d.Obj == uint64(e.Thread)
		case event.Join:
			edge = d.Kind == event.ThreadEnd && uint64(d.Thread) == e.Obj
		case event.MutexLock:
			edge = same && d.Kind == event.MutexUnlock
		case event.ReadLock:
			edge = same && d.Kind == event.WriteUnlock
		case event.WriteLock:
			edge = same && (d.Kind == event.WriteUnlock || d.Kind == event.ReadUnlock)
		case event.SemWait:
			edge = same && d.Kind == event.SemPost
		case event.OnceSeen:
			edge = same && d.Kind == event.OnceDone
		case event.Fence:
			reads := d.Kind == event.AtomicLoad || d.Kind == event.AtomicRMW
			if e.Mode&event.Acquire != 0 && d.Thread == e.Thread && reads && d.Mode&event.Acquire == 0 {
				from = append(from, sources(events, i)...)
			}
		}
		if edge {
			from = append(from, i)
		}
	}
	if (e.Kind == event.AtomicLoad || e.Kind == event.AtomicRMW) && e.Mode&event.Acquire != 0 {
		from = append(from, sources(events, j)...)
	}
	return from
}

// plainEnds reports whether a sync object at obj is another one after d.
func plainEnds(d *replay.Event, obj uint64) bool {
	return (d.Kind == event.Init || d.Kind == event.Destroy) && d.Obj == obj || plainRenews(d, obj)
}

// plainEntered returns the events of those that entered the barrier that the thread
// leaves at event j, in the life of the barrier in which it entered itself.
func plainEntered(events []replay.Event, j int) (from []int) {
	e, life, own := events[j], 0, -1
	lives := make([]int, j) // of the barrier, at each event
	for i := range j {
		d := events[i]
		if plainEnds(&d, e.Obj) {
			life++
		}
		lives[i] = life
		if d.Kind == event.BarrierEnter && d.Obj == e.Obj && d.Arg == e.Arg && d.Thread == e.Thread {
			own = life
		}
	}
	for i, life := range lives {
		if d := events[i]; life == own && d.Kind == event.BarrierEnter && d.Obj == e.Obj && d.Arg == e.Arg {
			from = append(from, i)
		}
	}
	return from
}

// sources returns the releases that event j reads from, byte by byte.
func sources(events []replay.Event, j int) (from []int) {
	for b := events[j].Obj; b < events[j].Obj+uint64(events[j].Size); b++ {
	back:
		for i := j - 1; i >= 0; i-- {
			d := events[i]
			if plainRenews(&d, b) {
				break back
			}
			if d.Kind != event.AtomicStore && d.Kind != event.AtomicRMW || b < d.Obj || b >= d.Obj+uint64(d.Size) {
				continue
			}
			if d.Mode&event.Release != 0 {
				from = append(from, i)
			} else {
				for k := i - 1; k >= 0; k-- {
					if f := events[k]; f.Thread == d.Thread && f.Kind == event.Fence && f.Mode&event.Release != 0 {
						from = append(from, k)
						break
					}
				}
			}
			if d.Kind == event.AtomicStore {
				break back
			}
		}
	}
	return from
}
