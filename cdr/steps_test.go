package cdr

import (
	"fmt"
	"slices"
	"testing"

	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt/event"
)

// TestSteps compares the steps of made-up runs with what happened, with all
// accesses recorded and with some.
func TestSteps(t *testing.T) {
	some := func(granule uint64) bool { return granule%3 != 0 }
	for seed := range uint64(12) {
		for _, budget := range []uint64{0, 40 << 10} {
			for name, keep := range map[string]func(uint64) bool{"all": nil, "some": some} {
				t.Run(fmt.Sprintf("seed=%d/budget=%d/keep=%s", seed, budget, name), func(t *testing.T) {
					s := newSynthetic(seed, 1+int(seed%3))
					s.run(3000)
					tr, err := openBytes(s.record(t, recorder.Options{Budget: budget, Keep: keep}, s.batches))
					if err != nil {
						t.Fatal(err)
					}
					for _, th := range s.threads {
						if len(th.pcs) > 0 {
							s.compareSteps(t, tr, th, keep)
							s.compareWithin(t, tr, th)
						}
					}
				})
			}
		}
	}
}

func (s *synthetic) compareSteps(t *testing.T, tr *Trace, th *synthThread, keep func(uint64) bool) {
	t.Helper()
	sites := map[uint64][]event.Site{} // of basic blocks
	for i := range s.static {
		sites[s.static[i].PC] = s.static[i].Sites
	}
	done := map[format.Site]int{} // executions so far
	events, pc := 0, 0
	var due []format.Site // of the block being executed
	for step, err := range tr.Steps(th.id) {
		if err != nil {
			t.Fatal(err)
		}
		if step.IsEvent {
			events++
			continue
		}
		for found := false; !found; {
			for len(due) == 0 {
				for _, site := range sites[th.pcs[pc]] {
					due = append(due, format.Site(site))
				}
				pc++
			}
			site := due[0]
			due = due[1:]
			n := done[site]
			done[site]++
			addr := th.addrs[site][n]
			last := addr + uint64(site.Size) - 1
			if keep != nil && !keep(addr>>3) && !keep(last>>3) {
				continue
			}
			if tr.Site(step.Site) != site || step.Address != addr || th.segments[site][n] != uint64(events) || step.Ordinal != uint64(n) {
				t.Fatalf("thread %d: %+v at %#x in segment %d, want %+v at %#x in %d", th.id, tr.Site(step.Site), step.Address, events, site, addr, th.segments[site][n])
			}
			found = true
		}
	}
	if events != len(th.events) {
		t.Errorf("%d events, want %d", events, len(th.events))
	}
	// Only accesses that were left out may remain.
	for _, p := range th.pcs[pc:] {
		for _, site := range sites[p] {
			due = append(due, format.Site(site))
		}
	}
	for _, site := range due {
		addr := th.addrs[site][done[site]]
		done[site]++
		if keep == nil || keep(addr>>3) || keep((addr+uint64(site.Size)-1)>>3) {
			t.Fatalf("an access to %#x is missing at the end", addr)
		}
	}
}

// compareWithin compares the steps that StepsWithin returns with the expected ones, with
// many ranges wanted and with few.
func (s *synthetic) compareWithin(t *testing.T, tr *Trace, th *synthThread) {
	t.Helper()
	for _, part := range []uint64{1, 2, 7, 100, 1 << 60} {
		const bits = 5
		keep := func(lo, hi uint64) bool {
			return (hi-1)>>bits/part*part >= lo>>bits
		}
		var want, got []Step
		for step, err := range tr.Steps(th.id) {
			if err != nil {
				t.Fatal(err)
			}
			if step.IsEvent || keep(step.Address, step.Address+uint64(tr.Site(step.Site).Size)) {
				want = append(want, step)
			}
		}
		for step, err := range tr.StepsWithin(th.id, keep) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, step)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("thread %d, every %d-th piece: %d steps, want %d", th.id, part, len(got), len(want))
		}
	}
}
