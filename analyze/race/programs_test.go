package race

import (
	"fmt"
	"testing"

	"hindsight/analyze/internal/recorded"
	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/examples"
	"hindsight/tracefmt/event"
)

// collector records a whole run, access by access, in the form that the plain detector
// needs.
type collector struct {
	f        *fake
	blocks   []event.Block
	index    []uint64
	ids      map[replay.Site]replay.SiteID
	accesses int
}

func (c *collector) Define(blocks []event.Block) error {
	for _, b := range blocks {
		b.Sites = append([]event.Site(nil), b.Sites...)
		c.blocks = append(c.blocks, b)
	}
	return nil
}

func (c *collector) Finish(event.Outcome) error { return nil }

func (c *collector) Batch(b *event.Batch) error {
	for int(b.Thread) >= len(c.index) {
		c.index = append(c.index, 0)
		c.f.segments = append(c.f.segments, nil)
	}
	events, addrs := b.Events, b.Addrs
	for i := 0; ; i++ {
		for len(events) > 0 && int(events[0].At) == i {
			e := events[0]
			e.At = 0
			c.f.events = append(c.f.events, replay.Event{Event: e, Thread: b.Thread, Seq: uint64(len(c.f.events)), Index: c.index[b.Thread]})
			c.index[b.Thread]++
			events = events[1:]
		}
		if i == len(b.Blocks) {
			return nil
		}
		for _, s := range c.blocks[b.Blocks[i]].Sites {
			c.access(b.Thread, replay.Site{PC: s.PC, Size: s.Size, Access: s.Access}, addrs[0])
			addrs = addrs[1:]
		}
	}
}

func (c *collector) access(t event.ThreadID, s replay.Site, addr uint64) {
	id, ok := c.ids[s]
	if !ok {
		id = replay.SiteID(len(c.f.sites))
		c.f.sites = append(c.f.sites, s)
		c.ids[s] = id
	}
	c.accesses++
	segs := c.f.segments[t]
	if n := len(segs); n == 0 || segs[n-1].place != c.index[t] {
		segs = append(segs, fakeSegment{place: c.index[t]})
	}
	key := [2]uint64{uint64(t), uint64(id)}
	seg := &segs[len(segs)-1]
	seg.runs = append(seg.runs, replay.Run{Site: id, Base: addr, Count: 1, First: c.f.ordinals[key]})
	c.f.ordinals[key]++
	c.f.segments[t] = segs
}

// renumber changes the numbers of the sites to those in a trace.
func (c *collector) renumber(t *cdr.Trace) error {
	to := make([]replay.SiteID, len(c.f.sites))
	known := map[replay.Site]replay.SiteID{}
	for id := range t.NumSites() {
		known[t.Site(replay.SiteID(id))] = replay.SiteID(id)
	}
	for i, s := range c.f.sites {
		id, ok := known[s]
		if !ok {
			return fmt.Errorf("site %+v is not in the trace", s)
		}
		to[i] = id
	}
	c.f.sites = make([]replay.Site, t.NumSites())
	for id := range c.f.sites {
		c.f.sites[id] = t.Site(replay.SiteID(id))
	}
	for _, segs := range c.f.segments {
		for _, seg := range segs {
			for i := range seg.runs {
				seg.runs[i].Site = to[seg.runs[i].Site]
			}
		}
	}
	return nil
}

// record runs an example, and records it in a trace and in a collector at the same time.
func record(t *testing.T, p examples.Program, seed uint64) (*cdr.Trace, *collector) {
	t.Helper()
	elf, err := examples.ELF(p.Name)
	if err != nil {
		t.Fatal(err)
	}
	all := &collector{f: newFake(0), ids: map[replay.Site]replay.SiteID{}}
	trace, _ := recorded.Run(t, elf, append([]string{p.Name}, p.Args...), seed, all)
	if err := all.renumber(trace); err != nil {
		t.Fatal(err)
	}
	return trace, all
}

// TestProgramsAgreeWithPlainDetector compares the engine's results for the traces of real
// programs with those of the plain detector for the same runs.
func TestProgramsAgreeWithPlainDetector(t *testing.T) {
	for _, p := range examples.Programs() {
		if p.Group == examples.Kernel {
			continue // too long for the plain detector
		}
		t.Run(p.Name, func(t *testing.T) {
			trace, all := record(t, p, 1)
			if len(all.f.events) > 4000 || all.accesses > 200_000 {
				t.Skipf("%d events and %d accesses are too many for the plain detector", len(all.f.events), all.accesses)
			}
			for _, opts := range []Options{{}, {Atomics: Strict, SweepEvery: 1, columnsLimit: 2}} {
				compareSources(t, replay.FromTrace(trace), all.f, opts)
			}
		})
	}
}
