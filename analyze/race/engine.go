package race

import (
	"hindsight/analyze/hb"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// access is something that touches memory: a site, or an instruction that
// does an atomic access or a free.
type access struct {
	place uint32 // index of engine.places
	op    Op
	// atomic says whether its executions are atomic accesses.
	atomic replay.Atomicity
	user   bool   // in the user's code
	mute   bool   // in the code of a runtime that says by events what it orders
	size   uint8  // bytes, of a site
	site   SiteID // of a site
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
	survey   *replay.Survey
	run      *replay.Walk // the present pass
	business replay.Business
	places   []Place
	accesses []access // the first NumSites are the sites
	placeIDs map[Place]uint32
	eventIDs map[Place]uint32 // of accesses that are events
	pairs    pairTable
	horizon  *horizon
	sites    int       // accesses that are sites
	wanted   []bool    // which of them the present pass looks at
	touches  []sketch  // and where those are that the sieve looked at
	sieving  bool      // the present pass is for the sieve
	suspects *suspects // nil: all memory
	work     uint64    // accesses handed to the exact pass so far
	batch    *batch    // being filled, or nil
	fed      uint64    // items so far
	crew     *crew
	canceled func() error
	of       replay.Unit // being taken
	unit     unit        // the same
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
	end    uint64 // as replay.Unit.End
	added  bool   // to the batch
	known  bool   // the other fields are filled in
}

// begin makes u the unit being taken. Most segments have nothing to look at;
// which strand they are of is asked when there is an item.
func (e *engine) begin(u *replay.Unit) { e.of, e.unit = *u, unit{} }

// know fills in what the order says of the unit.
func (e *engine) know() {
	o, t := e.run.Order, e.of.Thread
	s := o.Strand(t)
	e.unit = unit{thread: t, strand: s, clock: o.Clock(t), epoch: o.Epoch(s), order: e.of.Number, start: e.of.Start, end: e.of.End(), known: true}
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
		e.accesses = append(e.accesses, access{place: e.placeID(p), op: p.Op, user: e.business.User(p.PC), atomic: e.business.Atomicity(p.Op, p.PC, e.opts.Atomics == Strict)})
		e.eventIDs[p] = id
	}
	return id
}
