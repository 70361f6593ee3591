package cdr

import (
	"maps"
	"math/rand/v2"
	"testing"

	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
)

// oneAccess is one execution of a site.
type oneAccess struct {
	site          format.SiteID
	addr, ordinal uint64
}

// TestFootprints compares the bytes of footprints with those of the runs, and the runs
// within ranges with all runs.
func TestFootprints(t *testing.T) {
	for seed := range uint64(60) {
		s := newSynthetic(seed, 3)
		s.run(3000)
		tr, err := openBytes(s.record(t, recorder.Options{Budget: seed % 2 * 40 << 10}, s.batches))
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 9))
		for _, th := range tr.Threads() {
			var at []uint64
			var want []map[oneAccess]bool
			for seg, err := range tr.Segments(th.ID) {
				if err != nil {
					t.Fatal(err)
				}
				compareFootprint(t, tr, seg, rng)
				if rng.IntN(5) == 0 {
					at, want = append(at, seg.Index), append(want, accessesIn(t, seg))
				}
			}
			i := 0
			for seg, err := range tr.SegmentsAt(th.ID, at) {
				if err != nil {
					t.Fatal(err)
				}
				if seg.Index != at[i] || !maps.Equal(accessesIn(t, seg), want[i]) {
					t.Fatalf("thread %d segment %d: other accesses when reached at once", th.ID, at[i])
				}
				i++
			}
			if i != len(at) {
				t.Fatalf("thread %d: %d of %d segments", th.ID, i, len(at))
			}
		}
		if t.Failed() {
			t.Fatal("seed", seed)
		}
	}
}

func accessesIn(t *testing.T, seg *Segment) map[oneAccess]bool {
	all := map[oneAccess]bool{}
	for _, r := range runs(t, seg) {
		for i := range r.Count {
			all[oneAccess{r.Site, r.Base + i*uint64(r.Stride), r.First + i}] = true
		}
	}
	return all
}

func compareFootprint(t *testing.T, tr *Trace, seg *Segment, rng *rand.Rand) {
	t.Helper()
	type siteByte struct {
		site format.SiteID
		addr uint64
	}
	want, got := map[siteByte]bool{}, map[siteByte]bool{}
	all := map[oneAccess]bool{}
	var some uint64
	for _, r := range runs(t, seg) {
		for i := range r.Count {
			a := oneAccess{r.Site, r.Base + i*uint64(r.Stride), r.First + i}
			all[a], some = true, a.addr
			for b := range uint64(tr.Site(r.Site).Size) {
				want[siteByte{r.Site, a.addr + b}] = true
			}
		}
	}
	for e, err := range seg.Footprint() {
		if err != nil {
			t.Fatal(err)
		}
		for i := range e.Count {
			for b := range e.Len {
				if e.Bits == nil || e.Bits[b/64]>>(b%64)&1 != 0 {
					got[siteByte{e.Site, e.Base + i*e.Stride + b}] = true
				}
			}
		}
	}
	if !maps.Equal(want, got) {
		t.Errorf("thread %d segment %d: %d bytes in the footprint, want %d", seg.Thread, seg.Index, len(got), len(want))
	}
	from := some - rng.Uint64N(64)
	for _, to := range []uint64{from, from + 1 + rng.Uint64N(200), 1 << 63} {
		lo := from
		if to == 1<<63 {
			lo = 0
		}
		checkWithin(t, tr, seg, all, lo, to)
		checkTally(t, tr, seg, all, lo, to)
		checkRunsOf(t, tr, seg, all, lo, to)
	}
}

// checkTally checks how often each address is accessed.
func checkTally(t *testing.T, tr *Trace, seg *Segment, all map[oneAccess]bool, from, to uint64) {
	t.Helper()
	left := map[[2]uint64]uint64{} // by site and address
	for a := range all {
		left[[2]uint64{uint64(a.site), a.addr}]++
	}
	for y, err := range seg.TallyWithin(func(lo, hi uint64) bool { return lo < to && from < hi }) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range y.Count {
			key := [2]uint64{uint64(y.Site), y.Base + i*y.Stride}
			if left[key] < y.Times {
				t.Fatalf("thread %d segment %d: %+v is too much", seg.Thread, seg.Index, y)
			}
			left[key] -= y.Times
		}
	}
	for key, n := range left {
		if end := key[1] + uint64(tr.Site(format.SiteID(key[0])).Size); n > 0 && key[1] < to && from < end {
			t.Fatalf("thread %d segment %d: %d accesses by site %d to %#x are missing", seg.Thread, seg.Index, n, key[0], key[1])
		}
	}
}

// checkRunsOf walks the runs of one site in both directions.
func checkRunsOf(t *testing.T, tr *Trace, seg *Segment, all map[oneAccess]bool, from, to uint64) {
	t.Helper()
	for site := range format.SiteID(tr.NumSites()) {
		for _, back := range []bool{false, true} {
			within, last := map[oneAccess]bool{}, uint64(0)
			for r, err := range seg.RunsOf(site, back, func(lo, hi uint64) bool { return lo < to && from < hi }) {
				if err != nil {
					t.Fatal(err)
				}
				if len(within) > 0 && (r.First > last) == back {
					t.Fatalf("site %d: run %+v after one at %d", site, r, last)
				}
				last = r.First
				for i := range r.Count {
					within[oneAccess{r.Site, r.Base + i*uint64(r.Stride), r.First + i}] = true
				}
			}
			for a := range within {
				if !all[a] || a.site != site {
					t.Fatalf("site %d: %+v is not an access of the segment", site, a)
				}
			}
			for a := range all {
				if end := a.addr + uint64(tr.Site(a.site).Size); a.site == site && a.addr < to && from < end && !within[a] {
					t.Fatalf("site %d: %+v is missing", site, a)
				}
			}
		}
	}
}

func checkWithin(t *testing.T, tr *Trace, seg *Segment, all map[oneAccess]bool, from, to uint64) {
	t.Helper()
	within := map[oneAccess]bool{}
	for r, err := range seg.RunsWithin(func(lo, hi uint64) bool { return lo < to && from < hi }) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Count {
			a := oneAccess{r.Site, r.Base + i*uint64(r.Stride), r.First + i}
			if !all[a] || within[a] {
				t.Fatalf("thread %d segment %d: %+v is not an access of the segment, or there twice", seg.Thread, seg.Index, a)
			}
			within[a] = true
		}
	}
	for a := range all {
		if end := a.addr + uint64(tr.Site(a.site).Size); a.addr < to && from < end && !within[a] {
			t.Fatalf("thread %d segment %d: %+v is missing", seg.Thread, seg.Index, a)
		}
	}
}
