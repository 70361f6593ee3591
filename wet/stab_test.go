package wet

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFind checks that find returns all places of a number in a sequence of runs, in
// whatever order the runs are.
func TestFind(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 20))
	found := 0
	for range 300 {
		x := &numbers{form: formColumns}
		count := 1 + rng.IntN(60)
		ascending := rng.IntN(2) == 0
		at, low := uint64(0), uint64(1000)
		for range count {
			r := run{first: 1000 + rng.Uint64N(200), n: 1 + rng.Uint64N(9), stride: rng.Uint64N(7) - 3}
			if ascending {
				r.first, r.stride = low+rng.Uint64N(4), rng.Uint64N(3)
				low = r.last()
			}
			x.runs, x.starts = append(x.runs, r), append(x.starts, at)
			at += r.n
		}
		x.n = at
		var all []uint64
		x.each(func(_ int, v uint64) { all = append(all, v) })
		for v := uint64(960); v < 1260; v++ {
			var want, got []uint64
			for i, w := range all {
				if w == v {
					want = append(want, uint64(i))
				}
			}
			x.find(v, func(i uint64) bool {
				got = append(got, i)
				return true
			})
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("%d in %v: at %v, want %v", v, x.runs, got, want)
			}
			found += len(got)
			stops := 0
			x.find(v, func(uint64) bool {
				stops++
				return false
			})
			if stops > 1 {
				t.Fatal("it goes on after it was told to stop")
			}
		}
	}
	if found < 10000 {
		t.Errorf("%d found only", found)
	}
}
