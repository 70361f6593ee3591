package race

import (
	"hindsight/analyze/hb"
	"hindsight/analyze/place"
	"hindsight/tracefmt/event"
)

// access is something that touches memory: a site, or an instruction that
// does an atomic access or a free.
type access struct {
	place uint32 // index of engine.places
	op    Op
	user  bool   // in the user's code
	mute  bool   // in the code of a runtime that says by events what it orders
	size  uint8  // bytes, of a site
	site  SiteID // of a site
}

// engine is the state of a pass over the run.
//
// The run is cut into units: a segment, or an event that is an access. Units
// are taken in the order in which they end, the segment that an event ends
// before the event itself; what is unfinished at the end comes last, by
// thread. A unit can then only happen after units taken before it, so that
// each pair is met once, when its later unit is taken.
type engine struct {
	opts     Options
	order    *hb.Order
	memory   *place.Map
	atomic   *atomicSet // nil: Strict
	places   []Place
	accesses []access // the first NumSites are the sites
	placeIDs map[Place]uint32
	eventIDs map[Place]uint32 // of accesses that are events
	pairs    pairTable
	created  []bool // threads that a Create event announces
	horizon  *horizon
	starts   []uint64  // for each thread, 1 + the place in S_synch of its last event
	now      uint64    // 1 + the place in S_synch of the last event
	private  intervals // memory of which each thread has its own part
	sites    int       // accesses that are sites
	strands  bool      // the run has tasks
	sieving  bool      // the present pass is for the sieve
	suspects *suspects // nil: all memory
	work     uint64    // accesses handed to the exact pass so far
	batch    *batch    // being filled, or nil
	fed      uint64    // items so far
	crew     *crew
	canceled func() error
	unit     unit
	stats    Stats
}

// unit is the unit being taken.
type unit struct {
	thread event.ThreadID
	strand event.StrandID // that the thread acts as
	clock  hb.Clock
	epoch  uint64
	order  uint64 // its place among units
	start  uint64 // 1 + the place in S_synch of the event that begins it, 0 if none does
	added  bool   // to the batch
}

// unfinished is where the units that no event ends stand in the order.
const unfinished = 1 << 63

func (e *engine) begin(t event.ThreadID, order, start uint64) {
	s := e.order.Strand(t)
	e.unit = unit{thread: t, strand: s, clock: e.order.Clock(t), epoch: e.order.Epoch(s), order: order, start: start}
}

func (e *engine) placeID(p Place) uint32 {
	id, ok := e.placeIDs[p]
	if !ok {
		id = uint32(len(e.places))
		e.places = append(e.places, p)
		e.placeIDs[p] = id
	}
	return id
}

// eventAccess is the access of an event at p.
func (e *engine) eventAccess(p Place) uint32 {
	id, ok := e.eventIDs[p]
	if !ok {
		id = uint32(len(e.accesses))
		e.accesses = append(e.accesses, access{place: e.placeID(p), op: p.Op, user: e.user(p.PC)})
		e.eventIDs[p] = id
	}
	return id
}

func (e *engine) user(pc uint64) bool { return e.opts.Program == nil || e.opts.Program.User(pc) }
