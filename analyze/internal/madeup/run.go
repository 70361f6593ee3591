// Package madeup builds artificial runs for tests of analyses: step by step, or
// at random. It is for tests only.
package madeup

import (
	"fmt"
	"iter"

	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Run is a run held in memory, with its accesses one by one. It implements what an
// analysis needs of a trace.
type Run struct {
	sites  []format.Site
	events []format.Event
	steps  [][]cdr.Step // by thread
	index  []uint64     // by thread: its events so far
	counts map[execution]uint64
	turns  []int    // threads, for one step each
	number []uint64 // by thread: its accesses so far
	// NoSchedule hides the order of accesses.
	NoSchedule bool
}

type execution struct {
	thread int
	site   format.SiteID
}

// New returns a run with a number of threads in which nothing has happened yet.
func New(threads int) *Run {
	return &Run{steps: make([][]cdr.Step, threads), index: make([]uint64, threads), number: make([]uint64, threads), counts: map[execution]uint64{}}
}

// Event makes thread t execute an ordered event.
func (r *Run) Event(t int, e event.Event) {
	r.events = append(r.events, format.Event{Event: e, Thread: event.ThreadID(t), Seq: uint64(len(r.events)), Index: r.index[t]})
	r.index[t]++
	r.steps[t] = append(r.steps[t], cdr.Step{IsEvent: true, Number: r.number[t]})
	r.turns = append(r.turns, t)
}

// Do is Event with a kind and an object.
func (r *Run) Do(t int, k event.Kind, obj uint64) { r.Event(t, event.Event{Kind: k, Obj: obj}) }

// AddSite adds a site and returns its number.
func (r *Run) AddSite(s format.Site) format.SiteID {
	r.sites = append(r.sites, s)
	return format.SiteID(len(r.sites) - 1)
}

// Execute makes thread t execute a site.
func (r *Run) Execute(t int, site format.SiteID, addr uint64) {
	k := execution{t, site}
	r.steps[t] = append(r.steps[t], cdr.Step{Site: site, Address: addr, Ordinal: r.counts[k], Number: r.number[t]})
	r.counts[k]++
	r.number[t]++
	r.turns = append(r.turns, t)
}

// Access makes thread t execute the site at pc, which is added if it is new.
func (r *Run) Access(t int, pc, addr uint64, size uint8, a event.Access) {
	want := format.Site{PC: pc, Size: size, Access: a}
	for i, s := range r.sites {
		if s == want {
			r.Execute(t, format.SiteID(i), addr)
			return
		}
	}
	r.Execute(t, r.AddSite(want), addr)
}

// Read and Write access eight bytes.
func (r *Run) Read(t int, pc, addr uint64)  { r.Access(t, pc, addr, 8, event.Read) }
func (r *Run) Write(t int, pc, addr uint64) { r.Access(t, pc, addr, 8, event.Write) }

// Threads returns the threads, numbered from 0.
func (r *Run) Threads() []cdr.Thread {
	out := make([]cdr.Thread, len(r.steps))
	for i := range out {
		out[i].ID = event.ThreadID(i)
	}
	return out
}

// NumThreads, NumSites and Site describe the threads and sites.
func (r *Run) NumThreads() int                   { return len(r.steps) }
func (r *Run) NumSites() int                     { return len(r.sites) }
func (r *Run) Site(id format.SiteID) format.Site { return r.sites[id] }

// Events returns S_synch.
func (r *Run) Events() iter.Seq2[format.Event, error] { return all(r.events) }

// Steps returns what a thread did.
func (r *Run) Steps(t event.ThreadID) iter.Seq2[cdr.Step, error] { return all(r.steps[t]) }

// HasSchedule and Schedule return the order of accesses.
func (r *Run) HasSchedule() bool { return !r.NoSchedule }

func (r *Run) Schedule() iter.Seq2[format.Piece, error] {
	var pieces []format.Piece
	at, loose, seq := make([]int, len(r.steps)), uint64(0), uint64(0)
	for i, t := range r.turns {
		if i > 0 && r.turns[i-1] != t && loose > 0 {
			pieces = append(pieces, format.Piece{Seq: seq, Thread: event.ThreadID(r.turns[i-1]), Accesses: loose})
			loose = 0
		}
		loose++
		if r.steps[t][at[t]].IsEvent {
			loose = 0
			seq++
		}
		at[t]++
	}
	return all(pieces)
}

func all[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, x := range list {
			if !yield(x, nil) {
				return
			}
		}
	}
}

type segment struct {
	place uint64
	runs  []replay.Run
}

func (s segment) Place() uint64                      { return s.place }
func (s segment) Runs() iter.Seq2[replay.Run, error] { return all(s.runs) }

// Segments returns the segments of a thread, with a run for each access.
func (r *Run) Segments(t event.ThreadID) iter.Seq2[replay.Segment, error] {
	return func(yield func(replay.Segment, error) bool) {
		seg := segment{}
		for _, s := range r.steps[t] {
			if s.IsEvent {
				if !yield(seg, nil) {
					return
				}
				seg = segment{place: seg.place + 1}
				continue
			}
			seg.runs = append(seg.runs, replay.Run{Site: s.Site, Base: s.Address, Count: 1, First: s.Ordinal})
		}
		yield(seg, nil)
	}
}

// Moment is an event or an access of a run in linear order.
type Moment struct {
	Thread  int
	IsEvent bool
	Event   event.Event
	Site    format.Site
	Address uint64
}

// Linear returns what happened, in order.
func (r *Run) Linear() (out []Moment) {
	at, seq := make([]int, len(r.steps)), 0
	for _, t := range r.turns {
		s := r.steps[t][at[t]]
		at[t]++
		if s.IsEvent {
			out = append(out, Moment{Thread: t, IsEvent: true, Event: r.events[seq].Event})
			seq++
			continue
		}
		out = append(out, Moment{Thread: t, Site: r.sites[s.Site], Address: s.Address})
	}
	return out
}

// BySegment puts each segment before the event that ends it.
func (r *Run) BySegment() (out []Moment) {
	at := make([]int, len(r.steps))
	segment := func(t int) {
		for at[t] < len(r.steps[t]) {
			s := r.steps[t][at[t]]
			at[t]++
			if s.IsEvent {
				return
			}
			out = append(out, Moment{Thread: t, Site: r.sites[s.Site], Address: s.Address})
		}
	}
	for _, e := range r.events {
		segment(int(e.Thread))
		out = append(out, Moment{Thread: int(e.Thread), IsEvent: true, Event: e.Event})
	}
	for t := range r.steps {
		segment(t)
	}
	return out
}

// String lists the run in linear order.
func (r *Run) String() (s string) {
	for _, m := range r.Linear() {
		if m.IsEvent {
			s += fmt.Sprintf("%d: %v %#x\n", m.Thread, m.Event.Kind, m.Event.Obj)
		} else {
			s += fmt.Sprintf("%d: %v at %#x, %d bytes at %#x\n", m.Thread, m.Site.Access, m.Site.PC, m.Site.Size, m.Address)
		}
	}
	return s
}
