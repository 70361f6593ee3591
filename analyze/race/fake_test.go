package race

import (
	"iter"

	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// fake is a run held in memory.
type fake struct {
	sites    []replay.Site
	events   []replay.Event
	segments [][]fakeSegment // by thread
	ordinals map[[2]uint64]uint64
	barriers uint64 // generations so far
	meant    bool   // the code says which accesses are plain and which fences are separate
}

type fakeSegment struct {
	place uint64
	runs  []replay.Run
}

func (s fakeSegment) Place() uint64 { return s.place }

func (s fakeSegment) Runs() iter.Seq2[replay.Run, error] {
	return func(yield func(replay.Run, error) bool) {
		for _, r := range s.runs {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (f *fake) NumThreads() int                   { return len(f.segments) }
func (f *fake) NumSites() int                     { return len(f.sites) }
func (f *fake) Site(id replay.SiteID) replay.Site { return f.sites[id] }
func (f *fake) Events() iter.Seq2[replay.Event, error] {
	return func(yield func(replay.Event, error) bool) {
		for _, e := range f.events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (f *fake) Segments(t event.ThreadID) iter.Seq2[replay.Segment, error] {
	return func(yield func(replay.Segment, error) bool) {
		for _, s := range f.segments[t] {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// What the source says about the code depends on its address.

func (f *fake) Plain(pc uint64) bool { return f.meant && pc%5 == 1 }
func (f *fake) Apart(pc uint64) bool { return f.meant && pc%5 == 2 }
func (f *fake) Meant(pc uint64) bool { return f.meant && pc%5 == 3 }
func (f *fake) User(uint64) bool     { return true }

// Without these two, the marks above would not be used.
func (f *fake) Combines(uint64, uint64) bool { return false }
func (f *fake) Looks(uint64) bool            { return false }
func (f *fake) UserObject(uint64) bool       { return true }

func newFake(threads int) *fake {
	return &fake{segments: make([][]fakeSegment, threads), ordinals: map[[2]uint64]uint64{}}
}

// site returns the site of an instruction, and adds it if it is new.
func (f *fake) site(pc uint64, size uint8, a event.Access) replay.SiteID {
	for i, s := range f.sites {
		if s == (replay.Site{PC: pc, Size: size, Access: a}) {
			return replay.SiteID(i)
		}
	}
	f.sites = append(f.sites, replay.Site{PC: pc, Size: size, Access: a})
	return replay.SiteID(len(f.sites) - 1)
}

func (f *fake) count(t event.ThreadID) (n uint64) {
	for _, e := range f.events {
		if e.Thread == t {
			n++
		}
	}
	return n
}

// event makes thread t execute an event.
func (f *fake) event(t event.ThreadID, e event.Event) {
	f.events = append(f.events, replay.Event{Event: e, Thread: t, Seq: uint64(len(f.events)), Index: f.count(t)})
}

func (f *fake) do(t event.ThreadID, k event.Kind, obj, arg uint64) {
	f.event(t, event.Event{Kind: k, Obj: obj, Arg: arg, PC: 0x9000 + uint64(k)*0x10})
}

// run makes thread t execute a site count times at equal distances.
func (f *fake) run(t event.ThreadID, id replay.SiteID, base uint64, stride int64, count uint64) {
	place := f.count(t)
	segs := f.segments[t]
	if n := len(segs); n == 0 || segs[n-1].place != place {
		segs = append(segs, fakeSegment{place: place})
	}
	key := [2]uint64{uint64(t), uint64(id)}
	s := &segs[len(segs)-1]
	s.runs = append(s.runs, replay.Run{Site: id, Base: base, Stride: stride, Count: count, First: f.ordinals[key]})
	f.ordinals[key] += count
	f.segments[t] = segs
}

func (f *fake) read(t event.ThreadID, pc, addr uint64) {
	f.run(t, f.site(pc, 8, event.Read), addr, 0, 1)
}

func (f *fake) write(t event.ThreadID, pc, addr uint64) {
	f.run(t, f.site(pc, 8, event.Write), addr, 0, 1)
}
