package race

import (
	"math/rand/v2"
	"testing"

	"hindsight/analyze/replay"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt/event"
)

// sharedOnly is a run without the accesses that a trace of shared memory omits.
func sharedOnly(t *testing.T, f *fake) (out *fake, left uint64) {
	t.Helper()
	var scout recorder.Scout
	blocks := make([]event.Block, len(f.sites))
	for id, s := range f.sites {
		blocks[id] = event.Block{ID: event.BlockID(id), PC: s.PC, Bytes: 4, Insts: 1, Sites: []event.Site{event.Site(s)}}
	}
	if err := scout.Define(blocks); err != nil {
		t.Fatal(err)
	}
	for th := range f.segments {
		b := event.Batch{Thread: event.ThreadID(th)}
		segs := f.segments[th]
		take := func(place uint64) {
			for len(segs) > 0 && segs[0].place <= place {
				for _, r := range segs[0].runs {
					for k := range r.Count {
						b.Blocks = append(b.Blocks, event.BlockID(r.Site))
						b.Addrs = append(b.Addrs, r.Base+k*uint64(r.Stride))
					}
				}
				segs = segs[1:]
			}
		}
		for _, e := range f.events {
			if e.Thread == b.Thread {
				take(e.Index)
				e.At = uint32(len(b.Blocks))
				b.Events = append(b.Events, e.Event)
			}
		}
		take(^uint64(0))
		if err := scout.Batch(&b); err != nil {
			t.Fatal(err)
		}
	}
	out = &fake{sites: f.sites, events: f.events, segments: make([][]fakeSegment, len(f.segments))}
	for th, segs := range f.segments {
		for _, s := range segs {
			kept := fakeSegment{place: s.place}
			for _, r := range s.runs {
				for k := range r.Count {
					addr := r.Base + k*uint64(r.Stride)
					if !scout.Keep(addr>>3) && !scout.Keep((addr+uint64(f.sites[r.Site].Size)-1)>>3) {
						left++
						continue
					}
					kept.runs = append(kept.runs, replay.Run{Site: r.Site, Base: addr, Count: 1, First: r.First + k})
				}
			}
			out.segments[th] = append(out.segments[th], kept)
		}
	}
	return out, left
}

// TestKeepSharedLosesNoRace checks that what a trace of shared memory omits takes part in
// no race.
func TestKeepSharedLosesNoRace(t *testing.T) {
	left, races := uint64(0), 0
	for seed := range uint64(max(*programs/4, 100)) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		f := randomProgram(&chooser{rnd: rnd}, 20+rnd.IntN(60))
		shared, n := sharedOnly(t, f)
		left += n
		races += len(plainDetect(f, Strict))
		compareSources(t, shared, f, Options{Atomics: Strict})
	}
	if left < 1000 || races < 100 {
		t.Errorf("%d accesses left out, %d races: nothing is tested", left, races)
	}
}
