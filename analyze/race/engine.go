package race

import (
	"hindsight/analyze/race/internal/count"
	"hindsight/analyze/race/internal/pass"
	"hindsight/analyze/race/internal/sieve"
	"hindsight/analyze/replay"
	"hindsight/cdr/fold"
)

// engine is the state of a pass over the run.
//
// The run is divided into units: a segment, or an event that is an access. Units are
// processed in the order in which they end. The segment that an event ends comes before
// the event itself. Unfinished segments come last, by thread. A unit can therefore only
// happen after units that were processed before it, and each pair is found once, when its
// later unit is processed.
type engine struct {
	opts       Options
	survey     *replay.Survey
	run        *replay.Walk // the current pass
	business   replay.Business
	places     []Place
	accesses   []pass.Access // the first NumSites are the sites
	placeIDs   map[Place]uint32
	eventIDs   map[Place]uint32 // of accesses that are events
	recent     [recentPlaces]eventID
	pairs      count.PairTable
	horizon    *pass.Horizon
	sites      int             // number of accesses that are sites
	wanted     []bool          // which of them the current pass processes
	touches    []sieve.Sketch  // where these are, according to the sieve
	sieving    bool            // the current pass is for the sieve
	suspects   *sieve.Suspects // nil: all memory
	work       uint64          // number of accesses in the exact pass so far
	batch      *pass.Batch     // being filled, or nil
	fed        uint64          // items so far
	crew       *pass.Crew
	canceled   func() error
	of         replay.Unit             // the current unit
	unit       pass.Unit               // the same
	held       [2]pass.Item            // of the unit, not yet in the batch: reads and writes; see hold
	eachExtent func(*fold.Extent) bool // takeExtent
	failed     error                   // of takeExtent
	stats      Stats
}

// begin makes u the current unit. Most segments have nothing to process, so their strand
// is determined only if there is an item.
func (e *engine) begin(u *replay.Unit) { e.of, e.unit = *u, pass.Unit{} }

// know sets what the order says about the unit.
func (e *engine) know() {
	o, t := e.run.Order, e.of.Thread
	s := o.Strand(t)
	e.unit = pass.Unit{Thread: t, Strand: s, Clock: o.Clock(t), Epoch: o.Epoch(s), Order: e.of.Number, Start: e.of.Start, End: e.of.End(), Known: true}
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

// recentPlaces is the number of places of events that are found without a search.
const recentPlaces = 64

// eventID returns the access of an event at a place. The zero value is not a valid one.
type eventID struct {
	Place
	id    uint32
	known bool
}

// eventAccess returns the access of an event at p.
func (e *engine) eventAccess(p Place) uint32 {
	r := &e.recent[(p.PC>>1^uint64(p.Op)<<3)%recentPlaces]
	if r.Place != p || !r.known {
		*r = eventID{p, e.findEventAccess(p), true}
	}
	return r.id
}

func (e *engine) findEventAccess(p Place) uint32 {
	id, ok := e.eventIDs[p]
	if !ok {
		id = uint32(len(e.accesses))
		e.accesses = append(e.accesses, pass.Access{Place: e.placeID(p), Op: p.Op, User: e.business.User(p.PC), Atomic: e.business.Atomicity(p.Op, p.PC, e.opts.Atomics == Strict)})
		e.eventIDs[p] = id
	}
	return id
}

// laneOf returns the lane of accesses of that atomicity.
func (e *engine) laneOf(a replay.Atomicity, op replay.Op) pass.Lane {
	switch {
	case e.survey.Atomic == nil: // strict: everything may race with everything
		return pass.LaneOpen
	case a == replay.NotAtomic:
		return pass.LanePlain
	case a == replay.IsAtomic && op.Atomic():
		return pass.LaneAtomic
	}
	return pass.LaneOpen
}
